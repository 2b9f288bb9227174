import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MUTANTS } from './mutants.ts';

const SEEDS = '4000';
/** What a simulation is made of. */
const SUPPORT = ['io.ts', 'memory-blobs.ts', 'memory-log.ts', 'random.ts', 'record-run.ts'];
const PARTS = [
  ...['src/cluster', 'src/outbound/concurrency-limit.ts', 'test/simulation'],
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
    it(name, () => {
      const folder = join(root, String(number));
      for (const part of PARTS) cpSync(part, join(folder, part), { recursive: true });
      const path = join(folder, 'src/cluster', file);
      const source = readFileSync(path, 'utf8');
      assert.equal(source.split(from).length, 2, 'the source that is changed is there once');
      writeFileSync(
        path,
        source.replace(from, () => to),
      );
      const args = ['--import=tsx', join(folder, 'test/simulation/run.ts'), '--jobs', '1'];
      const { stdout, status } = spawnSync(process.execPath, [...args, '--seeds', SEEDS], {
        encoding: 'utf8',
        maxBuffer: 2 ** 28,
      });
      assert.equal(status, 1, stdout);
      const found = /^seed \d+ fails: (.*)$/m.exec(stdout)?.[1] ?? stdout;
      assert.match(found, finds);
    });
  }
});
