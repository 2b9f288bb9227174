/** What the hits of several ways are worth, and how the ways differ. Pure. */
import {
  type Depths,
  METRIC_NAMES,
  type MetricName,
  type Metrics,
  metricsOf,
} from '../../relevance/metrics.ts';
import { type Estimate, estimate } from '../../relevance/resampling.ts';
import type { JudgedQuery } from './judged-queries.ts';

/** Smaller differences of nDCG are none: sums of the same numbers may differ in a last digit. */
const SAME = 1e-9;
/** How many queries that gained or lost most are named. */
const EXTREMES = 10;

export interface Measured {
  readonly name: string;
  /** One for each query. */
  readonly metrics: readonly Metrics[];
  readonly estimates: Readonly<Record<MetricName, Estimate>>;
  /** The queries that have no judged hit on their page. */
  readonly withoutJudged: number;
}

/** The differences of nDCG from the first way. */
export interface Difference {
  readonly name: string;
  readonly estimate: Estimate;
  readonly better: number;
  readonly worse: number;
  readonly same: number;
}

export interface Change {
  readonly query: JudgedQuery;
  readonly by: number;
}

export interface Evaluation {
  readonly depths: Depths;
  readonly queries: readonly JudgedQuery[];
  /** At least one. */
  readonly ways: readonly Measured[];
  /** Every way but the first has one. */
  readonly differences: readonly Difference[];
  /** Between the first way and the best other one; null: there is none. */
  readonly changes: {
    readonly name: string;
    readonly gained: readonly Change[];
    readonly lost: readonly Change[];
  } | null;
}

/** @param hits of each way by query, the way to compare others with first */
export function evaluate(
  queries: readonly JudgedQuery[],
  hits: ReadonlyMap<string, readonly string[][]>,
  { depths, seed }: { depths: Depths; seed: number },
): Evaluation {
  const ways = [...hits].map(([name, lists]) => {
    const metrics = queries.map(({ grades }, n) => metricsOf(lists[n]!, grades, depths));
    const of = (metric: MetricName): Estimate =>
      estimate(
        metrics.map((one) => one[metric]),
        seed,
      );
    const estimates = Object.fromEntries(METRIC_NAMES.map((metric) => [metric, of(metric)]));
    const withoutJudged = queries.filter(
      ({ grades }, n) => !lists[n]!.slice(0, depths.page).some((id) => grades.has(id)),
    ).length;
    return { name, metrics, withoutJudged, estimates: estimates as Measured['estimates'] };
  });
  const [first, ...others] = ways;
  const gains = others.map((way) => gainsOf(first!, way));
  const differences = others.map(({ name }, n) => differenceOf(name, gains[n]!, seed));
  const best = differences.toSorted((a, b) => b.estimate.mean - a.estimate.mean)[0];
  return {
    depths,
    queries,
    ways,
    differences,
    changes:
      best === undefined
        ? null
        : { name: best.name, ...extremes(queries, gains[differences.indexOf(best)]!) },
  };
}

function gainsOf(before: Measured, after: Measured): number[] {
  return before.metrics.map(({ ndcg }, n) => {
    const gain = after.metrics[n]!.ndcg - ndcg;
    return Math.abs(gain) < SAME ? 0 : gain;
  });
}

function differenceOf(name: string, gains: readonly number[], seed: number): Difference {
  const count = (sign: number): number => gains.filter((gain) => Math.sign(gain) === sign).length;
  return {
    name,
    estimate: estimate(gains, seed),
    better: count(1),
    worse: count(-1),
    same: count(0),
  };
}

/** The queries that gained and lost most; of equal ones the earlier. */
function extremes(
  queries: readonly JudgedQuery[],
  gains: readonly number[],
): { gained: Change[]; lost: Change[] } {
  const changes = queries.map((query, n) => ({ query, by: gains[n]! }));
  const ordered = (sign: number): Change[] =>
    changes
      .filter(({ by }) => Math.sign(by) === sign)
      .toSorted((a, b) => sign * (b.by - a.by))
      .slice(0, EXTREMES);
  return { gained: ordered(1), lost: ordered(-1) };
}
