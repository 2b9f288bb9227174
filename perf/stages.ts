/**
 * What the stages of searches cost: CPU of searches of two words, without them, with
 * `showPerformanceDetails`, and with all of them traced, alternately, block by block.
 *
 *   node --import=tsx perf/stages.ts --data packages.ndjson [--field description] [--pairs 20]
 *       [--searches 100]
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

const collector = createServer((request, response) => {
  request.resume().on('end', () => response.end('{}'));
}).listen(0, '127.0.0.1');
await once(collector, 'listening');
const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
// The main thread serves all requests of either.
const options = ['--http-threads', '1'];
const plain = await startBuiltServer(options);
const traced = await startBuiltServer([...options, '--otlp-endpoint', endpoint]);
const sides = [
  { name: 'without', server: plain, showPerformanceDetails: false },
  { name: 'shown', server: plain, showPerformanceDetails: true },
  { name: 'traced', server: traced, showPerformanceDetails: false },
].map((side) => ({ ...side, cpu: new CpuClock(side.server.pid), spent: [] as number[] }));
try {
  for (const server of [plain, traced]) await addDocuments(server, 'a', values.data);
  // The first round warms up.
  for (let round = 0; round <= Number(values.pairs); round++) {
    const queries = Array.from({ length: Number(values.searches) }, twoWords);
    for (const n of sides.keys()) {
      const { server, cpu, spent, showPerformanceDetails } = sides[(n + round) % sides.length]!;
      cpu.lap();
      for (const q of queries) {
        const body = { q, showPerformanceDetails };
        const { status } = await server.call('POST', '/indexes/a/search', { body });
        if (status !== 200) throw new Error(`status ${status}`);
      }
      const { mainMs, otherMs } = cpu.lap();
      if (round > 0) spent.push((mainMs + otherMs) / queries.length);
    }
  }
  const [without] = sides;
  for (const { name, spent } of sides) {
    const ratio = median(spent.map((ms, n) => ms / without!.spent[n]!));
    console.log(`${name} ${median(spent).toFixed(3)} ms: ${ratio.toFixed(3)}`);
  }
} finally {
  await plain.close();
  await traced.close();
  collector.close();
}
