import { useState } from 'preact/hooks';
import { Figure } from '../../chart.tsx';
import { ago, durationMs, indentJson, milliseconds, moment } from '../../format.ts';
import { Coded } from '../../parts/coded.tsx';
import type { Retry } from '../../retry.ts';
import { effectWords } from '../../task-words.ts';
import type { Task } from '../../task.ts';
import { Failure } from './failure.tsx';
import { useTypeWords } from './type-words.ts';

interface Props {
  task: Task;
  /** Progress of its batch in percent; undefined: it is not running. */
  progress: number | undefined;
  onCancel(): void;
  onRetry(retry: Retry): void;
}

export function TaskRow({ task, progress, onCancel, onRetry }: Props): JSX.Element {
  const { uid, type, status, indexUid, duration, enqueuedAt, error } = task;
  const [open, setOpen] = useState(false);
  const typeWords = useTypeWords();
  const waits = status === 'enqueued' || status === 'processing';
  const effect = effectWords(task);
  return (
    <li>
      <details class="grow" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class={`state ${status}`}>{status}</span>
          <span class="what">
            <strong>{typeWords(type)}</strong>
            {indexUid === null || isInternal(indexUid) ? '' : ` in ${indexUid}`}
            {effect === '' ? '' : ` · ${effect}`}
            {error === null || open ? null : (
              <small class="bad clip">
                <Coded text={error.message} />
              </small>
            )}
            {progress === undefined ? null : (
              <progress max="100" value={progress} aria-label={`Progress of task ${uid}`} />
            )}
          </span>
          <span class="count" title={moment(enqueuedAt)}>
            #{uid} · {ago(enqueuedAt, Date.now())}
            {duration === null ? '' : ` · ${milliseconds(durationMs(duration))}`}
          </span>
        </summary>
        {open ? (
          <>
            <Failure task={task} onRetry={onRetry} />
            <Moments task={task} />
            <details class="as-json">
              <summary>As JSON</summary>
              <pre tabIndex={0}>{indentJson(JSON.stringify(task))}</pre>
            </details>
          </>
        ) : null}
      </details>
      {waits ? (
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel<span class="unseen"> task {uid}</span>
        </button>
      ) : null}
    </li>
  );
}

/** Whether the uid stands for data of the server, such as search rules. */
function isInternal(indexUid: string): boolean {
  return indexUid.startsWith('.');
}

function Moments({ task }: { task: Task }): JSX.Element {
  const { enqueuedAt, startedAt, finishedAt, duration } = task;
  const waited = startedAt === null ? null : Date.parse(startedAt) - Date.parse(enqueuedAt);
  return (
    <dl class="figures">
      <Figure name="Added" value={moment(enqueuedAt)} />
      {waited === null ? null : <Figure name="Waited" value={milliseconds(waited)} />}
      {duration === null ? null : <Figure name="Ran" value={milliseconds(durationMs(duration))} />}
      {finishedAt === null ? null : <Figure name="Finished" value={moment(finishedAt)} />}
    </dl>
  );
}
