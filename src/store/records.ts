import type { Transaction } from './store.ts';

type Listener<V> = (key: string, before: V | undefined, after: V | undefined) => void;

/** Where records are: the store, or its copy in another thread, which only reads. */
export interface RecordStore {
  records<V>(name: string): RecordTable<V>;
}

export interface RecordTable<V> {
  get(key: string): V | undefined;
  entries(): Iterable<{ key: string; value: V }>;
  /** Calls `listener` with the keys that were changed elsewhere. */
  onForeign(listener: (keys: readonly string[]) => void): void;
  put(transaction: Transaction, key: string, value: V): void;
  remove(transaction: Transaction, key: string): void;
  commit(write: (transaction: Transaction) => void): Promise<void>;
}

/** Changes of a table that are part of a commit of something else. */
export interface StagedRecords {
  write(transaction: Transaction): void;
  /** Makes the changes visible. Call it once the commit is durable. */
  publish(): void;
}

/**
 * A small table of JSON values, held in memory completely: reads never touch the disk.
 *
 * A change is visible at once, resolves when it is durable, and is undone when it cannot be stored.
 */
export class Records<V> {
  readonly #table: RecordTable<V>;
  readonly #values = new Map<string, V>();
  readonly #listeners: Listener<V>[] = [];
  #generation = 0;

  constructor(store: RecordStore, name: string) {
    this.#table = store.records<V>(name);
    for (const { key, value } of this.#table.entries()) this.#values.set(key, value);
    this.#table.onForeign((keys) => {
      for (const key of keys) this.#set(key, this.#table.get(key));
      this.onForeign?.();
    });
  }

  /** Called after changes that another node of a cluster has made. */
  onForeign: (() => void) | null = null;

  /** Incremented by every change. */
  get generation(): number {
    return this.#generation;
  }

  get size(): number {
    return this.#values.size;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  /** Calls `listener` after each change, also when a change that could not be stored is undone. */
  onChange(listener: Listener<V>): void {
    this.#listeners.push(listener);
  }

  values(): Iterable<V> {
    return this.#values.values();
  }

  /** Adds or replaces a value. */
  put(key: string, value: V): Promise<void> {
    return this.change(new Map([[key, value]]));
  }

  remove(key: string): Promise<void> {
    return this.change(new Map([[key, undefined]]));
  }

  /** Makes several changes, all or none. A value of undefined removes the key. */
  async change(changes: ReadonlyMap<string, V | undefined>): Promise<void> {
    for (const [key, value] of changes) this.#set(key, value);
    try {
      await this.#table.commit(this.staged(changes).write);
    } catch (error) {
      for (const key of changes.keys()) this.#set(key, this.#table.get(key));
      throw error;
    }
  }

  /** Several changes to be committed together with something else. Undefined removes the key. */
  staged(changes: ReadonlyMap<string, V | undefined>): StagedRecords {
    return {
      write: (transaction) => {
        for (const [key, value] of changes) {
          if (value === undefined) this.#table.remove(transaction, key);
          else this.#table.put(transaction, key, value);
        }
      },
      publish: () => {
        for (const [key, value] of changes) this.#set(key, value);
      },
    };
  }

  #set(key: string, value: V | undefined): void {
    this.#generation++;
    const before = this.#values.get(key);
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    for (const listener of this.#listeners) listener(key, before, value);
  }
}
