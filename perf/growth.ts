/**
 * How do the costs of a catalogue grow with its size?
 *
 *   node --import=tsx perf/growth.ts --data PACKAGES --docs 100000,1000000,10000000
 *       [--catalog-file FILE] [--limit-mib 2048]
 *
 * Loads the first documents of a catalogue into servers of their own, each under a limit of memory
 * that the kernel enforces, runs the workloads of the catalogue, and prints their figures with the
 * exponent of each: 1 is as fast as the documents, 0 not at all. Figures named CPU are CPU times of
 * the process, so that other processes do not count; the others are times that a client waits.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { freePort } from '../test/support/free-port.ts';
import {
  catalogue,
  CATALOGUE_SETTINGS,
  chunksOf,
  type Document,
  firstLines,
  writeNdjson,
} from './corpus.ts';
import { type Bench, load, measure, mergesEnded } from './measures.ts';
import { memoryLimit } from './memory-limit.ts';
import { CpuClock, cpuSeconds, DiskPeak, diskMb, privateMb } from './process-stats.ts';
import { makeQueries } from './queries.ts';
import { type Figures, growthTable, percentiles, prefixed } from './statistics.ts';
import { readWorkloads } from './workload.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    docs: { type: 'string', default: '100000,1000000' },
    'catalog-file': { type: 'string' },
    'limit-mib': { type: 'string', default: '2048' },
    scale: { type: 'string', default: '1' },
    starts: { type: 'string', default: '5' },
  },
});
if (values.data === undefined) throw new Error('--data is needed');
const data = values.data;
const scale = Number(values.scale);

const INDEX = 'bench';
const SEED = 7;
const BATCH_BYTES = 10_000_000;
const SAMPLED = 10_000;
const SEARCHES = {
  fields: ['title', 'description'],
  kinds: ['exact', 'prefix', 'typo', 'typoprefix', 'phrase', 'common'] as const,
  count: 1000,
};

/** Workloads that run on each size, with the figures of each that are printed. */
const WORKLOADS: Readonly<Record<string, readonly string[]>> = {
  'catalogue-search': ['all.p50Ms', 'all.p99Ms', 'open200.p99Ms'],
  'catalogue-requests': [
    'queryFilterFacets.p50Ms',
    'querySortFacet.p50Ms',
    'queryGeoRadius.p50Ms',
    'facets3.p50Ms',
    'filterFacetsSort.p50Ms',
    'geoSort.p50Ms',
    'facetStats.p50Ms',
    'distinct.p50Ms',
    'page500.p50Ms',
  ],
  'catalogue-updates': [
    'toSearchable.p50Ms',
    'toSearchable.p99Ms',
    'cpu.perChangeMs',
    'searchWhileChanging.p99Ratio',
  ],
  'catalogue-settings': ['queryTime.taskMs', 'typoTolerance.taskMs', 'oneMoreFilterable.taskMs'],
};

/** CPU of each search of one client. */
async function searchCpu({ server, sample }: Bench): Promise<Figures> {
  const { client, pid } = server;
  const queries = makeQueries(sample, { ...SEARCHES, kinds: [...SEARCHES.kinds] }, SEED);
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

/** Starts again and again. A server that is ready has its documents. */
async function starts(bench: Bench): Promise<Figures> {
  const ready: number[] = [];
  const first: number[] = [];
  const cpu: number[] = [];
  for (let n = 0; n < Number(values.starts); n++) {
    const figures = await measureStart(bench);
    ready.push(figures['readyMs']!);
    first.push(figures['firstSearchMs']!);
    cpu.push(cpuSeconds(bench.server.pid) * 1000);
  }
  return {
    'stop, and start to ready, ms': percentiles(ready).p50Ms,
    'start: first search, ms': percentiles(first).p50Ms,
    'start: CPU, ms': percentiles(cpu).p50Ms,
    'private memory after the start, MB': privateMb(bench.server.pid),
  };
}

const workloads = readWorkloads();

const measureStart = (bench: Bench): Promise<Figures> =>
  measure({ ...workloads[0]!, measure: { kind: 'start' } }, bench);

async function measured(file: string, docs: number): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'gannet-growth-'));
  const limit = memoryLimit(Number(values['limit-mib']) * 2 ** 20);
  const dir = join(folder, 'data');
  const options = { dir, port: await freePort(), wrapper: limit.wrapper };
  const bench: Bench = {
    ...{ server: await ServerProcess.start(options), dir, index: INDEX, file },
    ...{ documents: docs, sample: await sampled(file, docs), scale },
    restart: async () => {
      await bench.server.stop();
      bench.server = await ServerProcess.start(options);
    },
  };
  try {
    const disk = new DiskPeak(dir);
    const chunks = firstLines(chunksOf(file, BATCH_BYTES), docs);
    const loaded = await load(bench, CATALOGUE_SETTINGS, chunks, docs);
    const cpu = cpuSeconds(bench.server.pid);
    await mergesEnded(bench.server.pid);
    const bytes = diskMb(dir) * 1e6;
    const figures: Figures = {
      'load: wall, s': loaded['wallSeconds']!,
      'load: CPU, s': loaded['cpuSeconds']!,
      'merges after the load: CPU, s': cpuSeconds(bench.server.pid) - cpu,
      'load: peak private memory, MB': loaded['peakPrivateMb']!,
      'disk, bytes per document': bytes / docs,
      'peak of disk, times what remains': (disk.stop() * 1e6) / bytes,
      ...(await searchCpu(bench)),
      'private memory after searches, MB': privateMb(bench.server.pid),
    };
    for (const [name, shown] of Object.entries(WORKLOADS)) {
      console.error(`  ${name}`);
      const workload = workloads.find((one) => one.name === name)!;
      const all = await measure(workload, bench);
      const chosen = Object.fromEntries(shown.map((figure) => [figure, all[figure]!]));
      Object.assign(figures, prefixed(name, chosen));
      await mergesEnded(bench.server.pid);
    }
    figures['private memory at last, MB'] = privateMb(bench.server.pid);
    return { ...figures, ...(await starts(bench)), ...limit.read() };
  } finally {
    await bench.server.stop();
    limit.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Documents spread over the first `docs` of the file. */
async function sampled(file: string, docs: number): Promise<Document[]> {
  const every = Math.max(1, Math.floor(docs / SAMPLED));
  const sample: Document[] = [];
  let n = 0;
  for await (const lines of firstLines(chunksOf(file, BATCH_BYTES), docs)) {
    for (const line of lines.toString().trimEnd().split('\n')) {
      if (n++ % every === 0) sample.push(JSON.parse(line) as Document);
    }
  }
  return sample;
}

const sizes = values.docs.split(',').map(Number);
const made = mkdtempSync(join(tmpdir(), 'gannet-catalogue-'));
const file = values['catalog-file'] ?? join(made, 'catalogue.ndjson');
const figures: Figures[] = [];
try {
  // A smaller catalogue is the beginning of a larger one.
  if (!existsSync(file)) {
    await writeNdjson(catalogue(data, Math.max(...sizes), SEED), file, () => undefined);
  }
  for (const docs of sizes) {
    console.error(`${docs} documents`);
    const one = await measured(file, docs);
    console.error(one);
    figures.push(one);
  }
} finally {
  rmSync(made, { recursive: true, force: true });
}
console.log(growthTable('documents', sizes, figures));
