import type { Database } from 'lmdb';
import type { KeyRecord } from '../contract/keys.ts';

/**
 * The API keys, one record per uid.
 *
 * Every record is also held in memory; reads never touch the disk. A write resolves once it is durable.
 * One instance per database.
 */
export class KeyStore {
  readonly #db: Database<KeyRecord, string>;
  readonly #records = new Map<string, KeyRecord>();
  #generation = 0;

  constructor(db: Database) {
    this.#db = db as Database<KeyRecord, string>;
    for (const { key, value } of this.#db.getRange()) this.#records.set(key, value);
  }

  /** Grows with every change: what was derived from the keys at another generation is stale. */
  get generation(): number {
    return this.#generation;
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
  async put(record: KeyRecord): Promise<void> {
    this.#records.set(record.uid, record);
    this.#generation++;
    await this.#db.put(record.uid, record);
    await this.#db.flushed;
  }

  async remove(uid: string): Promise<void> {
    this.#records.delete(uid);
    this.#generation++;
    await this.#db.remove(uid);
    await this.#db.flushed;
  }
}
