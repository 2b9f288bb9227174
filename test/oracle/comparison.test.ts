/**
 * The engine against the oracle on random collections and searches. Short here, and the same every time, so that a change is
 * judged by what it changes; `npm run oracle` (run.ts) looks for more with a new seed each time, does any number of
 * comparisons, and tells what one is. SEED=N takes another seed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { runRounds } from './rounds.ts';

const COMPARISONS = 20_000;
const SEED = Number(process.env['SEED'] ?? 2013369976);

describe('The engine and the oracle', () => {
  it('give the same answers to random searches of random collections', async function () {
    this.timeout(0);
    const { failures } = await runRounds({
      seed: SEED,
      comparisons: COMPARISONS,
      round: null,
      size: null,
      keepGoing: false,
      shrinks: true,
      log: console.log,
    });
    assert.deepEqual(failures, [], `seed ${SEED}`);
  });

  // The engine reads how large a large bucket is once: a process of its own.
  it('give the same answers where every bucket is split from posting lists', function () {
    this.timeout(0);
    const args = [
      '--import=tsx',
      'test/oracle/run.ts',
      '--comparisons',
      String(COMPARISONS),
      '--seed',
      String(SEED),
    ];
    const ended = spawnSync(process.execPath, args, {
      env: { ...process.env, GANNET_LARGE_BUCKET: '1', GANNET_FREQUENT_MIN: '2' },
      encoding: 'utf8',
    });
    assert.equal(ended.status, 0, ended.stdout + ended.stderr);
  });
});
