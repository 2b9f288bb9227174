/**
 * Measures what stored search rules and foreign keys cost a search. Runs the same queries with and
 * without them, alternately, on one server. Prints the server's CPU per search and the latency of
 * sequential searches.
 *
 *     node --import=tsx perf/enriched.ts --catalog catalog.ndjson --queries q.ndjson
 *         [--rounds 6] [--port 7897]
 *
 * The files are those that `catalog.mjs` and `queries.mjs` write. A product's `stock` is taken as
 * the id of another product, so a page of 20 hits has up to 20 different foreign documents. Linux
 * only.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ServerProcess } from '../test/http/kill/support/server-process.ts';
import { finished } from './measures.ts';
import { CpuClock } from './process-stats.ts';
import { call, loadProducts, queriesOf } from './products.ts';
import { percentiles } from './statistics.ts';

const RULES = 100;
const RULES_IN_FORCE = 10;

const { values } = parseArgs({
  options: {
    catalog: { type: 'string' },
    queries: { type: 'string' },
    rounds: { type: 'string', default: '6' },
    port: { type: 'string', default: '7897' },
  },
});
if (values.catalog === undefined || values.queries === undefined)
  throw new Error('--catalog and --queries are needed');
const rounds = Number(values.rounds);

const queries = queriesOf(values.queries);

const dir = mkdtempSync(join(tmpdir(), 'gannet-enriched-'));
const server = await ServerProcess.start({ dir, port: Number(values.port) });
const { client } = server;

/** Stores rules that no query matches, except the first `inForce`, which match all queries. */
async function storeRules(inForce: number): Promise<void> {
  for (let n = 0; n < RULES; n++) {
    const unmet =
      n % 2 === 0
        ? { query: { words: `word${n} other` } }
        : { filter: { values: { category: `category ${n}` } } };
    await call(server, 'PATCH', `/dynamic-search-rules/rule-${n}`, {
      conditions: n < inForce ? {} : unmet,
      actions: [
        {
          selector: { indexUid: 'products', id: String(n * 17) },
          action: { type: 'pin', position: n },
        },
      ],
    });
  }
  await finished(client);
}

interface Way {
  name: string;
  features: Record<string, boolean>;
  body?: object;
}

interface Cost {
  cpuMs: number;
  mainMs: number;
  times: number[];
}

/** Runs all queries in each variant, alternately. */
async function compare(ways: readonly Way[]): Promise<void> {
  const costs = ways.map((): Cost => ({ cpuMs: 0, mainMs: 0, times: [] }));
  const clock = new CpuClock(server.pid);
  for (let round = -1; round < rounds; round++) {
    for (const [n, { features, body }] of ways.entries()) {
      await call(server, 'PATCH', '/experimental-features', features);
      const times: number[] = [];
      clock.lap();
      for (const q of queries) {
        const begin = performance.now();
        await client.post('/indexes/products/search', { q, ...body });
        times.push(performance.now() - begin);
      }
      const { mainMs, otherMs } = clock.lap();
      // The first round warms up.
      if (round < 0) continue;
      const cost = costs[n]!;
      cost.cpuMs += mainMs + otherMs;
      cost.mainMs += mainMs;
      cost.times.push(...times);
    }
  }
  const count = rounds * queries.length;
  for (const [n, { cpuMs, mainMs, times }] of costs.entries()) {
    const { p50Ms, p99Ms } = percentiles(times);
    const ratio = cpuMs / costs[0]!.cpuMs;
    console.log(
      `${ways[n]!.name.padEnd(34)} CPU ${(cpuMs / count).toFixed(3)} ms (main thread ${(mainMs / count).toFixed(3)}), ` +
        `${ratio.toFixed(2)} times; p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms`,
    );
  }
}

try {
  await call(server, 'PATCH', '/indexes/products/settings', {
    searchableAttributes: ['title', 'description', 'brand'],
    filterableAttributes: ['brand', 'category', 'price', 'stock', 'rating', 'available'],
    sortableAttributes: ['price'],
  });
  await loadProducts(values.catalog, [server]);
  const off = { dynamicSearchRules: false, foreignKeys: false };
  const rules = { ...off, dynamicSearchRules: true };
  await call(server, 'PATCH', '/experimental-features', {
    dynamicSearchRules: true,
    foreignKeys: true,
  });
  await call(server, 'PATCH', '/indexes/products/settings', {
    foreignKeys: [{ foreignIndexUid: 'products', fieldName: 'stock' }],
  });
  await storeRules(0);
  const filter = 'price < 50';
  await compare([
    { name: 'plain', features: off },
    { name: `${RULES} rules, none in force`, features: rules },
    { name: 'hydrated', features: { ...off, foreignKeys: true } },
    { name: 'plain with a filter', features: off, body: { filter } },
    { name: `${RULES} rules with a filter`, features: rules, body: { filter } },
  ]);
  await storeRules(RULES_IN_FORCE);
  await compare([
    { name: 'plain', features: off },
    { name: `${RULES} rules, ${RULES_IN_FORCE} in force`, features: rules },
    { name: 'plain with a filter', features: off, body: { filter } },
    { name: `${RULES_IN_FORCE} in force with a filter`, features: rules, body: { filter } },
  ]);
} finally {
  await server.kill();
  rmSync(dir, { recursive: true, force: true });
}
