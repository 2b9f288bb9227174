import assert from 'node:assert/strict';
import { fromRuns, runsOf } from '../../../src/base/uid-runs.ts';

describe('runs of uids', () => {
  it('are the uids', () => {
    for (const uids of [[], [5], [0, 1, 2], [1, 3, 5], [0, 1, 4, 5, 6, 9]]) {
      assert.deepEqual([...fromRuns(runsOf(uids))], uids);
    }
    assert.deepEqual(runsOf([0, 1, 4, 5, 6, 9]), [0, 2, 4, 3, 9, 1]);
  });
});
