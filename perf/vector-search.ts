/**
 * Searches by meaning beside searches by words, on one server in one run, and how complete the nearest documents are.
 *
 *     node perf/vector-search.ts [--queries 300] [--documents 63436]
 *
 * Starts the built server (dist/main.cjs) in a folder of its own, loads the packages of Debian with their embeddings from the
 * folder of shared data (GANNET_SHARED, else ../shared), asks each query by words and by its vector, by turns, and holds the ten
 * nearest against a loop over all vectors in single precision: without filter, and with filters that leave ever fewer documents.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { startBuiltServer } from '../test/support/built-server.ts';
import { fromHalf } from './half.ts';

const DIMENSIONS = 384;
const NEAREST = 10;
/** Documents per request. */
const BATCH = 4000;
const DATA = join(resolve(process.env['GANNET_SHARED'] ?? '../shared'), 'data');

const { values } = parseArgs({
  options: {
    queries: { type: 'string', default: '300' },
    documents: { type: 'string', default: '63436' },
  },
});
const queryCount = Number(values.queries);
const documentCount = Number(values.documents);

/** Rows of half-precision numbers. */
function readHalves(name: string, rows: number): Float32Array {
  const bytes = readFileSync(join(DATA, name));
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  const numbers = new Float32Array(rows * DIMENSIONS);
  for (let i = 0; i < numbers.length; i++) numbers[i] = fromHalf(halves[i]!);
  return numbers;
}

function rowOf(matrix: Float32Array, row: number): Float32Array {
  return matrix.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
}

/** Cosines in double precision. */
function cosine(a: Float32Array, b: Float32Array): number {
  let [product, left, right] = [0, 0, 0];
  for (let i = 0; i < DIMENSIONS; i++) {
    product += a[i]! * b[i]!;
    left += a[i]! * a[i]!;
    right += b[i]! * b[i]!;
  }
  return product / Math.sqrt(left * right);
}

function median(list: readonly number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1]!;
}

const packages = gunzipSync(readFileSync(join(DATA, 'debian-packages.ndjson.gz')))
  .toString()
  .trim()
  .split('\n')
  .slice(0, documentCount)
  .map((line) => JSON.parse(line) as Record<string, unknown>);
const vectors = readHalves('package-vectors.f16', packages.length);
const texts = readFileSync(join(DATA, 'vector-queries.ndjson'), 'utf8')
  .trim()
  .split('\n')
  .slice(0, queryCount)
  .map((line) => (JSON.parse(line) as { q: string }).q);
const queryVectors = readHalves('vector-queries.f16', texts.length);

const server = await startBuiltServer();
try {
  await server.finish('PATCH', '/indexes/packages/settings', {
    body: {
      searchableAttributes: ['name', 'summary', 'description'],
      filterableAttributes: ['share'],
      embedders: { mini: { source: 'userProvided', dimensions: DIMENSIONS } },
    },
  });
  for (let from = 0; from < packages.length; from += BATCH) {
    const body = packages
      .slice(from, from + BATCH)
      .map((document, i) => {
        const number = from + i;
        const embedded = {
          ...{ ...document, key: number, share: number % 1000 },
          _vectors: { mini: [...rowOf(vectors, number)] },
        };
        return JSON.stringify(embedded);
      })
      .join('\n');
    const task = await server.finish('POST', '/indexes/packages/documents?primaryKey=key', {
      text: body,
      type: 'application/x-ndjson',
    });
    if (task.status !== 'succeeded') throw new Error(JSON.stringify(task.error));
  }

  async function ask(body: unknown): Promise<{ ms: number; keys: number[] }> {
    const begun = performance.now();
    const { json } = await server.call('POST', '/indexes/packages/search', { body });
    const ms = performance.now() - begun;
    return { ms, keys: (json.hits as { key: number }[]).map(({ key }) => key) };
  }
  const shown = { attributesToRetrieve: ['key'], limit: NEAREST };
  const byVector = (n: number, filter: string | null): unknown => ({
    ...{ vector: [...rowOf(queryVectors, n)], filter, ...shown },
    hybrid: { embedder: 'mini', semanticRatio: 1 },
  });

  const words: number[] = [];
  const meaning: number[] = [];
  const both: number[] = [];
  for (let n = 0; n < texts.length; n++) {
    words.push((await ask({ q: texts[n]!, ...shown })).ms);
    meaning.push((await ask(byVector(n, null))).ms);
    both.push((await ask({ ...(byVector(n, null) as object), q: texts[n]!, hybrid: { embedder: 'mini', semanticRatio: 0.5 } })).ms); // prettier-ignore
  }
  const [w, m, h] = [words, meaning, both].map(median) as [number, number, number];
  console.log(`p50: words ${w.toFixed(2)} ms, vectors ${m.toFixed(2)} ms (${(m / w).toFixed(2)} times), both ${h.toFixed(2)} ms`); // prettier-ignore

  for (const share of [1000, 500, 100, 10, 1]) {
    let found = 0;
    let wanted = 0;
    for (let n = 0; n < Math.min(texts.length, 50); n++) {
      const query = rowOf(queryVectors, n);
      const nearest: { key: number; near: number }[] = [];
      for (let key = 0; key < packages.length; key++) {
        if (key % 1000 < share) nearest.push({ key, near: Math.fround((1 + cosine(query, rowOf(vectors, key))) / 2) }); // prettier-ignore
      }
      nearest.sort((a, b) => b.near - a.near || a.key - b.key);
      const keys = new Set(nearest.slice(0, NEAREST).map(({ key }) => key));
      const filter = share === 1000 ? null : `share < ${share}`;
      for (const key of (await ask(byVector(n, filter))).keys) if (keys.has(key)) found++;
      wanted += keys.size;
    }
    console.log(`${share / 10} % of the documents: recall@${NEAREST} ${found / wanted}`);
  }
} finally {
  await server.close();
}
