import { mkdirSync } from 'node:fs';
import { open, type Database, type RootDatabase } from 'lmdb';
import type { IndexRecord } from '../engine/registry.ts';
import type { TaskRow } from '../contract/task-types.ts';
import type { BatchRow, TaskOutcome } from './task-row.ts';

/** Of LMDB, in the folder of a store. */
export const STORE_FILE = 'data.mdb';

export type Table<V, K extends string | number> = Database<V, K>;

/**
 * Everything durable that is not an index, in one LMDB environment, so that the end of a batch and what
 * it did to the list of indexes are one transaction.
 *
 * Invariants: a commit that has resolved is on disk; one that has rejected has changed nothing. Commits
 * are applied in the order of the calls.
 */
export class Store {
  readonly #root: RootDatabase<Buffer, string>;
  readonly #open: Database[] = [];
  /** Task uid -> what was asked; written once. */
  readonly tasks: Database<TaskRow, number>;
  /** Task uid -> what else is known of a finished task than its columns say: error, texts. */
  readonly outcomes: Database<TaskOutcome, number>;
  /** Chunk number -> columns of 256 tasks, see `task-chunk.ts`. */
  readonly chunks: Database<Buffer, number>;
  readonly batches: Database<BatchRow, number>;
  /** Task uid -> small payload; void once the task is finished. */
  readonly payloads: Database<Buffer, number>;
  /** Number of an index uid in the columns -> the uid. Kept for ever: history may speak of it. */
  readonly indexNames: Database<string, number>;
  /** Index uid -> its folder and summary. */
  readonly indexes: Database<IndexRecord, string>;
  readonly meta: Database<unknown, string>;

  /** @param mode size of the address space, the file grows as needed; or a file that is only read */
  constructor(dir: string, mode: number | { readOnly: true }) {
    this.#root = open<Buffer, string>({
      path: dir,
      encoding: 'binary',
      ...(typeof mode === 'number' ? { mapSize: mode } : mode),
      maxDbs: 64,
      // A commit then resolves after the sync, and the file is that of plain LMDB at every moment.
      overlappingSync: false,
      // Commits are explicit batches. The implicit ones of an event turn, when a commit fails, leave a
      // rejected promise that nobody can handle.
      eventTurnBatching: false,
    });
    const byNumber = { keyEncoding: 'uint32' } as const;
    this.tasks = this.#table('tasks', { ...byNumber, encoding: 'json' });
    this.outcomes = this.#table('outcomes', { ...byNumber, encoding: 'json' });
    this.chunks = this.#table('chunks', { ...byNumber, encoding: 'binary' });
    this.batches = this.#table('batches', { ...byNumber, encoding: 'json' });
    this.payloads = this.#table('payloads', { ...byNumber, encoding: 'binary' });
    this.indexNames = this.#table('indexNames', { ...byNumber, encoding: 'string' });
    this.indexes = this.#table('indexes', { encoding: 'json' });
    this.meta = this.#table('meta', { encoding: 'json' });
  }

  /** A table of JSON values for another part of the server: keys, features, webhooks. */
  table<V>(name: string): Database<V, string> {
    return this.#table<V, string>(`x-${name}`, { encoding: 'json' });
  }

  #table<V, K extends string | number>(name: string, options: object): Database<V, K> {
    const table = this.#root.openDB<V, K>({ name, ...options });
    this.#open.push(table as Database);
    return table;
  }

  /**
   * One transaction of all that `write` puts and removes. Resolves once it is on disk.
   * REQUIRES: `write` reads nothing it has written, and neither awaits nor throws.
   */
  async commit(write: (transaction: Transaction) => void): Promise<void> {
    try {
      await this.#root.batch(() => write(new Transaction()));
    } catch (error) {
      throw await causeOf(error);
    }
  }

  /** Whether nothing was ever recorded: a new store, or one whose file was lost. */
  isEmpty(): boolean {
    const counts = [this.tasks, this.indexes, this.meta].map((table) => table.getCount());
    return counts.every((count) => count === 0);
  }

  /** Bytes of the file, and of the pages that hold live data. */
  size(): { diskBytes: number; usedBytes: number } {
    let pages = 2;
    let pageSize = 4096;
    for (const table of this.#open) {
      const stats = table.getStats() as TableStats;
      pageSize = stats.pageSize;
      pages += stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages;
    }
    const { lastPageNumber } = this.#root.getStats() as { lastPageNumber: number };
    const diskBytes = (lastPageNumber + 1) * pageSize;
    return { diskBytes, usedBytes: Math.min(diskBytes, pages * pageSize) };
  }

  /** Writes the last committed state to the file of a store in another folder, which is made. Not synced. */
  async copyTo(dir: string): Promise<void> {
    mkdirSync(dir, { recursive: true });
    await this.#root.backup(dir, true);
  }

  async close(): Promise<void> {
    await this.#root.close();
  }
}

/** The writes of one commit. */
export class Transaction {
  #seen: Promise<boolean> | null = null;

  put<V, K extends string | number>(table: Database<V, K>, key: K, value: V): void {
    this.#watch(table.put(key, value));
  }

  remove<V, K extends string | number>(table: Database<V, K>, key: K): void {
    this.#watch(table.remove(key));
  }

  /** A failure is reported by the commit; the writes share one promise that must not go unhandled. */
  #watch(written: Promise<boolean>): void {
    if (written === this.#seen) return;
    this.#seen = written;
    written.catch(() => {});
  }
}

/** Numbers of the operating system in errors of the store. */
const SYSTEM_ERRORS: Readonly<Record<number, string>> = { 5: 'EIO', 28: 'ENOSPC', 122: 'EDQUOT' };

/** The store tells why a commit failed a moment after that it did; not later than this. */
const CAUSE_WAIT_MS = 1000;

async function causeOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<never> };
  if (commitError === undefined) return error;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((done) => (timer = setTimeout(done, CAUSE_WAIT_MS, error)));
  const cause = await Promise.race([commitError.catch((reason: unknown) => reason), late]);
  clearTimeout(timer);
  const { code, message } = cause as { code?: unknown; message?: string };
  const name = typeof code === 'number' ? SYSTEM_ERRORS[code] : undefined;
  return name === undefined ? cause : Object.assign(new Error(message), { code: name });
}

interface TableStats {
  pageSize: number;
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}
