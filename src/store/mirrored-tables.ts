import type { RecordStore, RecordTable } from './records.ts';

/** A table of another thread, in memory. */
class MirroredTable {
  readonly values = new Map<string, unknown>();
  readonly listeners: ((keys: readonly string[]) => void)[] = [];
}

const refuse = (): never => {
  throw new Error('a copy of the store is not changed');
};

/** Tables of another thread, for stores that only read. */
export class MirroredTables implements RecordStore {
  readonly #tables = new Map<string, MirroredTable>();

  records<V>(name: string): RecordTable<V> {
    const { values, listeners } = this.#table(name);
    return {
      get: (key) => values.get(key) as V | undefined,
      entries: () => [...values].map(([key, value]) => ({ key, value: value as V })),
      onForeign: (listener) => void listeners.push(listener),
      put: refuse,
      remove: refuse,
      commit: refuse,
    };
  }

  /** @param value undefined: the record is removed */
  change(name: string, key: string, value: unknown): void {
    const { values, listeners } = this.#table(name);
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    for (const listener of listeners) listener([key]);
  }

  #table(name: string): MirroredTable {
    const table = this.#tables.get(name) ?? new MirroredTable();
    this.#tables.set(name, table);
    return table;
  }
}
