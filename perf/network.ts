/**
 * Compares three servers that hold a third of a catalogue each and are searched as one
 * (`useNetwork`) with one server that holds all of it. Runs the same queries alternately, first
 * sequentially, then at full load.
 *
 *     node --import=tsx perf/network.ts --catalog catalog.ndjson --queries q.ndjson [--rounds 3]
 *         [--seconds 5] [--connections 16] [--port 7821]
 *
 * The files are those that `catalog.mjs` and `queries.mjs` write. The servers and the client share
 * the machine: on few cores the figures show the cost of a network, not the gain from more
 * machines. Linux only.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { CATALOGUE_SETTINGS } from './corpus.ts';
import { CpuClock } from './process-stats.ts';
import { call, loadProducts, queriesOf } from './products.ts';
import { percentiles } from './statistics.ts';
import { requestsPerSecond } from './throughput.ts';

const MEMBERS = 3;
const SEARCH = '/indexes/products/search';

const { values } = parseArgs({
  options: {
    catalog: { type: 'string' },
    queries: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '16' },
    port: { type: 'string', default: '7821' },
  },
});
if (values.catalog === undefined || values.queries === undefined)
  throw new Error('--catalog and --queries are needed');
const rounds = Number(values.rounds);

const queries = queriesOf(values.queries);

const dir = mkdtempSync(join(tmpdir(), 'gannet-network-'));
const servers: ServerProcess[] = [];

interface Way {
  name: string;
  asked: ServerProcess;
  /** Servers whose CPU is counted. */
  working: readonly ServerProcess[];
  body: object;
}

/** Runs all queries in each variant, alternately, then measures requests per second. */
async function compare(ways: readonly Way[]): Promise<void> {
  const costs = ways.map(() => ({ times: [] as number[], cpuMs: 0, perSecond: [] as number[] }));
  const bodyOf = (q: string, { body }: Way): object => ({ q, ...body });
  for (let round = -1; round < rounds; round++) {
    for (const [n, way] of ways.entries()) {
      const clocks = way.working.map(({ pid }) => new CpuClock(pid));
      for (const clock of clocks) clock.lap();
      const times: number[] = [];
      for (const q of queries) {
        const begin = performance.now();
        await way.asked.client.post(SEARCH, bodyOf(q, way));
        times.push(performance.now() - begin);
      }
      // The first round warms up.
      if (round < 0) continue;
      const cost = costs[n]!;
      cost.times.push(...times);
      for (const clock of clocks) {
        const { mainMs, otherMs } = clock.lap();
        cost.cpuMs += mainMs + otherMs;
      }
      const { requests, failures } = requestsPerSecond({
        ...{ port: way.asked.port, path: SEARCH },
        bodies: queries.map((q) => JSON.stringify(bodyOf(q, way))),
        ...{ connections: Number(values.connections), seconds: Number(values.seconds) },
      });
      if (failures > 0) throw new Error(`${failures} searches failed`);
      cost.perSecond.push(requests);
    }
  }
  for (const [n, { times, cpuMs, perSecond }] of costs.entries()) {
    const { p50Ms, p99Ms } = percentiles(times);
    const requests = perSecond.reduce((sum, one) => sum + one, 0) / perSecond.length;
    console.log(
      `${ways[n]!.name.padEnd(36)} p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms, ` +
        `${requests.toFixed(0)} a second, CPU ${(cpuMs / rounds / queries.length).toFixed(2)} ms`,
    );
  }
}

try {
  for (let n = 0; n <= MEMBERS; n++) {
    const port = Number(values.port) + n;
    servers.push(await ServerProcess.start({ dir: join(dir, `${n}`), port }));
  }
  const [whole, ...members] = servers as [ServerProcess, ...ServerProcess[]];
  const remotes = Object.fromEntries(
    members.map(({ port }, n) => [`s${n}`, { url: `http://127.0.0.1:${port}` }]),
  );
  for (const [n, server] of members.entries()) {
    await call(server, 'PATCH', '/experimental-features', { network: true });
    await call(server, 'PATCH', '/network', { self: `s${n}`, remotes });
  }
  for (const server of servers) {
    await call(server, 'PATCH', '/indexes/products/settings', CATALOGUE_SETTINGS);
  }
  await loadProducts(values.catalog, [whole]);
  await loadProducts(values.catalog, members);
  const filtered = { filter: 'rating > 2', facets: ['brand', 'category'] };
  await compare(
    [{}, filtered].flatMap((body): Way[] => {
      const what = 'facets' in body ? 'filter, two facets' : 'words';
      return [
        { name: `${what}: one server`, asked: whole, working: [whole], body },
        {
          name: `${what}: three servers as one`,
          ...{ asked: members[0]!, working: members },
          body: { ...body, useNetwork: true },
        },
      ];
    }),
  );
} finally {
  for (const server of servers) await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
