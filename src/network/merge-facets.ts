/** Facets of several servers, counted together. */
import { compareUtf8 } from '../base/json.ts';
import type { FacetCounts } from './federated-answer.ts';

export interface FacetOrder {
  /** Of the values of an attribute: the most frequent first, else by value. */
  byCount(attribute: string): boolean;
  /** Values of one attribute. */
  valuesMax: number;
}

interface Counted {
  /** As it is shown: as the first server spells it. */
  value: string;
  count: number;
}

/** One attribute of several servers, in order. Spellings that filters do not tell apart count as one value. */
export function mergeValues(
  parts: readonly Readonly<Record<string, number>>[],
  byCount: boolean,
  valuesMax: number,
): Counted[] {
  const merged = new Map<string, Counted>();
  for (const part of parts) {
    for (const [value, count] of Object.entries(part)) {
      const key = normalized(value);
      const known = merged.get(key);
      if (known === undefined) merged.set(key, { value, count });
      else known.count += count;
    }
  }
  const ordered = [...merged].sort(([a, { count: left }], [b, { count: right }]) =>
    byCount && left !== right ? right - left : byCount ? -compareKeys(a, b) : compareKeys(a, b),
  );
  return ordered.slice(0, valuesMax).map(([, counted]) => counted);
}

/** As facet values are compared: trimmed, decomposed, in lower case. */
export function normalized(value: string): string {
  return value.trim().normalize('NFKD').toLowerCase();
}

/** Numbers first. */
function compareKeys(a: string, b: string): number {
  const left = numberOf(a);
  const right = numberOf(b);
  if (left !== null && right !== null) return left - right;
  if (left === null && right === null) return compareUtf8(a, b);
  return left === null ? 1 : -1;
}

function numberOf(text: string): number | null {
  const number = Number(text);
  return text !== '' && String(number) === text ? number : null;
}

/** JSON of `distribution` and of `stats`, which keep the order of the values. */
export function mergeFacets(
  parts: readonly FacetCounts[],
  order: FacetOrder,
): { distribution: string; stats: string } {
  const attributes = new Set(parts.flatMap(({ distribution }) => Object.keys(distribution)));
  const distribution = [...attributes].sort(compareUtf8).map((attribute) => {
    const values = mergeValues(
      parts.flatMap(({ distribution: of }) =>
        Object.hasOwn(of, attribute) ? [of[attribute]!] : [],
      ),
      order.byCount(attribute),
      order.valuesMax,
    );
    const members = values.map(({ value, count }) => `${JSON.stringify(value)}:${count}`);
    return `${JSON.stringify(attribute)}:{${members.join(',')}}`;
  });
  const stats = new Map<string, { min: number; max: number }>();
  for (const part of parts) {
    for (const [attribute, { min, max }] of Object.entries(part.stats)) {
      const known = stats.get(attribute);
      stats.set(attribute, {
        min: Math.min(min, known?.min ?? min),
        max: Math.max(max, known?.max ?? max),
      });
    }
  }
  return {
    distribution: `{${distribution.join(',')}}`,
    stats: JSON.stringify(Object.fromEntries(stats)),
  };
}
