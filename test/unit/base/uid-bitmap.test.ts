import assert from 'node:assert/strict';
import { decodeUids, encodeUids } from '../../../src/base/uid-bitmap.ts';
import { mulberry } from '../../support/random.ts';

describe('sets of task uids in dumps', () => {
  const seed = Math.floor(Math.random() * 2 ** 32);

  it(`are read as they were written (seed ${seed})`, () => {
    const random = mulberry(seed);
    for (let round = 0; round < 30; round++) {
      const span = [10, 5000, 70_000, 2 ** 32][round % 4]!;
      const count = Math.floor(random() * 8000);
      const uids = new Set(Array.from({ length: count }, () => Math.floor(random() * span)));
      const sorted = [...uids].toSorted((a, b) => a - b);
      assert.deepEqual(decodeUids(encodeUids(sorted)), sorted);
    }
  });

  it('have the bytes of RoaringFormatSpec', () => {
    assert.deepEqual(encodeUids([]), [58, 48, 0, 0, 0, 0, 0, 0]);
    const two = [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 3, 0, 7, 0];
    assert.deepEqual(encodeUids([3, 7]), two);
    // One container with a run from 5 to 9.
    assert.deepEqual(decodeUids([59, 48, 0, 0, 1, 0, 0, 4, 0, 1, 0, 5, 0, 4, 0]), [5, 6, 7, 8, 9]);
  });

  it('are refused when they are cut off', () => {
    const bytes = encodeUids([1, 2, 70_000]);
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(decodeUids(bytes.slice(0, length)), null);
    }
    assert.equal(decodeUids('AAAA'), null);
  });
});
