/**
 * The engine against the oracle on random collections and searches. Short here; `npm run oracle`
 * (run.ts) does any number of comparisons, and tells what one is. SEED=N repeats a run.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { EngineTuning } from '../../src/engine/tuning.ts';
import { newSeed } from '../http/kill/support/random.ts';
import { runRounds } from './rounds.ts';

const COMPARISONS = Number(process.env['GANNET_COMPARISONS'] ?? 10_000);
const EVERYTHING_LARGE: EngineTuning = {
  largeBucketMin: 1,
  cachedWordsMin: 1,
  cachedPositionWordsMin: 1,
  prefixUnionWordsMin: 2,
  storedRestMin: 1,
};

describe('The engine and the oracle', () => {
  it('give the same results to random searches of random collections', async function () {
    this.timeout(0);
    const seed = newSeed();
    const { failures } = await runRounds({
      seed,
      comparisons: COMPARISONS,
      round: null,
      size: null,
      keepGoing: false,
      shrinks: true,
      log: console.log,
    });
    assert.deepEqual(failures, [], `seed ${seed}`);
  });

  // The engine is tuned once per process: each runs in its own.
  function passes(args: readonly string[], tuning: EngineTuning): void {
    const ended = spawnSync(process.execPath, args, {
      env: { ...process.env, GANNET_TUNING: JSON.stringify(tuning) },
      encoding: 'utf8',
    });
    assert.equal(ended.status, 0, ended.stdout + ended.stderr);
  }

  it('give the same results where every bucket is split from posting lists, and all unions are kept or stored', function () {
    this.timeout(0);
    passes(['--import=tsx', 'test/oracle/run.ts', '--comparisons', String(COMPARISONS)], {
      ...EVERYTHING_LARGE,
      frequentDocumentsMin: 2,
    });
  });

  it('agree in the cases found before where every bucket is large, and no lists hold the distances of words', function () {
    this.timeout(0);
    passes(['node_modules/mocha/bin/mocha.js', 'test/oracle/found.test.ts'], EVERYTHING_LARGE);
  });
});
