import { pathOf } from '../../client.ts';
import { count, counted } from '../../format.ts';
import { useGet } from '../../hooks.ts';
import type { Batch, TaskPage } from '../../task.ts';

export const REFRESH_MS = 1000;

/**
 * The running batches, loaded again every second.
 * @param types task types; empty: all
 */
export function useRunning(types = ''): readonly Batch[] {
  const path = pathOf(['batches'], { statuses: 'processing', types });
  const batches = useGet<TaskPage<Batch>>(path, REFRESH_MS);
  return batches.value?.results ?? [];
}

/** The progress of running batches. */
export function Running({ batches }: { batches: readonly Batch[] }): JSX.Element | null {
  if (batches.length === 0) return null;
  return (
    <section aria-label="Running">
      {batches.map(({ uid, progress, stats }) => (
        <article class="panel" key={uid}>
          <h2>
            Batch {uid}: {counted(stats.totalNbTasks, 'task')}
          </h2>
          <label>
            {count(Math.round(progress?.percentage ?? 0))} %
            <progress max="100" value={progress?.percentage ?? 0} />
          </label>
          <ul>
            {progress?.steps.map(({ currentStep, finished, total }) => (
              <li key={currentStep}>
                {currentStep}: {count(finished)} of {count(total)}
              </li>
            ))}
          </ul>
        </article>
      ))}
    </section>
  );
}
