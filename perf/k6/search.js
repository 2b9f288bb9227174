// Question: how long do visitors wait for a search when so many arrive each second?
//   k6 run -e URL=... -e INDEX=bench [-e RATE=200] [-e SECONDS=30] [-e QUERIES=file]
//     [-e P50=1] [-e P99=4] perf/k6/search.js
import { check } from 'k6';
import { number, pick, QUERIES, search, summary } from './common.js';

export const options = {
  scenarios: {
    visitors: {
      executor: 'constant-arrival-rate',
      exec: 'visit',
      rate: number('RATE', 200),
      timeUnit: '1s',
      duration: `${number('SECONDS', 30)}s`,
      preAllocatedVUs: 50,
      maxVUs: 500,
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    http_req_duration: [`p(50)<${number('P50', 1)}`, `p(99)<${number('P99', 4)}`],
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

export function visit() {
  check(search({ q: pick(QUERIES), limit: 20 }), { answered: ({ status }) => status === 200 });
}

/** @param {any} data */
export function handleSummary(data) {
  return summary(data, ['http_req_duration', 'http_reqs', 'dropped_iterations', 'checks']);
}
