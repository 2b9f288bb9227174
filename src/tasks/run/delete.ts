import type { RowOf } from '../../contract/task-types.ts';
import { fromRuns } from '../../base/uid-runs.ts';
import { pauser } from '../../base/pauser.ts';
import { readTask, type RunContext, type RunResult, succeeded } from './run.ts';

/**
 * Deletes matched tasks that are finished. A task that two deletions match counts for the first.
 */
export async function runDeletion({ store, batch, progress }: RunContext): Promise<RunResult> {
  progress.enter(1, 'retrieving tasks', 0, 2);
  const removed = new Set<number>();
  const pause = pauser();
  const ends = [];
  for (const uid of batch.uids) {
    const before = removed.size;
    const { row } = readTask(store, uid);
    for (const matched of fromRuns((row as RowOf<'taskDeletion'>).matched)) {
      const status = store.record(matched)?.status;
      if (status === 'succeeded' || status === 'failed' || status === 'canceled')
        removed.add(matched);
      await pause();
    }
    ends.push(succeeded(uid, removed.size - before));
  }
  progress.enter(1, 'deleting tasks', 1, 2);
  return { ends, remove: [...removed].sort((a, b) => a - b) };
}
