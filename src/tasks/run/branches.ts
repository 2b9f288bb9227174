import { BRANCHES_MAX } from '../../contract/branches.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import type { RowOf } from '../../contract/task-types.ts';
import type { BranchStore } from '../../store/branch-store.ts';
import { takenName } from './indexes.ts';
import { allFailed, readTask, type Runner, succeeded } from './run.ts';

/** Makes an index that shares the files of another. */
export function branchRunner(branches: BranchStore): Runner {
  return async ({ store, registry, batch, now, progress }) => {
    progress.enter(1, 'sharing the files', 0, 1);
    const { uid, row } = readTask(store, batch.uids[0]!);
    const { branch, follow } = row as RowOf<'indexBranch'>;
    const origin = batch.indexUid!;
    const entry = registry.get(origin);
    const fault =
      entry === undefined
        ? indexNotFound(origin)
        : (takenName(registry, branch, null) ?? refused(branches, origin, follow));
    if (fault !== null) return { ends: allFailed(batch, fault) };
    const made = await registry.branch(entry!, now);
    return {
      ends: [succeeded(uid, null)],
      indexes: new Map([[branch, made]]),
      records: branches.added({ uid: branch, origin, follow, createdAt: now }),
    };
  };
}

function refused(branches: BranchStore, origin: string, follow: boolean): ApiError | null {
  if (branches.of(origin).length >= BRANCHES_MAX) {
    const message = `\`${origin}\` has ${BRANCHES_MAX} branches; delete one first.`;
    return new ApiError('bad_request', message);
  }
  if (!follow || branches.get(origin)?.follow !== true) return null;
  // Writes would be repeated again and again.
  const message = `\`${origin}\` follows another index, so no branch can follow it.`;
  return new ApiError('bad_request', message);
}
