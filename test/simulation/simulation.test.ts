import assert from 'node:assert/strict';
import { simulate } from './simulation.ts';

const SEEDS = 1000;
const HISTORY_LINES = 100;

describe('A simulated cluster', () => {
  it(`keeps its promises with ${SEEDS} seeds`, async () => {
    const totals: Record<string, number> = {};
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violation, counts } = await simulate(seed, false);
      for (const [name, count] of Object.entries(counts))
        totals[name] = (totals[name] ?? 0) + count;
      if (violation === null) continue;
      const { history } = await simulate(seed, true);
      assert.fail(`seed ${seed}: ${violation}\n${history.slice(-HISTORY_LINES).join('\n')}`);
    }
    // What the seeds are about has happened.
    for (const what of ['writes', 'reads', 'forwarded', 'kills', 'wipes', 'pause', 'jump']) {
      assert.ok(totals[what]! > 100, `${what}: ${totals[what]}`);
    }
    for (const what of ['log', 'blobs', 'peers', 'unknown', 'removals']) {
      assert.ok(totals[what]! > 100, `${what}: ${totals[what]}`);
    }
  });

  it('happens in the same way for the same seed', async () => {
    const [first, second] = [await simulate(7, true), await simulate(7, true)];
    assert.ok(first.history.length > 10);
    assert.deepEqual(first, second);
  });
});
