/**
 * What the setting `substringAttributes` costs: CPU and bytes of loading the same documents without
 * and with it, then CPU of searches, alternately, block by block.
 *
 *   node --import=tsx perf/substrings.ts --data catalog.ndjson
 *       [--fields title,description,brand] [--attributes title,brand] [--pairs 10] [--searches 40]
 *
 * Searches are two words that are neighbours in a field, and one word of which the first and the
 * last characters are cut off.
 */
import { parseArgs } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { addDocuments, sampleTexts } from './corpus.ts';
import { CpuClock, cpuSeconds } from './process-stats.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'title,description,brand' },
    attributes: { type: 'string', default: 'title,brand' },
    pairs: { type: 'string', default: '10' },
    searches: { type: 'string', default: '40' },
    seed: { type: 'string', default: '7' },
  },
});

const fields = values.fields.split(',');
const attributes = values.attributes.split(',');
const random = mulberry(Number(values.seed));
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
const texts = await sampleTexts(values.data, attributes[0]!);

async function load(server: BuiltServer, uid: string, substringAttributes: string[]) {
  const before = cpuSeconds(server.pid);
  await server.finish('PATCH', `/indexes/${uid}/settings`, {
    body: { searchableAttributes: fields, substringAttributes },
  });
  await addDocuments(server, uid, values.data);
  const cpu = cpuSeconds(server.pid) - before;
  const { indexSize } = (await server.call('GET', `/indexes/${uid}/stats`)).json;
  console.log(`load ${uid}: CPU ${cpu.toFixed(1)} s, ${(indexSize / 1e6).toFixed(1)} MB`);
}

function wordsOf(min: number): string[] {
  for (;;) {
    const words = pick(texts)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu);
    if (words !== null && words.length >= min) return words;
  }
}

function twoWords(): string {
  const words = wordsOf(2);
  const at = Math.floor(random() * (words.length - 1));
  return words.slice(at, at + 2).join(' ');
}

function partOfAWord(): string {
  for (;;) {
    const word = pick(wordsOf(1));
    if (word.length >= 6) return word.slice(1 + Math.floor(random() * 2), -1);
  }
}

const server = await startBuiltServer();
try {
  await load(server, 'without', []);
  await load(server, 'with', attributes);
  const cpu = new CpuClock(server.pid);
  for (const [name, query] of [
    ['two words', twoWords],
    ['a part of a word', partOfAWord],
  ] as const) {
    const spent: Record<string, number[]> = { without: [], with: [] };
    const hits: Record<string, number> = { without: 0, with: 0 };
    // The first block of each warms up.
    for (let pair = 0; pair <= Number(values.pairs); pair++) {
      const queries = Array.from({ length: Number(values.searches) }, query);
      for (const uid of ['without', 'with']) {
        cpu.lap();
        for (const q of queries) {
          const body = { q, attributesToRetrieve: ['id'] };
          const { status, json } = await server.call('POST', `/indexes/${uid}/search`, { body });
          if (status !== 200) throw new Error(`status ${status}`);
          hits[uid]! += json.hits.length;
        }
        const { mainMs, otherMs } = cpu.lap();
        if (pair > 0) spent[uid]!.push((mainMs + otherMs) / queries.length);
      }
    }
    const ratio = median(spent['with']!.map((ms, n) => ms / spent['without']![n]!));
    const shown = ['without', 'with'].map(
      (uid) => `${uid} ${median(spent[uid]!).toFixed(3)} ms, ${hits[uid]} hits`,
    );
    console.log(`${name}: ${shown.join('; ')}; CPU ratio ${ratio.toFixed(2)}`);
  }
} finally {
  await server.close();
}
