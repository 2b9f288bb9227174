import assert from 'node:assert/strict';
import { Moments, rfc3339 } from '../../../src/base/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('moments', () => {
  it('go on at the pace of time while the clock is behind them', () => {
    let elapsed = 0;
    const clock = Object.assign(new FakeClock('2030-01-01T00:00:00Z'), { elapsed: () => elapsed });
    const moments = new Moments(clock, 0);
    const ahead = moments.next();
    clock.set('2026-01-01T00:00:00Z');
    elapsed += 1500;
    const begin = moments.next();
    elapsed += 250;
    const end = moments.next();
    assert.equal(begin - ahead, 1500);
    assert.equal(end - begin, 250);
    // Once the clock has caught up, it determines the time again.
    clock.set('2030-02-01T00:00:00Z');
    assert.equal(moments.next(), Date.parse('2030-02-01T00:00:00Z'));
  });

  it('go on from the last one of a run before', () => {
    const clock = new FakeClock('2026-01-01T00:00:00Z');
    const last = Date.parse('2030-01-01T00:00:00Z');
    const moments = new Moments(clock, last);
    const first = moments.next();
    assert.ok(first > last);
    assert.ok(moments.next() > first);
  });
});

describe('dates', () => {
  it('have six digits of a second, so that they sort as texts', () => {
    assert.equal(rfc3339(Date.parse('2026-01-01T00:00:00Z')), '2026-01-01T00:00:00.000000Z');
    assert.equal(rfc3339(Date.parse('2026-01-01T00:00:00.5Z')), '2026-01-01T00:00:00.500000Z');
    const start = Date.parse('2025-03-01T09:30:12.345Z');
    assert.equal(rfc3339(start + 0.9996), '2025-03-01T09:30:12.346000Z');
    assert.equal(rfc3339(-0.001), '1969-12-31T23:59:59.999999Z');
  });
});
