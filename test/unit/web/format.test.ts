import assert from 'node:assert/strict';
import { durationMs, indentJson, size } from '../../../src/web/format.ts';

describe('What the page writes for people', () => {
  it('has sizes and durations in units', () => {
    assert.equal(size(0), '0\u00a0bytes');
    assert.equal(size(1536), '1.5\u00a0KiB');
    assert.equal(size(5 * 1024 ** 3), '5\u00a0GiB');
    assert.equal(durationMs('PT0.25S'), 250);
    assert.equal(durationMs('P1DT2H3M4S'), (((24 + 2) * 60 + 3) * 60 + 4) * 1000);
    assert.equal(durationMs(null), null);
    assert.equal(durationMs('soon'), null);
  });

  it('indents JSON like JSON.stringify, token by token', () => {
    const values: unknown[] = [
      null,
      [],
      {},
      [[], {}],
      { a: [1, 2, { b: 'x, [y] {z}: "q" \\' }], c: {}, d: 'é\n' },
      'a\\"b',
    ];
    for (const value of values) {
      assert.equal(indentJson(JSON.stringify(value)), JSON.stringify(value, null, 2));
    }
    assert.equal(
      indentJson('[12345678901234567890,1.0e5]'),
      '[\n  12345678901234567890,\n  1.0e5\n]',
    );
  });
});
