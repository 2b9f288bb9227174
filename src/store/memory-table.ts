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
import type { BatchColumns, TaskTable } from './task-conditions.ts';
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
  readonly batches = new Batches();
  taskCount = 0;
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
        this.#countInBatch(chunk, i);
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
    for (let i = 0; i < TASKS_PER_CHUNK; i++) {
      const uid = number * TASKS_PER_CHUNK + i;
      const [had, has] = [before?.type[i] ?? 0, after?.type[i] ?? 0].map((type) => type !== 0);
      if (had && before!.batchUid[i] !== NONE) this.batches.remove(before!.batchUid[i]!);
      if (has) this.#countInBatch(after!, i);
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
    }
    this.addToBatch(batchUid, uids.length, startedAt, NaN);
  }

  /** Undoes `mark`. The batch uid is free unless a later one is in use. */
  unmark(uids: readonly number[], batchUid: number): void {
    for (const uid of uids) {
      this.#chunkOf(uid)?.unmark(uid % TASKS_PER_CHUNK);
      this.batches.remove(batchUid);
    }
    this.#freed.add(batchUid);
    while (this.#freed.delete(this.nextBatchUid - 1)) this.nextBatchUid--;
  }

  #countInBatch({ batchUid, startedAt, finishedAt }: TaskChunk, i: number): void {
    if (batchUid[i] !== NONE) this.addToBatch(batchUid[i]!, 1, startedAt[i]!, finishedAt[i]!);
  }

  /** Adds tasks to a batch, and sets its dates. */
  addToBatch(batchUid: number, tasks: number, startedAt: number, finishedAt: number): void {
    this.batches.add(batchUid, tasks, startedAt, finishedAt);
    if (batchUid >= this.nextBatchUid) this.nextBatchUid = batchUid + 1;
  }
}

/** See `BatchColumns`. */
export class Batches implements BatchColumns {
  tasks = new Uint32Array(1024);
  startedAt = new Float64Array(1024);
  finishedAt = new Float64Array(1024);

  add(uid: number, tasks: number, startedAt: number, finishedAt: number): void {
    if (uid >= this.tasks.length) this.#grow(Math.max(uid + 1, 2 * this.tasks.length));
    this.tasks[uid]! += tasks;
    this.startedAt[uid] = startedAt;
    this.finishedAt[uid] = finishedAt;
  }

  remove(uid: number, tasks = 1): void {
    this.tasks[uid]! -= tasks;
  }

  #grow(size: number): void {
    const { tasks, startedAt, finishedAt } = this;
    this.tasks = new Uint32Array(size);
    this.tasks.set(tasks);
    this.startedAt = new Float64Array(size);
    this.startedAt.set(startedAt);
    this.finishedAt = new Float64Array(size);
    this.finishedAt.set(finishedAt);
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
