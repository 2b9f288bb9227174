/**
 * Compares the oracle with recorded responses.
 *
 *     npx tsx test/oracle/replay.ts FILE.ndjson.gz [--every N] [--from N] [--show N] [--q TEXT]
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { Document } from './corpus.ts';
import { FilterError } from './filter.ts';
import { Oracle, type SearchParams, type Settings } from './engine.ts';

interface Line {
  body: SearchParams;
  path?: string;
  expect: { status: number; body: Record<string, unknown> };
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    every: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
    show: { type: 'string', default: '10' },
    q: { type: 'string' },
  },
});

const VOLATILE = new Set(['processingTimeMs', 'requestUid', 'message', 'link']);
const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
};

function differences(
  want: unknown,
  got: unknown,
  path: string,
  out: [string, unknown, unknown][],
): void {
  if (out.length > 20 || want === '*') return; // recorded without its value
  if (typeof want === 'number' && typeof got === 'number') {
    if (Math.abs(want - got) > 1e-6 * Math.max(1, Math.abs(want))) out.push([path, want, got]);
  } else if (Array.isArray(want) && Array.isArray(got)) {
    if (want.length !== got.length) out.push([`${path}.length`, want.length, got.length]);
    for (let i = 0; i < Math.min(want.length, got.length); i++)
      differences(want[i], got[i], `${path}[${i}]`, out);
  } else if (isObject(want) && isObject(got)) {
    for (const key of new Set([...Object.keys(want), ...Object.keys(got)])) {
      if (!VOLATILE.has(key)) differences(want[key], got[key], `${path}.${key}`, out);
    }
  } else if (want !== got) out.push([path, want, got]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

for (const file of positionals) {
  const [head, ...lines] = gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
  const { settings, data, primaryKey } = head as {
    settings: Settings;
    data: string;
    primaryKey: string;
  };
  const text = gunzipSync(readFileSync(resolve(dirname(file), data))).toString();
  const documents = (
    data.endsWith('.json.gz')
      ? JSON.parse(text)
      : text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line))
  ) as Document[];
  const oracle = new Oracle(settings);
  oracle.addDocuments(documents);
  let total = 0;
  let same = 0;
  let shown = 0;
  const kinds = new Map<string, number>();
  const ids = (hits: unknown): unknown[] =>
    ((hits as Document[] | undefined) ?? []).map((hit) => hit[primaryKey]);
  for (const [i, line] of (lines as Line[]).entries()) {
    if (i % Number(options.every) !== Number(options.from)) continue;
    if (options.q !== undefined && line.body.q !== options.q) continue;
    total++;
    let got: unknown;
    try {
      got = line.path?.endsWith('/facet-search')
        ? oracle.facetSearch(line.body as Parameters<Oracle['facetSearch']>[0])
        : oracle.search(line.body);
    } catch (error) {
      got =
        error instanceof FilterError
          ? { code: 'invalid_search_filter', type: 'invalid_request' }
          : { error: String((error as Error).stack) };
    }
    const found: [string, unknown, unknown][] = [];
    differences(line.expect.body, got, '', found);
    if (found.length === 0) {
      same++;
      continue;
    }
    for (const kind of new Set(found.map(([path]) => path.replace(/\[\d+\]/g, '[]')))) {
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    if (shown++ >= Number(options.show)) continue;
    const {
      attributesToRetrieve: _a,
      showRankingScore: _b,
      showRankingScoreDetails: _c,
      ...body
    } = line.body;
    console.log(`#${i} ${JSON.stringify(body)}`);
    const wantIds = ids(line.expect.body.hits);
    const gotIds = ids((got as { hits?: unknown }).hits);
    if (short(wantIds) !== short(gotIds))
      console.log(`   ids want ${wantIds.join(' ')}\n       got  ${gotIds.join(' ')}`);
    for (const [path, want, is] of found.slice(0, 4))
      console.log(`   ${path}  want ${short(want)}  got ${short(is)}`);
  }
  for (const [kind, n] of [...kinds].sort((a, b) => b[1] - a[1]).slice(0, 20))
    console.log(`${String(n).padStart(5)}  ${kind}`);
  console.log(
    `${file.split('/').at(-1)}  ${same}/${total}  ${((100 * same) / Math.max(1, total)).toFixed(2)} %`,
  );
}
