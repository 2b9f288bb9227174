import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { RawJson } from '../../base/json.ts';
import { pauser } from '../../base/pauser.ts';
import { ownSteps } from './own-steps.ts';
import { ApiError } from '../../contract/errors.ts';
import type { BatchOutcome, BatchStep, PayloadSource } from '../../engine/native.ts';
import type { IndexEntry } from '../../engine/registry.ts';
import { FLAG } from '../../contract/task-types/task-type.ts';
import { NONE } from '../../store/task-chunk.ts';
import type { TaskStore } from '../../store/task-store.ts';
import {
  allFailed,
  applySteps,
  BatchDivided,
  type BatchTask,
  concludeTasks,
  isLeftToCluster,
  readTasks,
  type RunContext,
  type RunResult,
  type Target,
  targetOf,
} from './run.ts';

/** Additions, updates and deletions of documents: batches of kinds `documents` and `clear`. */
export async function runDocuments(context: RunContext): Promise<RunResult> {
  const { batch, progress, cancel } = context;
  progress.enter(1, 'retrieving config', 0, 3);
  const tasks = await readTasks(context);
  cancel.check();
  return runOnIndex(context, async ({ entry }) => {
    const only = tasks[0]!;
    if (tasks.length === 1) {
      const refused = refusedKey(only, batch.indexUid!, entry.summary.primaryKey);
      if (refused !== null) return allFailed(batch, refused);
    }
    progress.enter(1, 'computing document changes', 1, 3);
    const payloads: Buffer[] = [];
    if (batch.kind === 'clear') {
      const steps = tasks.filter(({ kind }) => kind === 'clear').map(clearStep);
      return concludeTasks(tasks, await applySteps(context, entry, steps, payloads));
    }
    const { intact, ends } = await withoutDamaged(context, tasks);
    if (intact.length === 0) return ends;
    const indexKey = entry.summary.primaryKey;
    const steps = await documentSteps(context, intact, indexKey, payloads);
    const share = await ownSteps(context, steps, payloads, indexKey);
    try {
      progress.enter(1, 'indexing', 2, 3);
      const uids = intact.map(({ uid }) => uid);
      const outcome = await applySteps(context, entry, share.steps, payloads, uids);
      return [...concludeTasks(intact, outcome), ...ends];
    } finally {
      share.end();
    }
  });
}

/**
 * Runs work on the index of the batch. If the work of one task fails, that task fails, but an index
 * created for it stays. If work that several tasks ask for is refused, or is canceled, the batch is
 * as if it had never run.
 */
export async function runOnIndex(
  context: RunContext,
  work: (target: Target) => Promise<RunResult['ends']>,
): Promise<RunResult> {
  const { registry, batch } = context;
  const target = targetOf(context);
  if (target instanceof ApiError) return { ends: allFailed(batch, target) };
  let ends: RunResult['ends'];
  try {
    ends = await work(target);
  } catch (error) {
    const isOwn = error instanceof ApiError && !isLeftToCluster(error, context.isOfCluster);
    const isDivided = isOwn && error.type === 'invalid_request' && batch.uids.length > 1;
    if (!isOwn || isDivided) {
      if (target.created) await registry.discard(target.entry);
      throw isDivided ? new BatchDivided(error.message) : error;
    }
    ends = allFailed(batch, error.locatedAt({ index: batch.indexUid! }));
  }
  // Yields: the work so far took one time slice of the event loop, and the state may be long.
  await setImmediate();
  target.entry.refresh(batch.kind === 'settings' || batch.kind === 'clearAndSettings');
  await setImmediate();
  return { ends, indexes: new Map([[batch.indexUid!, target.entry]]) };
}

/**
 * Reconstructs the ends of the tasks after a restart, from what the engine reports of the batch.
 */
export function recoverDocuments(
  tasks: readonly BatchTask[],
  outcome: BatchOutcome,
  indexUid: string,
  entry: IndexEntry,
): RunResult {
  entry.refresh();
  return { ends: concludeTasks(tasks, outcome), indexes: new Map([[indexUid, entry]]) };
}

/**
 * The error of a PUT that names another key than the index has. The batcher puts such a task into a
 * batch by itself.
 */
function refusedKey(task: BatchTask, indexUid: string, indexKey: string | null): ApiError | null {
  const { row } = task;
  if (row.type !== 'documentAdditionOrUpdate' || row.method !== 'update') return null;
  if (indexKey === null || row.primaryKey === null || row.primaryKey === indexKey) return null;
  return new ApiError(
    'index_primary_key_already_exists',
    `Index \`${indexUid}\` already has the primary key \`${indexKey}\`; ` +
      `it cannot become \`${row.primaryKey}\`.`,
  );
}

/**
 * Fails the tasks whose payload files differ from what was stored; the others continue. Failed
 * tasks are not part of the engine's batch, so they are checked again after a crash.
 */
async function withoutDamaged(
  { store, cancel }: RunContext,
  tasks: readonly BatchTask[],
): Promise<{ intact: BatchTask[]; ends: RunResult['ends'] }> {
  const intact: BatchTask[] = [];
  const ends: RunResult['ends'] = [];
  const pause = pauser();
  for (const task of tasks) {
    const error = damageOf(store, task.uid);
    if (error === null) intact.push(task);
    else ends.push({ uid: task.uid, status: 'failed', result: 0, error: error.toJSON() });
    if (await pause()) cancel.check();
  }
  return { intact, ends };
}

function damageOf(store: TaskStore, uid: number): ApiError | null {
  const { flags, payloadBytes } = store.record(uid)!;
  if ((flags & FLAG.payloadFile) === 0) return null;
  const found = statSync(store.payloadFile(uid), { throwIfNoEntry: false });
  // Greater sizes are recorded as `NONE`.
  if (found !== undefined && Math.min(found.size, NONE) === payloadBytes) return null;
  const state = found === undefined ? 'is gone' : `has ${found.size} bytes`;
  return new ApiError(
    'io_error',
    `The stored payload of this task ${state}; ${payloadBytes} bytes were stored. Send the documents again.`,
  );
}

async function documentSteps(
  { store, cancel }: RunContext,
  tasks: readonly BatchTask[],
  indexKey: string | null,
  payloads: Buffer[],
): Promise<BatchStep[]> {
  const steps: BatchStep[] = [];
  const pause = pauser();
  for (const task of tasks) {
    steps.push(documentStep(store, task, indexKey, payloads));
    if (await pause()) cancel.check();
  }
  return steps;
}

function documentStep(
  store: TaskStore,
  { uid, row }: BatchTask,
  indexKey: string | null,
  payloads: Buffer[],
): BatchStep {
  const payload = (): PayloadSource =>
    isInFile(store, uid)
      ? { file: store.payloadFile(uid) }
      : { buffer: payloads.push(payloadOf(store, uid)) - 1 };
  if (row.type === 'documentAdditionOrUpdate') {
    return {
      task: uid,
      kind: 'documents',
      method: row.method,
      payload: payload(),
      format: row.format,
      // Applies only to the first addition to an index.
      primaryKey: indexKey === null ? row.primaryKey : null,
      skipCreation: row.skipCreation,
    };
  }
  if (row.type !== 'documentDeletion') throw new Error(`task ${uid} is not about documents`);
  if (row.by === 'filter') return { task: uid, kind: 'deleteFilter', filter: row.filter };
  if (row.by === 'expired') return { task: uid, kind: 'deleteExpired' };
  if (row.by === 'all') return { task: uid, kind: 'clear' };
  return { task: uid, kind: 'deleteIds', payload: payload() };
}

/** Documents that replace those with the same ids, as lines of JSON in a file. */
export function replaceStep(task: number, file: string): BatchStep {
  return {
    task,
    kind: 'documents',
    method: 'replace',
    payload: { file },
    format: 'ndjson',
    primaryKey: null,
    skipCreation: false,
  };
}

export function clearStep({ uid }: BatchTask): BatchStep {
  return { task: uid, kind: 'clear' };
}

function isInFile(store: TaskStore, uid: number): boolean {
  return (store.record(uid)!.flags & FLAG.payloadFile) !== 0;
}

function payloadOf(store: TaskStore, uid: number): Buffer {
  const bytes = store.payload(uid);
  if (bytes === undefined) throw new Error(`the payload of task ${uid} is missing`);
  return bytes;
}

/** The ids of a waiting deletion by ids: a list of texts. */
export async function idsOf(store: TaskStore, uid: number): Promise<RawJson> {
  return new RawJson(
    isInFile(store, uid) ? await readFile(store.payloadFile(uid)) : payloadOf(store, uid),
  );
}
