/**
 * What the stages of searches cost: CPU of searches of two words, with and without
 * `showPerformanceDetails`, alternately, block by block.
 *
 *   node --import=tsx perf/stages.ts --data packages.ndjson [--field description] [--pairs 20]
 *       [--searches 100]
 */
import { parseArgs } from 'node:util';
import { startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { addDocuments, sampleTexts } from './corpus.ts';
import { CpuClock } from './process-stats.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    field: { type: 'string', default: 'description' },
    pairs: { type: 'string', default: '20' },
    searches: { type: 'string', default: '100' },
    seed: { type: 'string', default: '7' },
  },
});

const random = mulberry(Number(values.seed));
const int = (end: number): number => Math.floor(random() * end);
const texts = await sampleTexts(values.data, values.field);

function twoWords(): string {
  for (;;) {
    const words = texts[int(texts.length)]!.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const at = int(words.length - 1);
    if (words.length > 1) return words.slice(at, at + 2).join(' ');
  }
}

const server = await startBuiltServer();
try {
  await addDocuments(server, 'a', values.data);
  const cpu = new CpuClock(server.pid);
  const spent: [without: number[], shown: number[]] = [[], []];
  // The first pair warms up.
  for (let pair = 0; pair <= Number(values.pairs); pair++) {
    const queries = Array.from({ length: Number(values.searches) }, twoWords);
    const order = pair % 2 === 0 ? [0, 1] : [1, 0];
    for (const side of order) {
      cpu.lap();
      for (const q of queries) {
        const body = { q, ...(side === 1 && { showPerformanceDetails: true }) };
        const { status } = await server.call('POST', '/indexes/a/search', { body });
        if (status !== 200) throw new Error(`status ${status}`);
      }
      const { mainMs, otherMs } = cpu.lap();
      if (pair > 0) spent[side]!.push((mainMs + otherMs) / queries.length);
    }
  }
  const [without, shown] = spent;
  const ratio = median(shown.map((ms, n) => ms / without[n]!));
  console.log(
    `without ${median(without).toFixed(3)} ms, shown ${median(shown).toFixed(3)} ms: ${ratio.toFixed(3)}`,
  );
} finally {
  await server.close();
}
