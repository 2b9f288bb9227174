import type { ExactDates, TaskDetails } from '../contract/tasks.ts';
import type { ErrorBody } from '../contract/errors.ts';
import type { NewTask } from './append-tasks.ts';
import type { Store, Transaction } from './store.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { NONE, TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';
import type { BatchRow, TaskOutcome } from './task-row.ts';

/** A task as another server had it. Times are milliseconds with microseconds as the fraction. */
export interface ImportedTask {
  uid: number;
  task: NewTask;
  /**
   * Size of the payload of an unfinished addition, bytes. Its file must be in place already. null:
   * no payload.
   */
  payloadFileBytes: number | null;
  enqueuedAt: number;
  /** Dates that are more precise than their numbers. */
  exactDates?: ExactDates;
  /** null: the task waits. */
  end: {
    status: 'succeeded' | 'failed' | 'canceled';
    batchUid: number;
    result: number | null;
    canceledBy: number | null;
    error?: ErrorBody;
    details?: TaskDetails;
    startedAt: number;
    finishedAt: number;
  } | null;
}

/** Tasks collected for one transaction. */
const TRANSACTION_TASKS = 1024;

/**
 * Imports tasks and batches, in any order, into a store that has none. They are valid once `finish`
 * has resolved, for whoever opens the store then.
 */
export class TaskImport {
  readonly #store: Store;
  readonly #chunks = new Map<number, TaskChunk>();
  readonly #indexNumbers = new Map<string, number>();
  #writes: ((tx: Transaction) => void)[] = [];
  #nextBatchUid = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * If several tasks have the same uid, the first one counts. @returns whether this was the first
   */
  async addTask(imported: ImportedTask): Promise<boolean> {
    const { uid, task, payloadFileBytes, enqueuedAt, exactDates, end } = imported;
    const { tasks, outcomes, payloads } = this.#store;
    const chunk = this.#chunk(uid);
    const i = uid % TASKS_PER_CHUNK;
    if (chunk.type[i] !== 0) return false;
    const numberOf = (indexUid: string): number => this.#numberOf(indexUid);
    const row = {
      ...(await task.row(uid, numberOf)),
      ...(exactDates !== undefined && { exactDates }),
    };
    const index = task.indexUid === null ? NONE : numberOf(task.indexUid);
    task.alsoIndexes.forEach(numberOf);
    let { flags } = task;
    if (task.alsoIndexes.length > 0) flags |= FLAG.linked;
    const bytes = payloadFileBytes === null && end === null ? bytesOf(task.payload) : null;
    if (payloadFileBytes !== null) flags |= FLAG.payloadFile;
    const payloadBytes = payloadFileBytes ?? bytes?.length ?? 0;
    chunk.enqueue(i, { type: task.type, flags, index, payloadBytes, enqueuedAt });
    const outcome: TaskOutcome = {};
    if (end !== null) {
      const { status, result, canceledBy, batchUid, startedAt, finishedAt } = end;
      chunk.end(
        i,
        { status, result, ...(canceledBy === null ? {} : { canceledBy }) },
        { batchUid, startedAt, finishedAt },
      );
      if (end.error !== undefined) outcome.error = end.error;
      if (end.details !== undefined) outcome.details = end.details;
    }
    await this.#write((tx) => {
      tx.put(tasks, uid, row);
      if (Object.keys(outcome).length > 0) tx.put(outcomes, uid, outcome);
      if (bytes !== null && bytes.length > 0) tx.put(payloads, uid, bytes);
    });
    return true;
  }

  /** Adds a batch that tasks belong to. */
  async addBatch(uid: number, row: BatchRow): Promise<void> {
    this.#nextBatchUid = Math.max(this.#nextBatchUid, uid + 1);
    await this.#write((tx) => tx.put(this.#store.batches, uid, row));
  }

  async finish(): Promise<void> {
    await this.#commit();
    const { chunks, indexNames, meta } = this.#store;
    const all = [...this.#chunks];
    for (let begin = 0; begin < all.length; begin += TRANSACTION_TASKS) {
      await this.#store.commit((tx) => {
        for (const [number, chunk] of all.slice(begin, begin + TRANSACTION_TASKS)) {
          tx.put(chunks, number, chunk.encode());
        }
      });
    }
    await this.#store.commit((tx) => {
      for (const [name, number] of this.#indexNumbers) tx.put(indexNames, number, name);
      tx.put(meta, 'nextBatchUid', this.#nextBatchUid);
    });
  }

  #chunk(uid: number): TaskChunk {
    const number = Math.floor(uid / TASKS_PER_CHUNK);
    let chunk = this.#chunks.get(number);
    if (chunk === undefined) this.#chunks.set(number, (chunk = TaskChunk.empty()));
    return chunk;
  }

  #numberOf(indexUid: string): number {
    let number = this.#indexNumbers.get(indexUid);
    if (number === undefined) {
      number = this.#indexNumbers.size;
      this.#indexNumbers.set(indexUid, number);
    }
    return number;
  }

  async #write(write: (tx: Transaction) => void): Promise<void> {
    this.#writes.push(write);
    if (this.#writes.length >= TRANSACTION_TASKS) await this.#commit();
  }

  async #commit(): Promise<void> {
    const writes = this.#writes;
    this.#writes = [];
    await this.#store.commit((tx) => {
      for (const write of writes) write(tx);
    });
  }
}

function bytesOf(payload: NewTask['payload']): Buffer | null {
  return payload !== null && 'bytes' in payload ? payload.bytes : null;
}
