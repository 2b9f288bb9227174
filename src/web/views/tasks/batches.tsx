import { useState } from 'preact/hooks';
import { pathOf } from '../../client.ts';
import { ago, counted, durationMs, indentJson, milliseconds, moment } from '../../format.ts';
import { useGet } from '../../hooks.ts';
import { Problem } from '../../parts/problem.tsx';
import type { Batch, TaskPage } from '../../task.ts';
import { REFRESH_MS } from './running.tsx';
import { useTypeWords } from './type-words.ts';

const BATCHES_SHOWN = 20;

/** The last batches. They are requested while the list is unfolded. */
export function Batches(): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Batches: tasks that ran together</summary>
      {open ? <BatchList /> : null}
    </details>
  );
}

function BatchList(): JSX.Element {
  const typeWords = useTypeWords();
  const path = pathOf(['batches'], { limit: BATCHES_SHOWN });
  const batches = useGet<TaskPage<Batch>>(path, REFRESH_MS);
  return (
    <>
      <Problem error={batches.error} />
      <ul class="card list tasks" aria-label="Batches">
        {batches.value?.results.map((batch) => (
          <li key={batch.uid}>
            <details class="grow">
              <summary>
                <span class="what">
                  <strong>{Object.keys(batch.stats.types).map(typeWords).join(', ')}</strong>
                  {` · ${counted(batch.stats.totalNbTasks, 'task')}`}
                </span>
                <span class="count" title={moment(batch.startedAt)}>
                  #{batch.uid} · {ago(batch.startedAt, Date.now())} ·{' '}
                  {milliseconds(durationMs(batch.duration))}
                </span>
              </summary>
              <p>{batch.batchStrategy}</p>
              <pre tabIndex={0}>{indentJson(JSON.stringify(batch))}</pre>
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}
