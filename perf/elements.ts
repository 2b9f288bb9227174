/**
 * What conditions on one element and groups cost: CPU of searches without words, alternately, block
 * by block.
 *
 *   node --import=tsx perf/elements.ts --data catalog.ndjson
 *       [--items 5] [--below 1,5,50,500] [--group brand,category] [--pairs 10] [--searches 20]
 *
 * Each product gets `items`: objects with a price from 0 to 499, one of twenty colours and a
 * quantity. The same filter on them is compared with and without brackets where prices are
 * below each limit, and where a colour is another one; then `groupBy` with `distinct` and with
 * neither, among documents with one price and among all.
 */
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { addDocuments } from './corpus.ts';
import { CpuClock, cpuSeconds } from './process-stats.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    items: { type: 'string', default: '5' },
    below: { type: 'string', default: '1,5,50,500' },
    group: { type: 'string', default: 'brand,category' },
    pairs: { type: 'string', default: '10' },
    searches: { type: 'string', default: '20' },
    seed: { type: 'string', default: '7' },
  },
});

const COLOURS = Array.from({ length: 20 }, (_, n) => `colour${n}`);
const PRICES = 500;
const UID = 'a';
const PATH = `/indexes/${UID}`;
const groups = values.group.split(',').filter(Boolean);
const random = mulberry(Number(values.seed));
const int = (end: number): number => Math.floor(random() * end);

function withItems(line: string): string {
  const items = Array.from({ length: Number(values.items) }, () => ({
    price: int(PRICES),
    colour: COLOURS[int(COLOURS.length)],
    qty: int(10),
  }));
  return `${line.slice(0, -1)},"items":${JSON.stringify(items)}}`;
}

async function load(server: BuiltServer): Promise<void> {
  const before = cpuSeconds(server.pid);
  await server.finish('PATCH', `${PATH}/settings`, {
    body: {
      searchableAttributes: ['title'],
      filterableAttributes: [
        { attributePatterns: ['items'], features: { filter: { elements: true } } },
        { attributePatterns: ['items.*'], features: { filter: { comparison: true } } },
        ...groups,
      ],
    },
  });
  await addDocuments(server, UID, values.data, withItems);
  const { indexSize, numberOfDocuments } = (await server.call('GET', `${PATH}/stats`)).json;
  const cpu = (cpuSeconds(server.pid) - before).toFixed(1);
  console.log(`${numberOfDocuments} documents: CPU ${cpu} s, ${(indexSize / 1e6).toFixed(1)} MB`);
}

/**
 * Prints the CPU of the searches, each with the ratio to the first.
 * @param bodiesOf of one search each, by name, given a random number
 */
async function compare(
  cpu: CpuClock,
  server: BuiltServer,
  title: string,
  bodiesOf: (n: number) => Record<string, object>,
): Promise<void> {
  const names = Object.keys(bodiesOf(0));
  const spent = Object.fromEntries(names.map((name): [string, number[]] => [name, []]));
  const totals: Record<string, number> = {};
  // The first block of each warms up.
  for (let pair = 0; pair <= Number(values.pairs); pair++) {
    const drawn = Array.from({ length: Number(values.searches) }, () => int(1000));
    for (const name of names) {
      cpu.lap();
      for (const n of drawn) {
        const body = { ...bodiesOf(n)[name], attributesToRetrieve: ['id'] };
        const { status, json } = await server.call('POST', `${PATH}/search`, { body });
        if (status !== 200) throw new Error(JSON.stringify(json));
        totals[name] = json.totalGroups ?? json.totalHits ?? json.estimatedTotalHits;
      }
      const { mainMs, otherMs } = cpu.lap();
      if (pair > 0) spent[name]!.push((mainMs + otherMs) / drawn.length);
    }
  }
  const shown = names.map((name) => {
    const ratio = median(spent[name]!.map((ms, n) => ms / spent[names[0]!]![n]!));
    return `${name} ${median(spent[name]!).toFixed(3)} ms (${ratio.toFixed(2)}, ${totals[name]} found)`;
  });
  console.log(`${title}: ${shown.join('; ')}`);
}

const server = await startBuiltServer();
try {
  await load(server);
  const cpu = new CpuClock(server.pid);
  for (const end of values.below.split(',').filter(Boolean)) {
    await compare(cpu, server, `price < ${end}`, (n) => {
      const colour = COLOURS[n % COLOURS.length];
      return {
        without: { filter: `items.price < ${end} AND items.colour = ${colour}` },
        brackets: { filter: `items[price < ${end} AND colour = ${colour}]` },
      };
    });
  }
  await compare(cpu, server, 'NOT colour', (n) => {
    const colour = COLOURS[n % COLOURS.length];
    return {
      without: { filter: `NOT items.colour = ${colour}` },
      brackets: { filter: `items[NOT colour = ${colour}]` },
    };
  });
  for (const attribute of groups) {
    for (const among of ['one price', 'all']) {
      await compare(cpu, server, `groups of ${attribute} among ${among}`, (n) => {
        const filter = among === 'all' ? null : `items.price = ${n % PRICES}`;
        return {
          plain: { filter, hitsPerPage: 20 },
          distinct: { filter, distinct: attribute, hitsPerPage: 20 },
          groupBy: { filter, groupBy: { attribute, hits: 3, limit: 20 } },
        };
      });
    }
  }
} finally {
  await server.close();
}
