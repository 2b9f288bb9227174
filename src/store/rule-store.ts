import type { SearchRule } from '../contract/search-rules.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

/** The dynamic search rules of the instance. */
export class RuleStore {
  readonly #records: Records<SearchRule>;
  /** Cached result of `inForceOrder`. */
  #ordered: { generation: number; rules: readonly SearchRule[] } | null = null;

  constructor(store: Store) {
    this.#records = new Records(store, 'search-rules');
  }

  get size(): number {
    return this.#records.size;
  }

  get(uid: string): SearchRule | undefined {
    return this.#records.get(uid);
  }

  /** Most recently updated first. */
  list(): SearchRule[] {
    return [...this.#records.values()].sort((a, b) =>
      a.lastUpdatedAt === b.lastUpdatedAt ? 0 : a.lastUpdatedAt < b.lastUpdatedAt ? 1 : -1,
    );
  }

  /** By precedence, then those without one; among equals the older first. */
  inForceOrder(): readonly SearchRule[] {
    const { generation } = this.#records;
    if (this.#ordered?.generation !== generation) {
      const rules = [...this.#records.values()].sort(
        (a, b) =>
          (a.precedence ?? Infinity) - (b.precedence ?? Infinity) ||
          (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0),
      );
      this.#ordered = { generation, rules };
    }
    return this.#ordered.rules;
  }

  put(rule: SearchRule): Promise<void> {
    return this.#records.put(rule.uid, rule);
  }

  /**
   * A draft of several changes that are stored together. Nothing else may change rules meanwhile.
   */
  draft(): RuleDraft {
    return new RuleDraft(this.#records);
  }
}

/** The rules after the changes of a draft. */
export class RuleDraft {
  readonly #records: Records<SearchRule>;
  readonly #rules: Map<string, SearchRule>;
  readonly #changed = new Set<string>();
  #bytes = 0;

  constructor(records: Records<SearchRule>) {
    this.#records = records;
    this.#rules = new Map();
    for (const rule of records.values()) {
      this.#rules.set(rule.uid, rule);
      this.#bytes += bytesOf(rule);
    }
  }

  get size(): number {
    return this.#rules.size;
  }

  /** Size of all rules as JSON, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get(uid: string): SearchRule | undefined {
    return this.#rules.get(uid);
  }

  put(rule: SearchRule): void {
    this.remove(rule.uid);
    this.#rules.set(rule.uid, rule);
    this.#bytes += bytesOf(rule);
  }

  remove(uid: string): void {
    const before = this.#rules.get(uid);
    if (before !== undefined) this.#bytes -= bytesOf(before);
    this.#rules.delete(uid);
    this.#changed.add(uid);
  }

  /** @returns the number of rules removed */
  clear(): number {
    const { size } = this.#rules;
    for (const uid of this.#rules.keys()) this.#changed.add(uid);
    this.#rules.clear();
    this.#bytes = 0;
    return size;
  }

  store(): Promise<void> {
    const changed = [...this.#changed];
    return this.#records.change(new Map(changed.map((uid) => [uid, this.#rules.get(uid)])));
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
