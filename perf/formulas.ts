/**
 * Compares the cost of searches sorted by a formula with that of the same searches without sort
 * and sorted by an attribute, alternately, block by block: CPU of the process.
 *
 *   node --import=tsx perf/formulas.ts --data catalog.ndjson
 *       [--fields title,description,brand] [--pairs 10] [--searches 40] [--formula F]
 *
 * Half of the comparisons are searches of two words, neighbours in the second of the fields; the
 * others have no words. The rule `sort` is the first in one half of each.
 */
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { addDocuments, sampleTexts } from './corpus.ts';
import { CpuClock } from './process-stats.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,description,brand' },
    formula: {
      type: 'string',
      default: 'log(1 + stock) * rating * (0.2 + decay(releasedAt, now, 365d))',
    },
    sort: { type: 'string', default: 'price:asc' },
    pairs: { type: 'string', default: '10' },
    searches: { type: 'string', default: '40' },
    seed: { type: 'string', default: '7' },
  },
});

const fields = values.fields.split(',');
const random = mulberry(Number(values.seed));
const texts = await sampleTexts(values.data, fields[1]!);

async function load(server: BuiltServer): Promise<void> {
  const rules = ['words', 'typo', 'proximity', 'attribute', 'exactness'];
  for (const [uid, rankingRules] of [
    ['last', [...rules, 'sort']],
    ['first', ['sort', ...rules]],
  ] as const) {
    await server.finish('PATCH', `/indexes/${uid}/settings`, {
      body: {
        searchableAttributes: fields,
        sortableAttributes: ['price', 'stock', 'rating', 'releasedAt', '_geo'],
        rankingRules,
      },
    });
    await addDocuments(server, uid, values.data);
  }
}

function twoWords(): string {
  for (;;) {
    const text = texts[Math.floor(random() * texts.length)]!;
    const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    if (words.length < 2) continue;
    const at = Math.floor(random() * (words.length - 1));
    return words.slice(at, at + 2).join(' ');
  }
}

const server = await startBuiltServer();
try {
  await load(server);
  const cpu = new CpuClock(server.pid);
  const sides = { plain: [], sort: [values.sort], formula: [`${values.formula}:desc`] };
  for (const uid of ['last', 'first']) {
    for (const words of [true, false]) {
      const spent: Record<string, number[]> = { plain: [], sort: [], formula: [] };
      // The first block of each warms up.
      for (let pair = 0; pair <= Number(values.pairs); pair++) {
        const queries = Array.from({ length: Number(values.searches) }, () =>
          words ? twoWords() : '',
        );
        for (const [name, sort] of Object.entries(sides)) {
          cpu.lap();
          for (const q of queries) {
            const body = { q, sort, attributesToRetrieve: ['id'] };
            const { status } = await server.call('POST', `/indexes/${uid}/search`, { body });
            if (status !== 200) throw new Error(`status ${status}`);
          }
          const { mainMs, otherMs } = cpu.lap();
          if (pair > 0) spent[name]!.push((mainMs + otherMs) / queries.length);
        }
      }
      const ratio = (name: string): string =>
        median(spent[name]!.map((ms, n) => ms / spent['plain']![n]!)).toFixed(2);
      const ms = (name: string): string => median(spent[name]!).toFixed(3);
      console.log(
        `sort ${uid}, ${words ? 'two words' : 'no words'}: CPU ms plain ${ms('plain')}, ` +
          `sort ${ms('sort')} (${ratio('sort')}), formula ${ms('formula')} (${ratio('formula')})`,
      );
    }
  }
} finally {
  await server.close();
}
