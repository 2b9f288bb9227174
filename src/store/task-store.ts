import { type Clock, Moments } from '../base/clock.ts';
import type { IndexVisibility, TaskFilter, TaskNetwork, TaskPaging } from '../contract/tasks.ts';
import { type Append, type NewTask, prepareAppends } from './append-tasks.ts';
import { type BatchEnd, type Finish, prepareFinish } from './finish-batch.ts';
import { MemoryTable, type TaskRecord } from './memory-table.ts';
import { PayloadFolder } from './payload-folder.ts';
import { type ChangedKeys, keysOf, type Store } from './store.ts';
import type { TaskTable } from './task-conditions.ts';
import {
  countTasks,
  matchBatches,
  matchTasks,
  type Matches,
  type TaskCounts,
  tasksOf,
} from './task-query.ts';
import type { TaskRow } from '../contract/task-types.ts';
import type { BatchRow, TaskOutcome } from './task-row.ts';
import { TASKS_PER_CHUNK } from './task-chunk.ts';
import { TaskSweeper } from './task-sweeper.ts';
import { Stage, type TransactionContext, type TransactionPart } from './task-transaction.ts';

/**
 * Maximum number of tasks registered by one transaction. Limits the pause while it is prepared to
 * about 5 ms.
 */
const GROUP_TASKS_MAX = 2048;

export interface ListedTasks {
  uids: number[];
  total: number;
  next: number | null;
}

/** Tasks that have changed their status together. */
export interface TaskChange {
  /** Not empty. */
  uids: readonly number[];
  /** The batch that began or ended with them; null: neither. */
  batchUid: number | null;
  /** Milliseconds; null: they have not ended. */
  finishedAt: number | null;
}

type TaskWatcher = (change: TaskChange) => void;

type Work = Append | Finish | { kind: 'change'; run: () => Promise<void> | void };

/**
 * The tasks and batches: durable, and kept as columns in memory for filters.
 *
 * Work is done in the order of the calls, one transaction at a time. Registrations and the end of a
 * batch that wait at the same time share a transaction, because each costs a sync of the disk.
 * Memory changes only after the transaction is on disk, so readers never see data that a crash
 * could undo. The exception is that a batch is running, which is only in memory.
 */
export class TaskStore {
  readonly #store: Store;
  readonly #table: MemoryTable;
  readonly #payloads: PayloadFolder;
  readonly #sweeper: TaskSweeper;
  readonly #context: TransactionContext;
  /** Called with each task when it becomes visible. */
  onAppend: ((record: TaskRecord) => void) | null = null;
  /**
   * Called for each batch that ends. Returns what to write in the same transaction, and what to do
   * once that is on disk.
   */
  onFinish: TransactionContext['finished'] | null = null;

  readonly #watchers = new Set<TaskWatcher>();
  readonly #work: Work[] = [];
  #draining = false;
  #scheduled = false;
  readonly #moments: Moments;

  constructor(store: Store, payloadDir: string, clock: Clock) {
    this.#store = store;
    const table = new MemoryTable(store);
    const waits = (uid: number): boolean => table.isEnqueued(uid);
    this.#table = table;
    this.#moments = new Moments(clock, table.lastTime);
    this.#payloads = new PayloadFolder(payloadDir);
    this.#payloads.removeOrphans(waits);
    this.#sweeper = new TaskSweeper(store, waits, (change) => this.#change(change));
    this.#context = {
      store,
      table,
      payloads: this.#payloads,
      sweeper: this.#sweeper,
      now: () => this.now(),
      finished: (batchUid) => this.onFinish?.(batchUid) ?? null,
      appended: (record) => {
        this.onAppend?.(record);
        this.#tell([record.uid], null, null);
      },
    };
    store.onForeign((changed) => {
      for (const uid of table.reload(store, changed)) this.#payloads.remove(uid);
      this.#moments.notBefore(table.lastTime);
      this.#tellForeign(changed);
    });
  }

  /**
   * Calls `watcher` after each change of the status of tasks, once it is visible. Returns a
   * function that ends this.
   */
  watch(watcher: TaskWatcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #tell(uids: readonly number[], batchUid: number | null, finishedAt: number | null): void {
    if (uids.length === 0) return;
    for (const watcher of this.#watchers) watcher({ uids, batchUid, finishedAt });
  }

  /** What another node has registered and ended. */
  #tellForeign(changed: ChangedKeys): void {
    if (this.#watchers.size === 0) return;
    this.#tell(keysOf(changed, this.#store.tasks), null, null);
    const chunks = keysOf(changed, this.#store.chunks).toSorted((a, b) => a - b);
    for (const batchUid of keysOf(changed, this.#store.batches)) {
      const { finishedAt } = this.batch(batchUid) ?? {};
      const uids = tasksOf(this.#table, batchUid, chunks);
      if (finishedAt !== undefined) this.#tell(uids, batchUid, finishedAt);
    }
  }

  /** Applies a record of another node while no transaction on tasks is being prepared. */
  exclusively<T>(run: () => Promise<T>): Promise<T> {
    return this.#change(run);
  }

  /** Forgets which batches are running, whatever has become of them. */
  stopAll(): Promise<void> {
    return this.#change(() => this.#table.stopAll(this.#store));
  }

  /**
   * Takes over what other nodes have left to erase. A task whose registration is on disk but not
   * visible yet would look like one that does not need its payload any more.
   */
  lead(): Promise<void> {
    return this.#change(() => this.#sweeper.reload());
  }

  // --- Reading -----------------------------------------------------------------------------------

  /** All tasks, for filters and counts. */
  get table(): TaskTable {
    return this.#table;
  }

  record(uid: number): TaskRecord | undefined {
    return this.#table.record(uid);
  }

  row(uid: number): TaskRow | undefined {
    return this.#store.tasks.get(uid);
  }

  /** Bytes of `row`. */
  rowSize(uid: number): number {
    return this.#store.tasks.sizeOf(uid);
  }

  outcome(uid: number): TaskOutcome | undefined {
    return this.#store.outcomes.get(uid);
  }

  batch(uid: number): BatchRow | undefined {
    const tasks = this.#table.batches.tasks[uid] ?? 0;
    return tasks === 0 ? undefined : this.#store.batches.get(uid);
  }

  /** Bytes of `batch`. */
  batchSize(uid: number): number {
    return this.#store.batches.sizeOf(uid);
  }

  payloadFile(uid: number): string {
    return this.#payloads.file(uid);
  }

  /** A name for a new payload file. */
  payloadPath(name: string): string {
    return this.#payloads.path(name);
  }

  payload(uid: number): Buffer | undefined {
    return this.#store.payloads.get(uid);
  }

  /** Uid of an index by its number in the columns; null for `NONE`. */
  indexName(number: number): string | null {
    return this.#table.indexName(number);
  }

  /** Uids of all indexes that a task belongs to. */
  indexesOf(uid: number): string[] {
    return this.#table.indexesOf(uid);
  }

  /** Uids of the waiting tasks, ascending. */
  enqueued(): number[] {
    return this.#table.enqueued();
  }

  async list(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): Promise<ListedTasks> {
    return paged(await matchTasks(this.#table, filter, visible, page), page.limit);
  }

  /** All matching uids, ascending. */
  async matching(filter: TaskFilter, visible: IndexVisibility): Promise<number[]> {
    const everything = { limit: Infinity, from: null, reverse: true };
    return (await matchTasks(this.#table, filter, visible, everything)).uids;
  }

  async count(filter: TaskFilter, visible: IndexVisibility): Promise<number> {
    const none = { limit: 0, from: null, reverse: false };
    return (await matchTasks(this.#table, filter, visible, none)).total;
  }

  async listBatches(
    filter: TaskFilter,
    page: TaskPaging,
    visible: IndexVisibility,
  ): Promise<ListedTasks> {
    return paged(await matchBatches(this.#table, filter, visible, page), page.limit);
  }

  /** The tasks of a batch, ascending. */
  tasksOf(batchUid: number): number[] {
    return tasksOf(this.#table, batchUid);
  }

  /** The numbers of all tasks by what they have in common. */
  counts(): Promise<TaskCounts> {
    return countTasks(this.#table);
  }

  // --- Writing -----------------------------------------------------------------------------------

  /** A time later than all assigned before, milliseconds with microseconds as the fraction. */
  now(): number {
    return this.#moments.next();
  }

  /**
   * Registers a task; durable once resolved. The payload belongs to the store as soon as you call
   * this. `late` work sees every task registered before it.
   */
  append(task: NewTask, joined: readonly NewTask[] = []): Promise<TaskRecord> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ kind: 'append', task, isJoined: false, resolve, reject });
      for (const also of joined) {
        const nothing = (): void => {};
        const ends = { resolve: nothing, reject: nothing };
        this.#enqueue({ kind: 'append', task: also, isJoined: true, ...ends });
      }
    });
  }

  /**
   * Adds the outcome of a task on other servers; durable once resolved. Has no effect on a deleted
   * task.
   */
  setNetwork(uid: number, network: TaskNetwork): Promise<void> {
    return this.#change(async () => {
      const row = this.row(uid);
      if (row === undefined || this.record(uid) === undefined) return;
      await this.#store.commit((tx) => tx.put(this.#store.tasks, uid, { ...row, network }));
    });
  }

  /** Shows the tasks as processing from now on. Stores nothing. */
  async begin(uids: readonly number[]): Promise<{ batchUid: number; startedAt: number }> {
    return this.#change(() => {
      const batchUid = this.#table.nextBatchUid;
      const startedAt = this.now();
      this.#table.mark(uids, batchUid, startedAt);
      this.#tell(uids, batchUid, null);
      return { batchUid, startedAt };
    });
  }

  /**
   * Undoes `begin`: the tasks wait again, and the batch uid is free unless a later one is in use.
   */
  async rollBack(batchUid: number, uids: readonly number[]): Promise<void> {
    return this.#change(() => {
      this.#table.unmark(uids, batchUid);
      this.#tell(uids, null, null);
    });
  }

  /**
   * Erases waiting tasks as if they had never been registered.
   * REQUIRES: they have no payloads and belong to no batch, and the store is closed next, because
   * readers still see them
   */
  forget(uids: readonly number[]): Promise<void> {
    return this.#change(async () => {
      const stage = new Stage(this.#table);
      for (const uid of uids) stage.edit(uid).remove(uid % TASKS_PER_CHUNK);
      await this.#store.commit((tx) => {
        for (const uid of uids) tx.remove(this.#store.tasks, uid);
        stage.write(this.#store, tx);
      });
    });
  }

  /**
   * Stores the end of a batch in one transaction. Afterwards the payloads of its tasks are erased.
   * @returns the time of the end
   */
  finish(end: BatchEnd): Promise<number> {
    return new Promise((resolve, reject) => {
      const ended = (finishedAt: number): void => {
        const uids = end.ends.map(({ uid }) => uid);
        this.#tell(uids, end.batchUid, finishedAt);
        resolve(finishedAt);
      };
      this.#enqueue({ kind: 'finish', end, resolve: ended, reject });
    });
  }

  /** Waits until all requested work is done. */
  async close(): Promise<void> {
    await this.#change(() => {});
    await this.#sweeper.close();
  }

  #enqueue(work: Work): void {
    this.#work.push(work);
    if (this.#draining || this.#scheduled) return;
    this.#scheduled = true;
    // Lets requests that are read in the same iteration of the event loop join.
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

  /** Number of pieces of work at the front of the queue that can share a transaction. */
  #groupLength(): number {
    let length = 0;
    let ends = 0;
    for (const work of this.#work) {
      if (work.kind === 'change') break;
      const isJoined = work.kind === 'append' && work.isJoined;
      if (length >= GROUP_TASKS_MAX && !isJoined) break;
      if (work.kind === 'append' && work.task.late && length > 0) break;
      if (work.kind === 'finish') {
        // The same uid means different indexes before and after it.
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
    let stage = new Stage(this.#table);
    const parts: TransactionPart[] = [];
    if (appends.length > 0) {
      const part = await prepareAppends(this.#context, appends, stage);
      if (part !== null) parts.push(part);
      else stage = new Stage(this.#table);
    }
    for (const finish of ends) {
      try {
        parts.push(prepareFinish(this.#context, finish, stage));
      } catch (error) {
        finish.reject(error);
        for (const part of parts) part.fail(error);
        return;
      }
    }
    if (parts.length === 0) return;
    try {
      const files = parts.flatMap((part) => part.files ?? []);
      await this.#store.commit((tx) => {
        for (const part of parts) part.write(tx);
        stage.write(this.#store, tx);
        this.#sweeper.erasePayloads(tx);
      }, files);
    } catch (error) {
      for (const part of parts) part.fail(error);
      return;
    }
    stage.publish();
    for (const part of parts) part.publish();
  }
}

/** `uids` may have one more than the limit of the page. */
function paged({ uids, total }: Matches, limit: number): ListedTasks {
  return { uids: uids.slice(0, limit), total, next: uids[limit] ?? null };
}
