/** Documents that are pinned or hidden where they stand, and the rule for that. Pure functions. */
import type { SearchRule } from '../contract/search-rules.ts';
import type { SearchState } from './search-request.ts';

/** By id of a document: its position, from 0; null: it is hidden. In the order of choosing. */
export type Spots = ReadonlyMap<string, number | null>;

/** When a rule applies, as the form has it. */
export interface RuleTerms {
  /** Empty: the query has no words. */
  readonly words: string;
  /** Values by attribute that the search must be narrowed to. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Moments; empty: open. */
  readonly start: string;
  readonly end: string;
}

/** The words of a query outside of exclusions; those of a phrase count as words. */
export function wordsOf(q: string): string {
  return q
    .replace(/(^|\s)-(?:"[^"]*"?|\S+)/g, ' ')
    .replaceAll('"', ' ')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Whether a query has words in quotes, which rules do not see. */
export const hasPhrase = (q: string): boolean =>
  wordsOf(q) !== wordsOf(q.replace(/(?<!-)"[^"]*"?/g, ' '));

/** What a new rule for a search begins with: its words, and the choices that narrow it. */
export function termsOf({ q, chosen }: Pick<SearchState, 'q' | 'chosen'>): RuleTerms {
  const single = Object.entries(chosen).filter(([, values]) => values.length === 1);
  const values = Object.fromEntries(single.map(([facet, [value]]) => [facet, value]));
  return { words: wordsOf(q), values, start: '', end: '' };
}

/**
 * The rule in force that was made for the words of a search in an index, if there is one.
 * @param now milliseconds since 1970
 */
export function ruleFor(
  rules: readonly SearchRule[],
  indexUid: string,
  { q, chosen }: Pick<SearchState, 'q' | 'chosen'>,
  now: number,
): SearchRule | undefined {
  const words = wordsOf(q).toLowerCase();
  return rules.find((rule) => {
    const { active, conditions, actions } = rule;
    const { query, filter, time } = conditions;
    const isOfQuery =
      words === '' ? query?.isEmpty === true : query?.words?.toLowerCase() === words;
    const isNow =
      now >= Date.parse(time?.start ?? '1970-01-01') &&
      now <= Date.parse(time?.end ?? '9999-01-01');
    const isNarrowed = Object.entries(filter?.values ?? {}).every(([facet, value]) =>
      chosen[facet]?.includes(String(value)),
    );
    const isOfIndex = actions.every(({ selector }) => selector.indexUid === indexUid);
    return active && isOfQuery && isNow && isNarrowed && isOfIndex && actions.length > 0;
  });
}

export function termsOfRule({ conditions: { query, filter, time } }: SearchRule): RuleTerms {
  return {
    words: query?.words ?? '',
    values: filter?.values ?? {},
    start: time?.start ?? '',
    end: time?.end ?? '',
  };
}

export function spotsOf(actions: SearchRule['actions']): Spots {
  return new Map(actions.map(({ selector, action }) => [selector.id, action.position ?? null]));
}

/** @param spot undefined: the document is neither pinned nor hidden */
export function withSpot(spots: Spots, id: string, spot: number | null | undefined): Spots {
  const others = [...spots].filter(([one]) => one !== id);
  return new Map(spot === undefined ? others : [...others, [id, spot]]);
}

/** The body of the request that makes or changes the rule. */
export function curationBody(indexUid: string, spots: Spots, terms: RuleTerms): object {
  const { words, values, start, end } = terms;
  const time = { ...(start !== '' && { start }), ...(end !== '' && { end }) };
  return {
    conditions: {
      query: words === '' ? { isEmpty: true } : { words },
      ...(Object.keys(values).length > 0 && { filter: { values } }),
      ...(Object.keys(time).length > 0 && { time }),
    },
    actions: [...spots].map(([id, position]) => ({
      selector: { indexUid, id },
      action: position === null ? { type: 'hide' } : { type: 'pin', position },
    })),
  };
}

/**
 * The hits of a page as they will be: hidden ones leave, and pinned ones stand at their positions.
 * @param first position of the first hit, from 0
 */
export function previewed<T>(
  hits: readonly T[],
  idOf: (hit: T) => string | null,
  first: number,
  spots: Spots,
): T[] {
  const byId = new Map(hits.map((hit) => [idOf(hit), hit]));
  const pins = [...spots]
    .flatMap(([id, at]): [number, T][] => {
      const hit = byId.get(id);
      return at === null || at < first || hit === undefined ? [] : [[at - first, hit]];
    })
    .toSorted(([a], [b]) => a - b);
  const ordinary = hits.filter((hit) => !spots.has(idOf(hit) ?? ''));
  const shown: T[] = [];
  while (pins.length > 0 || ordinary.length > 0) {
    const isPin = pins.length > 0 && (pins[0]![0] <= shown.length || ordinary.length === 0);
    shown.push(isPin ? pins.shift()![1] : ordinary.shift()!);
  }
  return shown;
}
