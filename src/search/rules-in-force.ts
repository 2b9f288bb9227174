/**
 * Determines the dynamic search rules that apply to a search, and the resulting pins.
 * `docs/behaviour/search-rules.md`.
 */
import { momentOf, type SearchRule } from '../contract/search-rules.ts';
import {
  alternativesOf,
  type Conjunction,
  type FieldCondition,
  keyOf,
  keysOf,
} from './filter-alternatives.ts';
import { wordsOf } from './words.ts';

/** Maximum number of rules in force, and of pins, for one search. */
const RULES_IN_FORCE_MAX = 1_000;
const PINS_MAX = 100;

/** A document at a fixed position. In the order of precedence. */
export interface Pin {
  id: string;
  position: number;
}

export interface RuledSearch {
  indexUid: string;
  /** All names of the index: its uid and its aliases. Default: `indexUid`. */
  names?: readonly string[];
  q: string | null | undefined;
  /** Includes the filter of the caller's token. */
  filter: unknown;
}

/** @param rules in the order of precedence; a different list after every change */
export function pinsOf(rules: readonly SearchRule[], search: RuledSearch, now: number): Pin[] {
  const { indexUid, names = [indexUid] } = search;
  const pins = new Map<string, Pin>();
  const judged = new JudgedSearch(search, now);
  let inForce = 0;
  for (const rule of rulesOf(rules, names).candidates(judged)) {
    if (!judged.meets(rule)) continue;
    if (++inForce > RULES_IN_FORCE_MAX) break;
    for (const { selector, action } of rule.actions) {
      const { id } = selector;
      if (!names.includes(selector.indexUid ?? indexUid) || pins.has(id)) continue;
      if (pins.size === PINS_MAX) return [...pins.values()];
      pins.set(id, { id, position: action.position });
    }
  }
  return [...pins.values()];
}

/** Maximum number of indexes with cached rules. */
const KEPT_INDEXES_MAX = 100;
const KEPT = new WeakMap<readonly SearchRule[], Map<string, IndexRules>>();

function rulesOf(rules: readonly SearchRule[], names: readonly string[]): IndexRules {
  const key = names.length === 1 ? names[0]! : names.join(' ');
  let kept = KEPT.get(rules);
  if (kept === undefined) {
    kept = new Map();
    KEPT.set(rules, kept);
  }
  let own = kept.get(key);
  if (own === undefined) {
    own = new IndexRules(rules, names);
    if (kept.size === KEPT_INDEXES_MAX) kept.delete(kept.keys().next().value!);
    kept.set(key, own);
  }
  return own;
}

/**
 * The active rules with an action for an index, by something that a search must have for each of
 * them: a word, or a value of a field. A search examines only few of many rules.
 */
class IndexRules {
  readonly #rules: SearchRule[] = [];
  /**
   * Positions of rules, ascending: those that any search may meet; by word; by field and key of the
   * value.
   */
  readonly #any: number[] = [];
  readonly #byWord = new Map<string, number[]>();
  readonly #byField = new Map<string, { all: number[]; byKey: Map<string, number[]> }>();

  constructor(rules: readonly SearchRule[], names: readonly string[]) {
    for (const rule of rules) {
      const { indexes, words, values } = readRule(rule);
      if (!rule.active || (indexes !== null && !names.some((name) => indexes.has(name)))) {
        continue;
      }
      const number = this.#rules.push(rule) - 1;
      const [word] = words ?? [];
      const [first] = values;
      if (word !== undefined) listAt(this.#byWord, word).push(number);
      else if (first !== undefined) this.#add(first, number);
      else this.#any.push(number);
    }
  }

  #add([field, value]: readonly [string, unknown], number: number): void {
    let lists = this.#byField.get(field);
    if (lists === undefined) {
      lists = { all: [], byKey: new Map() };
      this.#byField.set(field, lists);
    }
    lists.all.push(number);
    listAt(lists.byKey, keyOf(value)).push(number);
  }

  /** The rules that the search may meet, in the order of precedence. */
  *candidates(search: JudgedSearch): Generator<SearchRule> {
    if (this.#rules.length === this.#any.length) {
      yield* this.#rules;
      return;
    }
    const lists = new Set([this.#any]);
    if (this.#byWord.size > 0) {
      for (const word of search.words()) lists.add(this.#byWord.get(word) ?? []);
    }
    if (this.#byField.size > 0) for (const list of this.#byFilter(search)) lists.add(list);
    const numbers = new Set([...lists].flat());
    for (const number of [...numbers].sort((a, b) => a - b)) yield this.#rules[number]!;
  }

  *#byFilter(search: JudgedSearch): Generator<number[]> {
    for (const alternative of search.alternatives()) {
      for (const [field, conditions] of alternative) {
        const known = this.#byField.get(field);
        if (known === undefined) continue;
        const equals = conditions.find((condition) => condition.equals !== null)?.equals;
        if (equals === undefined || equals === null) yield known.all;
        else for (const key of keysOf(equals)) yield known.byKey.get(key) ?? [];
      }
    }
  }
}

function listAt<T>(lists: Map<string, T[]>, key: string): T[] {
  let list = lists.get(key);
  if (list === undefined) {
    list = [];
    lists.set(key, list);
  }
  return list;
}

/** A rule in the form for comparison with searches. */
interface ReadRule {
  /** The indexes of its actions; null: one applies to any index. */
  indexes: ReadonlySet<string> | null;
  /** Milliseconds since 1970; infinite if unbounded. */
  start: number;
  end: number;
  isEmpty: boolean | undefined;
  words: readonly string[] | null;
  /** The filter must meet each of them. */
  values: readonly (readonly [field: string, value: unknown])[];
}

/** A rule that changes is a new object. */
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

/** Data of a search that conditions use; computed on first use. */
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
      const found = this.words();
      if (isEmpty !== undefined && isEmpty !== this.#isEmpty) return false;
      if (words?.every((word) => found.has(word)) === false) return false;
    }
    return values.length === 0 || this.#meetsFilter(values);
  }

  /** Single words: no phrases, nothing excluded. */
  words(): ReadonlySet<string> {
    if (this.#words !== null) return this.#words;
    const text = (this.#search.q ?? '').slice(0, 10_000);
    const withoutExcluded = text.replace(/(^|\s)-(?:"[^"]*"?|\S+)/g, ' ');
    this.#isEmpty = wordsOf(withoutExcluded).length === 0;
    this.#words = new Set(wordsOf(withoutExcluded.replace(/"[^"]*"?/g, ' ')));
    return this.#words;
  }

  /** Conditions by field, of each alternative of the filter. */
  alternatives(): readonly Map<string, FieldCondition[]>[] {
    this.#alternatives ??= alternativesOf(this.#search.filter).map(byField);
    return this.#alternatives;
  }

  /** Some alternative has conditions on the field of each value, and the value meets them all. */
  #meetsFilter(values: ReadRule['values']): boolean {
    return this.alternatives().some((conditions) =>
      values.every(([field, value]) =>
        conditions.get(field)?.every((condition) => condition.holds(value)),
      ),
    );
  }
}

function byField(conjunction: Conjunction): Map<string, FieldCondition[]> {
  const fields = new Map<string, FieldCondition[]>();
  for (const condition of conjunction) listAt(fields, condition.field).push(condition);
  return fields;
}
