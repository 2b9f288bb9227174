import type { SearchRule } from '../contract/search-rules.ts';
import { Records, type RecordStore } from './records.ts';

/** The dynamic search rules of the instance. */
export class RuleStore {
  readonly #records: Records<SearchRule>;
  /** In the order of the updates, the oldest first. */
  readonly #byUpdate = new Map<string, SearchRule>();
  #latest = '';
  /** The clock went back: `#byUpdate` is not in order. */
  #isMixed = false;
  /** Cached result of `list`. */
  #listed: { generation: number; rules: readonly SearchRule[] } | null = null;
  /** Size of all rules as JSON, bytes. */
  #bytes = 0;

  constructor(store: RecordStore) {
    this.#records = new Records(store, 'search-rules');
    for (const rule of [...this.#records.values()].sort(olderFirst)) this.#note(undefined, rule);
    this.onChange((before, after) => this.#note(before, after));
  }

  #note(before: SearchRule | undefined, after: SearchRule | undefined): void {
    if (before !== undefined) {
      this.#byUpdate.delete(before.uid);
      this.#bytes -= bytesOf(before);
    }
    if (after === undefined) return;
    this.#byUpdate.set(after.uid, after);
    this.#bytes += bytesOf(after);
    if (after.lastUpdatedAt < this.#latest) this.#isMixed = true;
    else this.#latest = after.lastUpdatedAt;
  }

  /** Calls `listener` with a rule before and after each change; undefined: there is none. */
  onChange(
    listener: (before: SearchRule | undefined, after: SearchRule | undefined) => void,
  ): void {
    this.#records.onChange((_uid, before, after) => listener(before, after));
  }

  get size(): number {
    return this.#records.size;
  }

  /** Size of all rules as JSON, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get(uid: string): SearchRule | undefined {
    return this.#records.get(uid);
  }

  values(): Iterable<SearchRule> {
    return this.#records.values();
  }

  /** Most recently updated first. */
  list(): readonly SearchRule[] {
    const { generation } = this.#records;
    if (this.#listed?.generation !== generation) {
      const rules = [...this.#byUpdate.values()];
      if (this.#isMixed) rules.sort(olderFirst);
      this.#listed = { generation, rules: rules.reverse() };
    }
    return this.#listed.rules;
  }

  put(rule: SearchRule): Promise<void> {
    return this.#records.put(rule.uid, rule);
  }

  /**
   * A draft of several changes that are stored together. Nothing else may change rules meanwhile.
   */
  draft(): RuleDraft {
    return new RuleDraft(this, (changes) => this.#records.change(changes));
  }
}

function olderFirst(a: SearchRule, b: SearchRule): number {
  return a.lastUpdatedAt < b.lastUpdatedAt ? -1 : a.lastUpdatedAt > b.lastUpdatedAt ? 1 : 0;
}

/** The rules after the changes of a draft. */
export class RuleDraft {
  readonly #rules: RuleStore;
  readonly #store: (changes: ReadonlyMap<string, SearchRule | undefined>) => Promise<void>;
  /** By uid; undefined: removed. */
  readonly #changed = new Map<string, SearchRule | undefined>();
  #size: number;
  #bytes: number;

  constructor(
    rules: RuleStore,
    store: (changes: ReadonlyMap<string, SearchRule | undefined>) => Promise<void>,
  ) {
    this.#rules = rules;
    this.#store = store;
    this.#size = rules.size;
    this.#bytes = rules.bytes;
  }

  get size(): number {
    return this.#size;
  }

  /** Size of all rules as JSON, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get(uid: string): SearchRule | undefined {
    return this.#changed.has(uid) ? this.#changed.get(uid) : this.#rules.get(uid);
  }

  put(rule: SearchRule): void {
    this.remove(rule.uid);
    this.#changed.set(rule.uid, rule);
    this.#size++;
    this.#bytes += bytesOf(rule);
  }

  remove(uid: string): void {
    const before = this.get(uid);
    if (before !== undefined) {
      this.#size--;
      this.#bytes -= bytesOf(before);
    }
    this.#changed.set(uid, undefined);
  }

  /** @returns the number of rules removed */
  clear(): number {
    const size = this.#size;
    for (const { uid } of this.#rules.values()) this.#changed.set(uid, undefined);
    for (const uid of this.#changed.keys()) this.#changed.set(uid, undefined);
    this.#size = 0;
    this.#bytes = 0;
    return size;
  }

  store(): Promise<void> {
    return this.#store(this.#changed);
  }
}

/** Cache by object. A rule that changes is a new object. */
const BYTES = new WeakMap<SearchRule, number>();

/** Size of a rule as JSON, bytes. */
export function bytesOf(rule: SearchRule): number {
  let bytes = BYTES.get(rule);
  if (bytes === undefined) {
    bytes = Buffer.byteLength(JSON.stringify(rule));
    BYTES.set(rule, bytes);
  }
  return bytes;
}
