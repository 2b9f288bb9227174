/**
 * Facet counts and facet search (docs/behaviour/facets.md).
 */
import { Analyzer } from './analyzer.ts';
import type { Document, Json } from './corpus.ts';
import type { TypoSettings } from './expand.ts';
import { facetForm, valuesOf } from './values.ts';
import { compareBytes, editDistance } from './words.ts';

export interface FacetSettings {
  maxValuesPerFacet: number;
  order: (field: string) => 'alpha' | 'count';
}

interface Entry {
  key: string;
  number: number | null;
  shown: string;
  count: number;
}

export function matchesPattern(field: string, pattern: string): boolean {
  const inner = pattern.replace(/^\*|\*$/g, '');
  if (pattern === '*') return true;
  if (pattern.startsWith('*') && pattern.endsWith('*') && pattern.length > 1)
    return field.includes(inner);
  if (pattern.startsWith('*')) return field.endsWith(inner);
  if (pattern.endsWith('*')) return field.startsWith(inner);
  return field === pattern;
}

function count(documents: readonly Document[], field: string): Entry[] {
  const entries = new Map<string, Entry>();
  for (const document of documents) {
    const { numbers, strings } = valuesOf(document, field);
    const seen = new Set<string>();
    const meet = (key: string, number: number | null, shown: string): void => {
      if (seen.has(key)) return;
      seen.add(key);
      const entry = entries.get(key);
      if (entry === undefined) entries.set(key, { key, number, shown, count: 1 });
      else entry.count++;
    };
    for (const n of numbers) meet(`n${n}`, n, String(n));
    for (const s of strings) meet(`s${facetForm(s)}`, null, s);
  }
  return [...entries.values()];
}

/** Numbers first. Few documents: numbers in the order of their text. */
function compareAlpha(a: Entry, b: Entry, few: boolean): number {
  if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
  return a.number === null || few ? compareBytes(a.key, b.key) : a.number - b.number!;
}

const FEW_DOCUMENTS = 3000;

export function distribution(
  documents: readonly Document[],
  fields: readonly string[],
  settings: FacetSettings,
): {
  facetDistribution: Record<string, Record<string, number>>;
  facetStats: Record<string, { min: number; max: number }>;
} {
  const facetDistribution: Record<string, Record<string, number>> = {};
  const facetStats: Record<string, { min: number; max: number }> = {};
  for (const field of [...fields].sort(compareBytes)) {
    const few = documents.length <= FEW_DOCUMENTS;
    const alpha = (a: Entry, b: Entry): number => compareAlpha(a, b, few);
    const entries = count(documents, field).sort(alpha);
    let max = settings.maxValuesPerFacet;
    if (settings.order(field) === 'count') {
      entries.sort((a, b) => {
        if ((a.number === null) !== (b.number === null)) return a.number === null ? 1 : -1;
        return b.count - a.count || compareAlpha(b, a, false);
      });
      max ||= Infinity; // 0 is no limit here
    }
    const kept = entries.slice(0, max);
    facetDistribution[field] = Object.fromEntries(kept.map((entry) => [entry.shown, entry.count]));
    const numbers = entries.map((entry) => entry.number).filter((n) => n !== null);
    if (numbers.length > 0)
      facetStats[field] = { min: Math.min(...numbers), max: Math.max(...numbers) };
  }
  return { facetDistribution, facetStats };
}

export interface FacetHit {
  value: string;
  count: number;
}

export function searchFacet(
  documents: readonly Document[],
  candidates: readonly Document[],
  field: string,
  query: string | null,
  typo: TypoSettings,
  settings: FacetSettings,
): FacetHit[] {
  const analyzer = new Analyzer();
  const whole = (text: string): string =>
    analyzer
      .tokens(text)
      .map((token) => token.lemma)
      .join('');
  const counts = new Map(count(candidates, field).map((entry) => [entry.key, entry.count]));
  const entries = count(documents, field)
    .filter((entry) => entry.number === null && counts.has(entry.key))
    .map((entry) => ({ ...entry, count: counts.get(entry.key)! }));
  const wanted = whole(query ?? '');
  const bytes = Buffer.byteLength(wanted);
  const allowed = !typo.enabled || bytes < typo.oneTypo ? 0 : bytes < typo.twoTypos ? 1 : 2;
  const found = entries
    .map((entry) => ({ ...entry, whole: whole(entry.shown) }))
    .filter(({ whole: value }) => {
      if (typo.disableOnWords.has(wanted)) return value === wanted;
      if (allowed === 0) return value.startsWith(wanted);
      return editDistance([...wanted], value, true, allowed) <= allowed;
    });
  // With a query the values follow each other as they are compared with it: without accents.
  const form = (entry: (typeof found)[number]): string =>
    query === null ? entry.key : entry.whole;
  found.sort((a, b) => compareBytes(form(a), form(b)) || compareBytes(a.key, b.key));
  if (settings.order(field) === 'count') {
    found.sort((a, b) => b.count - a.count || compareBytes(b.shown, a.shown));
  }
  return found
    .slice(0, settings.maxValuesPerFacet)
    .map(({ shown, count }) => ({ value: shown, count }));
}

/** Every name that some document has, with those of its parents before it. */
export function fieldNames(documents: readonly Document[]): Set<string> {
  const out = new Set<string>();
  const add = (node: Json, parent: string): void => {
    if (Array.isArray(node)) for (const item of node) add(item, parent);
    else if (node !== null && typeof node === 'object') {
      for (const [key, value] of Object.entries(node)) {
        out.add(parent + key);
        add(value, `${parent}${key}.`);
      }
    }
  };
  for (const document of documents) add(document, '');
  return out;
}
