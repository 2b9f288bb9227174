/**
 * The engine against the oracle on random collections and searches. Short here; `npm run oracle` (run.ts) does any
 * number of comparisons, and tells what one is. SEED=N repeats a run.
 */
import assert from 'node:assert/strict';
import { newSeed } from '../http/kill/support/random.ts';
import { runRounds } from './rounds.ts';

const COMPARISONS = 20_000;

describe('The engine and the oracle', () => {
  it('give the same answers to random searches of random collections', async function () {
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
});
