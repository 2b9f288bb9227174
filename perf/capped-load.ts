/**
 * Does a load finish under a memory limit that the kernel enforces, while people search?
 *
 *   node --import=tsx perf/capped-load.ts --catalog-file FILE [--limit-mib 512] [--searches 20]
 *       [--server-option=...]
 *   node --import=tsx perf/capped-load.ts --data PACKAGES --catalog 1000000
 *
 * The server runs in its own memory cgroup (version 2 or 1, needs root) without swap, so exceeding
 * the limit kills it. Where that is not permitted, its private address space is limited (`prlimit
 * --data`). Page cache counts within a cgroup, but is reclaimed before anything is killed.
 * `--searches` is the number of searches started per second.
 *
 * Prints figures. Exits with status 1 when the server was killed, a task or a search failed, or
 * documents are missing.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import {
  catalogue,
  CATALOGUE_SETTINGS,
  chunksOf,
  type Document,
  documentsOf,
  writeNdjson,
} from './corpus.ts';
import { load } from './measures.ts';
import { memoryLimit } from './memory-limit.ts';
import { makeQueries } from './queries.ts';
import { percentiles, prefixed } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    catalog: { type: 'string', default: '1000000' },
    'catalog-file': { type: 'string' },
    'limit-mib': { type: 'string', default: '512' },
    searches: { type: 'string', default: '20' },
    'server-option': { type: 'string', multiple: true, default: [] },
    port: { type: 'string', default: '7898' },
  },
});

const INDEX = 'bench';
const SEED = 7;
const BATCH_BYTES = 10_000_000;
const QUERY_SAMPLE = 5_000;
/** The index is empty before this time, ms, so searches would measure nothing. */
const FIRST_SEARCH_MS = 2_000;

const dir = mkdtempSync(join(tmpdir(), 'gannet-capped-'));
const file = values['catalog-file'] ?? join(dir, 'catalogue.ndjson');
if (values['catalog-file'] === undefined) {
  if (values.data === undefined) throw new Error('--catalog-file or --data is needed');
  await writeNdjson(catalogue(values.data, Number(values.catalog), SEED), file, () => {});
}
const sample: Document[] = [];
let documents = 0;
for await (const document of documentsOf(file)) {
  if (documents++ % 97 === 0 && sample.length < QUERY_SAMPLE) sample.push(document);
}
const queries = makeQueries(
  sample,
  { fields: ['title', 'description', 'brand'], count: 1000, kinds: ['exact', 'prefix', 'typo'] },
  SEED,
);

const limit = Number(values['limit-mib']) * 2 ** 20;
const group = memoryLimit(limit);
const server = await ServerProcess.start({
  dir: join(dir, 'data'),
  port: Number(values.port),
  args: values['server-option'],
  wrapper: group.wrapper,
});
let failedSearches = 0;
const failures = new Set<string>();
const times: number[] = [];
const open = new Set<Promise<void>>();
let started = 0;

async function search(n: number): Promise<void> {
  const begin = performance.now();
  const { status, text } = await server.client.call('POST', `/indexes/${INDEX}/search`, {
    body: { q: queries[n % queries.length]!.q, limit: 20, facets: n % 4 === 0 ? ['brand'] : [] },
  });
  if (status === 200) times.push(performance.now() - begin);
  else {
    failedSearches++;
    failures.add(text);
  }
}

/** Starts a search whether or not earlier ones have ended, as visitors do. */
function startSearch(): void {
  const one = search(started++)
    .catch((error: unknown) => {
      failedSearches++;
      failures.add(String(error));
    })
    .finally(() => open.delete(one));
  open.add(one);
}

let ticks: NodeJS.Timeout | undefined;
const start = setTimeout(() => {
  ticks = setInterval(startSearch, 1000 / Number(values.searches));
}, FIRST_SEARCH_MS);
let failed: unknown = null;
let figures: Record<string, number> = {};
try {
  figures = await load(
    { server, dir: join(dir, 'data'), index: INDEX },
    CATALOGUE_SETTINGS,
    chunksOf(file, BATCH_BYTES),
    documents,
  );
} catch (error) {
  failed = error;
}
clearTimeout(start);
clearInterval(ticks);
await Promise.all(open);
const tasks =
  failed === null ? await server.client.get<{ total: number }>('/tasks?statuses=failed') : null;
const seen = group.read();
await server.stop();
group.remove();
rmSync(dir, { recursive: true, force: true });

console.log(`${documents} documents under ${values['limit-mib']} MiB (${group.describe})`);
for (const [name, value] of Object.entries({
  ...figures,
  ...seen,
  searches: times.length,
  failedSearches,
  ...prefixed('search', percentiles(times)),
  ...(tasks === null ? {} : { failedTasks: tasks.total }),
})) {
  console.log(`${name.padEnd(28)} ${Number(value.toFixed(3))}`);
}
for (const failure of [...failures].slice(0, 3)) console.error(failure);
if (failed !== null) console.error(failed);
if (failed !== null || failedSearches > 0 || (tasks?.total ?? 1) > 0) process.exitCode = 1;
