/**
 * What do many indexes, finished tasks and keys cost, and how does that grow with their number?
 *
 *   node --import=tsx perf/many.ts [--indexes 500,5000] [--tasks 100000,900000] [--keys 1000,10000]
 *
 * Each number gets a server of its own. Times are CPU time of the process, medians of several
 * requests. Prints the exponent of each figure: 1 is as fast as the number, 0 not at all.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '../test/http/kill/support/client.ts';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { freePort } from '../test/support/free-port.ts';
import { postAll } from './additions.ts';
import { finished } from './measures.ts';
import { CpuClock, cpuSeconds, diskMb, privateMb } from './process-stats.ts';
import { type Figures, growthTable, percentiles } from './statistics.ts';

const { values } = parseArgs({
  options: {
    indexes: { type: 'string', default: '' },
    tasks: { type: 'string', default: '' },
    keys: { type: 'string', default: '' },
  },
});

const REPEATED = 30;
const DOCUMENTS = 100;
const CONNECTIONS = 16;
const MASTER_KEY = 'masterKeyOfMeasurements';
const WORDS = 'apricot boulder cinnamon dragonfly evergreen fountain gramophone'.split(' ');

interface Bench {
  server: ServerProcess;
  dir: string;
  restart: () => Promise<void>;
}

type Measure = (bench: Bench, count: number) => Promise<Figures>;

/** Median CPU of a request, ms. */
async function cpuOf({ pid }: ServerProcess, request: (n: number) => Promise<unknown>) {
  const cpu = new CpuClock(pid);
  const times: number[] = [];
  for (let n = 0; n < REPEATED; n++) {
    cpu.lap();
    await request(n);
    const { mainMs, otherMs } = cpu.lap();
    times.push(mainMs + otherMs);
  }
  return percentiles(times).p50Ms;
}

const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Starts the server again. */
async function started(bench: Bench): Promise<Figures> {
  const times: number[] = [];
  for (let n = 0; n < 3; n++) {
    await bench.restart();
    times.push(cpuSeconds(bench.server.pid) * 1000);
  }
  return {
    'start to ready: CPU, ms': percentiles(times).p50Ms,
    'private memory after the start, MB': privateMb(bench.server.pid),
  };
}

const indexes: Measure = async (bench, count) => {
  const { server, dir } = bench;
  const before = cpuSeconds(server.pid);
  const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({
    ...{ id, title: `${WORDS[id % 7]} ${WORDS[(id * 3 + 1) % 7]} ${id}` },
  }));
  for (let n = 0; n < count; n++) {
    const { status, text } = await server.client.call('POST', `/indexes/many-${n}/documents`, {
      body: documents,
    });
    if (status !== 202) throw new Error(text);
  }
  await finished(server.client);
  const loading = cpuSeconds(server.pid) - before;
  const figures: Figures = {
    'CPU of an index with 100 documents, ms': (loading * 1000) / count,
    'disk, bytes per index': (diskMb(join(dir, 'indexes')) * 1e6) / count,
    'private memory after the load, MB': privateMb(server.pid),
  };
  const search = (client: Client, n: number): Promise<unknown> =>
    client.post(`/indexes/many-${n}/search`, { q: WORDS[n % 7] });
  const cpu = cpuSeconds(server.pid);
  for (let n = 0; n < count; n++) await search(server.client, n);
  figures['search of an index that is closed: CPU, ms'] =
    ((cpuSeconds(server.pid) - cpu) * 1000) / count;
  figures['private memory after searching all, MB'] = privateMb(server.pid);
  figures['open files after searching all'] = openFiles(server.pid);
  figures['search of an open index: CPU, ms'] = await cpuOf(server, () =>
    search(server.client, count - 1),
  );
  figures['GET /indexes?limit=20: CPU, ms'] = await cpuOf(server, () =>
    server.client.get('/indexes?limit=20'),
  );
  figures['GET /stats: CPU, ms'] = await cpuOf(server, () => server.client.get('/stats'));
  Object.assign(figures, await started(bench));
  figures['open files after the start'] = openFiles(bench.server.pid);
  return figures;
};

const tasks: Measure = async (bench, count) => {
  const { server, dir } = bench;
  const before = cpuSeconds(server.pid);
  const texts = Array.from({ length: 100 }, (_, id) =>
    JSON.stringify([{ id, title: WORDS[id % 7] }]),
  );
  for (let left = count; left > 0; left -= 10_000) {
    const bodies = Array.from({ length: Math.min(left, 10_000) }, (_, n) => texts[n % 100]!);
    const path = '/indexes/tasks/documents?primaryKey=id';
    const sent = { port: server.port, path, bodies, connections: CONNECTIONS, key: MASTER_KEY };
    const { failures } = await postAll(sent);
    if (failures > 0) throw new Error(`${failures} additions were not accepted`);
  }
  await finished(server.client);
  const loading = cpuSeconds(server.pid) - before;
  const get = (path: string): Promise<number> => cpuOf(server, () => server.client.get(path));
  const hour = new Date(Date.now() - 60_000).toISOString();
  return {
    'CPU of a task, ms': (loading * 1000) / count,
    'disk, bytes per task': (diskMb(join(dir)) * 1e6) / count,
    'private memory, MB': privateMb(server.pid),
    'one more task: CPU, ms': await cpuOf(server, async () => {
      await server.client.call('POST', '/indexes/tasks/documents', { body: [{ id: 1 }] });
      await finished(server.client);
    }),
    'GET /tasks: CPU, ms': await get('/tasks?limit=20'),
    'GET /tasks of a status: CPU, ms': await get('/tasks?statuses=failed&limit=20'),
    'GET /tasks of an index and a minute: CPU, ms': await get(
      `/tasks?indexUids=tasks&afterEnqueuedAt=${hour}&limit=20`,
    ),
    'GET /batches: CPU, ms': await get('/batches?limit=20'),
    ...(await started(bench)),
  };
};

const keys: Measure = async (bench, count) => {
  const { server } = bench;
  const before = cpuSeconds(server.pid);
  const made: string[] = [];
  for (let n = 0; n < count; n++) {
    const body = { actions: ['search'], indexes: ['movies'], expiresAt: null, name: `key ${n}` };
    const { json } = await server.client.call('POST', '/keys', { body });
    made.push(json<{ key: string }>().key);
  }
  const loading = cpuSeconds(server.pid) - before;
  const body = [{ id: 1, title: 'apricot' }];
  await server.client.call('POST', '/indexes/movies/documents', { body });
  await finished(server.client);
  const searching = async (): Promise<number> => {
    const times: number[] = [];
    for (let n = 0; n < 5; n++) {
      const client = new Client(bench.server.port, made[(n * 7919) % count]);
      const search = () => client.post('/indexes/movies/search', { q: 'apricot' });
      times.push(await cpuOf(bench.server, search));
      client.close();
    }
    return percentiles(times).p50Ms;
  };
  return {
    'CPU of a key, ms': (loading * 1000) / count,
    'private memory, MB': privateMb(server.pid),
    'search with a key: CPU, ms': await searching(),
    'GET /keys?limit=20: CPU, ms': await cpuOf(server, () => server.client.get('/keys?limit=20')),
    ...(await started(bench)),
    'search with a key after the start: CPU, ms': await searching(),
  };
};

async function measured(measure: Measure, count: number): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'gannet-many-'));
  const dir = join(folder, 'data');
  const options = { dir, port: await freePort(), key: MASTER_KEY, args: ['--log-level', 'warn'] };
  const bench: Bench = {
    server: await ServerProcess.start(options),
    dir,
    restart: async () => {
      await bench.server.stop();
      bench.server = await ServerProcess.start(options);
    },
  };
  try {
    return await measure(bench, count);
  } finally {
    await bench.server.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const [name, measure] of Object.entries({ indexes, tasks, keys })) {
  const sizes = values[name as keyof typeof values].split(',').filter(Boolean).map(Number);
  if (sizes.length === 0) continue;
  const figures: Figures[] = [];
  for (const count of sizes) figures.push(await measured(measure, count));
  console.log(`${growthTable(name, sizes, figures)}\n`);
}
