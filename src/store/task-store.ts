import { readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { Counts } from '../base/counts.ts';
import { syncFolder } from '../base/sync-folder.ts';
import type { ErrorBody } from '../contract/errors.ts';
import type {
  BatchStats,
  IndexVisibility,
  TaskDetails,
  TaskFilter,
  TaskPaging,
  TaskStatus,
  TaskType,
} from '../contract/tasks.ts';
import type { IndexRecord } from '../engine/registry.ts';
import type { Store, Transaction } from './store.ts';
import {
  FLAG,
  NONE,
  STATUS_CODES,
  STATUS_OF_CODE,
  TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_CODES,
  TYPE_OF_CODE,
} from './task-chunk.ts';
import { TaskDigest } from './task-digest.ts';
import type { TaskTable } from './task-conditions.ts';
import { matchBatches, matchTasks, type Matches } from './task-query.ts';
import type { BatchRow, TaskOutcome, TaskRow } from './task-row.ts';

/** Larger payloads become files. Below, a row in the same transaction saves two syncs of a folder. */
export const PAYLOAD_ROW_BYTES_MAX = 64 * 1024;

/** Most tasks registered by one transaction: bounds the pause that preparing it makes (about 5 ms). */
const GROUP_TASKS_MAX = 2048;

/** Rows of removed tasks and used payloads erased per transaction, in the background. */
const SWEEP_ROWS = 1000;

/** How long the event loop is held at a time by what can wait. */
const DIGEST_SLICE_MS = 2;

/** Garbage waits this long for a transaction that it can join: each of its own costs a sync of the disk. */
const SWEEP_DELAY_MS = 500;

/** What is known of a task without reading its row. */
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
  /** Milliseconds, with microseconds as fraction; all times given out are distinct and grow. */
  enqueuedAt: number;
  startedAt: number | null;
  finishedAt: number | null;
}

export interface NewTask {
  type: TaskType;
  indexUid: string | null;
  /** Further indexes that the task belongs to. */
  alsoIndexes: readonly string[];
  /** Bits of `FLAG` but `linked`. */
  flags: number;
  /** A file is moved; it must be in the payload folder and synced. */
  payload: { file: string; size: number } | { bytes: Buffer } | null;
  /** `late`: `row` looks at the tasks registered before, so they must be in the store when it runs. */
  late: boolean;
  row(uid: number, numberOf: (indexUid: string) => number): TaskRow;
}

export interface TaskEnd {
  uid: number;
  status: 'succeeded' | 'failed' | 'canceled';
  result: number | null;
  canceledBy?: number;
  error?: ErrorBody;
  /** Replace or add keys of the details. */
  details?: TaskDetails;
}

/** The end of a batch: becomes durable as one. */
export interface BatchEnd {
  batchUid: number;
  startedAt: number;
  strategy: string;
  details: TaskDetails;
  /** At least one. */
  ends: readonly TaskEnd[];
  progressTrace?: Record<string, string>;
  /** Finished tasks to forget. */
  remove?: readonly number[];
  /** Pairs of index uids whose tasks older than `before` change places. */
  history?: { pairs: readonly (readonly [string, string])[]; before: number };
  /** Rows of the list of indexes; null removes. */
  indexes?: ReadonlyMap<string, IndexRecord | null>;
}

export interface ListedTasks {
  uids: number[];
  total: number;
  next: number | null;
}

type Work = Append | Finish | { kind: 'change'; run: () => Promise<void> | void };

interface Append {
  kind: 'append';
  task: NewTask;
  resolve: (record: TaskRecord) => void;
  reject: (error: unknown) => void;
}

interface Finish {
  kind: 'finish';
  end: BatchEnd;
  resolve: (finishedAt: number) => void;
  reject: (error: unknown) => void;
}

/** A part of a transaction. Exactly one of `publish` and `fail` is called. */
interface Prepared {
  write(tx: Transaction): void;
  /** It is on disk. */
  publish(): void;
  /** Nothing is stored. */
  fail(error: unknown): void;
}

interface Garbage {
  /** Runs: first, count, ... */
  tasks: number[];
  batches: number[];
}

/**
 * The tasks and batches: durable, and held as columns in memory for filters.
 *
 * Work is done in the order of the calls, one transaction at a time; registrations and the end of a batch
 * that wait at the same moment share one, because each costs a sync of the disk. Memory changes only after the transaction is on disk, so readers never see what a
 * crash could take back. That a batch is running is the exception: it is known in memory only.
 */
export class TaskStore implements TaskTable {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #payloadDir: string;

  readonly chunks: (TaskChunk | undefined)[] = [];
  readonly digest: TaskDigest;
  /** Number of tasks in each batch, by batch uid; 0: no such batch. */
  batchTasks = new Uint32Array(1024);
  taskCount = 0;
  batchCount = 0;
  nextTaskUid = 0;
  nextBatchUid = 0;

  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** Told of each task in the moment it can be seen. */
  onAppend: ((record: TaskRecord) => void) | null = null;

  /** All indexes of a task that belongs to several, or to one it does not show. */
  readonly linked = new Map<number, readonly number[]>();

  readonly #work: Work[] = [];
  #draining = false;
  #scheduled = false;
  #lastTime = 0;
  #garbage: Garbage = { tasks: [], batches: [] };
  #usedPayloads: number[] = [];
  #sweeping: Promise<void> | null = null;
  #sweepTimer: NodeJS.Timeout | null = null;
  #closed = false;
  /** Behind the greatest batch uid that is on disk. Those from here on are given again after a crash. */
  #storedBatchUids = 0;
  /** Batch uids that were taken back while a later one was in use. */
  readonly #freed = new Set<number>();

  constructor(store: Store, payloadDir: string, clock: Clock) {
    this.#store = store;
    this.#payloadDir = payloadDir;
    this.#clock = clock;
    this.#load();
    this.digest = new TaskDigest(this.chunks);
    this.#prepareDigest();
  }

  /** So that the first filter need not wait for the digest of everything. */
  #prepareDigest(): void {
    if (!this.#closed && !this.digest.refresh(DIGEST_SLICE_MS)) {
      setImmediate(() => this.#prepareDigest());
    }
  }

  #load(): void {
    for (const { key, value } of this.#store.indexNames.getRange()) this.#setName(key, value);
    const linked: number[] = [];
    for (const { key, value } of this.#store.chunks.getRange()) {
      const chunk = TaskChunk.decode(value);
      this.chunks[key] = chunk;
      for (let i = 0; i < TASKS_PER_CHUNK; i++) {
        if (chunk.type[i] === 0) continue;
        const uid = key * TASKS_PER_CHUNK + i;
        this.taskCount++;
        this.nextTaskUid = uid + 1;
        if ((chunk.flags[i]! & FLAG.linked) !== 0) linked.push(uid);
        if (chunk.batchUid[i] !== NONE) this.#countInBatch(chunk.batchUid[i]!);
        const last = Number.isNaN(chunk.finishedAt[i]!)
          ? chunk.enqueuedAt[i]!
          : chunk.finishedAt[i]!;
        if (last > this.#lastTime) this.#lastTime = last;
      }
    }
    for (const uid of linked) {
      const row = this.row(uid);
      const own = this.#chunkOf(uid)?.index[uid % TASKS_PER_CHUNK] ?? NONE;
      if (row !== undefined) this.linked.set(uid, this.#linksOf(row, own));
    }
    const stored = this.#store.meta.get('nextBatchUid');
    if (typeof stored === 'number') this.nextBatchUid = Math.max(this.nextBatchUid, stored);
    this.#storedBatchUids = this.nextBatchUid;
    this.#garbage = (this.#store.meta.get('garbage') as Garbage | undefined) ?? this.#garbage;
    for (const uid of this.#store.payloads.getKeys()) {
      if (this.#chunkStatus(uid) !== STATUS_CODES.enqueued) this.#usedPayloads.push(uid);
    }
    this.#removeOrphans();
    this.#sweep();
  }

  /** Uploads without a task, and payloads of tasks that have ended. */
  #removeOrphans(): void {
    for (const name of readdirSync(this.#payloadDir)) {
      const uid = /^\d+$/.test(name) ? Number(name) : -1;
      const status = uid < 0 ? undefined : this.#chunkStatus(uid);
      if (status !== STATUS_CODES.enqueued) removeFile(join(this.#payloadDir, name));
    }
  }

  /** The numbers of the indexes of a linked task. */
  #linksOf(row: TaskRow, own: number): number[] {
    if (row.type === 'indexSwap') return row.swaps.flatMap(({ pair }) => pair);
    if (row.type === 'indexUpdate' && row.rename !== undefined) {
      return [own, row.rename.target];
    }
    return [own];
  }

  #countInBatch(batchUid: number): void {
    if (batchUid >= this.batchTasks.length) {
      const grown = new Uint32Array(Math.max(batchUid + 1, this.batchTasks.length * 2));
      grown.set(this.batchTasks);
      this.batchTasks = grown;
    }
    if (this.batchTasks[batchUid]!++ === 0) this.batchCount++;
    if (batchUid >= this.nextBatchUid) this.nextBatchUid = batchUid + 1;
  }

  #uncountInBatch(batchUid: number): boolean {
    if (--this.batchTasks[batchUid]! > 0) return false;
    this.batchCount--;
    return true;
  }

  // --- Reading --------------------------------------------------------------------------------------

  #chunkOf(uid: number): TaskChunk | undefined {
    return this.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
  }

  #chunkStatus(uid: number): number | undefined {
    const chunk = this.#chunkOf(uid);
    const i = uid % TASKS_PER_CHUNK;
    return chunk === undefined || chunk.type[i] === 0 ? undefined : chunk.status[i];
  }

  has(uid: number): boolean {
    return this.#chunkStatus(uid) !== undefined;
  }

  record(uid: number): TaskRecord | undefined {
    const chunk = this.#chunkOf(uid);
    return chunk === undefined ? undefined : this.#recordIn(chunk, uid);
  }

  #recordIn(chunk: TaskChunk, uid: number): TaskRecord | undefined {
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

  row(uid: number): TaskRow | undefined {
    return this.#store.tasks.get(uid);
  }

  outcome(uid: number): TaskOutcome | undefined {
    return this.#store.outcomes.get(uid);
  }

  batch(uid: number): BatchRow | undefined {
    return this.batchTasks[uid] === undefined || this.batchTasks[uid] === 0
      ? undefined
      : this.#store.batches.get(uid);
  }

  payloadFile(uid: number): string {
    return join(this.#payloadDir, String(uid));
  }

  payload(uid: number): Buffer | undefined {
    return this.#store.payloads.getBinary(uid);
  }

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
    const numbers = this.linked.get(uid) ?? [
      this.#chunkOf(uid)?.index[uid % TASKS_PER_CHUNK] ?? NONE,
    ];
    return numbers.map((number) => this.indexName(number)).filter((name) => name !== null);
  }

  /** Uids of the tasks that wait, ascending. */
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

  list(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): ListedTasks {
    return paged(matchTasks(this, filter, visible, page), page.limit);
  }

  /** All uids that match, ascending. */
  matching(filter: TaskFilter, visible: IndexVisibility): number[] {
    const everything = { limit: Infinity, from: null, reverse: true };
    return matchTasks(this, filter, visible, everything).uids;
  }

  count(filter: TaskFilter, visible: IndexVisibility): number {
    return matchTasks(this, filter, visible, { limit: 0, from: null, reverse: false }).total;
  }

  listBatches(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): ListedTasks {
    return paged(matchBatches(this, filter, visible, page), page.limit);
  }

  // --- Writing --------------------------------------------------------------------------------------

  /** A moment later than every one given out before, milliseconds with microseconds as fraction. */
  now(): number {
    this.#lastTime = Math.max(this.#clock.now(), Math.round(this.#lastTime * 1000 + 1) / 1000);
    return this.#lastTime;
  }

  /**
   * Registers a task; durable once resolved. The payload belongs to the store from the call on.
   * `late` work sees every task registered before it.
   */
  append(task: NewTask): Promise<TaskRecord> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ kind: 'append', task, resolve, reject });
    });
  }

  /** Shows the tasks as processing from now on. Nothing is stored. */
  async begin(uids: readonly number[]): Promise<{ batchUid: number; startedAt: number }> {
    return this.#change(() => {
      const batchUid = this.nextBatchUid;
      const startedAt = this.now();
      for (const uid of uids) {
        const chunk = this.#chunkOf(uid)!;
        chunk.mark(uid % TASKS_PER_CHUNK, batchUid, startedAt);
        this.digest.changed(Math.floor(uid / TASKS_PER_CHUNK));
        this.#countInBatch(batchUid);
      }
      return { batchUid, startedAt };
    });
  }

  /** Takes `begin` back: the tasks wait again, and the batch uid is free unless a later one is in use. */
  async rollBack(batchUid: number, uids: readonly number[]): Promise<void> {
    return this.#change(() => this.#unmark(batchUid, uids));
  }

  #unmark(batchUid: number, uids: readonly number[]): void {
    for (const uid of uids) {
      this.#chunkOf(uid)?.unmark(uid % TASKS_PER_CHUNK);
      this.digest.changed(Math.floor(uid / TASKS_PER_CHUNK));
      this.#uncountInBatch(batchUid);
    }
    this.#freed.add(batchUid);
    while (this.#freed.delete(this.nextBatchUid - 1)) this.nextBatchUid--;
  }

  /**
   * Stores the end of a batch in one transaction. Afterwards the payloads of its tasks are erased.
   * @returns the time of the end
   */
  finish(end: BatchEnd): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ kind: 'finish', end, resolve, reject });
    });
  }

  /** A name for a new payload file. */
  payloadPath(name: string): string {
    return join(this.#payloadDir, name);
  }

  /** Waits until what was asked for is done. */
  async close(): Promise<void> {
    await this.#change(() => {});
    this.#closed = true;
    if (this.#sweepTimer !== null) clearTimeout(this.#sweepTimer);
    await this.#sweeping;
  }

  #enqueue(work: Work): void {
    this.#work.push(work);
    if (this.#draining || this.#scheduled) return;
    this.#scheduled = true;
    // Requests read in the same turn of the event loop join.
    setImmediate(() => {
      this.#scheduled = false;
      void this.#drain();
    });
  }

  #change<T>(run: () => Promise<T> | T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#enqueue({
        kind: 'change',
        run: async () => {
          try {
            resolve(await run());
          } catch (error) {
            reject(error as Error);
          }
        },
      });
    });
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    while (this.#work.length > 0) {
      const first = this.#work[0]!;
      if (first.kind === 'change') {
        this.#work.shift();
        await first.run();
        continue;
      }
      await this.#commitGroup(this.#work.splice(0, this.#groupLength()) as (Append | Finish)[]);
    }
    this.#draining = false;
  }

  /** How many of the first works can share a transaction. */
  #groupLength(): number {
    let length = 0;
    let ends = 0;
    for (const work of this.#work) {
      if (work.kind === 'change' || length === GROUP_TASKS_MAX) break;
      if (work.kind === 'append' && work.task.late && length > 0) break;
      if (work.kind === 'finish') {
        // Before it and after it the same uid means different indexes.
        if (work.end.history !== undefined) return length === 0 ? 1 : length;
        if (++ends > 1) break;
      }
      length++;
    }
    return length;
  }

  async #commitGroup(group: readonly (Append | Finish)[]): Promise<void> {
    const appends = group.filter((work) => work.kind === 'append');
    const ends = group.filter((work) => work.kind === 'finish');
    let stage = new Stage(this.chunks);
    const parts: Prepared[] = [];
    if (appends.length > 0) {
      const part = await this.#prepareAppends(appends, stage);
      if (part !== null) parts.push(part);
      else stage = new Stage(this.chunks);
    }
    for (const finish of ends) {
      try {
        parts.push(this.#prepareFinish(finish, stage));
      } catch (error) {
        finish.reject(error);
        for (const part of parts) part.fail(error);
        return;
      }
    }
    if (parts.length === 0) return;
    try {
      await this.#store.commit((tx) => {
        for (const part of parts) part.write(tx);
        stage.store(this.#store, tx);
        this.#erasePayloads(tx);
      });
    } catch (error) {
      for (const part of parts) part.fail(error);
      return;
    }
    stage.publish(this.digest);
    for (const part of parts) part.publish();
  }

  /** null: it has failed, and `stage` is spoiled. */
  async #prepareAppends(group: readonly Append[], stage: Stage): Promise<Prepared | null> {
    const newNames: number[] = [];
    const numberOf = (indexUid: string): number => {
      const found = this.#numbers.get(indexUid);
      if (found !== undefined) return found;
      const number = this.#names.length;
      this.#setName(number, indexUid);
      newNames.push(number);
      return number;
    };
    const files: number[] = [];
    const fail = (error: unknown): void => {
      for (const number of newNames.reverse()) {
        this.#numbers.delete(this.#names[number]!);
        this.#names.pop();
      }
      for (const uid of files) removeFile(this.payloadFile(uid));
      for (const { task, reject } of group) {
        if (task.payload !== null && 'file' in task.payload) removeFile(task.payload.file);
        reject(error);
      }
    };
    try {
      const firstUid = this.nextTaskUid;
      const rows: TaskRow[] = [];
      const payloads: { uid: number; bytes: Buffer }[] = [];
      const links: { uid: number; numbers: number[] }[] = [];
      const moves: Promise<void>[] = [];
      group.forEach(({ task }, n) => {
        const uid = firstUid + n;
        const row = task.row(uid, numberOf);
        rows.push(row);
        const chunk = stage.edit(uid);
        const i = uid % TASKS_PER_CHUNK;
        const own = task.indexUid === null ? NONE : numberOf(task.indexUid);
        for (const other of task.alsoIndexes) numberOf(other);
        let flags = task.flags;
        if (task.alsoIndexes.length > 0) {
          flags |= FLAG.linked;
          links.push({ uid, numbers: this.#linksOf(row, own) });
        }
        let payloadBytes = 0;
        if (task.payload !== null && 'file' in task.payload) {
          payloadBytes = task.payload.size;
          files.push(uid);
          flags |= FLAG.payloadFile;
          moves.push(rename(task.payload.file, this.payloadFile(uid)));
        } else if (task.payload !== null) {
          const { bytes } = task.payload;
          payloadBytes = bytes.length;
          if (bytes.length <= PAYLOAD_ROW_BYTES_MAX) payloads.push({ uid, bytes });
          else {
            files.push(uid);
            flags |= FLAG.payloadFile;
            writeFileSync(this.payloadFile(uid), bytes, { flush: true });
          }
        }
        chunk.status[i] = STATUS_CODES.enqueued;
        chunk.type[i] = TYPE_CODES[task.type];
        chunk.flags[i] = flags;
        chunk.index[i] = own;
        chunk.canceledBy[i] = NONE;
        chunk.batchUid[i] = NONE;
        chunk.result[i] = NONE;
        chunk.payloadBytes[i] = Math.min(payloadBytes, NONE);
        chunk.enqueuedAt[i] = this.now();
        chunk.startedAt[i] = NaN;
        chunk.finishedAt[i] = NaN;
      });
      if (files.length > 0) {
        await Promise.all(moves);
        syncFolder(this.#payloadDir);
      }
      return {
        fail,
        write: (tx) => {
          for (const number of newNames)
            tx.put(this.#store.indexNames, number, this.#names[number]!);
          rows.forEach((row, n) => tx.put(this.#store.tasks, firstUid + n, row));
          for (const { uid, bytes } of payloads) tx.put(this.#store.payloads, uid, bytes);
        },
        publish: () => {
          this.nextTaskUid = firstUid + group.length;
          this.taskCount += group.length;
          for (const { uid, numbers } of links) this.linked.set(uid, numbers);
          group.forEach(({ resolve }, n) => {
            const record = this.record(firstUid + n)!;
            this.onAppend?.(record);
            resolve(record);
          });
        },
      };
    } catch (error) {
      fail(error);
      return null;
    }
  }

  #prepareFinish({ end, resolve, reject }: Finish, stage: Stage): Prepared {
    const finishedAt = this.now();
    const outcomes: { uid: number; outcome: TaskOutcome }[] = [];
    const statuses = new Counts<TaskStatus>();
    const types = new Counts<TaskType>();
    const indexUids = new Counts();
    const files: number[] = [];
    const tablePayloads: number[] = [];
    let joined = 0;
    for (const task of end.ends) {
      const chunk = stage.edit(task.uid);
      const i = task.uid % TASKS_PER_CHUNK;
      // Canceled tasks were not marked by `begin`.
      if (chunk.batchUid[i] !== end.batchUid) joined++;
      chunk.status[i] = STATUS_CODES[task.status];
      chunk.batchUid[i] = end.batchUid;
      chunk.startedAt[i] = end.startedAt;
      chunk.finishedAt[i] = finishedAt;
      chunk.result[i] = task.result ?? NONE;
      chunk.canceledBy[i] = task.canceledBy ?? NONE;
      if (task.error !== undefined || task.details !== undefined) {
        const outcome: TaskOutcome = {};
        if (task.error !== undefined) outcome.error = task.error;
        if (task.details !== undefined) outcome.details = task.details;
        outcomes.push({ uid: task.uid, outcome });
      }
      if ((chunk.flags[i]! & FLAG.payloadFile) !== 0) files.push(task.uid);
      else if (chunk.payloadBytes[i]! > 0) tablePayloads.push(task.uid);
      statuses.add(task.status);
      types.add(TYPE_OF_CODE[chunk.type[i]!]!);
      const indexUid = this.indexName(chunk.index[i]!);
      if (indexUid !== null) indexUids.add(indexUid);
    }
    const stats: BatchStats = {
      totalNbTasks: end.ends.length,
      status: statuses.toObject(),
      types: types.toObject(),
      indexUids: indexUids.toObject(),
    };
    if (end.progressTrace !== undefined) stats.progressTrace = end.progressTrace;
    const batch: BatchRow = {
      startedAt: end.startedAt,
      finishedAt,
      strategy: end.strategy,
      details: end.details,
      stats,
    };

    const left = new Map<number, number>();
    const removed = end.remove ?? [];
    for (const uid of removed) {
      const chunk = stage.edit(uid);
      const i = uid % TASKS_PER_CHUNK;
      chunk.type[i] = 0;
      chunk.status[i] = STATUS_CODES.succeeded;
      left.set(chunk.batchUid[i]!, (left.get(chunk.batchUid[i]!) ?? 0) + 1);
    }
    const emptied = [...left].filter(([uid, n]) => this.batchTasks[uid] === n).map(([uid]) => uid);
    const garbage: Garbage = {
      tasks: [...this.#garbage.tasks, ...runsOf(removed)],
      batches: [...this.#garbage.batches, ...runsOf(emptied.sort((a, b) => a - b))],
    };

    const storedBatchUids = Math.max(this.#storedBatchUids, end.batchUid + 1);
    const history = end.history === undefined ? null : this.#renumber(end.history, stage);
    return {
      fail: reject,
      write: (tx) => {
        tx.put(this.#store.batches, end.batchUid, batch);
        tx.put(this.#store.meta, 'nextBatchUid', storedBatchUids);
        for (const { uid, outcome } of outcomes) tx.put(this.#store.outcomes, uid, outcome);
        if (removed.length > 0) tx.put(this.#store.meta, 'garbage', garbage);
        if (history !== null) {
          for (const [number, name] of history.names) tx.put(this.#store.indexNames, number, name);
          for (const [uid, row] of history.rows) tx.put(this.#store.tasks, uid, row);
        }
        for (const [uid, record] of end.indexes ?? []) {
          if (record === null) tx.remove(this.#store.indexes, uid);
          else tx.put(this.#store.indexes, uid, record);
        }
      },
      publish: () => {
        this.#storedBatchUids = storedBatchUids;
        for (let n = 0; n < joined; n++) this.#countInBatch(end.batchUid);
        this.taskCount -= removed.length;
        for (const [uid, n] of left) for (let k = 0; k < n; k++) this.#uncountInBatch(uid);
        for (const uid of removed) this.linked.delete(uid);
        this.#garbage = garbage;
        if (history !== null) {
          for (const [number, name] of history.names) this.#setName(number, name);
          for (const [uid, numbers] of history.links) this.linked.set(uid, numbers);
        }
        for (const uid of files) removeFile(this.payloadFile(uid));
        this.#usedPayloads.push(...tablePayloads);
        this.#sweep();
        resolve(finishedAt);
      },
    };
  }

  #setName(number: number, name: string): void {
    this.#names[number] = name;
    this.#numbers.set(name, number);
  }

  /**
   * Exchanging the histories of two indexes is exchanging the names of their numbers, which costs
   * nothing however long the histories are; tasks from `before` on are then given the other number so
   * that they keep their index uid.
   */
  #renumber(
    history: NonNullable<BatchEnd['history']>,
    stage: Stage,
  ): { names: Map<number, string>; rows: Map<number, TaskRow>; links: Map<number, number[]> } {
    const names = new Map<number, string>();
    const moved = new Map<number, number>();
    for (const [a, b] of history.pairs) {
      const [first, second] = [this.#numbers.get(a), this.#numbers.get(b)];
      if (first === undefined || second === undefined) throw new Error(`no number for ${a}, ${b}`);
      names.set(first, b).set(second, a);
      moved.set(first, second).set(second, first);
    }
    const to = (number: number): number => moved.get(number) ?? number;
    const rows = new Map<number, TaskRow>();
    const links = new Map<number, number[]>();
    for (let uid = history.before; uid < this.nextTaskUid; uid++) {
      const now = stage.peek(uid);
      const i = uid % TASKS_PER_CHUNK;
      if (now === undefined || now.type[i] === 0) continue;
      if (moved.has(now.index[i]!)) {
        const chunk = stage.edit(uid);
        chunk.index[i] = to(chunk.index[i]!);
      }
      const numbers = this.linked.get(uid);
      if (numbers === undefined || !numbers.some((number) => moved.has(number))) continue;
      links.set(uid, numbers.map(to));
      const row = this.row(uid);
      if (row?.type === 'indexSwap') {
        const swaps = row.swaps.map(({ pair, rename }) => ({
          pair: [to(pair[0]), to(pair[1])] as [number, number],
          rename,
        }));
        rows.set(uid, { ...row, swaps });
      } else if (row?.type === 'indexUpdate' && row.rename !== undefined) {
        const rename = { ...row.rename, target: to(row.rename.target) };
        rows.set(uid, { ...row, rename });
      }
    }
    return { names, rows, links };
  }

  /** Erases used payloads along with other changes. What is lost with a failed commit waits for a start. */
  #erasePayloads(tx: Transaction): void {
    for (const uid of this.#usedPayloads.splice(0, SWEEP_ROWS))
      tx.remove(this.#store.payloads, uid);
  }

  /** Erases in the background what no task refers to any more. Repeated at the next start if cut short. */
  #sweep(): void {
    if (this.#sweepTimer !== null || this.#sweeping !== null || this.#closed) return;
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = null;
      this.#sweeping = this.#sweepAll()
        // What is left waits for the next start; the disk may be full.
        .catch(() => {})
        .finally(() => (this.#sweeping = null));
    }, SWEEP_DELAY_MS).unref();
  }

  async #sweepAll(): Promise<void> {
    while (!this.#closed) {
      if (this.#usedPayloads.length > 0) {
        await this.#store.commit((tx) => this.#erasePayloads(tx));
        continue;
      }
      const { tasks, batches } = this.#garbage;
      if (tasks.length === 0 && batches.length === 0) return;
      const [uids, tasksLeft] = takeFromRuns(tasks, SWEEP_ROWS);
      const [batchUids, batchesLeft] = takeFromRuns(batches, SWEEP_ROWS);
      await this.#change(async () => {
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

/** Copies of the chunks that a transaction changes. Nobody else sees them before `publish`. */
class Stage {
  readonly #live: (TaskChunk | undefined)[];
  readonly #edited = new Map<number, TaskChunk>();

  constructor(live: (TaskChunk | undefined)[]) {
    this.#live = live;
  }

  /** The chunk of a task, to be changed. */
  edit(uid: number): TaskChunk {
    const number = Math.floor(uid / TASKS_PER_CHUNK);
    let chunk = this.#edited.get(number);
    if (chunk === undefined) {
      chunk = this.#live[number]?.clone() ?? TaskChunk.empty();
      this.#edited.set(number, chunk);
    }
    return chunk;
  }

  peek(uid: number): TaskChunk | undefined {
    const number = Math.floor(uid / TASKS_PER_CHUNK);
    return this.#edited.get(number) ?? this.#live[number];
  }

  store(store: Store, tx: Transaction): void {
    for (const [number, chunk] of this.#edited) {
      if (isVoid(chunk)) tx.remove(store.chunks, number);
      else tx.put(store.chunks, number, chunk.encode());
    }
  }

  publish(digest: TaskDigest): void {
    for (const [number, chunk] of this.#edited) {
      this.#live[number] = isVoid(chunk) ? undefined : chunk;
      digest.changed(number);
    }
  }
}

function isVoid(chunk: TaskChunk): boolean {
  return chunk.type.every((type) => type === 0);
}

function known(value: number): number | null {
  return value === NONE ? null : value;
}

function date(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}

/** A page was matched with one more than the limit. */
function paged({ uids, total }: Matches, limit: number): ListedTasks {
  return { uids: uids.slice(0, limit), total, next: uids[limit] ?? null };
}

/** Ascending numbers as runs: first, count, first, count, ... */
export function runsOf(ascending: readonly number[]): number[] {
  const runs: number[] = [];
  for (const n of ascending) {
    const last = runs.length - 2;
    if (last >= 0 && runs[last]! + runs[last + 1]! === n) runs[last + 1]!++;
    else runs.push(n, 1);
  }
  return runs;
}

export function* fromRuns(runs: readonly number[]): Generator<number> {
  for (let r = 0; r < runs.length; r += 2) {
    for (let n = 0; n < runs[r + 1]!; n++) yield runs[r]! + n;
  }
}

/** The first numbers, at most `most`, and the runs of the others. */
function takeFromRuns(runs: readonly number[], most: number): [number[], number[]] {
  const taken: number[] = [];
  const left = [...runs];
  while (left.length > 0 && taken.length < most) {
    const n = Math.min(most - taken.length, left[1]!);
    for (let k = 0; k < n; k++) taken.push(left[0]! + k);
    if (n === left[1]) left.splice(0, 2);
    else {
      left[0]! += n;
      left[1]! -= n;
    }
  }
  return [taken, left];
}

/** Removes a file of the payload folder, if it can: what stays is an orphan that the next start removes. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is gone already, or the disk refuses.
  }
}
