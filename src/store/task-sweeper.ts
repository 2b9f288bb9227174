import type { Store, Transaction } from './store.ts';
import { runsOf, takeFromRuns } from '../base/uid-runs.ts';

/** Maximum number of rows of removed tasks and used payloads erased per transaction. */
const SWEEP_ROWS = 1000;

/**
 * How long garbage waits for a transaction to join, ms, because a separate one costs a sync of the
 * disk.
 */
const SWEEP_DELAY_MS = 500;

/** Removed tasks and emptied batches whose rows are not erased yet, as runs: first, count, ... */
export interface Garbage {
  tasks: number[];
  batches: number[];
}

/**
 * Erases rows and payloads that no task refers to any more, in the background. If interrupted, it
 * continues at the next start.
 */
export class TaskSweeper {
  readonly #store: Store;
  readonly #exclusively: (change: () => Promise<void>) => Promise<void>;

  readonly #waits: (uid: number) => boolean;
  #garbage: Garbage;
  #usedPayloads: number[] = [];
  #sweeping: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /**
   * Begins with the garbage of earlier processes.
   * @param waits whether a task is enqueued, so that its payload is still needed
   * @param exclusively runs a change while no other transaction on tasks is being prepared
   */
  constructor(
    store: Store,
    waits: (uid: number) => boolean,
    exclusively: (change: () => Promise<void>) => Promise<void>,
  ) {
    this.#store = store;
    this.#exclusively = exclusively;
    this.#waits = waits;
    this.#garbage = { tasks: [], batches: [] };
    this.reload();
  }

  /** Reads the stored garbage again. */
  reload(): void {
    const stored = this.#store.meta.get('garbage') as Garbage | undefined;
    this.#garbage = stored ?? { tasks: [], batches: [] };
    this.#usedPayloads = [...this.#store.payloads.getKeys()].filter((uid) => !this.#waits(uid));
    this.#sweepLater();
  }

  /**
   * The garbage including these tasks and batches, uids ascending. Store it in the transaction that
   * removes them.
   */
  garbageWith(tasks: readonly number[], batches: readonly number[]): Garbage {
    return {
      tasks: [...this.#garbage.tasks, ...runsOf(tasks)],
      batches: [...this.#garbage.batches, ...runsOf(batches)],
    };
  }

  /**
   * Adds the garbage of a transaction that is on disk.
   * @param garbage as it was stored; null: unchanged
   * @param payloads tasks whose payloads in the store are not needed any more
   */
  add(garbage: Garbage | null, payloads: readonly number[]): void {
    if (garbage !== null) this.#garbage = garbage;
    this.#usedPayloads.push(...payloads);
    this.#sweepLater();
  }

  /**
   * Erases used payloads in a transaction with other changes. If its commit fails, they wait for
   * the next start.
   */
  erasePayloads(tx: Transaction): void {
    for (const uid of this.#usedPayloads.splice(0, SWEEP_ROWS))
      tx.remove(this.#store.payloads, uid);
  }

  /** Waits for the transaction under way, and begins no other. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#sweeping;
  }

  #sweepLater(): void {
    if (this.#timer !== null || this.#sweeping !== null || this.#closed) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#sweeping = this.#sweepAll()
        // The garbage waits for the next start; the disk may be full.
        .catch(() => {})
        .finally(() => (this.#sweeping = null));
    }, SWEEP_DELAY_MS).unref();
  }

  async #sweepAll(): Promise<void> {
    while (!this.#closed) {
      if (this.#usedPayloads.length > 0) {
        await this.#store.commit((tx) => this.erasePayloads(tx));
        continue;
      }
      const { tasks, batches } = this.#garbage;
      if (tasks.length === 0 && batches.length === 0) return;
      const [uids, tasksLeft] = takeFromRuns(tasks, SWEEP_ROWS);
      const [batchUids, batchesLeft] = takeFromRuns(batches, SWEEP_ROWS);
      await this.#exclusively(async () => {
        const more = this.#garbage;
        const left: Garbage = {
          tasks: [...tasksLeft, ...more.tasks.slice(tasks.length)],
          batches: [...batchesLeft, ...more.batches.slice(batches.length)],
        };
        await this.#store.commit((tx) => {
          for (const uid of uids) {
            tx.remove(this.#store.tasks, uid);
            tx.remove(this.#store.outcomes, uid);
          }
          for (const uid of batchUids) tx.remove(this.#store.batches, uid);
          tx.put(this.#store.meta, 'garbage', left);
        });
        this.#garbage = left;
      });
    }
  }
}
