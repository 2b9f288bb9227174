import { aliasAlreadyExists } from '../../contract/aliases.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import type { BatchOutcome, BatchStep } from '../../engine/native.ts';
import type { IndexEntry, IndexRegistry } from '../../engine/registry.ts';
import { type RowOf, taskTypeEntry } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import {
  allFailed,
  applySteps,
  type BatchTask,
  concludeTasks,
  readTask,
  readTasks,
  type RunContext,
  type RunResult,
  succeeded,
} from './run.ts';

export async function runIndexCreation(context: RunContext): Promise<RunResult> {
  const { registry, store, batch, now, progress } = context;
  progress.enter(1, 'creating the index', 0, 1);
  const indexUid = batch.indexUid!;
  const task = readTask(store, batch.uids[0]!);
  if (registry.has(indexUid)) return { ends: allFailed(batch, indexAlreadyExists(indexUid)) };
  const { primaryKey } = task.row as RowOf<'indexCreation'>;
  const entry = registry.create(now);
  let ends: TaskEnd[] = [succeeded(task.uid, null)];
  if (primaryKey !== null) {
    try {
      const step = { task: task.uid, kind: 'primaryKey', primaryKey } as const;
      ends = concludeTasks([task], await applySteps(context, entry, [step], []));
    } catch (error) {
      await registry.discard(entry);
      throw error;
    }
    entry.refresh();
  }
  return { ends, indexes: new Map([[indexUid, entry]]) };
}

export async function runIndexUpdate(context: RunContext): Promise<RunResult> {
  const { registry, store, batch, progress } = context;
  progress.enter(1, 'updating the index', 0, 1);
  const indexUid = batch.indexUid!;
  const task = readTask(store, batch.uids[0]!);
  const { primaryKey } = task.row as RowOf<'indexUpdate'>;
  const newUid = newUidOf(task, indexUid);
  const entry = registry.get(indexUid);
  if (entry === undefined) return { ends: allFailed(batch, indexNotFound(indexUid)) };
  const taken = newUid === null ? null : takenName(registry, newUid, indexUid);
  if (taken !== null) return { ends: allFailed(batch, taken) };
  if (newUid === null && primaryKey === null && (task.row as RowOf<'indexUpdate'>).rename) {
    // Renamed to its own name: nothing changes, not even the date of the last update.
    return { ends: [succeeded(task.uid, null)] };
  }
  const steps: BatchStep[] =
    primaryKey === null ? [] : [{ task: task.uid, kind: 'primaryKey', primaryKey }];
  // Needed even without steps: it sets the date of the last update of the index.
  const outcome = await applySteps(context, entry, steps, []);
  return recoverIndexUpdate([task], outcome, indexUid, entry);
}

/** The new uid of the index; null if it keeps its own. */
function newUidOf({ row }: BatchTask, indexUid: string): string | null {
  const { rename } = row as RowOf<'indexUpdate'>;
  return rename === undefined || rename.newUid === indexUid ? null : rename.newUid;
}

/**
 * Also used after a restart, when the engine has committed the update but the store has not
 * recorded it.
 */
export function recoverIndexUpdate(
  tasks: readonly BatchTask[],
  outcome: BatchOutcome,
  indexUid: string,
  entry: IndexEntry,
): RunResult {
  const task = tasks[0]!;
  const newUid = newUidOf(task, indexUid);
  const ends = concludeTasks([task], outcome);
  entry.refresh();
  if (newUid === null) return { ends, indexes: new Map([[indexUid, entry]]) };
  // The name changes even when the key cannot. Clients rely on this, so the error must say so.
  const { error } = ends[0]!;
  if (error !== undefined) error.message += ` The index is now called \`${newUid}\` all the same.`;
  return {
    ends,
    indexes: new Map<string, IndexEntry | null>([
      [indexUid, null],
      [newUid, entry],
    ]),
    history: { pairs: [[indexUid, newUid]], before: task.uid },
  };
}

/** Tasks that waited before the deletion have no effect. */
export async function runIndexDeletion(context: RunContext): Promise<RunResult> {
  const { registry, batch, progress } = context;
  progress.enter(1, 'deleting the index', 0, 1);
  const indexUid = batch.indexUid!;
  const entry = registry.get(indexUid);
  if (entry === undefined && !batch.mayCreateIndex) {
    return { ends: allFailed(batch, indexNotFound(indexUid)) };
  }
  const tasks = await readTasks(context);
  const ends = tasks.map(({ uid, row }) => {
    if (row.type === 'indexDeletion') {
      return succeeded(uid, entry?.summary.numberOfDocuments ?? 0);
    }
    return succeeded(uid, taskTypeEntry(row.type).counts === true ? 0 : null);
  });
  if (entry === undefined) return { ends };
  return { ends, indexes: new Map([[indexUid, null]]), discard: [entry] };
}

/** Why an index cannot get the name `newUid`, or null. @param uid its name now; null: it is new */
export function takenName(
  registry: IndexRegistry,
  newUid: string,
  uid: string | null,
): ApiError | null {
  const target = registry.targetOf(newUid);
  if (target !== undefined) return aliasAlreadyExists(newUid, target);
  return registry.has(newUid) ? indexAlreadyExists(newUid, uid) : null;
}

function indexAlreadyExists(uid: string, from: string | null = null): ApiError {
  return new ApiError(
    'index_already_exists',
    from === null
      ? `Index \`${uid}\` already exists.`
      : `Index \`${from}\` cannot be renamed to \`${uid}\`, which already exists. Delete \`${uid}\` first.`,
  );
}
