import assert from 'node:assert/strict';
import { ConcurrencyLimit } from '../../../src/outbound/concurrency-limit.ts';
import { withRetries } from '../../../src/outbound/retry.ts';

describe('withRetries', () => {
  const policy = { attemptsMax: 4, waitMs: (_: unknown, retry: number) => 10 ** retry };

  it('waits as the policy says and returns the first successful result', async () => {
    const waits: number[] = [];
    const wait = async (ms: number): Promise<void> => void waits.push(ms);
    const attempt = async (retry: number): Promise<string> => {
      if (retry < 3) throw new Error(`attempt ${retry}`);
      return 'done';
    };
    assert.equal(await withRetries(attempt, policy, { wait }), 'done');
    assert.deepEqual(waits, [1, 10, 100]);
  });

  it('throws the last error after the last attempt', async () => {
    let attempts = 0;
    const attempt = async (): Promise<never> => {
      throw new Error(`attempt ${attempts++}`);
    };
    await assert.rejects(withRetries(attempt, policy, { wait: async () => {} }), /attempt 3/);
    assert.equal(attempts, 4);
  });

  it('does not retry a final error', async () => {
    let attempts = 0;
    const attempt = async (): Promise<never> => {
      attempts++;
      throw new Error('no');
    };
    await assert.rejects(withRetries(attempt, { attemptsMax: 9, waitMs: () => null }), /no/);
    assert.equal(attempts, 1);
  });

  it('begins no attempt when the wait would end too late, or has', async () => {
    for (const [remaining, waitsExpected] of [
      [[10], []],
      [[11, 0], [10]],
    ] as const) {
      let attempts = 0;
      const waits: number[] = [];
      const left = [...remaining];
      const attempt = async (): Promise<never> => {
        throw new Error(`attempt ${attempts++}`);
      };
      const late = withRetries(
        attempt,
        { attemptsMax: 9, waitMs: () => 10, remainingMs: () => left.shift()! },
        { wait: async (ms) => void waits.push(ms) },
      );
      await assert.rejects(late, /attempt 0/);
      assert.deepEqual([attempts, waits], [1, waitsExpected]);
    }
  });

  it('stops waiting when the signal is aborted', async () => {
    const ending = new AbortController();
    const attempt = async (): Promise<never> => {
      setImmediate(() => ending.abort(new Error('enough')));
      throw new Error('no');
    };
    const hour = { attemptsMax: 9, waitMs: () => 3_600_000 };
    await assert.rejects(withRetries(attempt, hour, { signal: ending.signal }), /enough/);
  });
});

describe('ConcurrencyLimit', () => {
  it('runs a limited number at a time, in order, and lets waiting ones give up', async () => {
    const limit = new ConcurrencyLimit(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const work = (number: number) => (): Promise<void> => {
      begun.push(number);
      return new Promise((resolve) => ends.push(resolve));
    };
    const giveUp = new AbortController();
    const first = limit.run(work(1));
    const second = limit.run(work(2));
    const third = limit.run(work(3), giveUp.signal);
    const fourth = limit.run(work(4));
    await Promise.resolve();
    assert.deepEqual(begun, [1, 2]);
    giveUp.abort(new Error('gave up'));
    await assert.rejects(third, /gave up/);
    ends[0]!();
    await first;
    await new Promise(setImmediate);
    assert.deepEqual(begun, [1, 2, 4]);
    ends[1]!();
    ends[2]!();
    await Promise.all([second, fourth]);
    assert.equal(limit.waiting, 0);
  });

  it('returns its permit when the work fails', async () => {
    const limit = new ConcurrencyLimit(1);
    await assert.rejects(limit.run(() => Promise.reject(new Error('no'))));
    assert.equal(await limit.run(async () => 'yes'), 'yes');
  });
});
