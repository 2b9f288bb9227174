import type { Table } from './table.ts';
import type { Store, Transaction } from './store.ts';

/**
 * The batches that webhooks have not been told of yet. A row is written in the transaction that ends its batch, so no
 * crash loses one; it goes once every webhook has been told, or has been given up.
 */
export class NotificationStore {
  readonly #store: Store;
  /** Number of the batch, sortable as a text -> uuids of the webhooks that wait. */
  readonly #table: Table<string[], string>;
  /** The same, in the order in which the batches ended. */
  readonly #waiting = new Map<number, Set<string>>();

  constructor(store: Store) {
    this.#store = store;
    this.#table = store.table<string[]>('notifications');
    for (const { key, value } of this.#table.getRange()) {
      this.#waiting.set(Number(key), new Set(value));
    }
  }

  /** To be part of the transaction that ends a batch. `published` follows when it has been committed. */
  write(tx: Transaction, batchUid: number, webhooks: readonly string[]): void {
    tx.put(this.#table, keyOf(batchUid), [...webhooks]);
  }

  published(batchUid: number, webhooks: readonly string[]): void {
    this.#waiting.set(batchUid, new Set(webhooks));
  }

  /** Uids of batches that a webhook has not been told of, oldest first. */
  waitingFor(webhook: string): number[] {
    return [...this.#waiting].flatMap(([uid, webhooks]) => (webhooks.has(webhook) ? [uid] : []));
  }

  /** Uuids of all webhooks that wait for something. */
  webhooks(): Set<string> {
    return new Set([...this.#waiting.values()].flatMap((webhooks) => [...webhooks]));
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** A webhook has been told of these batches, or never will be. */
  async settle(webhook: string, batchUids: readonly number[]): Promise<void> {
    const changed = batchUids.filter((uid) => this.#waiting.get(uid)?.delete(webhook) === true);
    for (const uid of changed) if (this.#waiting.get(uid)!.size === 0) this.#waiting.delete(uid);
    await this.#store.commit((tx) => {
      for (const uid of changed) {
        const left = this.#waiting.get(uid);
        if (left === undefined) tx.remove(this.#table, keyOf(uid));
        else tx.put(this.#table, keyOf(uid), [...left]);
      }
    });
  }
}

function keyOf(batchUid: number): string {
  return String(batchUid).padStart(10, '0');
}
