/** What hits of different servers are compared by: `_federation.weightedScoreValues`. */
import { compareUtf8 } from '../base/json.ts';

export type ScoreValue =
  | { weightedScore: number }
  | { vectorSort: number }
  | { sort: { asc: boolean; value: string | number | null } }
  | { geoSort: { asc: boolean; distance: number | null } };

/** One step of a double at 1. */
const EPSILON = 2.220446049250313e-16;

/** Whether a value from elsewhere is a list of score values. */
export function areScoreValues(value: unknown): value is ScoreValue[] {
  return Array.isArray(value) && value.every(isScoreValue);
}

function isScoreValue(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { weightedScore, vectorSort, sort, geoSort } = value as Record<string, unknown>;
  if (typeof weightedScore === 'number' || typeof vectorSort === 'number') return true;
  if (typeof sort === 'object' && sort !== null) {
    const { asc, value: of } = sort as Record<string, unknown>;
    const known = of === null || typeof of === 'string' || typeof of === 'number';
    return typeof asc === 'boolean' && known;
  }
  if (typeof geoSort !== 'object' || geoSort === null) return false;
  const { asc, distance } = geoSort as Record<string, unknown>;
  return typeof asc === 'boolean' && (distance === null || typeof distance === 'number');
}

/** A hit as far as its order needs. */
export interface Scored {
  values: readonly ScoreValue[];
  /** `weightedRankingScore`. */
  global: number;
  /** Of the query, in the request. */
  position: number;
}

/** Below 0: a comes first; 0: neither. */
export function compareScored(a: Scored, b: Scored): number {
  const common = Math.min(a.values.length, b.values.length);
  for (let i = 0; i < common; i++) {
    const order = compareValues(a.values[i]!, b.values[i]!);
    if (order === null) {
      return b.values.length - a.values.length || compareNumbers(a.global, b.global);
    }
    if (order !== 0) return order;
  }
  return b.values.length - a.values.length || a.position - b.position;
}

/** null: they cannot be compared. */
function compareValues(a: ScoreValue, b: ScoreValue): number | null {
  const left = scoreOf(a);
  const right = scoreOf(b);
  if (left !== null && right !== null) return compareNumbers(left, right);
  if ('sort' in a && 'sort' in b && a.sort.asc === b.sort.asc) {
    return compareSorts(a.sort.value, b.sort.value, a.sort.asc);
  }
  if ('geoSort' in a && 'geoSort' in b && a.geoSort.asc === b.geoSort.asc) {
    return compareSorts(a.geoSort.distance, b.geoSort.distance, a.geoSort.asc);
  }
  return null;
}

function scoreOf(value: ScoreValue): number | null {
  if ('weightedScore' in value) return value.weightedScore;
  return 'vectorSort' in value ? value.vectorSort : null;
}

/** Greater first. */
function compareNumbers(a: number, b: number): number {
  return Math.abs(a - b) <= EPSILON ? 0 : b - a;
}

/** Numbers before strings, nothing last, whatever the direction. */
export function compareSorts(
  a: string | number | null,
  b: string | number | null,
  asc: boolean,
): number {
  const kind = kindOf(a) - kindOf(b);
  if (kind !== 0 || a === null || b === null) return kind;
  const order = typeof a === 'number' ? a - (b as number) : compareUtf8(a, b as string);
  return asc ? order : -order;
}

function kindOf(value: string | number | null): number {
  if (value === null) return 2;
  return typeof value === 'number' ? 0 : 1;
}
