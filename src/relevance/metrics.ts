/**
 * How well a list of hits answers a query whose documents were judged. The command
 * `gannet evaluate`, the page and `perf/relevance.ts` use the same functions.
 */

/** Grades by document id: 0 or more, above 0 for relevant. Unjudged documents have none. */
export type Grades = ReadonlyMap<string, number>;

/** How many hits of a list count. */
export interface Depths {
  /** For nDCG, MRR and coverage: the hits of a page. */
  readonly page: number;
  readonly recall: number;
}

/** Each from 0 to 1. */
export interface Metrics {
  /**
   * The sum of grade / log2(rank + 1) over the hits of the page, divided by that of the best
   * possible page.
   */
  readonly ndcg: number;
  /** 1 / the rank of the first relevant hit of the page; 0: none. */
  readonly mrr: number;
  /** The share of the relevant documents among the first hits. */
  readonly recall: number;
  /** The share of the hits of the page that are judged. 1: there are no hits. */
  readonly coverage: number;
}

export type MetricName = keyof Metrics;
export const METRIC_NAMES: readonly MetricName[] = ['ndcg', 'mrr', 'recall', 'coverage'];

const gainAt = (grade: number, rank: number): number => grade / Math.log2(rank + 1);

/**
 * @param hits ids, the best first, each once
 * @param grades REQUIRES: at least one above 0, otherwise no order is better than another
 */
export function metricsOf(hits: readonly string[], grades: Grades, depths: Depths): Metrics {
  const page = hits.slice(0, depths.page);
  const relevant = [...grades.values()].filter((grade) => grade > 0).toSorted((a, b) => b - a);
  const ideal = sum(relevant.slice(0, depths.page).map((grade, n) => gainAt(grade, n + 1)));
  const isRelevant = (id: string): boolean => (grades.get(id) ?? 0) > 0;
  const first = page.findIndex(isRelevant);
  return {
    ndcg: sum(page.map((id, n) => gainAt(grades.get(id) ?? 0, n + 1))) / ideal,
    mrr: first < 0 ? 0 : 1 / (first + 1),
    recall: hits.slice(0, depths.recall).filter(isRelevant).length / relevant.length,
    coverage: page.length === 0 ? 1 : page.filter((id) => grades.has(id)).length / page.length,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** @param numbers at least one */
export function mean(numbers: readonly number[]): number {
  return sum(numbers) / numbers.length;
}
