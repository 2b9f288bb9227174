import assert from 'node:assert/strict';
import { capacity, type Machine, simulate, type Steps } from '../../../perf/queueing.ts';
import { mulberry } from '../../support/random.ts';

/** In each simulation. */
const SEARCHES = 200_000;
const TOLERANCE = 0.1;

function near(measured: number, expected: number, what: string): void {
  const share = Math.abs(measured / expected - 1);
  assert.ok(share < TOLERANCE, `${what}: ${measured} instead of ${expected}`);
}

/** The probability that all of `c` servers are busy, with `a` busy on average (Erlang C). */
function waits(c: number, a: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; k < c; k++) sum += term *= a / k;
  const last = (term * a) / c / (1 - a / c);
  return last / (sum + last);
}

describe('The model of a server', () => {
  const random = mulberry(7);
  const exponential = (mean: number): number => -Math.log(1 - random()) * mean;
  const run = (machine: Machine, perSecond: number, next: () => Steps) =>
    simulate({
      ...{ machine, next, random, searches: SEARCHES },
      arrivals: { kind: 'open', perSecond },
    });

  for (const load of [0.3, 0.7]) {
    it(`is M/M/1 with one loop that does everything, at ${load} of its capacity`, () => {
      const next = () => ({ receive: exponential(1), engine: 0, send: 0 });
      const { mean, p50, p99 } = run({ cores: 8, loops: 1, engineThreads: 8 }, load * 1000, next);
      // The time in the system is exponential.
      const expected = 1 / (1 - load);
      near(mean, expected, 'mean');
      near(p50, Math.log(2) * expected, 'p50');
      near(p99, Math.log(100) * expected, 'p99');
    });

    for (const [what, machine] of [
      ['engine threads', { cores: 8, loops: 1, engineThreads: 4 }],
      ['cores', { cores: 4, loops: 1, engineThreads: 16 }],
    ] as const) {
      it(`is M/M/c with four ${what}, at ${load} of their capacity`, () => {
        const next = () => ({ receive: 0, engine: exponential(1), send: 0 });
        const { mean } = run(machine, load * 4000, next);
        near(mean, 1 + waits(4, 4 * load) / (4 - 4 * load), 'mean');
      });
    }

    it(`is M/G/1 with steps of constant length, at ${load} of its capacity`, () => {
      const next = () => ({ receive: 1, engine: 0, send: 0 });
      const { mean } = run({ cores: 2, loops: 1, engineThreads: 1 }, load * 1000, next);
      near(mean, 1 + load / (2 * (1 - load)), 'mean');
    });
  }

  it('serves clients that wait for each other as fast as its scarcest part', () => {
    const steps = { receive: 0.1, engine: 1, send: 0.1 };
    for (const [machine, limit] of [
      [{ cores: 1, loops: 1, engineThreads: 1 }, 'cores'],
      [{ cores: 16, loops: 1, engineThreads: 16 }, 'loops'],
      [{ cores: 16, loops: 8, engineThreads: 2 }, 'engine threads'],
    ] as const) {
      const bound = capacity(machine, steps);
      assert.equal(bound.limit, limit);
      const { perSecond } = simulate({
        ...{ machine, next: () => steps, random, searches: SEARCHES },
        arrivals: { kind: 'closed', clients: 64 },
      });
      near(perSecond, bound.perSecond, limit);
    }
  });

  it('serves one client after its own steps alone', () => {
    const { mean, perSecond } = simulate({
      machine: { cores: 2, loops: 1, engineThreads: 2 },
      arrivals: { kind: 'closed', clients: 1 },
      next: () => ({ receive: 0.1, engine: 0.7, send: 0.2 }),
      ...{ random, searches: 1000 },
    });
    near(mean, 1, 'mean');
    near(perSecond, 1000, 'rate');
  });
});
