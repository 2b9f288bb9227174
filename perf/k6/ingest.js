// Question: how many documents a second can several writers bring in, and how long until they are searchable?
//   k6 run -e URL=... -e INDEX=ingest [-e WRITERS=4] [-e BATCHES=50] [-e SIZE=1000] perf/k6/ingest.js
import { check, sleep } from 'k6';
import http from 'k6/http';
import { Counter, Trend } from 'k6/metrics';
import { ended, INDEX, JSON_REQUEST, URL } from './common.js';

const documents = new Counter('documents');
const toFinished = new Trend('batch_to_finished', true);
const size = Number(__ENV.SIZE || 1000);

export const options = {
  scenarios: {
    writers: {
      executor: 'per-vu-iterations',
      exec: 'write',
      vus: Number(__ENV.WRITERS || 4),
      iterations: Number(__ENV.BATCHES || 50),
      maxDuration: '30m',
    },
  },
  thresholds: { http_req_failed: ['rate==0'] },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

const WORDS =
  'fast small quiet blue round heavy simple old bright soft cold clear open deep wide'.split(' ');

/**
 * @param {number} count
 * @returns {string}
 */
function text(count) {
  let words = '';
  for (let n = 0; n < count; n++)
    words += `${WORDS[Math.floor(Math.random() * WORDS.length)]}${n % 97} `;
  return words;
}

export function write() {
  const batch = [];
  for (let n = 0; n < size; n++) {
    batch.push({
      id: `${__VU}-${__ITER}-${n}`,
      title: text(5),
      description: text(60),
      price: n / 4,
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
