import assert from 'node:assert/strict';
import {
  AllInsights,
  durationsOf,
  Insights,
  p99Of,
  type Shape,
  shapeOf,
} from '../../../src/search/insights.ts';
import { mulberry } from '../../support/random.ts';

const HOUR_MS = 3_600_000;
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));

describe(`insights (SEED=${SEED})`, () => {
  const shape = (uid: string): Shape => shapeOf('search', [uid], [{ q: 'one two' }]);
  const search = (insights: Insights, uid: string, ms: number, cpuMs = ms): void => {
    const { id } = insights.began(shape(uid), 'request', () => {});
    insights.ended(id, { ms, cpuMs, failed: false, stages: null });
  };

  it('keep a bounded number of shapes, and the costliest of them', () => {
    let now = 0;
    const insights = new Insights('0', () => now);
    const costly = new Map<string, number>();
    let max = 0;
    for (let n = 0; n < 1_000_000; n++) {
      now = Math.floor(n / 20_000) * HOUR_MS;
      search(insights, `hostile-${n}`, 0.01);
      if (n % 5000 > 0) continue;
      const uid = `costly-${n % 20}`;
      search(insights, uid, 10);
      costly.set(uid, n);
      if (n % 50_000 === 0) max = Math.max(max, insights.totals(24).length);
    }
    assert.ok(max <= 24 * 400, `${max} shapes`);
    const seen = new Set(insights.totals(24).flatMap(({ indexUids }) => indexUids));
    for (const [uid, n] of costly) {
      assert.equal(seen.has(uid), now - Math.floor(n / 20_000) * HOUR_MS < 24 * HOUR_MS, uid);
    }
  });

  it('have no names but those of the contract and of a few indexes', () => {
    const uids = Array.from({ length: 100 }, (_, n) => `index-${n}`);
    const { indexUids, words, parameters } = shapeOf('multi-search', uids, [
      { q: 'a b', ...{ limit: 3, filter: null } },
      { q: 'word '.repeat(1000) },
    ]);
    assert.equal(indexUids.length, 11);
    assert.equal(indexUids.at(-1), '*');
    assert.deepEqual([words, parameters], [10, ['limit', 'q']]);
  });

  it('know how long 99 of 100 searches took, to a bucket', () => {
    const next = mulberry(SEED);
    const insights = new Insights('0');
    const times: number[] = [];
    for (let n = 0; n < 2000; n++) {
      const ms = Math.exp(next() * 12 - 4);
      times.push(ms);
      search(insights, 'a', ms);
    }
    const [totals] = insights.totals(1);
    const durations = durationsOf(totals!);
    const of = (end: number): number => times.filter((ms) => ms <= end).length;
    let sum = 0;
    for (const { upToMs, count } of durations) {
      sum += count;
      assert.ok(Math.abs(of(upToMs) - sum) <= 2, `${upToMs} ms`);
    }
    const exact = times.sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1]!;
    const found = p99Of(durations);
    assert.ok(found >= exact * 0.999 && found <= Math.max(0.1, exact * 1.51), `${found} ${exact}`);
    assert.equal(p99Of([]), 0);
  });

  it('time the first search of a shape, and few of the others', () => {
    const insights = new Insights('0');
    let timed = 0;
    for (let n = 0; n < 640; n++) {
      const { id, isTimed } = insights.began(shape(n % 2 === 0 ? 'a' : 'b'), 'request', () => {});
      if (n < 2) assert.equal(isTimed, true);
      if (isTimed) timed++;
      const stages = isTimed ? [{ name: 'terms', ms: 1 }] : null;
      insights.ended(id, { ms: 1, cpuMs: 1, failed: false, stages });
    }
    assert.equal(timed, 11);
    const examples = insights.totals(1).map(({ example }) => example?.stages[0]?.name);
    assert.deepEqual(examples, ['terms', 'terms']);
  });

  it('forget what names no index, and what has ended cannot be canceled', async () => {
    const own = new Insights('0');
    const all = new AllInsights(own);
    let canceled = 0;
    const { id } = own.began(shape('a'), 'request', () => canceled++);
    assert.deepEqual(
      (await all.running()).map((one) => one.id),
      [id],
    );
    assert.equal(await all.cancel(id), true);
    own.ended(id, null);
    assert.equal(await all.cancel(id), false);
    assert.deepEqual([canceled, await all.running(), await all.totals(24)], [1, [], []]);
  });
});
