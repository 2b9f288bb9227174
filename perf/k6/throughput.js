// Question: how many searches per second does a server make for clients that never pause? Start it with other
// numbers of `--http-threads`, or with more cores, and compare.
//   k6 run -e URL=... -e INDEX=bench [-e CONNECTIONS=32] [-e SECONDS=20] [-e PER_SECOND=2500] [-e QUERIES=file]
//     perf/k6/throughput.js
import { check } from 'k6';
import { number, pick, QUERIES, search, summary } from './common.js';

export const options = {
  scenarios: {
    clients: {
      executor: 'constant-vus',
      exec: 'searchOnce',
      vus: number('CONNECTIONS', 32),
      duration: `${number('SECONDS', 20)}s`,
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    http_reqs: [`rate>${number('PER_SECOND', 2500)}`],
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

export function searchOnce() {
  check(search({ q: pick(QUERIES), limit: 20 }), { found: ({ status }) => status === 200 });
}

/** @param {any} data */
export function handleSummary(data) {
  return summary(data, ['http_reqs', 'http_req_duration', 'checks']);
}
