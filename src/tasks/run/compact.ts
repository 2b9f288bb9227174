import { shortSize } from '../../base/size.ts';
import { readTask, type RunContext, type RunResult } from './run.ts';
import { runOnIndex } from './documents.ts';

/** Merges the segments of an index. The outcome includes the sizes before and after. */
export async function runCompaction(context: RunContext): Promise<RunResult> {
  const { batch, store, progress, cancel } = context;
  progress.enter(1, 'compacting the index', 0, 1);
  const { uid } = readTask(store, batch.uids[0]!);
  return runOnIndex(context, async ({ entry }) => {
    const { handle } = entry;
    const before = handle.state().diskBytes;
    cancel.listen(() => handle.cancelBatch());
    try {
      await handle.compact();
    } finally {
      cancel.listen(null);
    }
    cancel.check();
    const details = {
      preCompactionSize: shortSize(before),
      postCompactionSize: shortSize(handle.state().diskBytes),
    };
    return [{ uid, status: 'succeeded', result: null, details }];
  });
}
