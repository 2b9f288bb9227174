/**
 * Compares searches by meaning with searches by words, on one server in one run, and measures the
 * recall of nearest neighbours.
 *
 *   node --import=tsx perf/vector-search.ts [--queries 300] [--checked 50] [--documents 63436]
 *       [--copies 0] [--scanned 300000] [--port 7897]
 *
 * Loads the packages of Debian with their embeddings from the folder of shared data (GANNET_SHARED,
 * else ../shared), and `--copies` noisy copies of each. Runs each query by words and by its vector,
 * alternately. Compares the ten nearest documents of some queries with a plain loop over all
 * vectors in single precision: without a filter, and with filters that keep fewer and fewer
 * documents. Then changes single documents with and without a vector, alternately.
 *
 * Searches are sent while merges run and graphs are built, and timed again on a server that scans.
 * Prints CPU and private memory of the load.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { settle } from '../test/http/kill/support/compare.ts';
import { Random } from '../test/http/kill/support/random.ts';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { fromHalf } from './half.ts';
import { CpuClock, cpuSeconds, MemoryPeak } from './process-stats.ts';
import { percentiles } from './statistics.ts';

const DIMENSIONS = 384;
const NEAREST = 10;
/** Bytes of documents in one request. */
const BATCH_BYTES = 40_000_000;
const DATA = join(resolve(process.env['GANNET_SHARED'] ?? '../shared'), 'data');
/** Digits of a component, as most JSON embeddings have. */
const DIGITS = 5;
/** Length of the noise added to a copy; embeddings have length 1. */
const NOISE = 0.5;
const SEED = 7;
/** Documents per thousand that the filters keep. */
const SHARES = [1000, 500, 100, 10, 1];
const CHANGES = 40;
/** Merges and graphs are done once the server has used at most this much CPU during `IDLE_MS`. */
const IDLE_CPU_SECONDS = 0.05;
const IDLE_MS = 3_000;
const NEVER = '1000000000000';

const { values } = parseArgs({
  options: {
    queries: { type: 'string', default: '300' },
    checked: { type: 'string', default: '50' },
    documents: { type: 'string', default: '63436' },
    copies: { type: 'string', default: '0' },
    scanned: { type: 'string', default: '300000' },
    port: { type: 'string', default: '7897' },
  },
});
const copies = Number(values.copies);

/** Reads rows of half-precision numbers as single precision. */
function readHalves(name: string, rows: number): Float32Array {
  const bytes = readFileSync(join(DATA, name));
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  return Float32Array.from(halves.subarray(0, rows * DIMENSIONS), fromHalf);
}

function rowOf(matrix: Float32Array, row: number): Float32Array {
  return matrix.subarray(row * DIMENSIONS, (row + 1) * DIMENSIONS);
}

/** Computed in double precision. */
function cosine(a: Float32Array, b: Float32Array): number {
  let [product, left, right] = [0, 0, 0];
  for (let i = 0; i < DIMENSIONS; i++) {
    product += a[i]! * b[i]!;
    left += a[i]! * a[i]!;
    right += b[i]! * b[i]!;
  }
  return product / Math.sqrt(left * right);
}

const packages = gunzipSync(readFileSync(join(DATA, 'debian-packages.ndjson.gz')))
  .toString()
  .trim()
  .split('\n')
  .slice(0, Number(values.documents))
  .map((line) => JSON.parse(line) as Record<string, unknown>);
const originals = readHalves('package-vectors.f16', packages.length);
const texts = readFileSync(join(DATA, 'vector-queries.ndjson'), 'utf8')
  .trim()
  .split('\n')
  .slice(0, Number(values.queries))
  .map((line) => (JSON.parse(line) as { q: string }).q);
const queries = readHalves('vector-queries.f16', texts.length);
const checked = Math.min(texts.length, Number(values.checked));

const count = packages.length * (1 + copies);
const vectors = new Float32Array(count * DIMENSIONS);
const random = new Random(SEED);
const NOISE_PER_COMPONENT = (NOISE * Math.sqrt(3)) / Math.sqrt(DIMENSIONS);

/** Document number `key` with its embedding, which is kept. */
function documentOf(key: number): string {
  const original = key % packages.length;
  const numbers: number[] = [];
  for (let i = 0; i < DIMENSIONS; i++) {
    const noise = key === original ? 0 : (random.next() * 2 - 1) * NOISE_PER_COMPONENT;
    const number = Number((originals[original * DIMENSIONS + i]! + noise).toPrecision(DIGITS));
    vectors[key * DIMENSIONS + i] = number;
    numbers.push(number);
  }
  return JSON.stringify({
    ...packages[original],
    key,
    share: key % 1000,
    _vectors: { mini: numbers },
  });
}

const dir = mkdtempSync(join(tmpdir(), 'gannet-vector-search-'));
const port = Number(values.port);
const start = (scanned: string): Promise<ServerProcess> =>
  ServerProcess.start({
    dir: join(dir, 'data'),
    port,
    env: {
      GANNET_TUNING: JSON.stringify({
        scannedCandidatesMax: Number(scanned),
        ...(scanned === NEVER && { signedRowsMin: Number(NEVER) }),
      }),
    },
  });
let server = await start(values.scanned);

async function ask(body: unknown): Promise<{ ms: number; keys: number[] }> {
  const bytes = Buffer.from(JSON.stringify(body));
  const begun = performance.now();
  const response = await server.client.call('POST', '/indexes/packages/search', { bytes });
  const ms = performance.now() - begun;
  if (response.status !== 200) throw new Error(response.text);
  return { ms, keys: response.json<{ hits: { key: number }[] }>().hits.map(({ key }) => key) };
}

const shown = { attributesToRetrieve: ['key'], limit: NEAREST };
const byVector = (n: number, share: number): object => ({
  ...{ vector: [...rowOf(queries, n)], ...shown },
  ...(share < 1000 && { filter: `share < ${share}` }),
  hybrid: { embedder: 'mini', semanticRatio: 1 },
});

/**
 * Median latency in milliseconds, and CPU per request, of several kinds of requests that alternate.
 */
async function timed(kinds: Record<string, (n: number) => object>): Promise<string> {
  const lists = new Map(
    Object.keys(kinds).map((name) => [name, { times: [] as number[], cpu: 0 }]),
  );
  const clock = new CpuClock(server.pid);
  for (let n = 0; n < texts.length; n++) {
    for (const [name, body] of Object.entries(kinds)) {
      const list = lists.get(name)!;
      clock.lap();
      list.times.push((await ask(body(n))).ms);
      const { mainMs, otherMs } = clock.lap();
      list.cpu += mainMs + otherMs;
    }
  }
  return [...lists]
    .map(
      ([name, { times, cpu }]) =>
        `${name} ${percentiles(times).p50Ms.toFixed(2)} ms (CPU ${(cpu / times.length).toFixed(2)} ms)`,
    )
    .join(', ');
}

/** The nearest documents among those that a filter keeps, found by a plain loop. */
function nearestKeys(near: Float32Array, share: number): Set<number> {
  const keys: number[] = [];
  for (let key = 0; key < count; key++) {
    if (key % 1000 >= share) continue;
    if (keys.length === NEAREST && near[key]! <= near[keys.at(-1)!]!) continue;
    let at = keys.length;
    while (at > 0 && near[keys[at - 1]!]! < near[key]!) at--;
    keys.splice(at, 0, key);
    keys.length = Math.min(keys.length, NEAREST);
  }
  return new Set(keys);
}

try {
  await server.client.call('PATCH', '/indexes/packages/settings', {
    body: {
      searchableAttributes: ['name', 'summary', 'description'],
      filterableAttributes: ['share'],
      embedders: { mini: { source: 'userProvided', dimensions: DIMENSIONS } },
    },
  });
  const peak = new MemoryPeak(server.pid);
  for (let key = 0; key < count;) {
    const lines: string[] = [];
    for (let size = 0; key < count && size < BATCH_BYTES; key++) {
      lines.push(documentOf(key));
      size += lines.at(-1)!.length;
    }
    const { status, text } = await server.client.call(
      'POST',
      '/indexes/packages/documents?primaryKey=key',
      { bytes: Buffer.from(lines.join('\n')), type: 'application/x-ndjson' },
    );
    if (status !== 202) throw new Error(text);
    await settle(server.client);
  }
  const { results } = await server.client.get<{ results: unknown[] }>('/tasks?statuses=failed');
  if (results.length > 0) throw new Error(JSON.stringify(results[0]));
  const loaded = cpuSeconds(server.pid);
  const meanwhile: number[] = [];
  for (let last = -1, now = loaded; now - last > IDLE_CPU_SECONDS; now = cpuSeconds(server.pid)) {
    meanwhile.push((await ask(byVector(meanwhile.length % texts.length, 1000))).ms);
    last = cpuSeconds(server.pid);
    await sleep(IDLE_MS);
  }
  const during = percentiles(meanwhile);
  console.log(
    `${count} documents: ${loaded.toFixed(0)} s of CPU, ${cpuSeconds(server.pid).toFixed(0)} s with merges and graphs; ` +
      `private memory ${peak.stop().toFixed(0)} MB; ${meanwhile.length} searches meanwhile: p50 ${during.p50Ms.toFixed(1)} ms, ` +
      `slowest ${during.maxMs.toFixed(1)} ms`,
  );

  const shares = Object.fromEntries(
    SHARES.map((share) => [`${share / 10} %`, (n: number) => byVector(n, share)]),
  );
  const kinds = {
    words: (n: number) => ({ q: texts[n]!, ...shown }),
    vectors: (n: number) => byVector(n, 1000),
    both: (n: number) => ({ ...byVector(n, 1000), q: texts[n]!, hybrid: { embedder: 'mini', semanticRatio: 0.5 } }), // prettier-ignore
  };
  await timed(kinds); // caches are warm from then on
  console.log(`p50: ${await timed(kinds)}`);
  console.log(`p50 by share: ${await timed(shares)}`);

  const found = new Map(SHARES.map((share) => [share, 0]));
  const wanted = new Map(SHARES.map((share) => [share, 0]));
  for (let n = 0; n < checked; n++) {
    const query = rowOf(queries, n);
    const near = new Float32Array(count);
    for (let key = 0; key < count; key++) near[key] = (1 + cosine(query, rowOf(vectors, key))) / 2;
    for (const share of SHARES) {
      const nearest = nearestKeys(near, share);
      for (const key of (await ask(byVector(n, share))).keys) {
        if (nearest.has(key)) found.set(share, found.get(share)! + 1);
      }
      wanted.set(share, wanted.get(share)! + nearest.size);
    }
  }
  const recalls = SHARES.map(
    (share) => `${share / 10} %: ${found.get(share)! / wanted.get(share)!}`,
  );
  console.log(`recall@${NEAREST} by share of the documents: ${recalls.join(', ')}`);

  await server.stop();
  server = await start(NEVER);
  await timed({ vectors: kinds.vectors });
  console.log(`p50 by share, scanned: ${await timed(shares)}`);
  await server.stop();
  server = await start(values.scanned);

  const changes = { with: [] as number[], without: [] as number[] };
  for (let n = 0; n < 2 * CHANGES; n++) {
    const mini = n % 2 === 0 ? [...rowOf(queries, n % texts.length)] : null;
    const document = { ...packages[n], key: n, share: n % 1000, _vectors: { mini } };
    const begun = performance.now();
    const { taskUid } = (
      await server.client.call('POST', '/indexes/packages/documents', { body: document })
    ).json<{ taskUid: number }>();
    while (
      (await server.client.get<{ status: string }>(`/tasks/${taskUid}`)).status !== 'succeeded'
    );
    changes[mini === null ? 'without' : 'with'].push(performance.now() - begun);
  }
  const [one, other] = [changes.with, changes.without].map((times) => percentiles(times).p50Ms) as [number, number]; // prettier-ignore
  console.log(
    `a change of one document: p50 ${one.toFixed(1)} ms with a vector, ${other.toFixed(1)} ms without (${(one / other).toFixed(2)} times)`,
  );
} finally {
  await server.kill();
  rmSync(dir, { recursive: true, force: true });
}
