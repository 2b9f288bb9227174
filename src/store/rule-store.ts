import type { SearchRule } from '../contract/search-rules.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

/** The dynamic search rules of the instance. */
export class RuleStore {
  readonly #records: Records<SearchRule>;
  /** As `inForceOrder`, until something changes. */
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

  /** Last updated first. */
  list(): SearchRule[] {
    return [...this.#records.values()].sort((a, b) =>
      a.lastUpdatedAt === b.lastUpdatedAt ? 0 : a.lastUpdatedAt < b.lastUpdatedAt ? 1 : -1,
    );
  }

  /** By precedence, rules without one last; of equal ones the older first. */
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

  remove(uid: string): Promise<void> {
    return this.#records.remove(uid);
  }
}
