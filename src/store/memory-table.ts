import type { TaskStatus, TaskType } from '../contract/tasks.ts';
import { type ChangedKeys, keysOf, type Store } from './store.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import {
  NONE,
  PROCESSING,
  STATUS_CODES,
  STATUS_OF_CODE,
  TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_OF_CODE,
} from './task-chunk.ts';
import { grown } from './task-columns.ts';
import type { TaskTable } from './task-conditions.ts';
import { TaskDigest } from './task-digest.ts';
import { type TaskRow, taskTypeEntry } from '../contract/task-types.ts';

/** The properties of a task that are known without reading its row. */
export interface TaskRecord {
  uid: number;
  type: TaskType;
  status: TaskStatus;
  indexUid: string | null;
  flags: number;
  canceledBy: number | null;
  batchUid: number | null;
  result: number | null;
  payloadBytes: number;
  /**
   * Milliseconds with microseconds as the fraction. All assigned times are distinct and ascending.
   */
  enqueuedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
}

/**
 * The tasks as columns in memory, with their counts and the numbers of index uids. Callers that
 * change it must make sure that the change is on disk, except for running batches.
 */
export class MemoryTable implements TaskTable {
  readonly chunks: (TaskChunk | undefined)[] = [];
  readonly digest: TaskDigest;
  /** Number of tasks in each batch, by batch uid; 0: no such batch. */
  batchTasks = new Uint32Array(1024);
  taskCount = 0;
  batchCount = 0;
  nextTaskUid = 0;
  nextBatchUid = 0;
  /**
   * One more than the greatest batch uid on disk. After a crash, uids from here are assigned again.
   */
  storedBatchUids = 0;
  /** All indexes of a task that belongs to several, or to one that it does not show. */
  readonly linked = new Map<number, readonly number[]>();
  /** The latest time in the columns when they were read. */
  lastTime = 0;

  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** Batch uids that were rolled back while a later one was in use. */
  readonly #freed = new Set<number>();

  constructor(store: Store) {
    for (const { key, value } of store.indexNames.getRange()) this.setIndexName(key, value);
    this.#loadChunks(store);
    const stored = store.meta.get('nextBatchUid');
    if (typeof stored === 'number') this.nextBatchUid = Math.max(this.nextBatchUid, stored);
    this.storedBatchUids = this.nextBatchUid;
    this.digest = new TaskDigest(this.chunks);
  }

  #loadChunks(store: Store): void {
    const linked: number[] = [];
    for (const { key, value } of store.chunks.getRange()) {
      const chunk = TaskChunk.decode(value);
      this.chunks[key] = chunk;
      for (let i = 0; i < TASKS_PER_CHUNK; i++) {
        if (chunk.type[i] === 0) continue;
        const uid = key * TASKS_PER_CHUNK + i;
        this.taskCount++;
        this.nextTaskUid = uid + 1;
        if ((chunk.flags[i]! & FLAG.linked) !== 0) linked.push(uid);
        if (chunk.batchUid[i] !== NONE) this.countInBatch(chunk.batchUid[i]!);
        const last = Number.isNaN(chunk.finishedAt[i]!)
          ? chunk.enqueuedAt[i]!
          : chunk.finishedAt[i]!;
        if (last > this.lastTime) this.lastTime = last;
      }
    }
    for (const uid of linked) {
      const row = store.tasks.get(uid);
      if (row !== undefined) this.linked.set(uid, linksOf(row, this.#ownIndex(uid)));
    }
  }

  /** Forgets which batches are running. */
  stopAll(store: Store): void {
    this.chunks.forEach((chunk, number) => {
      if (chunk?.status.includes(PROCESSING) === true) this.#reloadChunk(store, number);
    });
    this.nextBatchUid = this.storedBatchUids;
  }

  /** Applies the changes of another node. @returns tasks that waited before and no longer do */
  reload(store: Store, changed: ChangedKeys): number[] {
    for (const number of keysOf(changed, store.indexNames)) {
      const name = store.indexNames.get(number);
      if (name !== undefined) this.setIndexName(number, name);
    }
    const ended = keysOf(changed, store.chunks).flatMap((number) =>
      this.#reloadChunk(store, number),
    );
    // A swap gives other numbers to the indexes of tasks that wait behind it.
    for (const uid of keysOf(changed, store.tasks)) {
      const row = this.linked.has(uid) ? store.tasks.get(uid) : undefined;
      if (row !== undefined) this.linked.set(uid, linksOf(row, this.#ownIndex(uid)));
    }
    const batches = store.meta.get('nextBatchUid');
    if (typeof batches === 'number') this.storedBatchUids = batches;
    this.nextBatchUid = Math.max(this.nextBatchUid, this.storedBatchUids);
    return ended;
  }

  #reloadChunk(store: Store, number: number): number[] {
    const bytes = store.chunks.get(number);
    const before = this.chunks[number];
    const after = bytes === undefined ? undefined : TaskChunk.decode(bytes);
    const ended: number[] = [];
    this.chunks[number] = after;
    this.digest.changed(number);
    for (let i = 0; i < TASKS_PER_CHUNK; i++) {
      const uid = number * TASKS_PER_CHUNK + i;
      const [had, has] = [before?.type[i] ?? 0, after?.type[i] ?? 0].map((type) => type !== 0);
      if (had && before!.batchUid[i] !== NONE) this.uncountInBatch(before!.batchUid[i]!);
      if (has && after!.batchUid[i] !== NONE) this.countInBatch(after!.batchUid[i]!);
      this.taskCount += Number(has) - Number(had);
      if (has && uid >= this.nextTaskUid) this.nextTaskUid = uid + 1;
      if (had && before!.status[i]! <= PROCESSING && !this.isEnqueued(uid)) ended.push(uid);
      if (!has) this.linked.delete(uid);
      else if (!had && (after!.flags[i]! & FLAG.linked) !== 0) {
        const row = store.tasks.get(uid);
        if (row !== undefined) this.linked.set(uid, linksOf(row, this.#ownIndex(uid)));
      }
      const time = after?.finishedAt[i];
      if (has && time !== undefined && time > this.lastTime) this.lastTime = time;
    }
    return ended;
  }

  // --- Tasks -------------------------------------------------------------------------------------

  #chunkOf(uid: number): TaskChunk | undefined {
    return this.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
  }

  #ownIndex(uid: number): number {
    return this.#chunkOf(uid)?.index[uid % TASKS_PER_CHUNK] ?? NONE;
  }

  record(uid: number): TaskRecord | undefined {
    const chunk = this.#chunkOf(uid);
    if (chunk === undefined) return undefined;
    const i = uid % TASKS_PER_CHUNK;
    const type = TYPE_OF_CODE[chunk.type[i]!];
    if (type === undefined) return undefined;
    return {
      uid,
      type,
      status: STATUS_OF_CODE[chunk.status[i]!]!,
      indexUid: this.indexName(chunk.index[i]!),
      flags: chunk.flags[i]!,
      canceledBy: known(chunk.canceledBy[i]!),
      batchUid: known(chunk.batchUid[i]!),
      result: known(chunk.result[i]!),
      payloadBytes: chunk.payloadBytes[i]!,
      enqueuedAt: chunk.enqueuedAt[i]!,
      startedAt: date(chunk.startedAt[i]!),
      finishedAt: date(chunk.finishedAt[i]!),
    };
  }

  isEnqueued(uid: number): boolean {
    const chunk = this.#chunkOf(uid);
    const i = uid % TASKS_PER_CHUNK;
    return chunk !== undefined && chunk.type[i] !== 0 && chunk.status[i] === STATUS_CODES.enqueued;
  }

  /** Uids of the waiting tasks, ascending. */
  enqueued(): number[] {
    const uids: number[] = [];
    this.chunks.forEach((chunk, number) => {
      if (chunk === undefined || !chunk.status.includes(STATUS_CODES.enqueued)) return;
      for (let i = 0; i < TASKS_PER_CHUNK; i++) {
        if (chunk.type[i] !== 0 && chunk.status[i] === STATUS_CODES.enqueued) {
          uids.push(number * TASKS_PER_CHUNK + i);
        }
      }
    });
    return uids;
  }

  // --- Indexes -----------------------------------------------------------------------------------

  /** Uid of an index by its number in the columns; null for `NONE`. */
  indexName(number: number): string | null {
    return this.#names[number] ?? null;
  }

  indexNumber(uid: string): number | undefined {
    return this.#numbers.get(uid);
  }

  get indexNumberCount(): number {
    return this.#names.length;
  }

  /** Uids of all indexes that a task belongs to. */
  indexesOf(uid: number): string[] {
    const numbers = this.linked.get(uid) ?? [this.#ownIndex(uid)];
    return numbers.map((number) => this.indexName(number)).filter((name) => name !== null);
  }

  setIndexName(number: number, name: string): void {
    this.#names[number] = name;
    this.#numbers.set(name, number);
  }

  /** Forgets all numbers that are `count` or greater. */
  truncateIndexNames(count: number): void {
    for (const name of this.#names.splice(count)) this.#numbers.delete(name);
  }

  // --- Batches -----------------------------------------------------------------------------------

  /** Shows the tasks as processing. */
  mark(uids: readonly number[], batchUid: number, startedAt: number): void {
    for (const uid of uids) {
      this.#chunkOf(uid)!.mark(uid % TASKS_PER_CHUNK, batchUid, startedAt);
      this.digest.changed(Math.floor(uid / TASKS_PER_CHUNK));
      this.countInBatch(batchUid);
    }
  }

  /** Undoes `mark`. The batch uid is free unless a later one is in use. */
  unmark(uids: readonly number[], batchUid: number): void {
    for (const uid of uids) {
      this.#chunkOf(uid)?.unmark(uid % TASKS_PER_CHUNK);
      this.digest.changed(Math.floor(uid / TASKS_PER_CHUNK));
      this.uncountInBatch(batchUid);
    }
    this.#freed.add(batchUid);
    while (this.#freed.delete(this.nextBatchUid - 1)) this.nextBatchUid--;
  }

  countInBatch(batchUid: number): void {
    if (batchUid >= this.batchTasks.length) {
      this.batchTasks = grown(this.batchTasks, Math.max(batchUid + 1, this.batchTasks.length * 2));
    }
    if (this.batchTasks[batchUid]!++ === 0) this.batchCount++;
    if (batchUid >= this.nextBatchUid) this.nextBatchUid = batchUid + 1;
  }

  uncountInBatch(batchUid: number): void {
    if (--this.batchTasks[batchUid]! === 0) this.batchCount--;
  }
}

/** The numbers of the indexes of a linked task. */
export function linksOf(row: TaskRow, own: number): number[] {
  const others = taskTypeEntry(row.type).indexesIn?.(row) ?? [];
  return own === NONE ? others : [own, ...others];
}

function known(value: number): number | null {
  return value === NONE ? null : value;
}

function date(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
