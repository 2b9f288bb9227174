import assert from 'node:assert/strict';
import { dateOfNanos, nanosOf } from '../../../src/base/exact-date.ts';

describe('Dates with nanoseconds', () => {
  it('are read and written', () => {
    const rows: [string, bigint, string?][] = [
      ['1970-01-01T00:00:00Z', 0n, '1970-01-01T00:00:00.000000Z'],
      ['1970-01-01T00:00:00.000000001Z', 1n],
      ['1969-12-31T23:59:59.999999999Z', -1n],
      ['2025-02-04T10:14:43.550379968Z', 1_738_664_083_550_379_968n],
      ['2025-02-04T10:14:43.5503799Z', 1_738_664_083_550_379_900n],
      ['2025-02-04T10:14:43.550379Z', 1_738_664_083_550_379_000n],
    ];
    for (const [text, nanos, written = text] of rows) {
      assert.equal(nanosOf(text), nanos, text);
      assert.equal(dateOfNanos(nanos), written);
    }
  });

  it('are refused when they are something else', () => {
    for (const text of [
      ...['', 'null', '2025-02-04', '2025-02-04T10:14:43+01:00', '2025-13-04T10:14:43Z'],
      '2025-02-04T10:14:43.1234567890Z',
    ]) {
      assert.equal(nanosOf(text), null, text);
    }
  });
});
