/**
 * How long the ordinary searches of one key take while another key sends the costliest.
 *
 *   node --import=tsx perf/fairness.ts --data packages.ndjson.gz --fields name,summary
 *       [--clients 64] [--searches 400] [--rounds 3] [--kinds formula,natural] [--queries 100]
 *       [--weight 1]
 *
 * One client with its own key sends searches of two words, one after the other: alternately at rest
 * and while `clients` clients of the other key send merged searches of many queries each.
 * `--weight` is that of the other key.
 */
import { parseArgs } from 'node:util';
import { Agent, fetch } from 'undici';
import { startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { bytesOf } from './searches.ts';
import { median, percentiles, type Percentiles } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,author' },
    clients: { type: 'string', default: '64' },
    searches: { type: 'string', default: '400' },
    rounds: { type: 'string', default: '3' },
    kinds: { type: 'string', default: 'formula,natural' },
    queries: { type: 'string', default: '100' },
    weight: { type: 'string', default: '1' },
    seed: { type: 'string', default: '7' },
  },
});
const lines = bytesOf(values.data).toString().trimEnd();
const documents = lines
  .split('\n')
  .map((line, n) => `${line.slice(0, -1)},"units":${(n * 7919) % 10_007}}`);
const random = mulberry(Number(values.seed));
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
const fields = values.fields.split(',');

function words(count: number): string {
  const all: string[] = [];
  while (all.length < count) {
    const text = (JSON.parse(pick(documents)) as Record<string, unknown>)[pick(fields)];
    all.push(...String(text ?? '').split(/\s+/));
  }
  return all.slice(0, count).join(' ');
}

/** Queries that take long. No two are equal. */
const COSTLY: Record<string, (n: number) => object> = {
  formula: (n) => ({ sort: [`log(1 + units / ${n + 1}) * units:desc`] }),
  natural: () => ({ q: words(12), matchingStrategy: 'natural' }),
};

const server = await startBuiltServer([]);
const agent = new Agent({ connections: Number(values.clients) + 1 });
try {
  await server.finish('PATCH', '/indexes/a/settings', {
    body: { searchableAttributes: fields, sortableAttributes: ['units'] },
  });
  const type = 'application/x-ndjson';
  for (let at = 0; at < documents.length; at += 20_000) {
    const text = documents.slice(at, at + 20_000).join('\n');
    await server.finish('POST', '/indexes/a/documents', { text, type });
  }
  const newKey = async (weight: number): Promise<string> => {
    const body = { actions: ['search'], indexes: ['*'], expiresAt: null, weight };
    return (await server.call('POST', '/keys', { body })).json.key;
  };
  const heavy = await newKey(Number(values.weight));
  const ordinary = await newKey(1);

  const send = async (path: string, key: string, body: object): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const options = { method: 'POST', headers, body: JSON.stringify(body), dispatcher: agent };
    const response = await fetch(server.url + path, options);
    await response.text();
    return response.status;
  };
  const measured = async (): Promise<Percentiles> => {
    const times: number[] = [];
    for (let n = 0; n < Number(values.searches); n++) {
      const query = { q: words(2) };
      const begin = performance.now();
      const status = await send('/indexes/a/search', ordinary, query);
      if (status !== 200) throw new Error(`an ordinary search got ${status}`);
      times.push(performance.now() - begin);
    }
    return percentiles(times);
  };

  for (const kind of values.kinds.split(',')) {
    const query = COSTLY[kind]!;
    const count = Number(values.queries);
    let next = 0;
    const costly = (): Promise<number> => {
      const queries = Array.from({ length: count }, () => ({ indexUid: 'a', ...query(next++) }));
      return send('/multi-search', heavy, { queries, federation: { limit: 1 } });
    };
    await measured();
    const begin = performance.now();
    await costly();
    const alone = performance.now() - begin;
    const ratios: Record<'p50Ms' | 'p99Ms', number[]> = { p50Ms: [], p99Ms: [] };
    for (let round = 0; round < Number(values.rounds); round++) {
      const rest = await measured();
      let [isOver, ended] = [false, 0];
      const clients = Array.from({ length: Number(values.clients) }, async () => {
        while (!isOver) if ((await costly()) === 200) ended++;
      });
      const loadBegin = performance.now();
      const loaded = await measured();
      const perSecond = (ended / (performance.now() - loadBegin)) * 1000;
      isOver = true;
      await Promise.all(clients);
      for (const share of ['p50Ms', 'p99Ms'] as const)
        ratios[share].push(loaded[share] / rest[share]);
      const shown = (times: Percentiles): string =>
        `p50 ${times.p50Ms.toFixed(2)} p99 ${times.p99Ms.toFixed(2)} ms`;
      console.log(
        `${kind}: at rest ${shown(rest)}; with the other key ${shown(loaded)}, which got ${perSecond.toFixed(1)} of ${alone.toFixed(0)} ms a second`,
      );
    }
    const times = (share: 'p50Ms' | 'p99Ms'): string => median(ratios[share]).toFixed(2);
    console.log(`${kind}: median of the ratios: p50 ${times('p50Ms')}, p99 ${times('p99Ms')}`);
  }
} finally {
  await agent.close();
  await server.close();
}
