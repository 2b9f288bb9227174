import type { KeyRecord } from '../contract/keys.ts';
import { Records, type RecordStore } from './records.ts';

/**
 * The API keys, one record per uid. One instance per database. For when a change takes effect see
 * `Records`.
 */
export class KeyStore {
  readonly #records: Records<KeyRecord>;
  /** The result of `list`, kept in order. */
  readonly #ordered: KeyRecord[];

  constructor(store: RecordStore) {
    this.#records = new Records(store, 'keys');
    this.#ordered = [...this.#records.values()].sort(inListOrder);
    this.#records.onChange((_, before, after) => this.#reorder(before, after));
  }

  get size(): number {
    return this.#records.size;
  }

  /** Newest first; among keys of the same time, the greater uid first. */
  list(): readonly KeyRecord[] {
    return this.#ordered;
  }

  uids(): Iterable<string> {
    return this.#records.keys();
  }

  get(uid: string): KeyRecord | undefined {
    return this.#records.get(uid);
  }

  /**
   * Calls `listener` after each change of a key, also when a change that could not be stored is
   * undone.
   */
  onChange(listener: (uid: string) => void): void {
    this.#records.onChange(listener);
  }

  /** Adds or replaces keys, all or none. */
  put(...records: readonly KeyRecord[]): Promise<void> {
    return this.#records.change(new Map(records.map((record) => [record.uid, record])));
  }

  remove(uid: string): Promise<void> {
    return this.#records.remove(uid);
  }

  #reorder(before: KeyRecord | undefined, after: KeyRecord | undefined): void {
    if (before !== undefined) this.#ordered.splice(positionOf(this.#ordered, before), 1);
    if (after !== undefined) this.#ordered.splice(positionOf(this.#ordered, after), 0, after);
  }
}

/** Negative: `a` comes first. */
function inListOrder(a: KeyRecord, b: KeyRecord): number {
  if (a.createdAt !== b.createdAt) return b.createdAt < a.createdAt ? -1 : 1;
  return a.uid === b.uid ? 0 : b.uid < a.uid ? -1 : 1;
}

/** The position of `record`, or where to insert it. */
function positionOf(ordered: readonly KeyRecord[], record: KeyRecord): number {
  let begin = 0;
  let end = ordered.length;
  while (begin < end) {
    const middle = (begin + end) >> 1;
    if (inListOrder(ordered[middle]!, record) < 0) begin = middle + 1;
    else end = middle;
  }
  return begin;
}
