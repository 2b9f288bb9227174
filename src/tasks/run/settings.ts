import { setImmediate } from 'node:timers/promises';
import type { ApiError } from '../../contract/errors.ts';
import { mergeSettings, type SettingsObject } from '../../contract/settings.ts';
import { ok, type Result, unwrap } from '../../base/result.ts';
import { clearStep, runOnIndex } from './documents.ts';
import { setUpEmbedders } from './embedding.ts';
import {
  applySteps,
  type BatchTask,
  concludeTasks,
  readTasks,
  type RunContext,
  type RunResult,
} from './run.ts';

/**
 * Applies settings, also together with deletions of all documents: kinds `settings` and
 * `clearAndSettings`.
 */
export async function runSettings(context: RunContext): Promise<RunResult> {
  const { progress, cancel } = context;
  progress.enter(1, 'retrieving and merging the settings', 0, 2);
  const tasks = await readTasks(context);
  cancel.check();
  return runOnIndex(context, async ({ entry }) => {
    const stored = entry.storedSettings as SettingsObject | null;
    const settings = unwrap(mergeAll(stored, tasks));
    const after = await setUpEmbedders(context, stored, settings);
    await setImmediate();
    cancel.check();
    progress.enter(1, 'apply the settings', 1, 2);
    const first = tasks.find(({ kind }) => kind === 'settings')!;
    const steps = [
      ...tasks.filter(({ kind }) => kind === 'clear').map(clearStep),
      {
        task: first.uid,
        kind: 'settings' as const,
        ...after,
      },
    ];
    return concludeTasks(tasks, await applySteps(context, entry, steps, []));
  });
}

/** Applies the settings of all tasks, in order, to the stored settings. */
function mergeAll(
  stored: SettingsObject | null,
  tasks: readonly BatchTask[],
): Result<SettingsObject, ApiError> {
  let merged = stored;
  for (const { row } of tasks) {
    if (row.type !== 'settingsUpdate') continue;
    const next = mergeSettings(merged, row.settings, row.stored);
    if (!next.ok) return next;
    merged = next.value;
  }
  return ok(merged!);
}
