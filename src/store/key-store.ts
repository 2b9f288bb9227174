import type { KeyRecord } from '../contract/keys.ts';
import { Records } from './records.ts';
import type { Store } from './store.ts';

/** The API keys, one record per uid; see `Records` for when a change counts. One instance per database. */
export class KeyStore {
  readonly #records: Records<KeyRecord>;

  constructor(store: Store) {
    this.#records = new Records(store, 'keys');
  }

  /** Grows with every change: what was derived from the keys at another generation is stale. */
  get generation(): number {
    return this.#records.generation;
  }

  get size(): number {
    return this.#records.size;
  }

  /** Newest first; of the same moment, the greater uid first. */
  list(): KeyRecord[] {
    return [...this.#records.values()].sort((a, b) =>
      a.createdAt === b.createdAt ? (b.uid < a.uid ? -1 : 1) : b.createdAt < a.createdAt ? -1 : 1,
    );
  }

  get(uid: string): KeyRecord | undefined {
    return this.#records.get(uid);
  }

  /** Adds or replaces. */
  put(record: KeyRecord): Promise<void> {
    return this.#records.put(record.uid, record);
  }

  remove(uid: string): Promise<void> {
    return this.#records.remove(uid);
  }
}
