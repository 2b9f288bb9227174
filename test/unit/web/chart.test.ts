import assert from 'node:assert/strict';
import { roundAbove } from '../../../src/web/histogram.ts';

describe('The axis of a chart', () => {
  it('ends at a round number above the values, of which a half is whole', () => {
    for (let value = 0; value < 5000; value++) {
      const top = roundAbove(value, 1000);
      assert.ok(top >= value && top <= Math.max(2, 2 * value), `${value}: ${top}`);
      assert.match(String(top), /^(?:10|[12468])0*$/);
      assert.ok(Number.isInteger(top / 2));
    }
  });

  it('counts bytes in powers of 1024', () => {
    assert.equal(roundAbove(3 * 1024 ** 2, 1024), 4 * 1024 ** 2);
    assert.equal(roundAbove(45 * 1024 ** 3, 1024), 60 * 1024 ** 3);
  });
});
