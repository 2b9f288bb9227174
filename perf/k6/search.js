// Question: how long do visitors wait for a search when so many arrive each second?
//   k6 run -e URL=... -e INDEX=bench [-e RATE=200] [-e SECONDS=30] [-e QUERIES=file] perf/k6/search.js
import { check } from 'k6';
import { pick, QUERIES, search } from './common.js';

export const options = {
  scenarios: {
    visitors: {
      executor: 'constant-arrival-rate',
      exec: 'visit',
      rate: Number(__ENV.RATE || 200),
      timeUnit: '1s',
      duration: `${__ENV.SECONDS || 30}s`,
      preAllocatedVUs: 50,
      maxVUs: 500,
    },
  },
  thresholds: { http_req_failed: ['rate==0'], http_req_duration: ['p(50)<1', 'p(99)<4'] },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

export function visit() {
  check(search({ q: pick(QUERIES), limit: 20 }), { answered: ({ status }) => status === 200 });
}
