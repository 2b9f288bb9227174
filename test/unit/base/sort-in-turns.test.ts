import assert from 'node:assert/strict';
import { sortInTurns } from '../../../src/base/sort-in-turns.ts';
import { mulberry } from '../../support/random.ts';

describe('Sorting in turns', () => {
  const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);

  it(`gives what sorting at once gives, equal elements in their order (seed ${seed})`, async () => {
    const random = mulberry(seed);
    for (const length of [0, 1, 2, 999, 1000, 1001, 2000, 7123]) {
      const values = Array.from({ length }, (_, at) => ({ at, key: Math.floor(random() * 50) }));
      const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
      const before = [...values];
      assert.deepEqual(await sortInTurns(values, compare), values.toSorted(compare));
      assert.deepEqual(values, before);
    }
  });
});
