/** Tables of another thread, in memory, for stores that only read. */
import type { ForeignListener } from './store.ts';
import type { Store } from './store.ts';

export class MirroredTables {
  readonly #tables = new Map<string, Map<string, unknown>>();
  readonly #listeners: ForeignListener[] = [];

  /** The store of these tables, with the members that `Records` reads. */
  get store(): Store {
    const table = (name: string): object => {
      const values = this.#table(name);
      return {
        name,
        get: (key: string) => values.get(key),
        getRange: () => [...values].map(([key, value]) => ({ key, value })),
      };
    };
    const onForeign = (listener: ForeignListener): void => void this.#listeners.push(listener);
    return { table, onForeign } as unknown as Store;
  }

  /** @param value undefined: the record is removed */
  change(name: string, key: string, value: unknown): void {
    const values = this.#table(name);
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    for (const listener of this.#listeners) listener(new Map([[name, [key]]]));
  }

  #table(name: string): Map<string, unknown> {
    const known = this.#tables.get(name);
    if (known !== undefined) return known;
    const values = new Map<string, unknown>();
    this.#tables.set(name, values);
    return values;
  }
}
