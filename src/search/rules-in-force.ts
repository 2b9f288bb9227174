/**
 * Determines the dynamic search rules that apply to a search, and the resulting pins.
 * `docs/behaviour/search-rules.md`.
 */
import type { Clock } from '../base/clock.ts';
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

/** A document at a fixed position, or one that is hidden. In the order of precedence. */
export type Pin = { id: string; position: number } | { id: string; hidden: true };

export interface RuledSearch {
  indexUid: string;
  /** All names of the index: its uid and its aliases. Default: `indexUid`. */
  names?: readonly string[];
  q: string | null | undefined;
  /** Includes the filter of the caller's token. */
  filter: unknown;
}

interface RuleSources {
  rules: {
    readonly size: number;
    values(): Iterable<SearchRule>;
    onChange(listener: (before?: SearchRule, after?: SearchRule) => void): void;
  };
  aliases: { namesOf(indexUid: string): readonly string[] };
  enabled: () => { dynamicSearchRules: boolean };
  clock: Clock;
}

/** The pins of a search by the rules that there are at that time; none without the feature. */
export function currentPins({ rules, aliases, enabled, clock }: RuleSources) {
  const tables = new RuleTables(rules.values());
  rules.onChange((before, after) => tables.change(before, after));
  return (search: RuledSearch): Pin[] =>
    enabled().dynamicSearchRules && rules.size > 0
      ? pinsOf(tables, { ...search, names: aliases.namesOf(search.indexUid) }, clock.now())
      : [];
}

export function pinsOf(rules: RuleTables, search: RuledSearch, now: number): Pin[] {
  const { indexUid, names = [indexUid] } = search;
  const pins = new Map<string, Pin>();
  const judged = new JudgedSearch(search, now);
  let inForce = 0;
  for (const rule of rules.candidates(names, judged)) {
    if (!judged.meets(rule)) continue;
    if (++inForce > RULES_IN_FORCE_MAX) break;
    for (const { selector, action } of rule.actions) {
      const { id } = selector;
      if (!names.includes(selector.indexUid ?? indexUid) || pins.has(id)) continue;
      if (pins.size === PINS_MAX) return [...pins.values()];
      const { position } = action;
      pins.set(id, position === undefined ? { id, hidden: true } : { id, position });
    }
  }
  return [...pins.values()];
}

/** By precedence, then those without one; among equals the older first. */
function inOrder(a: SearchRule, b: SearchRule): number {
  return (
    (a.precedence ?? Infinity) - (b.precedence ?? Infinity) ||
    (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0) ||
    readRule(a).number - readRule(b).number
  );
}

const NO_RULES: readonly SearchRule[] = [];

/** Rules in order. Changes are merged into the order when it is needed next. */
class OrderedRules {
  #items = NO_RULES;
  #added: SearchRule[] | null = null;
  #removed: Set<SearchRule> | null = null;
  /** Number of rules. */
  size = 0;

  add(rule: SearchRule): void {
    (this.#added ??= []).push(rule);
    this.size++;
  }

  /** REQUIRES: the rule was added */
  remove(rule: SearchRule): void {
    (this.#removed ??= new Set()).add(rule);
    this.size--;
  }

  get items(): readonly SearchRule[] {
    const removed = this.#removed;
    const added = this.#added;
    if (removed === null && added === null) return this.#items;
    const isLeft = (rule: SearchRule): boolean => removed?.has(rule) !== true;
    const fresh = (added ?? NO_RULES).filter(isLeft).sort(inOrder);
    this.#items = merged(removed === null ? this.#items : this.#items.filter(isLeft), fresh);
    this.#added = null;
    this.#removed = null;
    return this.#items;
  }
}

function merged(a: readonly SearchRule[], b: readonly SearchRule[]): readonly SearchRule[] {
  if (a.length === 0) return b;
  if (b.length === 0) return a;
  const all: SearchRule[] = [];
  let n = 0;
  for (const rule of a) {
    while (n < b.length && inOrder(b[n]!, rule) < 0) all.push(b[n++]!);
    all.push(rule);
  }
  while (n < b.length) all.push(b[n++]!);
  return all;
}

/** The rules of one index, by something that a search must have for each of them. */
class IndexTable {
  /** Those that any search may meet. */
  readonly any = new OrderedRules();
  readonly byWord = new Map<string, OrderedRules>();
  /** By field, and by field and key of the value. */
  readonly byField = new Map<string, OrderedRules>();
  readonly byValue = new Map<string, OrderedRules>();

  /** @param change adds the rule to a list, or removes it */
  change(rule: SearchRule, change: 'add' | 'remove'): void {
    const { words, values } = readRule(rule);
    const [word] = words ?? [];
    const [first] = values;
    if (word !== undefined) changeIn(this.byWord, word, rule, change);
    else if (first === undefined) this.any[change](rule);
    else {
      changeIn(this.byField, first[0], rule, change);
      changeIn(this.byValue, valueKey(first[0], keyOf(first[1])), rule, change);
    }
  }
}

function valueKey(field: string, key: string): string {
  return `${field.length} ${field}${key}`;
}

function changeIn(
  lists: Map<string, OrderedRules>,
  key: string,
  rule: SearchRule,
  change: 'add' | 'remove',
): void {
  let list = lists.get(key);
  if (list === undefined) {
    list = new OrderedRules();
    lists.set(key, list);
  }
  list[change](rule);
  if (list.size === 0) lists.delete(key);
}

/** The table of rules that apply to any index. */
const ANY_INDEX = '*';

/**
 * The active rules, so that a search examines only few of many. A change of a rule costs as much as
 * the lists that it is in.
 */
export class RuleTables {
  readonly #tables = new Map<string, IndexTable>();

  constructor(rules: Iterable<SearchRule> = []) {
    for (const rule of rules) this.change(undefined, rule);
    // Sorts the long lists now instead of during the first search.
    for (const { any } of this.#tables.values()) void any.items;
  }

  /** Replaces a rule. undefined: there was, or is, none. */
  change(before: SearchRule | undefined, after: SearchRule | undefined): void {
    if (before === after) return;
    if (before?.active === true) this.#change(before, 'remove');
    if (after?.active === true) this.#change(after, 'add');
  }

  #change(rule: SearchRule, change: 'add' | 'remove'): void {
    for (const index of readRule(rule).indexes ?? [ANY_INDEX]) {
      let table = this.#tables.get(index);
      if (table === undefined) {
        table = new IndexTable();
        this.#tables.set(index, table);
      }
      table.change(rule, change);
    }
  }

  /**
   * The rules that a search may meet, in the order of precedence.
   * @param names of the searched index
   */
  *candidates(names: readonly string[], search: JudgedSearch): Generator<SearchRule> {
    const lists = new Set<OrderedRules>();
    for (const name of [...names, ANY_INDEX]) {
      const table = this.#tables.get(name);
      if (table !== undefined) for (const list of listsOf(table, search)) lists.add(list);
    }
    yield* inTurn([...lists].map((list) => list.items).filter((items) => items.length > 0));
  }
}

function* listsOf(table: IndexTable, search: JudgedSearch): Generator<OrderedRules> {
  yield table.any;
  if (table.byWord.size > 0) {
    for (const word of search.words()) {
      const list = table.byWord.get(word);
      if (list !== undefined) yield list;
    }
  }
  if (table.byField.size === 0) return;
  for (const alternative of search.alternatives()) {
    for (const [field, conditions] of alternative) {
      const all = table.byField.get(field);
      if (all === undefined) continue;
      const equals = conditions.find((condition) => condition.equals !== null)?.equals;
      if (equals === undefined || equals === null) {
        yield all;
        continue;
      }
      for (const key of keysOf(equals)) {
        const list = table.byValue.get(valueKey(field, key));
        if (list !== undefined) yield list;
      }
    }
  }
}

/** The rules of several lists in order, each once: a rule may be in several lists. */
function* inTurn(lists: (readonly SearchRule[])[]): Generator<SearchRule> {
  const [first] = lists;
  if (lists.length === 1) {
    yield* first!;
    return;
  }
  const heads = lists.map((items) => ({ items, at: 0 }));
  let last: SearchRule | null = null;
  while (heads.length > 0) {
    let lowest = heads[0]!;
    for (const head of heads) {
      if (inOrder(head.items[head.at]!, lowest.items[lowest.at]!) < 0) lowest = head;
    }
    const rule = lowest.items[lowest.at++]!;
    if (lowest.at === lowest.items.length) heads.splice(heads.indexOf(lowest), 1);
    if (rule !== last) yield rule;
    last = rule;
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
  /** In the order of reading; decides between rules that are equal otherwise. */
  number: number;
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
let rulesRead = 0;

function readRule(rule: SearchRule): ReadRule {
  let read = READ.get(rule);
  if (read === undefined) {
    const { time, query, filter } = rule.conditions;
    const named = rule.actions.map(({ selector }) => selector.indexUid);
    read = {
      number: rulesRead++,
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
