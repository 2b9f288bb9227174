import assert from 'node:assert/strict';
import { type Depths, metricsOf } from '../../../src/relevance/metrics.ts';
import { mulberry } from '../../../src/relevance/random.ts';
import { estimate, isClear } from '../../../src/relevance/resampling.ts';

const ROUNDS = 2000;
const seed = Math.floor(Math.random() * 2 ** 32);

/** The same figures by their definitions: the ideal is the best of all orders of the grades. */
function naive(hits: readonly string[], grades: ReadonlyMap<string, number>, depths: Depths) {
  const dcg = (gains: readonly number[]): number => {
    let sum = 0;
    for (let rank = 1; rank <= gains.length && rank <= depths.page; rank++) {
      sum += (gains[rank - 1]! * Math.LN2) / Math.log(rank + 1);
    }
    return sum;
  };
  let ideal = 0;
  for (const order of orders([...grades.values()])) ideal = Math.max(ideal, dcg(order));
  let mrr = 0;
  let onPage = 0;
  let judged = 0;
  let found = 0;
  for (let rank = 1; rank <= hits.length; rank++) {
    const grade = grades.get(hits[rank - 1]!);
    const isRelevant = grade !== undefined && grade > 0;
    if (rank <= depths.page) {
      onPage++;
      if (grade !== undefined) judged++;
      if (isRelevant && mrr === 0) mrr = 1 / rank;
    }
    if (isRelevant && rank <= depths.recall) found++;
  }
  let relevant = 0;
  for (const grade of grades.values()) if (grade > 0) relevant++;
  return {
    ndcg: dcg(hits.map((id) => grades.get(id) ?? 0)) / ideal,
    mrr,
    recall: found / relevant,
    coverage: onPage === 0 ? 1 : judged / onPage,
  };
}

function orders(list: readonly number[]): number[][] {
  if (list.length === 0) return [[]];
  return list.flatMap((one, at) =>
    orders(list.filter((_, n) => n !== at)).map((rest) => [one, ...rest]),
  );
}

function assertNear(actual: object, expected: object, message?: string): void {
  for (const [name, value] of Object.entries(expected)) {
    const got = (actual as Record<string, number>)[name]!;
    assert.ok(Math.abs(got - value) < 1e-9, `${name}: ${got}, not ${value} ${message ?? ''}`);
  }
}

describe('Metrics of judged queries', () => {
  it('are those computed by hand', () => {
    const grades = new Map([
      ['a', 3],
      ['b', 0],
      ['c', 1],
      ['d', 2],
    ]);
    // Gains of the page 0, 3, 0: 3 / log2(3). The best page has 3, 2, 1:
    // 3 + 2 / log2(3) + 1 / 2 = 4.7618595071.
    assertNear(metricsOf(['b', 'a', 'x', 'c', 'y'], grades, { page: 3, recall: 4 }), {
      ndcg: 1.8927892607 / 4.7618595071,
      mrr: 1 / 2,
      recall: 2 / 3,
      coverage: 2 / 3,
    });
    const perfect = metricsOf(['a', 'd', 'c', 'b'], grades, { page: 10, recall: 3 });
    assertNear(perfect, { ndcg: 1, mrr: 1, recall: 1, coverage: 1 });
    const nothing = metricsOf([], grades, { page: 10, recall: 100 });
    assertNear(nothing, { ndcg: 0, mrr: 0, recall: 0, coverage: 1 });
    // A relevant document after the page counts for recall alone.
    const late = metricsOf(['x', 'y', 'a'], grades, { page: 2, recall: 3 });
    assertNear(late, { ndcg: 0, mrr: 0, recall: 1 / 3, coverage: 0 });
  });

  it(`are those of their definitions (seed ${seed})`, () => {
    const random = mulberry(seed);
    const below = (max: number): number => Math.floor(random() * max);
    for (let round = 0; round < ROUNDS; round++) {
      const ids = Array.from({ length: 8 }, (_, n) => String(n));
      const judged = ids.filter(() => random() < 0.5).slice(0, 5);
      // Many ties, fractions, and grades of 0.
      const grades = new Map(judged.map((id) => [id, below(4) / 2]));
      if ([...grades.values()].every((grade) => grade === 0)) grades.set('0', 1);
      const hits = ids
        .map((id) => ({ id, by: random() }))
        .toSorted((a, b) => a.by - b.by)
        .slice(0, below(9))
        .map(({ id }) => id);
      const depths = { page: 1 + below(6), recall: 1 + below(9) };
      const context = JSON.stringify({ hits, grades: [...grades], depths });
      assertNear(metricsOf(hits, grades, depths), naive(hits, grades, depths), context);
    }
  });
});

describe('An interval by resampling', () => {
  it('is the same for the same seed, and that of means by all resamples', () => {
    // A quarter of all resamples has the mean 0, and a quarter the mean 1: more than 2.5 %.
    assert.deepEqual(estimate([0, 1], 7), { mean: 0.5, low: 0, high: 1 });
    const values = Array.from({ length: 50 }, (_, n) => n);
    assert.deepEqual(estimate(values, 7), estimate(values, 7));
    assert.notDeepEqual(estimate(values, 7), estimate(values, 8));
    assert.deepEqual(estimate([0.25, 0.25], 1), { mean: 0.25, low: 0.25, high: 0.25 });
  });

  it('is as wide as the normal approximation says', () => {
    const random = mulberry(1);
    const values = Array.from({ length: 400 }, () => random());
    const { mean, low, high } = estimate(values, 3);
    const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / 400;
    const half = 1.96 * Math.sqrt(variance / 400);
    assert.ok(Math.abs(mean - low - half) < half / 8 && Math.abs(high - mean - half) < half / 8);
  });

  it('says whether a difference may be chance', () => {
    assert.ok(isClear({ mean: 0.2, low: 0.1, high: 0.3 }));
    assert.ok(isClear({ mean: -0.2, low: -0.3, high: -0.1 }));
    assert.ok(!isClear({ mean: 0.1, low: -0.1, high: 0.3 }));
    assert.ok(!isClear({ mean: 0, low: 0, high: 0 }));
  });
});
