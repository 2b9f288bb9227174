/** Which dynamic search rules hold for a search, and the pins that come of them. `docs/behaviour/search-rules.md`. */
import { momentOf, type SearchRule } from '../contract/search-rules.ts';
import { alternativesOf, type Conjunction, type FieldCondition } from './filter-alternatives.ts';
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
  const { indexUid } = search;
  const pins = new Map<string, Pin>();
  const judged = new JudgedSearch(search, now);
  let inForce = 0;
  for (const rule of rules) {
    if (!rule.active || !concerns(rule, indexUid) || !judged.meets(rule)) continue;
    if (++inForce > RULES_IN_FORCE_MAX) break;
    for (const { selector, action } of rule.actions) {
      const { id } = selector;
      if ((selector.indexUid ?? indexUid) !== indexUid || pins.has(id)) continue;
      if (pins.size === PINS_MAX) return [...pins.values()];
      pins.set(id, { id, position: action.position });
    }
  }
  return [...pins.values()];
}

/** Whether the rule has an action for the index. */
function concerns(rule: SearchRule, indexUid: string): boolean {
  const { indexes } = readRule(rule);
  return indexes === null || indexes.has(indexUid);
}

/** A rule as searches are compared with it. */
interface ReadRule {
  /** That its actions name; null: one is for any index. */
  indexes: ReadonlySet<string> | null;
  /** Milliseconds since 1970; infinite where there is no bound. */
  start: number;
  end: number;
  isEmpty: boolean | undefined;
  words: readonly string[] | null;
  /** Each is to be met by the filter. */
  values: readonly (readonly [field: string, value: unknown])[];
}

/** A rule that changes is another object. */
const READ = new WeakMap<SearchRule, ReadRule>();

function readRule(rule: SearchRule): ReadRule {
  let read = READ.get(rule);
  if (read === undefined) {
    const { time, query, filter } = rule.conditions;
    const named = rule.actions.map(({ selector }) => selector.indexUid);
    read = {
      indexes: named.includes(undefined) ? null : new Set(named as string[]),
      start: time?.start === undefined ? -Infinity : momentOf(time.start),
      end: time?.end === undefined ? Infinity : momentOf(time.end),
      isEmpty: query?.isEmpty,
      words: query?.words === undefined ? null : wordsOf(query.words),
      values: Object.entries(filter?.values ?? {}).flatMap(([field, value]) =>
        value === null ? [] : [value].flat().map((one: unknown) => [field, one] as const),
      ),
    };
    READ.set(rule, read);
  }
  return read;
}

/** What conditions ask of a search; worked out when the first asks. */
class JudgedSearch {
  readonly #search: RuledSearch;
  readonly #now: number;
  #words: ReadonlySet<string> | null = null;
  #isEmpty = true;
  /** Conditions by field, of each alternative. */
  #alternatives: Map<string, FieldCondition[]>[] | null = null;

  constructor(search: RuledSearch, now: number) {
    this.#search = search;
    this.#now = now;
  }

  meets(rule: SearchRule): boolean {
    const { start, end, isEmpty, words, values } = readRule(rule);
    if (start > this.#now || end < this.#now) return false;
    if (isEmpty !== undefined || words !== null) {
      const found = this.#queryWords();
      if (isEmpty !== undefined && isEmpty !== this.#isEmpty) return false;
      if (words?.every((word) => found.has(word)) === false) return false;
    }
    return values.length === 0 || this.#meetsFilter(values);
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

  /** Some alternative has conditions on the field of each value, and the value meets them all. */
  #meetsFilter(values: ReadRule['values']): boolean {
    this.#alternatives ??= alternativesOf(this.#search.filter).map(byField);
    return this.#alternatives.some((conditions) =>
      values.every(([field, value]) =>
        conditions.get(field)?.every((condition) => condition.holds(value)),
      ),
    );
  }
}

function byField(conjunction: Conjunction): Map<string, FieldCondition[]> {
  const fields = new Map<string, FieldCondition[]>();
  for (const condition of conjunction) {
    const others = fields.get(condition.field);
    if (others === undefined) fields.set(condition.field, [condition]);
    else others.push(condition);
  }
  return fields;
}
