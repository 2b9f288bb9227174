// Question: how long do facets, filters and sort take, one request after the other?
// The index holds the documents of `ingest.js`, or a catalogue with the same attributes. Its settings are changed first.
//   k6 run -e URL=... -e INDEX=bench [-e ROUNDS=200] [-e FACTOR=1] perf/k6/requests.js
// FACTOR multiplies the thresholds, which are those of an idle machine.
import { check, sleep } from 'k6';
import { number, pick, QUERIES, search, settle, summary } from './common.js';

/** By name: p50 in ms that must be kept, and parameters. */
const KINDS = {
  filter_facets: [2.5, { q: true, filter: 'price < 100', facets: ['brand', 'category'] }],
  sort_facet: [2.5, { q: true, filter: 'price < 100', sort: ['price:asc'], facets: ['brand'] }],
  radius: [3, { q: true, filter: '_geoRadius(40, 10, 2000000)' }],
  facets: [6, { facets: ['brand', 'category', 'rating'] }],
  facets_sort: [8, { filter: 'rating > 2', facets: ['brand', 'category'], sort: ['price:desc'] }],
  geo_sort: [6, { sort: ['_geoPoint(40, 10):asc'] }],
  distinct: [6, { distinct: 'brand' }],
  page_500: [3, { page: 500, hitsPerPage: 2 }],
};
const factor = number('FACTOR', 1);

/** @type {Record<string, string[]>} */
const thresholds = { http_req_failed: ['rate==0'], checks: ['rate==1'] };
for (const [name, [ms]] of Object.entries(KINDS)) {
  thresholds[`http_req_duration{name:${name}}`] = [`p(50)<${Number(ms) * factor}`];
}

export const options = {
  scenarios: {
    client: {
      executor: 'per-vu-iterations',
      exec: 'round',
      vus: 1,
      iterations: number('ROUNDS', 200),
      maxDuration: '30m',
    },
  },
  thresholds,
  summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'max'],
};

export function setup() {
  const sortableAttributes = ['price', '_geo'];
  const filterableAttributes = ['price', 'brand', 'category', 'rating', '_geo'];
  settle({ filterableAttributes, sortableAttributes }, sleep);
}

export function round() {
  for (const [name, [, parameters]] of Object.entries(KINDS)) {
    const { q, ...others } = Object.assign({ q: false }, parameters);
    const body = q ? { q: pick(QUERIES), ...others } : others;
    check(search(body, { name }), { found: ({ status }) => status === 200 });
  }
}

/** @param {any} data */
export function handleSummary(data) {
  return summary(data, [
    ...Object.keys(KINDS).map((name) => `http_req_duration{name:${name}}`),
    'checks',
  ]);
}
