// Question: how long until a search finds a changed document, one change after the other?
//   k6 run -e URL=... -e INDEX=bench [-e CHANGES=200] [-e IDS=100000] [-e P50=20] [-e P99=50] perf/k6/changes.js
// The index holds documents with the ids 0 to IDS - 1 and the attribute `title`.
import { check } from 'k6';
import http from 'k6/http';
import { Trend } from 'k6/metrics';
import { INDEX, JSON_REQUEST, number, search, summary, URL } from './common.js';

const toSearchable = new Trend('change_to_searchable', true);
const ids = number('IDS', 100000);

export const options = {
  scenarios: {
    client: {
      executor: 'per-vu-iterations',
      exec: 'change',
      vus: 1,
      iterations: number('CHANGES', 200),
      maxDuration: '30m',
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    change_to_searchable: [`p(50)<${number('P50', 20)}`, `p(99)<${number('P99', 50)}`],
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

/** A word of letters that no document has yet. */
function newWord() {
  const digits = `${Date.now()}${__ITER}`;
  return `zq${digits.replace(/\d/g, (digit) => 'bcdfghjklm'[Number(digit)])}`;
}

export function change() {
  const word = newWord();
  const start = Date.now();
  const document = { id: Math.floor(Math.random() * ids), title: `changed ${word}` };
  const answer = http.put(
    `${URL}/indexes/${INDEX}/documents`,
    JSON.stringify([document]),
    JSON_REQUEST,
  );
  if (!check(answer, { accepted: ({ status }) => status === 202 })) return;
  for (;;) {
    const found = search({ q: `"${word}"`, limit: 1 }, { name: 'search' });
    if (!check(found, { found: ({ status }) => status === 200 })) return;
    if (found.json('hits.0.id') === document.id) break;
  }
  toSearchable.add(Date.now() - start);
}

/** @param {any} data */
export function handleSummary(data) {
  return summary(data, ['change_to_searchable', 'http_req_duration', 'iterations', 'checks']);
}
