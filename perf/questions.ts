/**
 * Compares the cost of questions of twenty words (`natural`) with that of keyword searches of two
 * words (`last`) on one server, alternately, block by block: CPU of the process, and latency.
 *
 *   node --import=tsx perf/questions.ts --data packages.ndjson.gz
 *       [--fields name,summary,description] [--pairs 10] [--searches 100]
 *
 * The words are neighbours in the last of the fields.
 */
import { parseArgs } from 'node:util';
import { startBuiltServer } from '../test/support/built-server.ts';
import { mulberry } from '../test/support/random.ts';
import { CpuClock } from './process-stats.ts';
import { bytesOf } from './searches.ts';
import { percentiles } from './statistics.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: 'test/demo/books.ndjson' },
    fields: { type: 'string', default: 'name,summary,description' },
    pairs: { type: 'string', default: '10' },
    searches: { type: 'string', default: '100' },
    seed: { type: 'string', default: '7' },
  },
});

const documents = bytesOf(values.data).toString().trimEnd();
const lines = documents.split('\n');
const fields = values.fields.split(',');
const random = mulberry(Number(values.seed));

function queryOf(words: number): string {
  for (;;) {
    const line = lines[Math.floor(random() * lines.length)]!;
    const text = String((JSON.parse(line) as Record<string, unknown>)[fields.at(-1)!] ?? '');
    const all = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    if (all.length < words) continue;
    const from = Math.floor(random() * (all.length - words + 1));
    return all.slice(from, from + words).join(' ');
  }
}

const server = await startBuiltServer();
try {
  await server.finish('PATCH', '/indexes/questions/settings', {
    body: { searchableAttributes: fields },
  });
  await server.finish('POST', '/indexes/questions/documents?primaryKey=id', {
    text: documents,
    type: 'application/x-ndjson',
  });
  const cpu = new CpuClock(server.pid);
  const sideOf = (
    matchingStrategy: string,
    words: number,
  ): { matchingStrategy: string; words: number; cpu: number[]; times: number[] } => ({
    matchingStrategy,
    words,
    cpu: [],
    times: [],
  });
  const sides = [sideOf('last', 2), sideOf('natural', 20)];
  // The first block of each warms up.
  for (let pair = 0; pair <= Number(values.pairs); pair++) {
    for (const side of sides) {
      const block: number[] = [];
      cpu.lap();
      for (let n = 0; n < Number(values.searches); n++) {
        const { matchingStrategy } = side;
        const body = { q: queryOf(side.words), matchingStrategy, attributesToRetrieve: ['id'] };
        const begin = performance.now();
        const { status } = await server.call('POST', '/indexes/questions/search', { body });
        if (status !== 200) throw new Error(`status ${status}`);
        block.push(performance.now() - begin);
      }
      const { mainMs, otherMs } = cpu.lap();
      if (pair === 0) continue;
      side.cpu.push((mainMs + otherMs) / block.length);
      side.times.push(...block);
    }
  }
  const mean = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
  const found = sides.map((side) => ({ ...side, of: percentiles(side.times) }));
  for (const { matchingStrategy, words, cpu: blocks, of } of found) {
    const name = `${matchingStrategy}, ${words} words`;
    const [p50, p99] = [of.p50Ms.toFixed(2), of.p99Ms.toFixed(2)];
    console.log(`${name.padEnd(18)} CPU ${mean(blocks).toFixed(3)} ms, p50 ${p50}, p99 ${p99} ms`);
  }
  const ratios = found[0]!.cpu.map((ms, n) => found[1]!.cpu[n]! / ms).sort((a, b) => a - b);
  const middle = ratios[Math.floor(ratios.length / 2)]!;
  const p99 = found[1]!.of.p99Ms / found[0]!.of.p99Ms;
  console.log(`ratio of CPU ${middle.toFixed(2)} (median of the pairs), of p99 ${p99.toFixed(2)}`);
} finally {
  await server.close();
}
