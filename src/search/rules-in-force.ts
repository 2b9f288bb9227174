/** Which dynamic search rules hold for a search, and the pins that come of them. `docs/behaviour/search-rules.md`. */
import { momentOf, type SearchRule } from '../contract/search-rules.ts';
import { alternativesOf, type Conjunction } from './filter-alternatives.ts';
import { wordsOf } from './words.ts';

/** Rules in force and pins of one search. */
const RULES_IN_FORCE_MAX = 1_000;
const PINS_MAX = 100;

/** A document that stands at a fixed place. In the order of precedence. */
export interface Pin {
  id: string;
  position: number;
}

export interface RuledSearch {
  indexUid: string;
  q: string | null | undefined;
  /** With the filter of the caller's token. */
  filter: unknown;
}

/** @param rules in the order of precedence */
export function pinsOf(rules: readonly SearchRule[], search: RuledSearch, now: number): Pin[] {
  const pins: Pin[] = [];
  const judged = new JudgedSearch(search, now);
  let inForce = 0;
  for (const rule of rules) {
    const { indexUid } = search;
    const own = rule.actions.filter(({ selector }) => (selector.indexUid ?? indexUid) === indexUid);
    if (!rule.active || own.length === 0 || !judged.meets(rule)) continue;
    if (++inForce > RULES_IN_FORCE_MAX) break;
    for (const { selector, action } of own) {
      if (pins.some(({ id }) => id === selector.id)) continue;
      if (pins.length === PINS_MAX) return pins;
      pins.push({ id: selector.id, position: action.position });
    }
  }
  return pins;
}

/** What conditions ask of a search; worked out when the first asks. */
class JudgedSearch {
  readonly #search: RuledSearch;
  readonly #now: number;
  #words: ReadonlySet<string> | null = null;
  #isEmpty = true;
  #alternatives: Conjunction[] | null = null;

  constructor(search: RuledSearch, now: number) {
    this.#search = search;
    this.#now = now;
  }

  meets({ conditions: { time, query, filter } }: SearchRule): boolean {
    if (time?.start !== undefined && momentOf(time.start) > this.#now) return false;
    if (time?.end !== undefined && momentOf(time.end) < this.#now) return false;
    if (query !== undefined && !this.#meetsQuery(query)) return false;
    return filter === undefined || this.#meetsFilter(filter.values);
  }

  #meetsQuery({ isEmpty, words }: NonNullable<SearchRule['conditions']['query']>): boolean {
    const found = this.#queryWords();
    if (isEmpty !== undefined && isEmpty !== this.#isEmpty) return false;
    return words === undefined || wordsOf(words).every((word) => found.has(word));
  }

  /** Words that stand alone: no phrases, nothing excluded. */
  #queryWords(): ReadonlySet<string> {
    if (this.#words !== null) return this.#words;
    const text = (this.#search.q ?? '').slice(0, 10_000);
    const withoutExcluded = text.replace(/(^|\s)-(?:"[^"]*"?|\S+)/g, ' ');
    this.#isEmpty = wordsOf(withoutExcluded).length === 0;
    this.#words = new Set(wordsOf(withoutExcluded.replace(/"[^"]*"?/g, ' ')));
    return this.#words;
  }

  #meetsFilter(values: Record<string, unknown>): boolean {
    const wanted = Object.entries(values).flatMap(([field, value]) =>
      value === null
        ? []
        : Array.isArray(value)
          ? value.map((one): [string, unknown] => [field, one])
          : [[field, value] as [string, unknown]],
    );
    if (wanted.length === 0) return true;
    this.#alternatives ??= alternativesOf(this.#search.filter);
    return this.#alternatives.some((conjunction) =>
      wanted.every(([field, value]) => {
        const onField = conjunction.filter((condition) => condition.field === field);
        return onField.length > 0 && onField.every((condition) => condition.holds(value));
      }),
    );
  }
}
