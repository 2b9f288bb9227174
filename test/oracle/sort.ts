/**
 * Sort criteria and distinct (docs/behaviour/ranking.md).
 */
import type { Document } from './corpus.ts';
import { distance, pointOf, type Point } from './filter.ts';
import { facetForm, valuesOf } from './values.ts';
import { compareBytes } from './words.ts';

/**
 * A part of a bucket: documents that are equal for a criterion, and what the details say about it.
 */
export interface SortedPart<T> {
  items: T[];
  detail: Record<string, unknown>;
}

export type SortValue = number | string | null;

export function sortValue(document: Document, field: string, descending: boolean): SortValue {
  const { numbers, strings } = valuesOf(document, field);
  if (numbers.length > 0) return descending ? Math.max(...numbers) : Math.min(...numbers);
  const forms = strings.map(facetForm).sort(compareBytes);
  return (descending ? forms.at(-1) : forms[0]) ?? null;
}

function compareValues(a: SortValue, b: SortValue, descending: boolean): number {
  const kind = (v: SortValue): number => (v === null ? 2 : typeof v === 'string' ? 1 : 0);
  if (kind(a) !== kind(b)) return kind(a) - kind(b);
  const order =
    typeof a === 'number'
      ? a - (b as number)
      : typeof a === 'string'
        ? compareBytes(a, b as string)
        : 0;
  return descending ? -order : order;
}

export function sortByField<T>(
  items: readonly T[],
  documentOf: (item: T) => Document,
  field: string,
  descending: boolean,
): SortedPart<T>[] {
  const parts = new Map<SortValue, T[]>();
  for (const item of items) {
    const value = sortValue(documentOf(item), field, descending);
    const part = parts.get(value);
    if (part === undefined) parts.set(value, [item]);
    else part.push(item);
  }
  return [...parts]
    .sort((a, b) => compareValues(a[0], b[0], descending))
    .map(([value, part]) => ({ items: part, detail: { value } }));
}

const SAME_POINT_METRES = 1;
const BUCKET = 1000;

export function sortByDistance<T>(
  items: readonly T[],
  documentOf: (item: T) => Document,
  target: Point,
  descending: boolean,
): SortedPart<T>[] {
  const located: { item: T; point: Point; metres: number }[] = [];
  const nowhere: T[] = [];
  for (const item of items) {
    const point = pointOf(documentOf(item));
    if (point === null) nowhere.push(item);
    else located.push({ item, point, metres: distance(point, target) });
  }
  located.sort((a, b) => (descending ? b.metres - a.metres : a.metres - b.metres));
  const out: (SortedPart<T> & { first: number })[] = [];
  for (const { item, point, metres } of located) {
    const last = out.at(-1);
    if (
      last !== undefined &&
      last.items.length < BUCKET &&
      Math.abs(metres - last.first) <= SAME_POINT_METRES
    ) {
      last.items.push(item);
    } else {
      out.push({
        items: [item],
        first: metres,
        detail: { value: point, distance: Math.round(metres * 1000) / 1000 },
      });
    }
  }
  // In a bucket they stand as they were given, not by distance.
  const inBucket = (bucket: ReadonlySet<T>): T[] => items.filter((item) => bucket.has(item));
  const parts: SortedPart<T>[] = out.map((part) => ({
    items: part.items.length === 1 ? part.items : inBucket(new Set(part.items)),
    detail: part.detail,
  }));
  if (nowhere.length > 0) parts.push({ items: nowhere, detail: { value: null, distance: null } });
  return parts;
}

/** Values of a field that two documents may not share. */
export function distinctKeys(document: Document, field: string): string[] {
  const { numbers, strings } = valuesOf(document, field);
  return [...numbers.map((n) => `n${n}`), ...strings.map((s) => `s${facetForm(s)}`)];
}
