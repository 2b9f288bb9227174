// Question: how long do searches by vectors take, alone and together with words?
// Documents with random vectors are added to the index INDEX-vectors first; random vectors are harder to tell apart
// than those of texts.
//   k6 run -e URL=... [-e DOCUMENTS=20000] [-e DIMENSIONS=384] [-e SEARCHES=300] [-e P50=10] [-e P99=50] perf/k6/vectors.js
import { check, sleep } from 'k6';
import http from 'k6/http';
import { ended, INDEX, JSON_REQUEST, number, pick, settle, summary, URL, WORDS } from './common.js';

const index = `${INDEX}-vectors`;
const dimensions = number('DIMENSIONS', 384);
const count = number('DOCUMENTS', 20000);
const BATCH = 1000;
const KINDS = { vectors: 1, hybrid: 0.5 };
const kept = [`p(50)<${number('P50', 10)}`, `p(99)<${number('P99', 50)}`];

export const options = {
  setupTimeout: '30m',
  scenarios: {
    client: {
      executor: 'per-vu-iterations',
      exec: 'searchBoth',
      vus: 1,
      iterations: number('SEARCHES', 300),
      maxDuration: '30m',
    },
  },
  thresholds: {
    http_req_failed: ['rate==0'],
    checks: ['rate==1'],
    'http_req_duration{name:vectors}': kept,
    'http_req_duration{name:hybrid}': kept,
  },
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

function vector() {
  return Array.from({ length: dimensions }, () => Math.round((Math.random() - 0.5) * 1e4) / 1e4);
}

export function setup() {
  settle({ embedders: { e: { source: 'userProvided', dimensions } } }, sleep, index);
  for (let first = 0; first < count; first += BATCH) {
    const batch = [];
    for (let id = first; id < Math.min(first + BATCH, count); id++) {
      batch.push({ id, title: `${pick(WORDS)} ${pick(WORDS)}`, _vectors: { e: vector() } });
    }
    const url = `${URL}/indexes/${index}/documents?primaryKey=id`;
    const answer = http.post(url, JSON.stringify(batch), JSON_REQUEST);
    const status = ended(Number(answer.json('taskUid')), sleep);
    if (status !== 'succeeded') throw new Error(`the documents: ${status}`);
  }
}

export function searchBoth() {
  for (const [name, semanticRatio] of Object.entries(KINDS)) {
    const hybrid = { embedder: 'e', semanticRatio };
    const body = JSON.stringify({ q: pick(WORDS), vector: vector(), hybrid, limit: 20 });
    const url = `${URL}/indexes/${index}/search`;
    const answer = http.post(url, body, { ...JSON_REQUEST, tags: { name } });
    check(answer, { found: ({ status }) => status === 200 });
  }
}

/** @param {any} data */
export function handleSummary(data) {
  const names = Object.keys(KINDS).map((name) => `http_req_duration{name:${name}}`);
  return summary(data, [...names, 'checks']);
}
