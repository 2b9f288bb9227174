/** Facets of several servers, counted together. */
import { compareUtf8, jsonString } from '../base/json.ts';
import { pauser } from '../base/pauser.ts';
import { sortInTurns } from '../base/sort-in-turns.ts';
import { facetStatsFloats } from '../contract/answers.ts';
import type { FacetCounts, ValueCounts } from './federated-answer.ts';

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

/** Of one index, or of several. */
export interface MergedFacets {
  /** By attribute, values in order. */
  values: Map<string, Counted[]>;
  stats: Map<string, { min: number; max: number }>;
}

/** A value with what it is compared by. */
interface Keyed extends Counted {
  key: string;
  /** null: it is a text. */
  number: number | null;
}

/** Up to so many documents the engine puts numbers in the order of their text, above by value. */
const TEXT_ORDER_DOCUMENTS_MAX = 3000;

/**
 * One attribute of several servers, in order. Spellings that filters do not tell apart count as one value. Other work of
 * the thread comes between.
 * @param byText numbers as well as texts
 */
export async function mergeValues(
  parts: readonly ValueCounts[],
  byCount: boolean,
  valuesMax: number,
  byText = false,
): Promise<Counted[]> {
  const merged = new Map<string, Keyed>();
  const pause = pauser();
  for (const part of parts) {
    for (const [value, count] of part) {
      const key = normalized(value);
      const known = merged.get(key);
      if (known === undefined) merged.set(key, { value, count, key, number: numberOf(key) });
      else known.count += count;
      await pause();
    }
  }
  const compare = (a: Keyed, b: Keyed): number => {
    if (!byCount) return compareKeyed(a, b, byText);
    const kinds = Number(a.number === null) - Number(b.number === null);
    return kinds || b.count - a.count || compareKeyed(b, a, false);
  };
  const ordered = await sortInTurns([...merged.values()], compare);
  return ordered.slice(0, valuesMax).map(({ value, count }) => ({ value, count }));
}

/** As facet values are compared: trimmed, decomposed, in lower case. */
export function normalized(value: string): string {
  return value.trim().normalize('NFKD').toLowerCase();
}

/** Numbers first. */
function compareKeyed(a: Keyed, b: Keyed, byText: boolean): number {
  if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
  if (a.number === null || b.number === null || byText) return compareUtf8(a.key, b.key);
  return a.number - b.number;
}

function numberOf(text: string): number | null {
  const number = Number(text);
  return text !== '' && String(number) === text ? number : null;
}

/** One index of several servers. */
export async function mergeFacets(
  parts: readonly FacetCounts[],
  order: FacetOrder,
): Promise<MergedFacets> {
  const attributes = new Set(parts.flatMap(({ distribution }) => Object.keys(distribution)));
  const documents = parts.reduce((sum, { candidates }) => sum + (candidates ?? Infinity), 0);
  const values = new Map<string, Counted[]>();
  for (const attribute of [...attributes].sort(compareUtf8)) {
    const ofAttribute = parts.flatMap(({ distribution: of }) =>
      Object.hasOwn(of, attribute) ? [of[attribute]!] : [],
    );
    const byCount = order.byCount(attribute);
    // By count there is no way to ask for none.
    const max = byCount && order.valuesMax === 0 ? Infinity : order.valuesMax;
    const byText = documents <= TEXT_ORDER_DOCUMENTS_MAX;
    values.set(attribute, await mergeValues(ofAttribute, byCount, max, byText));
  }
  return { values, stats: widest(parts.map(({ stats }) => stats)) };
}

/** Several indexes; what is spelled alike is one value, and values of equal place are in the order of their text. */
export async function joinFacets(
  parts: readonly MergedFacets[],
  order: FacetOrder,
): Promise<MergedFacets> {
  const attributes = new Set(parts.flatMap(({ values }) => [...values.keys()]));
  const joined = new Map<string, Counted[]>();
  const pause = pauser();
  for (const attribute of [...attributes].sort(compareUtf8)) {
    const counts = new Map<string, number>();
    for (const part of parts) {
      for (const { value, count } of part.values.get(attribute) ?? []) {
        counts.set(value, (counts.get(value) ?? 0) + count);
        await pause();
      }
    }
    const byCount = order.byCount(attribute);
    const ordered = await sortInTurns(
      [...counts].map(([value, count]) => ({ value, count })),
      (a, b) => (byCount ? b.count - a.count : 0) || compareUtf8(a.value, b.value),
    );
    joined.set(attribute, ordered.slice(0, order.valuesMax));
  }
  return {
    values: joined,
    stats: widest(parts.map(({ stats }) => Object.fromEntries(stats))),
  };
}

function widest(
  parts: readonly Record<string, { min: number; max: number }>[],
): MergedFacets['stats'] {
  const stats: MergedFacets['stats'] = new Map();
  for (const part of parts) {
    for (const [attribute, { min, max }] of Object.entries(part)) {
      const known = stats.get(attribute);
      stats.set(attribute, {
        min: Math.min(min, known?.min ?? min),
        max: Math.max(max, known?.max ?? max),
      });
    }
  }
  return stats;
}

/** JSON of `distribution` and of `stats`, which keep the order of the values. */
export async function facetsJson({ values, stats }: MergedFacets): Promise<{
  distribution: string;
  stats: string;
}> {
  const pause = pauser();
  let distribution = '';
  for (const [attribute, counted] of values) {
    distribution += `${distribution === '' ? '' : ','}${JSON.stringify(attribute)}:{`;
    for (const [n, { value, count }] of counted.entries()) {
      distribution += `${n === 0 ? '' : ','}${JSON.stringify(value)}:${count}`;
      await pause();
    }
    distribution += '}';
  }
  return {
    distribution: `{${distribution}}`,
    stats: jsonString(facetStatsFloats(Object.fromEntries(stats))),
  };
}
