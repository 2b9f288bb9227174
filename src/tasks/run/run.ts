import { pauser } from '../../base/pauser.ts';
import { ApiError, type ErrorBody, indexNotFound, toApiError } from '../../contract/errors.ts';
import { BatchCanceled, isDamage } from '../../engine/errors.ts';
import type { EmbedderRequests } from '../../embedding/embedder-requests.ts';
import type { EmbedderFailures, EmbeddingService } from '../../embedding/embedding-service.ts';
import type { BatchJob, BatchOutcome, BatchProgress, BatchStep } from '../../engine/native.ts';
import type { IndexEntry, IndexRegistry } from '../../engine/registry.ts';
import type { TaskRow } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import type { StagedRecords } from '../../store/records.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { Shard } from '../../network/owner.ts';
import type { Batch } from '../batcher.ts';
import type { Progress } from '../progress.ts';
import { type DocumentEmbedding, openEmbedding, type StoredSettings } from './embedding.ts';
import { kindOf } from '../task.ts';
import type { TaskKind } from '../../contract/task-types/task-type.ts';

/** The context that every kind of batch runs in, and the result. */

export interface RunContext {
  readonly store: TaskStore;
  readonly registry: IndexRegistry;
  readonly batch: Batch;
  readonly batchUid: number;
  /** RFC 3339. */
  readonly now: string;
  readonly progress: Progress;
  readonly cancel: CancelSwitch;
  /** null: embeddings cannot be made. */
  readonly embedding: EmbeddingService | null;
  /** Selects the documents of the network that belong to this server; null: all do. */
  readonly shard: Shard | null;
  /** Counts the batch's requests to embedding providers. */
  readonly embedderRequests: EmbedderRequests;
  /** Providers that are down, by embedder. The parts of a divided batch do not ask them again. */
  readonly embedderFailures: EmbedderFailures;
  /** Lets batches of documents run concurrently from now on; see `allowsConcurrent`. */
  allowConcurrent(): void;
  /**
   * Lets batches of any kind run concurrently from now on. For types with `detachedMax`: the batch
   * has opened everything that it reads, and changes nothing on this server.
   */
  detach(): void;
  /** In a cluster, another node can run the batch. */
  readonly isOfCluster: boolean;
}

/** The end of a batch, which the scheduler makes durable in one transaction. */
export interface RunResult {
  ends: TaskEnd[];
  /** Uids that now name another index, or none. */
  indexes?: Map<string, IndexEntry | null>;
  history?: { pairs: [string, string][]; before: number };
  /** Tasks to delete. */
  remove?: number[];
  /** Indexes that no longer have a uid. */
  discard?: IndexEntry[];
  /** Changes of another table. */
  records?: StagedRecords;
}

/**
 * Runs a batch. It reports its progress to the context, checks `cancel` wherever it can stop, and
 * yields to other work of the thread every few milliseconds. It resolves to the ends of all tasks,
 * which the scheduler makes durable in one transaction. It rejects with `BatchCanceled` when it has
 * stopped and nothing has changed, and with any other error to fail all tasks.
 */
export type Runner = (context: RunContext) => Promise<RunResult> | RunResult;

/** Asks a running batch to stop. It may still finish. */
export class CancelSwitch {
  #on = false;
  #listener: (() => void) | null = null;
  readonly #controller = new AbortController();

  /** Aborted with `BatchCanceled` as the reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get on(): boolean {
    return this.#on;
  }

  /** Calls the listener at once if the switch is already on. */
  listen(listener: (() => void) | null): void {
    this.#listener = listener;
    if (this.#on) listener?.();
  }

  request(): void {
    this.#on = true;
    this.#controller.abort(new BatchCanceled());
    this.#listener?.();
  }

  check(): void {
    if (this.#on) throw new BatchCanceled();
  }
}

/**
 * A batch of several tasks was refused because of one of them, which may be any. Nothing has
 * changed. Its halves run apart, so that in the end that task fails by itself.
 */
export class BatchDivided extends Error {
  override readonly name = 'BatchDivided';
}

export interface BatchTask {
  uid: number;
  kind: TaskKind;
  row: TaskRow;
}

/**
 * Reads the rows of the batch. Yields to other work of the thread every few milliseconds, because a
 * batch may have a hundred thousand tasks.
 */
export async function readTasks({ store, batch, cancel }: RunContext): Promise<BatchTask[]> {
  const tasks: BatchTask[] = [];
  const pause = pauser();
  for (const uid of batch.uids) {
    tasks.push(readTask(store, uid));
    if (await pause()) cancel.check();
  }
  return tasks;
}

export function readTask(store: TaskStore, uid: number): BatchTask {
  const record = store.record(uid);
  const row = store.row(uid);
  if (record === undefined || row === undefined) throw new Error(`task ${uid} is not in the store`);
  return { uid, kind: kindOf(record.type, record.flags), row };
}

export interface Target {
  entry: IndexEntry;
  created: boolean;
}

/** The index of the batch, created when it is missing and a task may create it. */
export function targetOf({ registry, batch, now, progress }: RunContext): Target | ApiError {
  const uid = batch.indexUid!;
  const entry = registry.get(uid);
  if (entry !== undefined) return { entry, created: false };
  if (!batch.mayCreateIndex) return indexNotFound(uid);
  progress.enter(1, 'creating the index', 0, 1);
  return { entry: registry.create(now), created: true };
}

/** Fails all tasks of the batch with the same error. */
export function allFailed(batch: Batch, error: ApiError): TaskEnd[] {
  return batch.uids.map((uid) => ({ uid, status: 'failed', result: 0, error: error.toJSON() }));
}

/**
 * Runs steps on an open index. Rejects with `ApiError` or `BatchCanceled`; nothing has changed
 * then.
 * @param taskUids the tasks that can be concluded from the outcome alone
 */
export async function applySteps(
  context: RunContext,
  entry: IndexEntry,
  steps: BatchStep[],
  payloads: Buffer[],
  taskUids: number[] = context.batch.uids,
): Promise<BatchOutcome> {
  const { batchUid, now, progress, cancel } = context;
  const { handle } = entry;
  const job: BatchJob = { batchUid, taskUids, now, steps };
  const embedding = openEmbedding(context, settingsAfter(entry, steps));
  entry.isIndexing = true;
  progress.inner = () => withTexts(handle.batchProgress(), embedding);
  try {
    const outcome = handle.applyBatch(job, payloads, embedding?.embed);
    cancel.listen(() => handle.cancelBatch());
    return await outcome;
  } finally {
    cancel.listen(null);
    progress.inner = null;
    entry.isIndexing = false;
    embedding?.close();
  }
}

/** Adds the progress of embedding to that of the engine while embeddings are made. */
function withTexts(
  progress: BatchProgress | null,
  embedding: DocumentEmbedding | null,
): BatchProgress | null {
  const texts = embedding?.progress() ?? null;
  const isEmbedding = progress?.steps.at(-1)?.currentStep === 'embedding documents';
  return isEmbedding && texts !== null ? { steps: [...progress.steps, texts] } : progress;
}

/** The settings in force when the steps are applied. */
function settingsAfter(entry: IndexEntry, steps: readonly BatchStep[]): StoredSettings | null {
  const change = steps.findLast((step) => step.kind === 'settings');
  return change?.settings ?? entry.storedSettings;
}

/**
 * Derives the ends of the tasks from what the engine reports. They depend on nothing else, so a
 * batch that the engine has committed can be concluded after a crash.
 *
 * Some tasks have no step of their own: all settings share one step, and a task that a later
 * deletion of all documents made void succeeds with 0.
 */
export function concludeTasks(tasks: readonly BatchTask[], outcome: BatchOutcome): TaskEnd[] {
  const results = new Map(outcome.results.map((result) => [result.task, result]));
  const settings = tasks
    .filter(({ kind }) => kind === 'settings')
    .map(({ uid }) => results.get(uid))
    .find((result) => result !== undefined);
  return tasks.map(({ uid, kind, row }): TaskEnd => {
    const step = kind === 'settings' ? settings : results.get(uid);
    if (step?.error !== undefined) {
      return { uid, status: 'failed', result: 0, error: errorBody(step.error) };
    }
    if (kind === 'add') return succeeded(uid, step?.indexedDocuments ?? 0);
    if (row.type === 'documentDeletion') return succeeded(uid, step?.deletedDocuments ?? 0);
    return succeeded(uid, null);
  });
}

export function succeeded(uid: number, result: number | null): TaskEnd {
  return { uid, status: 'succeeded', result };
}

function errorBody({ code, message }: { code: string; message: string }): ErrorBody {
  return toApiError(Object.assign(new Error(message), { code })).toJSON();
}

/**
 * Whether a batch that failed with this error waits, on this node or on the next leader: the
 * cluster took no writes, or the disk of this node is full or damaged.
 */
export function isLeftToCluster(error: unknown, isOfCluster: boolean): boolean {
  if (isOfCluster && isFaultOfNode(error)) return true;
  return (
    error instanceof ApiError &&
    (error.code === 'no_leader' || error.code === 'cluster_unavailable')
  );
}

/** Whether another node may do what has failed here. */
export function isFaultOfNode(error: unknown): boolean {
  return isDamage(error) || toApiError(error).code === 'no_space_left_on_device';
}
