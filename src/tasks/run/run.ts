import { pauser } from '../../base/pauser.ts';
import { type ApiError, type ErrorBody, indexNotFound, toApiError } from '../../contract/errors.ts';
import { BatchCanceled } from '../../engine/errors.ts';
import type { EmbedderRequests } from '../../embedding/embedder-requests.ts';
import type { EmbeddingService } from '../../embedding/embedding-service.ts';
import type { BatchJob, BatchOutcome, BatchProgress, BatchStep } from '../../engine/native.ts';
import type { IndexEntry, IndexRegistry } from '../../engine/registry.ts';
import type { TaskRow } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { Shard } from '../../network/owner.ts';
import type { Batch } from '../batcher.ts';
import type { Progress } from '../progress.ts';
import { type DocumentEmbedding, openEmbedding, type StoredSettings } from './embedding.ts';
import { kindOf } from '../task.ts';
import type { TaskKind } from '../../contract/task-types/task-type.ts';

/** What every kind of batch is run with, and what comes out of it. */

export interface RunContext {
  readonly store: TaskStore;
  readonly registry: IndexRegistry;
  readonly batch: Batch;
  readonly batchUid: number;
  /** RFC 3339. */
  readonly now: string;
  readonly progress: Progress;
  readonly cancel: CancelSwitch;
  /** null: no embeddings can be made. */
  readonly embedding: EmbeddingService | null;
  /** Of the documents of the network, those that belong here; null: all do. */
  readonly shard: Shard | null;
  /** Counts what the batch asks of embedding providers. */
  readonly embedderRequests: EmbedderRequests;
  /** From here on batches of documents may run beside this one; see `leavesRoom`. */
  leaveRoom(): void;
  /**
   * From here on batches of any kind may run at the same time. For types with `detachedMax`: the batch has opened all that it
   * reads, and changes nothing here.
   */
  detach(): void;
}

/** The end of a batch, to be made durable by the scheduler in one transaction. */
export interface RunResult {
  ends: TaskEnd[];
  /** Uids that get another index, or none. */
  indexes?: Map<string, IndexEntry | null>;
  history?: { pairs: [string, string][]; before: number };
  /** Tasks to forget. */
  remove?: number[];
  /** Indexes that have no uid afterwards. */
  discard?: IndexEntry[];
}

/**
 * Runs a batch. It tells its progress in the context, looks at `cancel` wherever it can stop, and gives way to other
 * work of the thread every few milliseconds. It resolves to the ends of all tasks, which the scheduler makes durable in
 * one transaction; it rejects with `BatchCanceled` when it has stopped and nothing has changed, and with any other error
 * to fail all tasks.
 */
export type Runner = (context: RunContext) => Promise<RunResult> | RunResult;

/** Asks a running batch to stop. It may still finish. */
export class CancelSwitch {
  #on = false;
  #listener: (() => void) | null = null;
  readonly #controller = new AbortController();

  /** Aborted with `BatchCanceled`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get on(): boolean {
    return this.#on;
  }

  /** Called at once when already on. */
  listen(listener: (() => void) | null): void {
    this.#listener = listener;
    if (this.#on) listener?.();
  }

  turnOn(): void {
    this.#on = true;
    this.#controller.abort(new BatchCanceled());
    this.#listener?.();
  }

  check(): void {
    if (this.#on) throw new BatchCanceled();
  }
}

export interface BatchTask {
  uid: number;
  kind: TaskKind;
  row: TaskRow;
}

/**
 * Reads the rows of the batch. Gives way to other work of the thread every few milliseconds: a batch may
 * have a hundred thousand tasks.
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

/** The index of the batch, made when it is missing and a task may make it. */
export function targetOf({ registry, batch, now, progress }: RunContext): Target | ApiError {
  const uid = batch.indexUid!;
  const entry = registry.get(uid);
  if (entry !== undefined) return { entry, created: false };
  if (!batch.mayCreateIndex) return indexNotFound(uid);
  progress.enter(1, 'creating the index', 0, 1);
  return { entry: registry.create(now), created: true };
}

/** All tasks of the batch fail alike. */
export function allFailed(batch: Batch, error: ApiError): TaskEnd[] {
  return batch.uids.map((uid) => ({ uid, status: 'failed', result: 0, error: error.toJSON() }));
}

/**
 * Runs steps on an open index. Rejects with `ApiError` or `BatchCanceled`; then nothing has changed.
 * @param taskUids the tasks that the outcome alone concludes
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

/** While embeddings are made, the texts of those that were handed out. */
function withTexts(
  progress: BatchProgress | null,
  embedding: DocumentEmbedding | null,
): BatchProgress | null {
  const texts = embedding?.progress() ?? null;
  const isEmbedding = progress?.steps.at(-1)?.currentStep === 'embedding documents';
  return isEmbedding && texts !== null ? { steps: [...progress.steps, texts] } : progress;
}

/** The settings that hold when the steps are applied. */
function settingsAfter(entry: IndexEntry, steps: readonly BatchStep[]): StoredSettings | null {
  const change = steps.findLast((step) => step.kind === 'settings');
  return change?.settings ?? entry.storedSettings;
}

/**
 * What the tasks ended with, from what the engine reports. It depends on nothing else, so that a batch
 * which the engine has committed can be concluded after a crash.
 *
 * Tasks without a step of their own: settings share the one step of the batch; what a deletion of all
 * documents made void has succeeded with 0.
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
