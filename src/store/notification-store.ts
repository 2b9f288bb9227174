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
  /** The same. */
  readonly #webhooks = new Map<number, Set<string>>();
  /** Uuid of a webhook -> uids of the batches that it has not been told of, in the order in which they ended. Never empty. */
  readonly #waiting = new Map<string, Set<number>>();

  constructor(store: Store) {
    this.#store = store;
    this.#table = store.table<string[]>('notifications');
    this.reload();
  }

  /** Reads what is stored anew. */
  reload(): void {
    this.#webhooks.clear();
    this.#waiting.clear();
    for (const { key, value } of this.#table.getRange()) {
      this.published(Number(key), value);
    }
  }

  /** To be part of the transaction that ends a batch. `published` follows when it has been committed. */
  write(tx: Transaction, batchUid: number, webhooks: readonly string[]): void {
    tx.put(this.#table, keyOf(batchUid), [...webhooks]);
  }

  published(batchUid: number, webhooks: readonly string[]): void {
    this.#webhooks.set(batchUid, new Set(webhooks));
    for (const webhook of webhooks) {
      const waiting = this.#waiting.get(webhook);
      if (waiting === undefined) this.#waiting.set(webhook, new Set([batchUid]));
      else waiting.add(batchUid);
    }
  }

  /** Uids of batches that a webhook has not been told of, oldest first. Changes with the store. */
  waitingFor(webhook: string): ReadonlySet<number> {
    return this.#waiting.get(webhook) ?? NONE;
  }

  /** Uuids of all webhooks that wait for something. */
  webhooks(): string[] {
    return [...this.#waiting.keys()];
  }

  /** A webhook has been told of these batches, or never will be. */
  async settle(webhook: string, batchUids: Iterable<number>): Promise<void> {
    const waiting = this.#waiting.get(webhook);
    const changed = [...batchUids].filter((uid) => waiting?.delete(uid) === true);
    if (waiting?.size === 0) this.#waiting.delete(webhook);
    for (const uid of changed) {
      const webhooks = this.#webhooks.get(uid)!;
      webhooks.delete(webhook);
      if (webhooks.size === 0) this.#webhooks.delete(uid);
    }
    await this.#store.commit((tx) => {
      for (const uid of changed) {
        const left = this.#webhooks.get(uid);
        if (left === undefined) tx.remove(this.#table, keyOf(uid));
        else tx.put(this.#table, keyOf(uid), [...left]);
      }
    });
  }
}

const NONE: ReadonlySet<number> = new Set();

function keyOf(batchUid: number): string {
  return String(batchUid).padStart(10, '0');
}
