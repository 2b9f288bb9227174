import type { TaskType } from '../contract/tasks.ts';
import { linksOf, type TaskRecord } from './memory-table.ts';
import { removeFile } from './payload-folder.ts';
import type { PayloadFile, Transaction } from './store.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { NONE, TASKS_PER_CHUNK } from './task-chunk.ts';
import type { TaskRow } from '../contract/task-types.ts';
import type { Stage, TransactionContext, TransactionPart } from './task-transaction.ts';

/**
 * Larger payloads become files. A smaller one is a row in the same transaction, which saves two
 * syncs of a folder.
 */
const PAYLOAD_ROW_BYTES_MAX = 64 * 1024;

export interface NewTask {
  type: TaskType;
  indexUid: string | null;
  /** Further indexes that the task belongs to. */
  alsoIndexes: readonly string[];
  /** Bits of `FLAG` except `linked` and `payloadFile`, which are set here. */
  flags: number;
  /** A file is moved. It must be in the payload folder and synced. */
  payload: { file: string; size: number } | { bytes: Buffer } | null;
  /** `late`: `row` reads tasks registered before, so they must be in the store when it runs. */
  late: boolean;
  row(uid: number, numberOf: (indexUid: string) => number): TaskRow | Promise<TaskRow>;
}

/** A requested registration. */
export interface Append {
  kind: 'append';
  task: NewTask;
  /** In the same transaction as the task before. */
  isJoined: boolean;
  resolve: (record: TaskRecord) => void;
  reject: (error: unknown) => void;
}

/**
 * Prepares the registration of tasks by one transaction, and moves their payload files to their
 * final names.
 * @returns null when this has failed: the tasks are refused, and `stage` must not be used any more
 */
export async function prepareAppends(
  context: TransactionContext,
  group: readonly Append[],
  stage: Stage,
): Promise<TransactionPart | null> {
  const part = new Registration(context, group);
  try {
    await part.prepare(stage);
    return part;
  } catch (error) {
    part.fail(error);
    return null;
  }
}

/** Tasks that are registered by one transaction. */
class Registration implements TransactionPart {
  readonly #context: TransactionContext;
  readonly #group: readonly Append[];
  readonly #firstUid: number;
  /** Numbers of indexes beginning with this one are new. */
  readonly #firstIndexNumber: number;
  readonly #rows: TaskRow[] = [];
  readonly #links: { uid: number; numbers: number[] }[] = [];
  readonly #payloads: { uid: number; bytes: Buffer }[] = [];
  /** Uids of the tasks whose payloads are files. */
  readonly #files: number[] = [];
  /** Make the files. */
  readonly #stores: (() => Promise<void>)[] = [];

  constructor(context: TransactionContext, group: readonly Append[]) {
    this.#context = context;
    this.#group = group;
    this.#firstUid = context.table.nextTaskUid;
    this.#firstIndexNumber = context.table.indexNumberCount;
  }

  /** Throws when a payload cannot be stored; `fail` then undoes what was done so far. */
  async prepare(stage: Stage): Promise<void> {
    for (const [n, { task }] of this.#group.entries()) {
      const uid = this.#firstUid + n;
      const made = task.row(uid, (indexUid) => this.#numberOf(indexUid));
      this.#append(task, made instanceof Promise ? await made : made, uid, stage);
    }
    if (this.#files.length === 0) return;
    const stored = await Promise.allSettled(this.#stores.map((store) => store()));
    // None is under way while `fail` removes them.
    for (const result of stored) if (result.status === 'rejected') throw result.reason;
    await this.#context.payloads.sync();
  }

  get files(): PayloadFile[] {
    return this.#files.map((uid) => ({ uid, path: this.#context.payloads.file(uid) }));
  }

  #append(task: NewTask, row: TaskRow, uid: number, stage: Stage): void {
    this.#rows.push(row);
    const index = task.indexUid === null ? NONE : this.#numberOf(task.indexUid);
    task.alsoIndexes.forEach((indexUid) => this.#numberOf(indexUid));
    let { flags } = task;
    if (task.alsoIndexes.length > 0) {
      flags |= FLAG.linked;
      this.#links.push({ uid, numbers: linksOf(row, index) });
    }
    const { bytes, isFile } = this.#keepPayload(task.payload, uid);
    if (isFile) flags |= FLAG.payloadFile;
    stage.edit(uid).enqueue(uid % TASKS_PER_CHUNK, {
      type: task.type,
      flags,
      index,
      payloadBytes: bytes,
      enqueuedAt: this.#context.now(),
    });
  }

  /** The number of an index uid; assigns a new one if necessary. */
  #numberOf(indexUid: string): number {
    const { table } = this.#context;
    const found = table.indexNumber(indexUid);
    if (found !== undefined) return found;
    const number = table.indexNumberCount;
    table.setIndexName(number, indexUid);
    return number;
  }

  /** Stores a payload. @returns its size, and whether it is a file */
  #keepPayload(payload: NewTask['payload'], uid: number): { bytes: number; isFile: boolean } {
    const { payloads } = this.#context;
    if (payload === null) return { bytes: 0, isFile: false };
    if ('file' in payload) {
      this.#files.push(uid);
      this.#stores.push(() => payloads.move(payload.file, uid));
      return { bytes: payload.size, isFile: true };
    }
    const { bytes } = payload;
    const isFile = bytes.length > PAYLOAD_ROW_BYTES_MAX;
    if (isFile) {
      this.#files.push(uid);
      this.#stores.push(() => payloads.write(uid, bytes));
    } else this.#payloads.push({ uid, bytes });
    return { bytes: bytes.length, isFile };
  }

  write(tx: Transaction): void {
    const { store, table } = this.#context;
    for (let n = this.#firstIndexNumber; n < table.indexNumberCount; n++) {
      tx.put(store.indexNames, n, table.indexName(n)!);
    }
    this.#rows.forEach((row, n) => tx.put(store.tasks, this.#firstUid + n, row));
    for (const { uid, bytes } of this.#payloads) tx.put(store.payloads, uid, bytes);
  }

  publish(): void {
    const { table } = this.#context;
    table.nextTaskUid = this.#firstUid + this.#group.length;
    table.taskCount += this.#group.length;
    for (const { uid, numbers } of this.#links) table.linked.set(uid, numbers);
    this.#group.forEach(({ resolve }, n) => {
      const record = table.record(this.#firstUid + n)!;
      this.#context.appended(record);
      resolve(record);
    });
  }

  fail(error: unknown): void {
    const { table, payloads } = this.#context;
    table.truncateIndexNames(this.#firstIndexNumber);
    for (const uid of this.#files) payloads.remove(uid);
    for (const { task, reject } of this.#group) {
      if (task.payload !== null && 'file' in task.payload) removeFile(task.payload.file);
      reject(error);
    }
  }
}
