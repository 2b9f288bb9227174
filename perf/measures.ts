/** One function per kind of workload. Each gets a loaded server and returns figures. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../test/http/kill/support/client.ts';
import { Random } from '../test/http/kill/support/random.ts';
import type { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { postAll } from './additions.ts';
import { type Document, documentsOf } from './corpus.ts';
import { CpuClock, cpuSeconds, diskMb, MemoryPeak, privateMb } from './process-stats.ts';
import { makeQueries, type Query } from './queries.ts';
import { type Figures, medians, OpenLoop, percentiles, prefixed } from './statistics.ts';
import { requestsPerSecond } from './throughput.ts';
import type { Measure, Workload } from './workload.ts';

/** A server that holds a corpus. */
export interface Bench {
  server: ServerProcess;
  dir: string;
  index: string;
  /** The loaded documents as an NDJSON file, and their number. */
  file: string;
  documents: number;
  /** Documents that queries are made from. */
  sample: readonly Document[];
  /** Factor by which runs are shortened. */
  scale: number;
  restart: () => Promise<void>;
}

type Of<Kind extends Measure['kind']> = Extract<Measure, { kind: Kind }>;

const WARM_UP = 100;
const SETTINGS_REST_SECONDS = 5;
const CANCEL_AFTER_MS = 1000;
const IDLE_LOOK_MS = 500;
const IDLE_LOOKS = 3;
const IDLE_CPU_SECONDS = 0.03;
const HITS = 20;

interface SearchBody {
  hits: Document[];
}

interface TaskBody {
  taskUid: number;
}

export async function measure(workload: Workload, bench: Bench): Promise<Figures> {
  const { measure: what, seed } = workload;
  switch (what.kind) {
    case 'indexing':
      throw new Error('indexing is measured while the corpus is loaded');
    case 'search':
      return measureSearch(what, seed, bench);
    case 'throughput':
      return measureThroughput(what, seed, bench);
    case 'requests':
      return measureRequests(what, seed, bench);
    case 'updates':
      return measureUpdates(what, seed, bench);
    case 'additions':
      return measureAdditions(what, bench);
    case 'settings':
      return measureSettings(what, seed, bench);
    case 'churn':
      return measureChurn(what, seed, bench);
    case 'start':
      return measureStart(bench);
  }
}

/** Sends all chunks one after another, as an importer does, and waits until they are searchable. */
export async function load(
  { server, dir, index }: Pick<Bench, 'server' | 'dir' | 'index'>,
  settings: Record<string, unknown> | null,
  chunks: AsyncIterable<Buffer>,
  documents: number,
): Promise<Figures> {
  const { client, pid } = server;
  await accepted(client, 'POST', '/indexes', { uid: index, primaryKey: 'id' });
  if (settings !== null) await accepted(client, 'PATCH', `/indexes/${index}/settings`, settings);
  await finished(client);
  const memory = new MemoryPeak(pid);
  const cpu = new CpuClock(pid);
  const cpuBefore = cpuSeconds(pid);
  const first = performance.now();
  let sendingMs = 0;
  let bytes = 0;
  for await (const chunk of chunks) {
    const start = performance.now();
    const { status, text } = await client.call('POST', `/indexes/${index}/documents`, {
      bytes: chunk,
      type: 'application/x-ndjson',
    });
    if (status !== 202) throw new Error(text);
    sendingMs += performance.now() - start;
    bytes += chunk.length;
  }
  await finished(client);
  const wallSeconds = (performance.now() - first) / 1000;
  // The indexer's threads end with their batch, so per-thread counters would lose them.
  const seconds = cpuSeconds(pid) - cpuBefore;
  const { mainMs } = cpu.lap();
  const peakPrivateMb = memory.stop();
  const { numberOfDocuments } = await client.get<{ numberOfDocuments: number }>(
    `/indexes/${index}/stats`,
  );
  if (numberOfDocuments !== documents) {
    throw new Error(`${numberOfDocuments} of ${documents} documents are indexed`);
  }
  return {
    documents,
    inputMb: bytes / 1e6,
    wallSeconds,
    sendingSeconds: sendingMs / 1000,
    cpuSeconds: seconds,
    mainThreadCpuSeconds: mainMs / 1000,
    documentsPerSecond: documents / wallSeconds,
    documentsPerCpuSecond: documents / seconds,
    diskMb: diskMb(dir),
    peakPrivateMb,
    privateAfterMb: privateMb(pid),
  };
}

async function measureSearch(
  { queries: model, body, rate, seconds }: Of<'search'>,
  seed: number,
  { server, index, sample, scale }: Bench,
): Promise<Figures> {
  const { client, pid } = server;
  const queries = makeQueries(sample, { ...model, count: scaled(model.count, scale) }, seed);
  const search = ({ q }: Query): Promise<SearchBody> =>
    client.post(`/indexes/${index}/search`, { q, limit: HITS, ...body });
  await warmUp(queries, search);

  const times = new Map<string, { ms: number[]; reciprocal: number; targets: number }>();
  const cpu = new CpuClock(pid);
  const begin = performance.now();
  for (const query of queries) {
    const start = performance.now();
    const { hits } = await search(query);
    const ms = performance.now() - start;
    for (const group of [query.kind, 'all']) {
      const all = times.get(group) ?? { ms: [], reciprocal: 0, targets: 0 };
      times.set(group, all);
      all.ms.push(ms);
      if (query.target === null) continue;
      all.targets++;
      const rank = hits.slice(0, 10).findIndex(({ id }) => id === query.target);
      if (rank >= 0) all.reciprocal += 1 / (rank + 1);
    }
  }
  const wallMs = performance.now() - begin;
  const { mainMs, otherMs, waitedMs } = cpu.lap();
  const figures: Figures = {
    'cpu.perQueryMs': (mainMs + otherMs) / queries.length,
    'cpu.perQueryMainThreadMs': mainMs / queries.length,
    'cpu.perQueryOtherThreadsMs': otherMs / queries.length,
    'cpu.waitedShare': waitedMs / wallMs,
  };
  for (const [group, { ms, reciprocal, targets }] of times) {
    Object.assign(figures, prefixed(group, percentiles(ms)));
    if (targets > 0) figures[`${group}.mrr10`] = reciprocal / targets;
  }

  const open = new OpenLoop(rate, async (n) => void (await search(queries[n % queries.length]!)));
  await open.run(scaled(seconds, scale));
  return {
    ...figures,
    ...prefixed(`open${rate}`, { ...percentiles(open.milliseconds), failures: open.failures }),
  };
}

async function measureThroughput(
  { queries: model, connections, seconds }: Of<'throughput'>,
  seed: number,
  { server, index, sample, scale }: Bench,
): Promise<Figures> {
  const queries = makeQueries(sample, model, seed);
  const bodies = queries.map(({ q }) => JSON.stringify({ q, limit: HITS }));
  const path = `/indexes/${index}/search`;
  const cpu = new CpuClock(server.pid);
  const { requests, failures, tool } = requestsPerSecond({
    port: server.port,
    path,
    bodies,
    connections,
    seconds: scaled(seconds, scale),
  });
  const { mainMs, otherMs } = cpu.lap();
  const completed = requests * scaled(seconds, scale);
  return {
    [`${tool}.requestsPerSecond`]: requests,
    failures,
    'cpu.perQueryMs': (mainMs + otherMs) / completed,
    'cpu.perQueryMainThreadMs': mainMs / completed,
  };
}

async function measureRequests(
  { queries: model, repeat, requests }: Of<'requests'>,
  seed: number,
  { server, index, sample, scale }: Bench,
): Promise<Figures> {
  const { client, pid } = server;
  const queries = makeQueries(sample, model, seed);
  const figures: Figures = {};
  for (const [name, body] of Object.entries(requests)) {
    let next = 0;
    const search = (): Promise<unknown> => {
      const { q } = queries[next++ % queries.length]!;
      return client.post(
        `/indexes/${index}/search`,
        body['q'] === '$query' ? { ...body, q } : body,
      );
    };
    for (let n = 0; n < 5; n++) await search();
    const ms: number[] = [];
    const cpu = new CpuClock(pid);
    const count = Math.max(10, scaled(repeat, scale));
    for (let n = 0; n < count; n++) {
      const start = performance.now();
      await search();
      ms.push(performance.now() - start);
    }
    const { mainMs, otherMs } = cpu.lap();
    Object.assign(
      figures,
      prefixed(name, { ...percentiles(ms), cpuMs: (mainMs + otherMs) / count }),
    );
  }
  return figures;
}

/**
 * Time from sending a change of one document until a search finds it, with and without other
 * searches at the same time.
 */
async function measureUpdates(
  what: Of<'updates'>,
  seed: number,
  { server, index, sample, scale }: Bench,
): Promise<Figures> {
  const { client, pid } = server;
  const random = new Random(seed);
  const queries = makeQueries(sample, what.queries, seed);
  const seconds = scaled(what.seconds, scale);
  let words = 0;
  // No document twice: if it changed again first, its word would never be found.
  const chosen = random.some(sample, sample.length);
  const toTask: number[] = [];

  /** @param planned when the change should have been sent */
  const change = async (planned: number): Promise<number> => {
    const { id } = chosen[words % chosen.length]!;
    const word = newWord(words++);
    const { status, text, json } = await client.call('PUT', `/indexes/${index}/documents`, {
      body: [{ id, [what.field]: `changed ${word} entry` }],
    });
    if (status !== 202) throw new Error(text);
    const { taskUid } = json<TaskBody>();
    for (;;) {
      const task = await client.get<{ status: string }>(`/tasks/${taskUid}`);
      if (task.status === 'succeeded') break;
      if (task.status === 'failed') throw new Error(JSON.stringify(task));
      await sleep(1);
    }
    toTask.push(performance.now() - planned);
    for (;;) {
      const { hits } = await client.post<SearchBody>(`/indexes/${index}/search`, {
        q: `"${word}"`,
        limit: 1,
      });
      if (hits[0]?.id === id) return performance.now() - planned;
      await sleep(1);
    }
  };

  const alone: number[] = [];
  const cpuBefore = cpuSeconds(pid);
  const changes = scaled(what.changes, scale);
  for (let n = 0; n < changes; n++) alone.push(await change(performance.now()));
  const figures: Figures = {
    ...prefixed('toTask', percentiles(toTask)),
    ...prefixed('toSearchable', percentiles(alone)),
    'cpu.perChangeMs': ((cpuSeconds(pid) - cpuBefore) * 1000) / changes,
  };

  const search = async (n: number): Promise<void> => {
    const { q } = queries[n % queries.length]!;
    await client.post(`/indexes/${index}/search`, { q, limit: HITS });
  };
  const rest = new OpenLoop(what.searchesPerSecond, search);
  await rest.run(seconds);
  const during = new OpenLoop(what.searchesPerSecond, search);
  const underLoad: number[] = [];
  const changing = new OpenLoop(what.changesPerSecond, async () => {
    underLoad.push(await change(performance.now()));
  });
  await Promise.all([during.run(seconds), changing.run(seconds)]);
  const [atRest, whileChanging] = [
    percentiles(rest.milliseconds),
    percentiles(during.milliseconds),
  ];
  return {
    ...figures,
    ...prefixed('searchAtRest', atRest),
    ...prefixed('searchWhileChanging', whileChanging),
    'searchWhileChanging.p99Ratio': whileChanging.p99Ms / atRest.p99Ms,
    ...prefixed('toSearchableWhileSearching', percentiles(underLoad)),
    failures: rest.failures + during.failures + changing.failures,
  };
}

/** Adds documents to a separate index. */
async function measureAdditions(
  { documents, connections, rounds }: Of<'additions'>,
  { server, sample, scale }: Bench,
): Promise<Figures> {
  const { client, pid, port } = server;
  const index = 'additions';
  const count = scaled(documents, scale);
  const bodies = Array.from({ length: count }, (_, n) =>
    JSON.stringify([{ ...sample[n % sample.length]!, id: String(n) }]),
  );
  const runs: Figures[] = [];
  for (let round = 0; round < rounds; round++) {
    const cpu = new CpuClock(pid);
    const path = `/indexes/${index}/documents`;
    const { seconds, milliseconds, failures } = await postAll({ port, path, bodies, connections });
    const accepted = performance.now();
    if (failures > 0) throw new Error(`${failures} additions were not accepted`);
    await finished(client);
    const appliedAfterMs = performance.now() - accepted;
    const { mainMs, otherMs } = cpu.lap();
    runs.push({
      acceptedPerSecond: count / seconds,
      appliedAfterMs,
      ...prefixed('accepted', percentiles(milliseconds)),
      'cpu.perDocumentMs': (mainMs + otherMs) / count,
      'cpu.mainPerDocumentMs': mainMs / count,
    });
  }
  return medians(runs);
}

/**
 * Measures how long a change of settings takes, how it slows down searches of that index, and how
 * soon a document of another index that is sent right after it is searchable.
 */
async function measureSettings(
  { changes, canceled, queries: model, searchesPerSecond }: Of<'settings'>,
  seed: number,
  { server, index, sample }: Bench,
): Promise<Figures> {
  const { client, pid } = server;
  const queries = makeQueries(sample, model, seed);
  const other = `${index}-concurrent`;
  await accepted(client, 'POST', '/indexes', { uid: other, primaryKey: 'id' });
  await finished(client);
  const search = async (n: number): Promise<void> => {
    const { q } = queries[n % queries.length]!;
    await client.post(`/indexes/${index}/search`, { q, limit: HITS });
  };
  const rest = new OpenLoop(searchesPerSecond, search);
  await rest.run(SETTINGS_REST_SECONDS);
  const figures: Figures = { ...prefixed('searchAtRest', percentiles(rest.milliseconds)) };
  for (const [name, settings] of Object.entries(changes)) {
    const memory = new MemoryPeak(pid);
    const cpuBefore = cpuSeconds(pid);
    const begin = performance.now();
    const times: number[] = [];
    let running = true;
    const searching = (async () => {
      for (let n = 0; running; n++) {
        const start = performance.now();
        await search(n);
        times.push(performance.now() - start);
        await sleep(1000 / searchesPerSecond);
      }
    })();
    const change = await client.call('PATCH', `/indexes/${index}/settings`, { body: settings });
    const { json } = await client.call('POST', `/indexes/${other}/documents`, {
      body: [{ id: 1, name }],
    });
    const { taskUid } = json<TaskBody>();
    for (;;) {
      const { status } = await client.get<{ status: string }>(`/tasks/${taskUid}`);
      if (status === 'succeeded') break;
      await sleep(1);
    }
    const otherMs = performance.now() - begin;
    await finished(client);
    const { taskUid: changeUid } = change.json<TaskBody>();
    const { duration } = await client.get<{ duration: string }>(`/tasks/${changeUid}`);
    running = false;
    await searching;
    Object.assign(
      figures,
      prefixed(name, {
        taskMs: millisecondsOf(duration),
        documentOfAnotherIndexMs: otherMs,
        cpuSeconds: cpuSeconds(pid) - cpuBefore,
        peakPrivateMb: memory.stop(),
      }),
      prefixed(`${name}.searchMeanwhile`, percentiles(times)),
    );
  }
  const canceledTasks = async (): Promise<number> =>
    (await client.get<{ total: number }>('/tasks?statuses=canceled&limit=0')).total;
  const canceledBefore = await canceledTasks();
  await accepted(client, 'PATCH', `/indexes/${index}/settings`, canceled);
  for (;;) {
    const { total } = await client.get<{ total: number }>('/tasks?statuses=processing&limit=0');
    if (total > 0) break;
    await sleep(1);
  }
  await sleep(CANCEL_AFTER_MS);
  const begin = performance.now();
  await client.call('POST', '/tasks/cancel?statuses=processing');
  await finished(client);
  figures['cancelOfRebuild.ms'] = performance.now() - begin;
  if ((await canceledTasks()) !== canceledBefore + 1)
    throw new Error('the rebuild was not canceled');
  return figures;
}

/** Parses a duration as tasks show it, such as `PT1.25S`. */
function millisecondsOf(duration: string): number {
  const match = /^PT(?:(\d+)M)?([\d.]+)S$/.exec(duration);
  if (match === null) throw new Error(`the duration ${duration}`);
  return (Number(match[1] ?? 0) * 60 + Number(match[2])) * 1000;
}

/**
 * Compares the size of the files after the same documents were rewritten again and again, and after
 * all were deleted, with that of a fresh load.
 */
async function measureChurn(
  { rounds, share, batchBytes }: Of<'churn'>,
  seed: number,
  { server, dir, index, file, documents: count }: Bench,
): Promise<Figures> {
  const { client, pid } = server;
  const random = new Random(seed);
  await mergesEnded(pid);
  const freshMb = diskMb(join(dir, 'indexes'));
  const cpuBefore = cpuSeconds(pid);
  let greatestMb = 0;
  for (let round = 0; round < rounds; round++) {
    const chosen = new Set<number>();
    while (chosen.size < count * share) chosen.add(random.int(0, count));
    let lines: string[] = [];
    let bytes = 0;
    const send = async (): Promise<void> => {
      const { status, text } = await client.call('POST', `/indexes/${index}/documents`, {
        bytes: Buffer.from(lines.join('\n')),
        type: 'application/x-ndjson',
      });
      if (status !== 202) throw new Error(text);
      lines = [];
      bytes = 0;
    };
    let n = 0;
    for await (const document of documentsOf(file)) {
      if (!chosen.has(n++)) continue;
      const line = JSON.stringify({ ...document, round });
      bytes += line.length;
      lines.push(line);
      if (bytes > batchBytes) await send();
    }
    if (lines.length > 0) await send();
    await finished(client);
    greatestMb = Math.max(greatestMb, diskMb(join(dir, 'indexes')));
  }
  await mergesEnded(pid);
  const afterMb = diskMb(join(dir, 'indexes'));
  const seconds = cpuSeconds(pid) - cpuBefore;
  await accepted(client, 'DELETE', `/indexes/${index}/documents`, undefined);
  await finished(client);
  const emptyMb = diskMb(join(dir, 'indexes'));
  return {
    freshMb,
    afterMb,
    ratioToFresh: afterMb / freshMb,
    greatestWhileChangingMb: greatestMb,
    cpuSeconds: seconds,
    emptyMb,
  };
}

/**
 * Waits until the process is idle, because merges continue after the tasks have ended; a large one
 * begins a second after the last search.
 */
export async function mergesEnded(pid: number): Promise<void> {
  for (let idle = 0; idle < IDLE_LOOKS;) {
    const before = cpuSeconds(pid);
    await sleep(IDLE_LOOK_MS);
    idle = cpuSeconds(pid) - before < IDLE_CPU_SECONDS ? idle + 1 : 0;
  }
}

async function measureStart(bench: Bench): Promise<Figures> {
  const start = performance.now();
  await bench.restart();
  const readyMs = performance.now() - start;
  const { client } = bench.server;
  const first = performance.now();
  await client.post(`/indexes/${bench.index}/search`, { q: 'file', limit: HITS });
  return { readyMs, firstSearchMs: performance.now() - first };
}

async function warmUp(
  queries: readonly Query[],
  search: (query: Query) => Promise<unknown>,
): Promise<void> {
  for (const query of queries.slice(0, WARM_UP)) await search(query);
}

export function scaled(count: number, scale: number): number {
  return Math.max(1, Math.round(count * scale));
}

/**
 * Makes a word of letters only, so that it is one word, and a rare one, so that nothing else
 * matches.
 */
function newWord(n: number): string {
  const digits = `${Date.now()}${String(n).padStart(5, '0')}`;
  return `zq${digits.replace(/\d/g, (digit) => 'bcdfghjklm'[Number(digit)]!)}`;
}

async function accepted(
  client: Client,
  method: string,
  path: string,
  body: unknown,
): Promise<void> {
  const { status, text } = await client.call(method, path, { body });
  if (status !== 202) throw new Error(`${method} ${path}: ${text}`);
}

/** Waits until all tasks have finished, without a time limit. Throws when one has failed. */
export async function finished(client: Client): Promise<void> {
  for (;;) {
    const { total } = await client.get<{ total: number }>(
      '/tasks?statuses=enqueued,processing&limit=0',
    );
    if (total === 0) break;
    await sleep(10);
  }
  const failed = await client.get<{ total: number; results: unknown[] }>(
    '/tasks?statuses=failed&limit=1',
  );
  if (failed.total > 0) throw new Error(JSON.stringify(failed.results[0]));
}
