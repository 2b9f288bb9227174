/**
 * How do the costs of a catalogue grow with its size?
 *
 *   node --import=tsx perf/growth.ts --data PACKAGES --docs 100000,1000000 [--limit-mib 2048]
 *
 * Loads catalogues of these sizes into servers of their own, each under a limit of memory that the
 * kernel enforces, and prints what a load, searches, changes of one document and a start cost, with
 * the exponent of each: 1 is as fast as the documents, 0 not at all. Times of searches, changes and
 * starts are CPU time of the process, so that other processes do not count.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Client } from '../test/http/kill/support/client.ts';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { freePort } from '../test/support/free-port.ts';
import { catalogue, CATALOGUE_SETTINGS, chunksOf, type Document, writeNdjson } from './corpus.ts';
import { finished, load } from './measures.ts';
import { memoryLimit } from './memory-limit.ts';
import { CpuClock, cpuSeconds, diskMb, privateMb } from './process-stats.ts';
import { makeQueries } from './queries.ts';
import { type Figures, growthTable, percentiles } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    docs: { type: 'string', default: '100000,1000000' },
    'limit-mib': { type: 'string', default: '2048' },
    searches: { type: 'string', default: '1000' },
    changes: { type: 'string', default: '60' },
    starts: { type: 'string', default: '3' },
  },
});
if (values.data === undefined) throw new Error('--data is needed');
const data = values.data;

const INDEX = 'bench';
const SEED = 7;
const BATCH_BYTES = 10_000_000;
const SAMPLED = 10_000;
const SEARCHES = {
  fields: ['title', 'description'],
  kinds: ['exact', 'prefix', 'typo', 'typoprefix', 'phrase', 'common'] as const,
};
const IDLE_LOOK_MS = 500;
const IDLE_CPU_SECONDS = 0.03;

/** Waits until merges have ended. */
async function idle(pid: number): Promise<void> {
  for (let before = -1; cpuSeconds(pid) - before > IDLE_CPU_SECONDS;) {
    before = cpuSeconds(pid);
    await sleep(IDLE_LOOK_MS);
  }
}

/** CPU of each search of one client. */
async function searches({ client, pid }: ServerProcess, sample: Document[]): Promise<Figures> {
  const model = { ...SEARCHES, kinds: [...SEARCHES.kinds], count: Number(values.searches) };
  const queries = makeQueries(sample, model, SEED);
  const search = async (q: string): Promise<void> =>
    void (await client.post(`/indexes/${INDEX}/search`, { q, limit: 20 }));
  for (const { q } of queries) await search(q);
  const cpu = new CpuClock(pid);
  const times: number[] = [];
  for (const { q } of queries) {
    cpu.lap();
    await search(q);
    const { mainMs, otherMs } = cpu.lap();
    times.push(mainMs + otherMs);
  }
  const { p50Ms, p99Ms } = percentiles(times);
  return { 'search: CPU p50, ms': p50Ms, 'search: CPU p99, ms': p99Ms };
}

/** CPU of changing one document, with the merges that changes cause. */
async function changes({ client, pid }: ServerProcess, sample: Document[]): Promise<Figures> {
  const count = Number(values.changes);
  const before = cpuSeconds(pid);
  for (let n = 0; n < count; n++) {
    const { id } = sample[(n * 97) % sample.length]!;
    const body = [{ id, title: `changed entry ${n}` }];
    await client.call('PUT', `/indexes/${INDEX}/documents`, { body });
    await finished(client);
  }
  await idle(pid);
  return { 'change of one document: CPU, ms': ((cpuSeconds(pid) - before) * 1000) / count };
}

async function measured(docs: number): Promise<Figures> {
  const dir = mkdtempSync(join(tmpdir(), 'gannet-growth-'));
  const limit = memoryLimit(Number(values['limit-mib']) * 2 ** 20);
  const file = join(dir, 'catalogue.ndjson');
  const sample: Document[] = [];
  const every = Math.max(1, Math.floor(docs / SAMPLED));
  let seen = 0;
  const count = await writeNdjson(catalogue(data, docs, SEED), file, (document) => {
    if (seen++ % every === 0) sample.push(document);
  });
  const options = {
    ...{ dir: join(dir, 'data'), port: await freePort(), wrapper: limit.wrapper },
  };
  let server = await ServerProcess.start(options);
  try {
    const bench = { server, dir: options.dir, index: INDEX };
    const chunks = chunksOf(file, BATCH_BYTES);
    const loaded = await load(bench, CATALOGUE_SETTINGS, chunks, count);
    await idle(server.pid);
    const figures: Figures = {
      'load: CPU, s': loaded['cpuSeconds']!,
      'load: peak private memory, MB': loaded['peakPrivateMb']!,
      'disk, bytes per document': (diskMb(options.dir) * 1e6) / docs,
      ...(await searches(server, sample)),
      'private memory after searches, MB': privateMb(server.pid),
      ...(await changes(server, sample)),
    };
    const starts: number[] = [];
    for (let n = 0; n < Number(values.starts); n++) {
      await server.stop();
      server = await ServerProcess.start(options);
      starts.push(cpuSeconds(server.pid) * 1000);
    }
    figures['start to ready: CPU, ms'] = percentiles(starts).p50Ms;
    figures['private memory after the start, MB'] = privateMb(server.pid);
    await firstSearch(server.client);
    return { ...figures, ...limit.read() };
  } finally {
    await server.stop();
    limit.remove();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A server that is ready has its documents. */
async function firstSearch(client: Client): Promise<void> {
  const { hits } = await client.post<{ hits: unknown[] }>(`/indexes/${INDEX}/search`, {});
  if (hits.length === 0) throw new Error('nothing is found after a start');
}

const sizes = values.docs.split(',').map(Number);
const figures: Figures[] = [];
for (const docs of sizes) {
  console.error(`${docs} documents`);
  figures.push(await measured(docs));
}
console.log(growthTable('documents', sizes, figures));
