// Question: how long do searches, and changes of one document, take while both go on?
//   k6 run -e URL=... -e INDEX=bench [-e RATE=100] [-e CHANGES=20] [-e SECONDS=30] [-e IDS=100000]
//     [-e P50=20] [-e P99=50] [-e SEARCH_P99=20] perf/k6/mixed.js
// P50 and P99 are of a change, from its request to its end. The index holds documents with the ids 0 to IDS - 1 and the attribute `title`.
import { check, sleep } from 'k6';
import http from 'k6/http';
import { Trend } from 'k6/metrics';
import {
  ended,
  INDEX,
  JSON_REQUEST,
  number,
  pick,
  QUERIES,
  search,
  summary,
  URL,
} from './common.js';

const toFinished = new Trend('change_to_finished', true);
const ids = number('IDS', 100000);
const duration = `${number('SECONDS', 30)}s`;

export const options = {
  scenarios: {
    searches: {
      executor: 'constant-arrival-rate',
      exec: 'searchOnce',
      rate: number('RATE', 100),
      timeUnit: '1s',
      duration,
      preAllocatedVUs: 50,
      maxVUs: 500,
    },
    changes: {
      executor: 'constant-arrival-rate',
      exec: 'change',
      rate: number('CHANGES', 20),
      timeUnit: '1s',
      duration,
      preAllocatedVUs: 20,
      maxVUs: 200,
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    change_to_finished: [`p(50)<${number('P50', 20)}`, `p(99)<${number('P99', 50)}`],
    'http_req_duration{name:search}': [`p(99)<${number('SEARCH_P99', 20)}`],
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

export function searchOnce() {
  const answer = search({ q: pick(QUERIES), limit: 20 }, { name: 'search' });
  check(answer, { answered: ({ status }) => status === 200 });
}

export function change() {
  const start = Date.now();
  const document = { id: Math.floor(Math.random() * ids), title: `changed at ${start}` };
  const answer = http.put(`${URL}/indexes/${INDEX}/documents`, JSON.stringify([document]), {
    ...JSON_REQUEST,
    tags: { name: 'change' },
  });
  if (!check(answer, { accepted: ({ status }) => status === 202 })) return;
  const status = ended(Number(answer.json('taskUid')), sleep);
  check(status, { succeeded: (text) => text === 'succeeded' });
  toFinished.add(Date.now() - start);
}

/** @param {any} data */
export function handleSummary(data) {
  const searches = 'http_req_duration{name:search}';
  return summary(data, ['change_to_finished', searches, 'iterations', 'checks']);
}
