import type { Table } from './table.ts';
import type { Store, Transaction } from './store.ts';

/**
 * The batches that webhooks have yet to be notified of. A row is written in the transaction that
 * ends its batch, so no crash loses one. It is removed once every webhook has been notified, or its
 * notification was dropped.
 */
export class NotificationStore {
  readonly #store: Store;
  /** Number of the batch, sortable as a text -> uuids of the webhooks that wait. */
  readonly #table: Table<string[], string>;
  /** The same in memory, by batch uid. */
  readonly #webhooks = new Map<number, Set<string>>();
  /**
   * Uuid of a webhook -> uids of the batches it has yet to be notified of, in the order in which
   * they ended. Never empty.
   */
  readonly #waiting = new Map<string, Set<number>>();

  constructor(store: Store) {
    this.#store = store;
    this.#table = store.table<string[]>('notifications');
    this.reload();
  }

  /** Reads the stored notifications again. */
  reload(): void {
    this.#webhooks.clear();
    this.#waiting.clear();
    for (const { key, value } of this.#table.getRange()) {
      this.published(Number(key), value);
    }
  }

  /** Call this in the transaction that ends a batch, and `published` after its commit. */
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

  /** Uids of the batches that a webhook has yet to be notified of, oldest first. A live view. */
  waitingFor(webhook: string): ReadonlySet<number> {
    return this.#waiting.get(webhook) ?? NONE;
  }

  /** Uuids of all webhooks with waiting notifications. */
  webhooks(): string[] {
    return [...this.#waiting.keys()];
  }

  /** Removes these batches for a webhook, because it was notified or never will be. */
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
