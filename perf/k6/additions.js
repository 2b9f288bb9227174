// Question: how many additions of one document are accepted per second?
//   k6 run -e URL=... [-e CONNECTIONS=32] [-e SECONDS=10] [-e PER_SECOND=5000] perf/k6/additions.js
// The documents go to the index INDEX-additions.
import { check } from 'k6';
import http from 'k6/http';
import { INDEX, JSON_REQUEST, number, pick, summary, URL, WORDS } from './common.js';

export const options = {
  scenarios: {
    writers: {
      executor: 'constant-vus',
      exec: 'add',
      vus: number('CONNECTIONS', 32),
      duration: `${number('SECONDS', 10)}s`,
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    http_reqs: [`rate>${number('PER_SECOND', 5000)}`],
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

export function add() {
  const document = { id: `${__VU}-${__ITER}`, title: `${pick(WORDS)} ${pick(WORDS)}` };
  const url = `${URL}/indexes/${INDEX}-additions/documents?primaryKey=id`;
  const answer = http.post(url, JSON.stringify([document]), JSON_REQUEST);
  check(answer, { accepted: ({ status }) => status === 202 });
}

/** @param {any} data */
export function handleSummary(data) {
  return summary(data, ['http_reqs', 'http_req_duration', 'checks']);
}
