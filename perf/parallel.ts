/**
 * What the help of idle threads costs: CPU of a search by a server that takes its machine to have
 * 1, 2, 4 or 8 cores, and so has as many search threads.
 *
 *   node --import=tsx perf/parallel.ts --data catalog.ndjson [--cores 1,2,4,8]
 *       [--clients 1,32] [--rounds 8] [--searches 400]
 *
 * Each server has the same documents, in one segment. All get the same searches, one server after
 * the other, so that each round compares them; the ratio is the median over the rounds. `waited` is
 * the share of the wall time that threads waited for a core: where the machine has fewer cores than
 * the server has threads, helpers start late and help less.
 */
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { addDocuments, CATALOGUE_SETTINGS, sampleTexts } from './corpus.ts';
import { CpuClock } from './process-stats.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    cores: { type: 'string', default: '1,2,4,8' },
    clients: { type: 'string', default: '1,32' },
    rounds: { type: 'string', default: '8' },
    searches: { type: 'string', default: '400' },
    seed: { type: 'string', default: '7' },
  },
});
if (values.data === undefined) throw new Error('--data FILE.ndjson is missing');

const random = mulberry(Number(values.seed));
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
const texts = (await sampleTexts(values.data, 'description')).map((text) => text.split(/\s+/));

/** Two neighbours in a text: most searches read some hundreds of documents. */
function neighbours(): string {
  const words = pick(texts);
  const at = Math.floor(random() * Math.max(1, words.length - 1));
  return words.slice(at, at + 2).join(' ');
}

/** Words of one text that are far apart: many documents have them, and most are read. */
function apart(): string {
  const words = pick(texts);
  return [pick(words), pick(words), pick(words)].join(' ');
}

/** The server believes that the machine has this many cores. */
function withCores(cores: string): Promise<BuiltServer> {
  const module = `import os from 'node:os'; os.availableParallelism = () => ${cores};`;
  const url = `data:text/javascript,${encodeURIComponent(module)}`;
  return startBuiltServer(['--http-threads', '1'], { NODE_OPTIONS: `--import=${url}` });
}

async function search(server: BuiltServer, q: string): Promise<void> {
  const body = { q, attributesToRetrieve: ['id'] };
  const { status } = await server.call('POST', '/indexes/perf/search', { body });
  if (status !== 200) throw new Error(`status ${status}`);
}

/** CPU of a search by the whole process, ms, and the share of the time spent waiting for a core. */
async function round(server: BuiltServer, queries: readonly string[], clients: number) {
  const cpu = new CpuClock(server.pid);
  const begin = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < queries.length) await search(server, queries[next++]!);
  };
  await Promise.all(Array.from({ length: clients }, client));
  const { mainMs, otherMs, waitedMs } = cpu.lap();
  return {
    ms: (mainMs + otherMs) / queries.length,
    engineMs: otherMs / queries.length,
    waited: waitedMs / (performance.now() - begin),
  };
}

type Round = Awaited<ReturnType<typeof round>>;
const servers: { cores: string; server: BuiltServer }[] = [];
try {
  for (const cores of values.cores.split(',')) {
    const server = await withCores(cores);
    servers.push({ cores, server });
    await server.finish('PATCH', '/indexes/perf/settings', { body: CATALOGUE_SETTINGS });
    await addDocuments(server, 'perf', values.data);
    await server.finish('POST', '/indexes/perf/compact');
  }
  console.log('| clients, words | cores | CPU | engine | ratio: CPU | engine | waited |');
  console.log('|---|---|---|---|---|---|---|');
  for (const clients of values.clients.split(',')) {
    for (const kind of [neighbours, apart]) {
      const rounds = servers.map((): Round[] => []);
      // The first round warms up.
      for (let at = 0; at <= Number(values.rounds); at++) {
        const queries = Array.from({ length: Number(values.searches) }, kind);
        const order = at % 2 === 0 ? [...servers.keys()] : [...servers.keys()].reverse();
        for (const n of order) {
          const one = await round(servers[n]!.server, queries, Number(clients));
          if (at > 0) rounds[n]!.push(one);
        }
      }
      for (const [n, { cores }] of servers.entries()) {
        const of = (key: keyof Round): number => median(rounds[n]!.map((one) => one[key]));
        const ratio = (key: keyof Round): string =>
          median(rounds[n]!.map((one, at) => one[key] / rounds[0]![at]![key])).toFixed(2);
        const cells = [`${of('ms').toFixed(3)} ms`, `${of('engineMs').toFixed(3)} ms`];
        const row = [...cells, ratio('ms'), ratio('engineMs'), of('waited').toFixed(2)];
        console.log(`| ${clients}, ${kind.name} | ${cores} | ${row.join(' | ')} |`);
      }
    }
  }
} finally {
  for (const { server } of servers) await server.close();
}
