// Question: how many documents a second can several writers bring in, and how long until they are searchable?
// Documents have the ids from 0 on, so the index serves `search.js` and `mixed.js` afterwards.
//   k6 run -e URL=... -e INDEX=bench [-e WRITERS=4] [-e BATCHES=25] [-e SIZE=1000] [-e P95=10000] perf/k6/ingest.js
import { check, sleep } from 'k6';
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
import { ended, INDEX, JSON_REQUEST, number, pick, summary, URL, WORDS } from './common.js';

const documents = new Counter('documents');
const toFinished = new Trend('batch_to_finished', true);
const size = number('SIZE', 1000);
const batches = number('BATCHES', 25);

export const options = {
  scenarios: {
    writers: {
      executor: 'per-vu-iterations',
      exec: 'write',
      vus: number('WRITERS', 4),
      iterations: batches,
      maxDuration: '30m',
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    batch_to_finished: [`p(95)<${number('P95', 10000)}`],
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

/**
 * @param {number} count
 * @returns {string}
 */
function text(count) {
  let words = '';
  for (let n = 0; n < count; n++) words += `${pick(WORDS)}${n % 97} `;
  return words;
}

export function write() {
  const batch = [];
  const first = ((__VU - 1) * batches + __ITER) * size;
  for (let n = 0; n < size; n++) {
    batch.push({
      id: first + n,
      title: text(5),
      description: text(60),
      price: n / 4,
      brand: `${pick(WORDS)} ${n % 50}`,
      category: pick(WORDS),
      rating: 1 + (n % 41) / 10,
      _geo: { lat: (n % 160) - 80, lng: ((n * 7) % 360) - 180 },
    });
  }
  const start = Date.now();
  const answer = http.post(
    `${URL}/indexes/${INDEX}/documents?primaryKey=id`,
    JSON.stringify(batch),
    JSON_REQUEST,
  );
  if (!check(answer, { accepted: ({ status }) => status === 202 })) return;
  const status = ended(Number(answer.json('taskUid')), sleep);
  check(status, { succeeded: (word) => word === 'succeeded' });
  toFinished.add(Date.now() - start);
  documents.add(size);
}

/** @param {any} data */
export function handleSummary(data) {
  return summary(data, ['documents', 'batch_to_finished', 'http_req_duration', 'checks']);
}
