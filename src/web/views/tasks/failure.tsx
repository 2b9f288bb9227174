import { viewHref } from '../../address.ts';
import { Coded } from '../../parts/coded.tsx';
import { Remedies } from '../../parts/problem.tsx';
import { retryOf, type Retry } from '../../retry.ts';
import { adviceFor } from '../../task-words.ts';
import type { Task } from '../../task.ts';

interface Props {
  task: Task;
  onRetry(retry: Retry): void;
}

/** Why a task failed, what you can do about it, and a button that runs it again. */
export function Failure({ task, onRetry }: Props): JSX.Element | null {
  const { uid, error, type, indexUid } = task;
  const retry = retryOf(task);
  const needsFile = type === 'documentAdditionOrUpdate' && error !== null && indexUid !== null;
  if (error === null && retry === null) return null;
  return (
    <div>
      {error === null ? null : (
        <>
          <p class="problem">
            <Coded text={error.message} />
          </p>
          <p>
            {adviceFor(error)}{' '}
            <a href={error.link} target="_blank" rel="noopener noreferrer">
              What <code>{error.code}</code> means
            </a>
          </p>
          <Remedies
            error={error}
            uid={indexUid}
            onMended={retry === null ? undefined : () => onRetry(retry)}
          />
        </>
      )}
      <p class="buttons">
        {retry === null ? null : (
          <button type="button" onClick={() => onRetry(retry)}>
            Run again<span class="unseen"> task {uid}</span>
          </button>
        )}
        {needsFile ? (
          <a class="button" href={viewHref('documents', indexUid)}>
            Add the documents again
          </a>
        ) : null}
      </p>
    </div>
  );
}
