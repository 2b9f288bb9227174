/** Queries and their judgements, as documents of an index. Pure functions. */
import { type Depths, mean, type Metrics, metricsOf } from '../relevance/metrics.ts';
import { type Estimate, estimate } from '../relevance/resampling.ts';

/** What a hit may be judged as. */
export const GRADES = [
  [2, 'Good'],
  [1, 'Fair'],
  [0, 'Bad'],
] as const;

const DEPTHS: Depths = { page: 10, recall: 100 };
/** Hits to search for: enough for every figure. */
export const HITS_JUDGED = DEPTHS.recall;
const SEED = 1;

/** A document of the index of judgements; `gannet evaluate` reads its export. */
export interface JudgedQuery {
  readonly id: string;
  readonly q: string;
  readonly judgements: readonly { readonly document: string; readonly grade: number }[];
}

/** The index that holds the judgements of another one. */
export function judgedIndex(uid: string): string {
  return `${uid}-judged`;
}

/** The id of a query: the same for all who judge it. Two FNV-1a hashes of 32 bits. */
export function queryId(q: string): string {
  const hash = (offset: number): string => {
    let value = offset;
    for (const byte of new TextEncoder().encode(q)) {
      value = Math.imul(value ^ byte, 0x01000193) >>> 0;
    }
    return value.toString(16).padStart(8, '0');
  };
  return hash(0x811c9dc5) + hash(0x9e3779b9);
}

/** @param grade null: the judgement is taken back */
export function withGrade(
  judged: JudgedQuery | undefined,
  q: string,
  { document, grade }: { document: string; grade: number | null },
): JudgedQuery {
  const others = (judged?.judgements ?? []).filter((one) => one.document !== document);
  const judgements = grade === null ? others : [...others, { document, grade }];
  return { id: queryId(q), q, judgements };
}

export function gradesOf({ judgements }: JudgedQuery): Map<string, number> {
  return new Map(judgements.map(({ document, grade }) => [document, grade]));
}

/** Whether an order of hits can be better than another one. */
export function isMeasurable({ judgements }: JudgedQuery): boolean {
  return judgements.some(({ grade }) => grade > 0);
}

export interface Measured {
  /** For each query, in their order. */
  readonly queries: readonly Metrics[];
  readonly ndcg: Estimate;
  readonly coverage: number;
}

/** @param hits ids for each query. REQUIRES: at least one query, all measurable */
export function measured(
  queries: readonly JudgedQuery[],
  hits: readonly (readonly string[])[],
): Measured {
  const metrics = queries.map((query, n) => metricsOf(hits[n]!, gradesOf(query), DEPTHS));
  return {
    queries: metrics,
    ndcg: estimate(
      metrics.map(({ ndcg }) => ndcg),
      SEED,
    ),
    coverage: mean(metrics.map(({ coverage }) => coverage)),
  };
}

/** The difference of nDCG from `before`. */
export function differenceOf(before: Measured, after: Measured): Estimate {
  const gains = after.queries.map(({ ndcg }, n) => ndcg - before.queries[n]!.ndcg);
  return estimate(gains, SEED);
}
