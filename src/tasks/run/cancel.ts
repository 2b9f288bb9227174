import { type RowOf, taskTypeEntry } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import { pauser } from '../../base/pauser.ts';
import { fromRuns } from '../../base/uid-runs.ts';
import { readTask, type RunContext, type RunResult, succeeded } from './run.ts';

/** Cancels matched tasks that still wait, and adds them to the batch of the cancelation. */
export async function runCancelation({ store, batch, progress }: RunContext): Promise<RunResult> {
  progress.enter(1, 'retrieving tasks', 0, 2);
  const { uid, row } = readTask(store, batch.uids[0]!);
  const ends: TaskEnd[] = [];
  const pause = pauser();
  for (const matched of fromRuns((row as RowOf<'taskCancelation'>).matched)) {
    const record = store.record(matched);
    if (record?.status === 'enqueued') {
      // Types that end without a counter have none to reset.
      const result = taskTypeEntry(record.type).counts === true ? 0 : null;
      ends.push({ uid: matched, status: 'canceled', result, canceledBy: uid });
    }
    await pause();
  }
  progress.enter(1, 'updating tasks', 1, 2);
  ends.push(succeeded(uid, ends.length));
  return { ends };
}
