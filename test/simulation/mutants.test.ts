import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { MUTANTS } from './mutants.ts';

const SEEDS = 4000;
/** What a simulation is made of. */
const SUPPORT = ['io.ts', 'memory-blobs.ts', 'memory-log.ts', 'random.ts'];
const PARTS = [
  ...['src/cluster', 'src/outbound/concurrency-limit.ts', 'src/relevance/random.ts'],
  'test/simulation',
  ...SUPPORT.map((file) => `test/support/${file}`),
];

describe('The simulation finds a core that', () => {
  let root = '';

  before(() => {
    // Below the project: the copies need its packages.
    mkdirSync('build', { recursive: true });
    root = mkdtempSync('build/mutants-');
  });
  after(() => rmSync(root, { recursive: true, force: true }));

  for (const [number, { name, file, from, to, finds }] of MUTANTS.entries()) {
    it(name, async () => {
      const folder = join(root, String(number));
      for (const part of PARTS) cpSync(part, join(folder, part), { recursive: true });
      const path = join(folder, 'src/cluster', file);
      const source = readFileSync(path, 'utf8');
      assert.equal(source.split(from).length, 2, 'the source that is changed is there once');
      writeFileSync(
        path,
        source.replace(from, () => to),
      );
      // A process of its own would take a second to start.
      const changed = resolve(folder, 'test/simulation/simulation.ts');
      const { simulate } = (await import(changed)) as typeof import('./simulation.ts');
      let found: string | null = null;
      for (let seed = 1; seed <= SEEDS && found === null; seed++) {
        found = (await simulate(seed, false)).violation;
      }
      assert.match(found ?? `nothing in ${SEEDS} seeds`, finds);
    });
  }
});
