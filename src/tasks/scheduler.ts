import { rfc3339 } from '../base/clock.ts';
import { Counts } from '../base/counts.ts';
import { pauser } from '../base/pauser.ts';
import { rooted, type Span, type Tracer } from '../base/tracing.ts';
import { ApiError, toApiError } from '../contract/errors.ts';
import { taskTypeEntry } from '../contract/task-types.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { BACKUP_TYPES } from '../contract/task-types/server.ts';
import type { TaskDetails, TaskType } from '../contract/tasks.ts';
import type { BatchView } from '../contract/responses.ts';
import { aliasAlreadyExists } from '../contract/aliases.ts';
import { BatchCanceled, isDamage } from '../engine/errors.ts';
import type { IndexEntry, IndexRecord, IndexRegistry } from '../engine/registry.ts';
import { EmbedderRequests } from '../embedding/embedder-requests.ts';
import type { EmbedderFailures, EmbeddingService } from '../embedding/embedding-service.ts';
import type { CrashRecord } from '../store/crash-record.ts';
import type { BatchEnd } from '../store/finish-batch.ts';
import type { BranchStore } from '../store/branch-store.ts';
import type { TaskStore } from '../store/task-store.ts';
import { runsOf } from '../base/uid-runs.ts';
import {
  type Batch,
  type BatchKind,
  type BatchLimits,
  type KnownIndexes,
  allowsConcurrent,
  isBackup,
  needsConcurrent,
  nextBatch,
  nextConcurrentBatch,
  withinPart,
  withSuspectsAlone,
} from './batcher.ts';
import { BatchDetails, detailsOf } from './details.ts';
import { changedSizes } from './measures.ts';
import type { Shard } from '../network/owner.ts';
import type { Pending } from './pending.ts';
import { Progress } from './progress.ts';
import {
  allFailed,
  BatchDivided,
  CancelSwitch,
  isFaultOfNode,
  isLeftToCluster,
  readTask,
  type RunContext,
  type Runner,
  type RunResult,
} from './run/run.ts';
import { recoverDocuments } from './run/documents.ts';
import { RECOVERIES, RUNNERS } from './runners.ts';
import { taskView } from './view.ts';

/**
 * When there are this many tasks, the oldest finished ones are deleted, `PRUNED_TASKS` at a time.
 */
export const TASKS_MAX = 1_000_000;
export const PRUNED_TASKS = 100_000;

/** Pause after a failure to write the store: the disk is full or broken. */
const STORE_RETRY_MS = 10_000;

/** Maximum number of other batches that a backup waits for after another one. */
const BATCHES_BETWEEN_BACKUPS = 100;

export interface SchedulerOptions {
  crashes: CrashRecord;
  limits: BatchLimits;
  /** Runners that need more than `RunContext` provides. They replace those of `RUNNERS`. */
  runners: Partial<Record<BatchKind, Runner>>;
  branches: BranchStore;
  /** null: batches are not traced. */
  tracer: Tracer | null;
  /** null: embeddings cannot be made. */
  embedding: EmbeddingService | null;
  /** Returns the present shard of the network. */
  shard: () => Shard | null;
  tasksMax: number;
  prunedTasks: number;
  log: (message: string, error?: unknown) => void;
  /**
   * Called with the uids of the tasks of a batch, ascending, once the end of the batch is durable.
   */
  onFinished: (uids: readonly number[]) => void;
}

type ContextCalls = Pick<RunContext, 'allowConcurrent' | 'detach'>;

interface Running {
  batch: Batch;
  startedAt: number;
  progress: Progress;
  cancel: CancelSwitch;
  embedderRequests: EmbedderRequests;
}

/**
 * Runs all batches in one loop. External events only wake it; it runs at its own pace:
 *
 *   idle -> (wake) choose -> begin (in memory) -> run -> finish (one transaction) -> choose ...
 *                                                  \-> canceled, divided: rolled back -> choose
 *
 * While a change of settings runs, which may rebuild an index for minutes, batches of documents of
 * other indexes run concurrently, one at a time; see `nextConcurrentBatch`. The loop continues when
 * both have ended. So no other batches ever run at the same time, except detached ones. If a change
 * of settings is rolled back after a concurrent batch has ended, its batch uid is skipped.
 *
 * Snapshots and dumps come before tasks on indexes, but never one right after another: the tasks on
 * indexes that wait when one ends run before the next one (`#turn`).
 *
 * A task fails by itself only. If a batch is refused because of one of its tasks, its halves run as
 * batches of their own, and so on.
 *
 * A batch that only waits for other servers detaches (`RunContext.detach`): its tasks are set
 * aside, and the loop continues with any other batch while it runs to its end. Before the next
 * batch is chosen, the loop waits for detached batches that were asked to stop, because the next
 * batch may be the cancelation of their tasks.
 *
 * A batch on an index is committed twice: by the engine, which remembers its outcome, then by the
 * store. At the start, `recover` finishes what a crash left between the two, so a task is applied
 * exactly once. Tasks that were running when the process crashed run one at a time, with nothing
 * else running, and at most twice (`CrashRecord`). If an index cannot be opened then, recovery is
 * tried again before each of its next batches, which fail until it succeeds.
 */
export class Scheduler {
  readonly #store: TaskStore;
  readonly #pending: Pending;
  readonly #registry: IndexRegistry;
  readonly #options: SchedulerOptions;
  readonly #runners: Partial<Record<BatchKind, Runner>>;
  /** Running batches by batch uid. */
  readonly #running = new Map<number, Running>();
  /** The part that a task belongs to, for the tasks of divided batches. */
  readonly #parts = new Map<number, { failures: EmbedderFailures }>();
  /** Promises for the ends of the detached batches. */
  readonly #detached = new Map<Batch, Promise<void>>();
  /** Indexes that could not be opened to find what a crash left. */
  readonly #unrecovered = new WeakSet<IndexEntry>();
  /** Backups wait while a task on an index below this uid waits, for this many batches at most. */
  #turn = { before: 0, batches: 0 };
  #recovery: Promise<void> | null = null;
  #loop: Promise<void> | null = null;
  #awake = false;
  #started = false;
  #stopping = false;
  readonly #pauses = new Set<() => void>();
  /** Ends the wait for a batch that may run concurrently. */
  #nudge: (() => void) | null = null;
  /** Registers the deletion of these tasks. Set by the queue. */
  prune: ((matched: number[], originalFilter: string) => Promise<unknown>) | null = null;
  /** In a cluster, lets another node run the batches. Set before they run. */
  resign: (() => void) | null = null;
  /** The first task of the last batch that was left to another node because of damage. */
  #damagedTask: number | null = null;

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

  /** Adds runners that are defined elsewhere. Call this before `start`. */
  addRunners(runners: Partial<Record<BatchKind, Runner>>): void {
    Object.assign(this.#runners, runners);
  }

  /** Recovers batches that were only half recorded, then begins to run batches. */
  async start(): Promise<void> {
    this.#recovery = this.#recover();
    await this.#recovery;
    if (this.#stopping) return;
    this.#started = true;
    this.wake();
  }

  /** Checks whether there is a batch to run. No effect before `start`. */
  wake(): void {
    if (this.#options.limits.tasks === 0 || !this.#started || this.#stopping) return;
    this.#awake = true;
    this.#nudge?.();
    this.#loop ??= this.#run().finally(() => {
      this.#loop = null;
      if (this.#awake && !this.#stopping) this.wake();
    });
  }

  /** Stops, and rolls the running batches back unless they are just ending. */
  async stop(): Promise<void> {
    this.#stopping = true;
    // The next start recovers before anything runs.
    this.#started = false;
    this.#options.crashes.excuse();
    for (const { cancel } of this.#running.values()) cancel.request();
    for (const end of this.#pauses) end();
    this.#nudge?.();
    await this.#recovery;
    await this.#loop;
    await Promise.all(this.#detached.values());
  }

  /** Resumes after `stop` with the present tasks. */
  async resume(): Promise<void> {
    this.#stopping = false;
    this.#options.crashes.resume();
    this.#pending.reload();
    await this.start();
  }

  /** Waits until there is nothing left to run. For tests. */
  async idle(): Promise<void> {
    while (this.#loop !== null || this.#detached.size > 0) {
      await (this.#loop ?? Promise.race(this.#detached.values()));
    }
  }

  /** Asks running batches that contain any of these tasks to stop. */
  cancelRunning(uids: readonly number[]): void {
    for (const { batch, cancel } of this.#running.values()) {
      const [first] = batch.uids;
      const type = this.#store.record(first!)?.type;
      if (type !== undefined && taskTypeEntry(type).runsToItsEnd === true) continue;
      const running = new Set(batch.uids);
      if (uids.some((uid) => running.has(uid))) cancel.request();
    }
  }

  /** A running batch as the API shows it, or undefined. */
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
    // Lets requests of the same iteration of the event loop register their tasks first.
    await new Promise((done) => setImmediate(done));
    const { crashes } = this.#options;
    while (!this.#stopping) {
      this.#awake = false;
      try {
        await this.#pruneQueue();
        await this.#stoppedOnes();
        const batch = this.#next();
        if (batch === null) {
          this.#parts.clear();
          return;
        }
        if (batch.uids.some((uid) => crashes.isSuspect(uid))) await this.#stopDetached();
        const isAllowed = allowsConcurrent(batch) !== 'never' && !crashes.hasSuspects;
        if (isAllowed || needsConcurrent(batch)) await this.#runWithConcurrent(batch);
        else await this.#runUntilDetached(batch);
      } catch (error) {
        this.#options.log('the scheduler failed and tries again', error);
        await this.#pause(STORE_RETRY_MS);
      }
    }
  }

  #next(): Batch | null {
    return this.#chosen((limits) => nextBatch(this.#pending, this.#indexes, limits, this.#full));
  }

  /** The next batch, without tasks that must not run together. */
  #chosen(next: (limits: BatchLimits) => Batch | null): Batch | null {
    const { limits, crashes } = this.#options;
    const whole = next(limits);
    if (whole === null) return null;
    const shorter = (tasks: number): Batch => next({ ...limits, tasks })!;
    const batch =
      this.#parts.size === 0 ? whole : withinPart(whole, (uid) => this.#parts.get(uid), shorter);
    if (!crashes.hasSuspects) return batch;
    return withSuspectsAlone(batch, (uid) => crashes.isSuspect(uid), shorter);
  }

  /** Lets the halves of a batch run apart. */
  #divide({ uids }: Batch, failures: EmbedderFailures): void {
    const half = Math.ceil(uids.length / 2);
    for (const part of [uids.slice(0, half), uids.slice(half)]) {
      const shared = { failures };
      for (const uid of part) this.#parts.set(uid, shared);
    }
  }

  /** Waits for detached batches that were asked to stop, which they do soon. */
  async #stoppedOnes(): Promise<void> {
    for (const { batch, cancel } of this.#running.values()) {
      if (cancel.on) await this.#detached.get(batch);
    }
  }

  /** Rolls the detached batches back, because a suspect runs alone. They begin again afterwards. */
  async #stopDetached(): Promise<void> {
    for (const { batch, cancel } of this.#running.values()) {
      if (this.#detached.has(batch)) cancel.request();
    }
    await Promise.all(this.#detached.values());
  }

  /** Types with as many detached batches as there may be, and backups that leave others a turn. */
  get #full(): ReadonlySet<TaskType> {
    const counts = new Counts<BatchKind>();
    for (const { kind } of this.#detached.keys()) counts.add(kind);
    const types = Object.entries(counts.toObject()) as [TaskType, number][];
    const full = types
      .filter(([type, count]) => count >= taskTypeEntry(type).detachedMax!)
      .map(([type]) => type);
    return new Set([...full, ...(this.#leavesTurn ? BACKUP_TYPES : [])]);
  }

  get #leavesTurn(): boolean {
    const { before, batches } = this.#turn;
    return batches > 0 && (this.#pending.first()?.uid ?? Infinity) < before;
  }

  /** Runs a batch until it has ended or has detached. */
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

  /** Runs a batch, and other batches concurrently where allowed. Ends when all have ended. */
  async #runWithConcurrent(batch: Batch): Promise<void> {
    let over = false;
    let open = (): void => {};
    const opened = new Promise<void>((done) => (open = done));
    if (allowsConcurrent(batch) === 'at once') open();
    const main = this.#runBatch(batch, { allowConcurrent: open }).finally(() => {
      over = true;
      open();
      this.#nudge?.();
    });
    const concurrent = opened.then(() => this.#runConcurrently(batch, () => over));
    const [failed] = (await Promise.allSettled([main, concurrent])).filter(
      ({ status }) => status === 'rejected',
    );
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  /** Ends when the store fails: the loop then waits for the running batch, and for the store. */
  async #runConcurrently(main: Batch, over: () => boolean): Promise<void> {
    while (!over() && !this.#stopping) {
      const batch = this.#chosen((limits) =>
        nextConcurrentBatch(main, this.#pending, this.#indexes, limits, this.#full),
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

  /**
   * Runs one batch from begin to finish. `allowConcurrent` and `detach` are called when the batch
   * calls the functions of the same name in its `RunContext`.
   */
  #runBatch(batch: Batch, calls: Partial<ContextCalls> = {}): Promise<void> {
    const { type } = this.#store.record(batch.uids[0]!)!;
    const attributes = {
      'gannet.tasks': batch.uids.length,
      ...(batch.indexUid !== null && { 'gannet.index': batch.indexUid }),
    };
    return rooted(this.#options.tracer, `batch ${type}`, attributes, (span) =>
      this.#runTraced(batch, calls, span),
    );
  }

  async #runTraced(
    batch: Batch,
    { allowConcurrent = nothing, detach = nothing }: Partial<ContextCalls>,
    span: Span | undefined,
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
    // `stop` was called while the batch was about to begin.
    if (this.#stopping) cancel.request();
    progress.enter(0, 'processing tasks', 0, 2);
    try {
      const result = await this.#resultOf(recovered, {
        store: this.#store,
        registry: this.#registry,
        batch,
        batchUid,
        now: rfc3339(startedAt),
        progress,
        cancel,
        embedding: this.#options.embedding,
        embedderRequests,
        embedderFailures: this.#parts.get(batch.uids[0]!)?.failures ?? new Map(),
        shard: this.#options.shard(),
        isOfCluster: this.resign !== null,
        allowConcurrent: () => {
          // If the process crashes later, tasks that run concurrently are more likely the cause.
          crashes.detach(batchUid);
          allowConcurrent();
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
      const failed = result.ends.some(({ status }) => status === 'failed');
      span?.end({ 'gannet.batch': batchUid }, failed);
      for (const uid of batch.uids) this.#parts.delete(uid);
    } finally {
      this.#running.delete(batchUid);
      crashes.end(batchUid);
      if (isBackup(batch)) {
        this.#turn = { before: this.#store.table.nextTaskUid, batches: BATCHES_BETWEEN_BACKUPS };
      } else this.#turn.batches--;
    }
  }

  /** Returns the result of a batch. If it was canceled, its tasks wait again. */
  async #resultOf(
    recovered: Error | 'nothing',
    context: RunContext,
  ): Promise<RunResult | 'canceled'> {
    const { batch, batchUid } = context;
    try {
      if (recovered instanceof Error) throw recovered;
      const verdict = this.#options.crashes.verdict(batch.uids[0]!);
      if (verdict !== null) throw new ApiError('task_crashed', verdict);
      this.#refuseAlias(batch);
      this.#refuseUnfollowed(batch);
      return await this.#runner(batch.kind)(context);
    } catch (error) {
      const isLeft =
        !this.#isDamagedAgain(error, batch) && isLeftToCluster(error, context.isOfCluster);
      if (error instanceof BatchCanceled || error instanceof BatchDivided || isLeft) {
        await this.#rollBack(context, error);
        return 'canceled';
      }
      if (!(error instanceof ApiError)) this.#options.log(`batch ${batchUid} failed`, error);
      return { ends: allFailed(batch, toApiError(error)) };
    }
  }

  /** Lets the tasks of a batch that has changed nothing wait again. */
  async #rollBack(
    { batch, batchUid, embedderFailures }: RunContext,
    reason: unknown,
  ): Promise<void> {
    await this.#store.rollBack(batchUid, batch.uids);
    this.#pending.putBack(batch.uids);
    if (isFaultOfNode(reason)) {
      this.#options.log(`batch ${batchUid} is left to another node`, reason);
      this.resign?.();
    }
    if (reason instanceof BatchDivided) this.#divide(batch, embedderFailures);
    // Otherwise the batch would be tried, and refused, without a break.
    else if (!(reason instanceof BatchCanceled)) await this.#pause(STORE_RETRY_MS);
  }

  /**
   * Whether the batch meets damage although this node has left it to another one, and has fetched
   * the damaged files again: then all nodes have the same.
   */
  #isDamagedAgain(error: unknown, { uids }: Batch): boolean {
    if (!isDamage(error)) return false;
    const isAgain = this.#damagedTask === uids[0];
    this.#damagedTask = uids[0]!;
    return isAgain;
  }

  /** Throws for tasks whose index has become the name of an alias since they were registered. */
  #refuseAlias({ kind, indexUid }: Batch): void {
    if (indexUid === null || kind === 'aliasUpdate' || kind === 'aliasDeletion') return;
    const target = this.#registry.targetOf(indexUid);
    if (target !== undefined) throw aliasAlreadyExists(indexUid, target);
  }

  /** Throws for repeated writes whose index follows the origin no more, or never did. */
  #refuseUnfollowed({ kind, indexUid, uids }: Batch): void {
    if (kind === 'indexDeletion') return;
    if ((this.#store.record(uids[0]!)!.flags & FLAG.followed) === 0) return;
    if (this.#options.branches.get(indexUid!)?.follow === true) return;
    const message = `The index \`${indexUid}\` does not follow another one.`;
    throw new ApiError('branch_not_found', message);
  }

  /** @param indexes the indexes that a batch leaves; they override the registered ones */
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

  /**
   * Retries until the store succeeds: the engine has committed, so the batch cannot be run again.
   */
  async #finish(
    batchUid: number,
    startedAt: number,
    strategy: string,
    result: RunResult,
    measured: NonNullable<BatchEnd['measured']> = {},
  ): Promise<void> {
    const details = await this.#batchDetails(result);
    const staged = [result.records, this.#options.branches.after(result)].filter(
      (change) => change !== undefined && change !== null,
    );
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
          records: staged,
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
    const { uids: finished } = await this.#store.list(
      { statuses: ['succeeded', 'failed', 'canceled'] },
      { limit: prunedTasks, from: null, reverse: true },
      null,
    );
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
   * Recovers each index with waiting tasks. If tasks of the engine's last batch still wait, that
   * batch was committed but not recorded. This may concern two batches, and a later one may have
   * been recorded.
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
        // The next start finds everything unchanged.
        if (this.#stopping) return;
        // A damaged index must not prevent the others from being served.
        this.#unrecovered.add(entry);
        this.#options.log(`the last batch of index ${indexUid} could not be looked up`, error);
      }
    }
    const waits = (uid: number): boolean => this.#store.record(uid)?.status === 'enqueued';
    for (const notice of this.#options.crashes.settle(waits)) this.#options.log(notice);
  }

  /**
   * Retries what `recover` could not do for the index of a batch.
   * @returns `ended` when this has ended tasks, so a batch must be chosen again; an error when it
   *   is still unknown what was committed: the batch must fail with it, because it may itself be
   *   committed already
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
      // The deletion of an index does not depend on its content.
      return kind === 'indexDeletion' ? 'nothing' : (error as Error);
    }
  }

  /** @returns whether this has ended tasks */
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
