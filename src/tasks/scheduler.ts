import { rfc3339 } from '../base/clock.ts';
import { Counts } from '../base/counts.ts';
import { pauser } from '../base/pauser.ts';
import { ApiError, toApiError } from '../contract/errors.ts';
import { taskTypeEntry } from '../contract/task-types.ts';
import type { BatchView, TaskDetails, TaskType } from '../contract/tasks.ts';
import { BatchCanceled } from '../engine/errors.ts';
import type { IndexEntry, IndexRecord, IndexRegistry } from '../engine/registry.ts';
import { EmbedderRequests } from '../embedding/embedder-requests.ts';
import type { EmbeddingService } from '../embedding/embedding-service.ts';
import type { CrashRecord } from '../store/crash-record.ts';
import type { BatchEnd } from '../store/finish-batch.ts';
import type { TaskStore } from '../store/task-store.ts';
import { runsOf } from '../base/uid-runs.ts';
import {
  type Batch,
  type BatchKind,
  type BatchLimits,
  type KnownIndexes,
  leavesRoom,
  needsRoom,
  nextBatch,
  nextBatchBeside,
  withSuspectsAlone,
} from './batcher.ts';
import { BatchDetails, detailsOf } from './details.ts';
import { changedSizes } from './measures.ts';
import type { Shard } from '../network/owner.ts';
import type { Pending } from './pending.ts';
import { Progress } from './progress.ts';
import {
  allFailed,
  CancelSwitch,
  readTask,
  type RunContext,
  type Runner,
  type RunResult,
} from './run/run.ts';
import { recoverDocuments } from './run/documents.ts';
import { RECOVERIES, RUNNERS } from './runners.ts';
import { taskView } from './view.ts';

/** At this many tasks the oldest finished ones are deleted, this many at once. */
export const TASKS_MAX = 1_000_000;
export const PRUNED_TASKS = 100_000;

/** Pause after a failure to write the store: the disk is full or broken. */
const STORE_RETRY_MS = 10_000;

export interface SchedulerOptions {
  crashes: CrashRecord;
  limits: BatchLimits;
  /** Kinds of batches whose work needs more than `RunContext` has. They replace those of `RUNNERS`. */
  runners: Partial<Record<BatchKind, Runner>>;
  /** null: no embeddings can be made. */
  embedding: EmbeddingService | null;
  /** Of the network, as it is at the moment. */
  shard: () => Shard | null;
  tasksMax: number;
  prunedTasks: number;
  log: (message: string, error?: unknown) => void;
  /** Told of the tasks of a batch, ascending, once its end is durable. */
  onFinished: (uids: readonly number[]) => void;
}

interface Running {
  batch: Batch;
  startedAt: number;
  progress: Progress;
  cancel: CancelSwitch;
  embedderRequests: EmbedderRequests;
}

/**
 * The one loop that runs batches. External events only wake it; it goes at its own pace:
 *
 *   idle -> (wake) choose -> begin (in memory) -> run -> finish (one transaction) -> choose ...
 *                                                  \-> canceled: rolled back -> choose
 *
 * While a change of settings runs, which may rebuild an index for minutes, batches of documents of other indexes run
 * beside it, one at a time; see `nextBatchBeside`. The loop goes on when both have ended, so nothing else ever runs
 * at the same time as another batch but detached ones. A change of settings that is taken back when a batch beside it has
 * ended leaves its batch uid out.
 *
 * A batch that only waits for other servers detaches (`RunContext.detach`): its tasks are set aside, and the loop goes on
 * with any other batch while it runs to its end. One that was asked to stop is waited for before the next batch is chosen,
 * because that may be the cancelation of its tasks.
 *
 * A batch on an index is committed twice: by the engine, which remembers its outcome, then by the store.
 * `recover` finishes at start what a crash left between the two, so a task is applied exactly once. Tasks that were
 * running when the process crashed run one at a time, with nothing beside them, and at most twice (`CrashRecord`). An
 * index that cannot be opened then is looked at again before its next batches, which fail until it can.
 */
export class Scheduler {
  readonly #store: TaskStore;
  readonly #pending: Pending;
  readonly #registry: IndexRegistry;
  readonly #options: SchedulerOptions;
  readonly #runners: Partial<Record<BatchKind, Runner>>;
  /** By batch uid: none, one, or a change of settings and what runs beside it. */
  readonly #running = new Map<number, Running>();
  /** The ends of the batches that run detached. */
  readonly #detached = new Map<Batch, Promise<void>>();
  /** Indexes that could not be opened to see what a crash left. */
  readonly #unrecovered = new WeakSet<IndexEntry>();
  #recovery: Promise<void> | null = null;
  #loop: Promise<void> | null = null;
  #awake = false;
  #started = false;
  #stopping = false;
  readonly #pauses = new Set<() => void>();
  /** Ends the waiting for something that may run beside. */
  #nudge: (() => void) | null = null;
  /** Registers the deletion of these tasks. Set by the queue. */
  prune: ((matched: number[], originalFilter: string) => Promise<unknown>) | null = null;

  constructor(
    store: TaskStore,
    pending: Pending,
    registry: IndexRegistry,
    options: SchedulerOptions,
  ) {
    this.#store = store;
    this.#pending = pending;
    this.#registry = registry;
    this.#options = options;
    this.#runners = { ...RUNNERS, ...options.runners };
  }

  /** Runners of kinds whose work lives elsewhere. To be called before `start`. */
  addRunners(runners: Partial<Record<BatchKind, Runner>>): void {
    Object.assign(this.#runners, runners);
  }

  /** Concludes what was left half recorded, then begins to run batches. */
  async start(): Promise<void> {
    this.#recovery = this.#recover();
    await this.#recovery;
    this.#started = true;
    this.wake();
  }

  /** There may be something to do. Without effect before `start`. */
  wake(): void {
    if (this.#options.limits.tasks === 0 || !this.#started || this.#stopping) return;
    this.#awake = true;
    this.#nudge?.();
    this.#loop ??= this.#run().finally(() => {
      this.#loop = null;
      if (this.#awake && !this.#stopping) this.wake();
    });
  }

  /** Rolls the running batches back, unless they are just ending, and stops. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#options.crashes.excuse();
    for (const { cancel } of this.#running.values()) cancel.turnOn();
    for (const end of this.#pauses) end();
    this.#nudge?.();
    await this.#recovery;
    await this.#loop;
    await Promise.all(this.#detached.values());
  }

  /** Begins again after `stop`, with the tasks as they are now. */
  async resume(): Promise<void> {
    this.#stopping = false;
    this.#options.crashes.resume();
    this.#pending.reload();
    await this.start();
  }

  /** Waits until nothing is left to do. For tests. */
  async idle(): Promise<void> {
    while (this.#loop !== null || this.#detached.size > 0) {
      await (this.#loop ?? Promise.race(this.#detached.values()));
    }
  }

  /** Asks the running batches to stop that have one of these tasks. */
  cancelRunning(uids: readonly number[]): void {
    for (const { batch, cancel } of this.#running.values()) {
      const [first] = batch.uids;
      const type = this.#store.record(first!)?.type;
      if (type !== undefined && taskTypeEntry(type).runsToItsEnd === true) continue;
      const running = new Set(batch.uids);
      if (uids.some((uid) => running.has(uid))) cancel.turnOn();
    }
  }

  /** A running batch as the API shows it; undefined when no such batch runs. */
  runningView(batchUid: number): BatchView | undefined {
    const running = this.#running.get(batchUid);
    if (running === undefined) return undefined;
    const { batch, startedAt, progress } = running;
    const embedderRequests = running.embedderRequests.view();
    const details = new BatchDetails();
    const types = new Counts<TaskType>();
    const indexUids = new Counts();
    for (const uid of batch.uids) {
      const task = taskView(this.#store, uid);
      if (task === undefined) continue;
      details.add(task.details);
      types.add(task.type);
      if (task.indexUid !== null) indexUids.add(task.indexUid);
    }
    return {
      uid: batchUid,
      progress: progress.view(),
      details: details.result(false),
      stats: {
        totalNbTasks: batch.uids.length,
        status: { processing: batch.uids.length },
        types: types.toObject(),
        indexUids: indexUids.toObject(),
        progressTrace: progress.traceSoFar(),
        ...(embedderRequests === null ? {} : { embedderRequests }),
      },
      duration: null,
      startedAt: rfc3339(startedAt),
      finishedAt: null,
      batchStrategy: batch.strategy,
    };
  }

  async #run(): Promise<void> {
    // Requests of the same turn of the event loop come in first.
    await new Promise((done) => setImmediate(done));
    const { crashes } = this.#options;
    while (!this.#stopping) {
      this.#awake = false;
      try {
        await this.#pruneQueue();
        await this.#stoppedOnes();
        const batch = this.#next();
        if (batch === null) return;
        if (batch.uids.some((uid) => crashes.isSuspect(uid))) await this.#stopDetached();
        const hasRoom = leavesRoom(batch) !== 'never' && !crashes.hasSuspects;
        if (hasRoom || needsRoom(batch)) await this.#runWithRoom(batch);
        else await this.#runUntilDetached(batch);
      } catch (error) {
        this.#options.log('the scheduler failed and tries again', error);
        await this.#pause(STORE_RETRY_MS);
      }
    }
  }

  #next(): Batch | null {
    return this.#suspectsAlone((limits) =>
      nextBatch(this.#pending, this.#indexes, limits, this.#full),
    );
  }

  #suspectsAlone(next: (limits: BatchLimits) => Batch | null): Batch | null {
    const { limits, crashes } = this.#options;
    const batch = next(limits);
    if (batch === null || !crashes.hasSuspects) return batch;
    const isSuspect = (uid: number): boolean => crashes.isSuspect(uid);
    return withSuspectsAlone(batch, isSuspect, (tasks) => next({ ...limits, tasks })!);
  }

  /** Waits for the detached batches that were asked to stop, which they do soon. */
  async #stoppedOnes(): Promise<void> {
    for (const { batch, cancel } of this.#running.values()) {
      if (cancel.on) await this.#detached.get(batch);
    }
  }

  /** Takes the detached batches back; they begin again afterwards. A suspect runs alone. */
  async #stopDetached(): Promise<void> {
    for (const { batch, cancel } of this.#running.values()) {
      if (this.#detached.has(batch)) cancel.turnOn();
    }
    await Promise.all(this.#detached.values());
  }

  /** Types of which as many batches as may are detached. */
  get #full(): ReadonlySet<TaskType> {
    const counts = new Counts<BatchKind>();
    for (const { kind } of this.#detached.keys()) counts.add(kind);
    const types = Object.entries(counts.toObject()) as [TaskType, number][];
    return new Set(
      types
        .filter(([type, count]) => count >= taskTypeEntry(type).detachedMax!)
        .map(([type]) => type),
    );
  }

  /** Ends when the batch has ended, or has detached. */
  async #runUntilDetached(batch: Batch): Promise<void> {
    let isDetached = false;
    let detach = (): void => {};
    const detached = new Promise<void>((done) => {
      detach = () => {
        isDetached = true;
        done();
      };
    });
    const end = this.#runBatch(batch, { detach });
    await Promise.race([end, detached]);
    if (!isDetached) return;
    const settled = end
      .catch((error: unknown) => this.#options.log('a detached batch failed', error))
      .finally(() => {
        this.#detached.delete(batch);
        this.wake();
      });
    this.#detached.set(batch, settled);
  }

  /** Runs a batch, and beside it what may run. Ends when both have ended. */
  async #runWithRoom(batch: Batch): Promise<void> {
    let over = false;
    let open = (): void => {};
    const room = new Promise<void>((done) => (open = done));
    if (leavesRoom(batch) === 'at once') open();
    const main = this.#runBatch(batch, { leaveRoom: open }).finally(() => {
      over = true;
      open();
      this.#nudge?.();
    });
    const beside = room.then(() => this.#runBeside(batch, () => over));
    const [failed] = (await Promise.allSettled([main, beside])).filter(
      ({ status }) => status === 'rejected',
    );
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  /** A failure of the store ends it: the loop then waits for what runs, and for the store. */
  async #runBeside(main: Batch, over: () => boolean): Promise<void> {
    while (!over() && !this.#stopping) {
      const batch = this.#suspectsAlone((limits) =>
        nextBatchBeside(main, this.#pending, this.#indexes, limits, this.#full),
      );
      if (batch !== null) await this.#runBatch(batch);
      else await new Promise<void>((done) => (this.#nudge = done));
    }
    this.#nudge = null;
  }

  get #indexes(): KnownIndexes {
    return { primaryKey: (uid) => this.#registry.get(uid)?.summary.primaryKey };
  }

  #pause(ms: number): Promise<void> {
    if (this.#stopping) return Promise.resolve();
    return new Promise((done) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#pauses.delete(end);
        done();
      };
      const timer = setTimeout(end, ms);
      this.#pauses.add(end);
    });
  }

  /** @param reactions to what the batch says; see `RunContext` */
  async #runBatch(
    batch: Batch,
    {
      leaveRoom = nothing,
      detach = nothing,
    }: Partial<Pick<RunContext, 'leaveRoom' | 'detach'>> = {},
  ): Promise<void> {
    const recovered = await this.#recoverBefore(batch);
    if (recovered === 'ended') return;
    const { crashes } = this.#options;
    const { batchUid, startedAt } = await this.#store.begin(batch.uids);
    crashes.begin(batchUid, batch.uids);
    const progress = new Progress();
    const cancel = new CancelSwitch();
    const embedderRequests = new EmbedderRequests();
    const writesDocuments = batch.kind === 'documents' || batch.kind === 'documentEdition';
    const sizesBefore = writesDocuments ? this.#sizesOf(batch.indexUid) : {};
    let isDetached = false;
    this.#running.set(batchUid, { batch, startedAt, progress, cancel, embedderRequests });
    // What was asked while the batch was about to begin.
    if (this.#stopping) cancel.turnOn();
    progress.enter(0, 'processing tasks', 0, 2);
    try {
      const now = rfc3339(startedAt);
      const { store, registry } = { store: this.#store, registry: this.#registry };
      const { embedding } = this.#options;
      const result = await this.#resultOf(recovered, {
        ...{ store, registry, batch, batchUid, now, progress, cancel },
        ...{ embedding, embedderRequests, shard: this.#options.shard() },
        leaveRoom: () => {
          // A crash from now on says more about what runs meanwhile.
          crashes.detach(batchUid);
          leaveRoom();
        },
        detach: () => {
          if (isDetached) return;
          isDetached = true;
          crashes.detach(batchUid);
          this.#pending.setAside(batch.uids);
          detach();
        },
      });
      if (result === 'canceled') return;
      const trace = progress.trace();
      progress.enter(0, 'writing tasks to disk', 1, 2);
      await this.#finish(batchUid, startedAt, batch.strategy, result, {
        progressTrace: trace,
        internalDatabaseSizes: writesDocuments
          ? changedSizes(sizesBefore, this.#sizesOf(batch.indexUid, result.indexes))
          : undefined,
        embedderRequests: embedderRequests.view(),
      });
    } finally {
      this.#running.delete(batchUid);
      crashes.end(batchUid);
    }
  }

  /** What becomes of a batch; if it was canceled, its tasks wait again. */
  async #resultOf(
    recovered: Error | 'nothing',
    context: RunContext,
  ): Promise<RunResult | 'canceled'> {
    const { batch, batchUid } = context;
    try {
      if (recovered instanceof Error) throw recovered;
      const verdict = this.#options.crashes.verdict(batch.uids[0]!);
      if (verdict !== null) throw new ApiError('task_crashed', verdict);
      return await this.#runner(batch.kind)(context);
    } catch (error) {
      if (error instanceof BatchCanceled) {
        await this.#store.rollBack(batchUid, batch.uids);
        this.#pending.putBack(batch.uids);
        return 'canceled';
      }
      if (!(error instanceof ApiError)) this.#options.log(`batch ${batchUid} failed`, error);
      return { ends: allFailed(batch, toApiError(error)) };
    }
  }

  /** @param indexes those that a batch leaves, which come before those that are known */
  #sizesOf(uid: string | null, indexes?: RunResult['indexes']): Record<string, number> {
    if (uid === null) return {};
    const left = indexes?.get(uid);
    const entry = left === undefined ? this.#registry.get(uid) : left;
    return entry?.partSizes() ?? {};
  }

  #runner(kind: BatchKind): Runner {
    return (
      this.#runners[kind] ??
      (({ batch }) => ({
        ends: allFailed(batch, new ApiError('internal', `This server cannot run a \`${kind}\`.`)),
      }))
    );
  }

  /** Repeats until the store takes it: the engine has committed, so the batch cannot be run again. */
  async #finish(
    batchUid: number,
    startedAt: number,
    strategy: string,
    result: RunResult,
    measured: NonNullable<BatchEnd['measured']> = {},
  ): Promise<void> {
    const details = await this.#batchDetails(result);
    const records = new Map<string, IndexRecord | null>();
    for (const [uid, entry] of result.indexes ?? []) records.set(uid, entry?.record ?? null);
    for (;;) {
      try {
        await this.#store.finish({
          batchUid,
          startedAt,
          strategy,
          details,
          ends: result.ends,
          indexes: records,
          measured,
          ...(result.remove === undefined ? {} : { remove: result.remove }),
          ...(result.history === undefined ? {} : { history: result.history }),
        });
        break;
      } catch (error) {
        this.#options.log(`the end of batch ${batchUid} could not be stored`, error);
        if (this.#stopping) throw error;
        await this.#pause(STORE_RETRY_MS);
        if (this.#stopping) throw error;
      }
    }
    if (result.indexes !== undefined) this.#registry.apply(result.indexes);
    const uids = result.ends.map(({ uid }) => uid).sort((a, b) => a - b);
    for (const uid of uids) this.#options.crashes.forget(uid);
    if (result.history === undefined) this.#pending.remove(uids);
    else this.#pending.reload();
    for (const entry of result.discard ?? []) await this.#discard(entry);
    this.#options.onFinished(uids);
  }

  async #discard(entry: IndexEntry): Promise<void> {
    try {
      await this.#registry.discard(entry);
    } catch (error) {
      this.#options.log('the folder of a deleted index could not be erased', error);
    }
  }

  async #batchDetails(result: RunResult): Promise<TaskDetails> {
    const details = new BatchDetails();
    const pause = pauser();
    for (const end of result.ends) {
      details.add(this.#detailsAfter(end));
      await pause();
    }
    return details.result(true);
  }

  #detailsAfter({ uid, status, result, details }: RunResult['ends'][number]): TaskDetails | null {
    const row = this.#store.row(uid);
    if (row === undefined) return null;
    const shown = detailsOf(row, status, result, (n) => this.#store.indexName(n));
    return details === undefined ? shown : { ...shown, ...details };
  }

  async #pruneQueue(): Promise<void> {
    const { tasksMax, prunedTasks, log } = this.#options;
    if (this.prune === null || this.#store.table.taskCount < tasksMax) return;
    if (this.#pending.ofType('taskDeletion').length > 0) return;
    const finished = this.#store.list(
      { statuses: ['succeeded', 'failed', 'canceled'] },
      { limit: prunedTasks, from: null, reverse: true },
      null,
    ).uids;
    if (finished.length < 2) {
      log('the queue is full of unfinished tasks');
      return;
    }
    const newest = this.#store.record(finished.at(-1)!)!.enqueuedAt;
    await this.prune(
      runsOf(finished),
      `?beforeEnqueuedAt=${nanosecondLater(newest)}&statuses=succeeded,failed,canceled`,
    );
  }

  /**
   * For every index with waiting tasks: when the tasks of the engine's last batch still wait, it was committed and
   * not recorded. That may be two batches, and a later one may have been recorded.
   */
  async #recover(): Promise<void> {
    const waiting = new Set<string>();
    for (const uid of this.#store.enqueued()) {
      const indexUid = this.#store.record(uid)!.indexUid;
      if (indexUid !== null) waiting.add(indexUid);
    }
    for (const indexUid of waiting) {
      const entry = this.#registry.get(indexUid);
      if (entry === undefined) continue;
      try {
        await this.#recoverIndex(indexUid, entry);
      } catch (error) {
        // The next start finds everything as it is.
        if (this.#stopping) return;
        // A damaged index must not keep the others from being served.
        this.#unrecovered.add(entry);
        this.#options.log(`the last batch of index ${indexUid} could not be looked up`, error);
      }
    }
    const waits = (uid: number): boolean => this.#store.record(uid)?.status === 'enqueued';
    for (const notice of this.#options.crashes.settle(waits)) this.#options.log(notice);
  }

  /**
   * What `recover` could not do for the index of a batch.
   * @returns `ended` when tasks have ended by it, so that the batch has to be chosen anew; the error that still hides
   *   what was committed, with which the batch must fail, since it may be what was
   */
  async #recoverBefore({ indexUid, kind }: Batch): Promise<'ended' | 'nothing' | Error> {
    const entry = indexUid === null ? undefined : this.#registry.get(indexUid);
    if (entry === undefined || !this.#unrecovered.has(entry)) return 'nothing';
    try {
      const ended = await this.#recoverIndex(indexUid!, entry);
      this.#unrecovered.delete(entry);
      return ended ? 'ended' : 'nothing';
    } catch (error) {
      if (this.#stopping) throw error;
      // What an index holds does not matter to its deletion.
      return kind === 'indexDeletion' ? 'nothing' : (error as Error);
    }
  }

  /** @returns whether tasks have ended by it */
  async #recoverIndex(indexUid: string, entry: IndexEntry): Promise<boolean> {
    const { lastBatch, updatedAt } = entry.handle.state();
    if (lastBatch === null) return false;
    const { batchUid, taskUids, outcome } = lastBatch;
    if (taskUids.length === 0) return false;
    if (taskUids.some((uid) => this.#store.record(uid)?.status !== 'enqueued')) return false;
    const tasks = taskUids.map((uid) => readTask(this.#store, uid));
    const conclude = RECOVERIES[tasks[0]!.row.type] ?? recoverDocuments;
    const result = conclude(tasks, outcome, indexUid, entry);
    const startedAt = updatedAt === null ? this.#store.now() : Date.parse(updatedAt);
    await this.#finish(batchUid, startedAt, 'unspecified', result);
    this.#options.log(`batch ${batchUid} of index ${indexUid} was committed before the last stop`);
    return true;
  }
}

function nothing(): void {}

function nanosecondLater(time: number): string {
  const text = rfc3339(time).slice(0, -1);
  const [seconds, fraction = ''] = text.split('.');
  return `${seconds}.${fraction.padEnd(6, '0')}001Z`;
}
