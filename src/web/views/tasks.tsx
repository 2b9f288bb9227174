import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { description, taskFilterValues } from '../description.ts';
import { count, counted, durationMs, indentJson, milliseconds, moment } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { useSession } from '../session.ts';
import { finish, TASK_STATUSES, type Batch, type Task, type TaskPage } from '../tasks.ts';

const REFRESH_MS = 1000;
const PAGE = 20;

const FINISHED_TASKS = pathOf(['tasks'], { statuses: 'succeeded,failed,canceled' });
const DELETION = {
  title: 'Delete finished tasks',
  warning:
    'This deletes the records of all tasks that succeeded, failed or were canceled. Their effects remain.',
  name: 'delete',
  verb: 'Delete the records',
};

interface Filter {
  readonly statuses: string;
  readonly types: string;
  readonly indexUids: string;
}

interface FiltersProps {
  filter: Filter;
  change(part: Partial<Filter>): void;
}

function Filters({ filter: { statuses, types, indexUids }, change }: FiltersProps): JSX.Element {
  const { client } = useSession();
  const known = useLoaded(() => description(client), [client]);
  const options = (values: readonly string[]) =>
    [['', 'all'], ...values.map((value) => [value, value] as const)] as const;
  return (
    <>
      <Choice
        label="Status"
        value={statuses}
        options={options(TASK_STATUSES)}
        onChoose={(value) => change({ statuses: value })}
      />
      <Choice
        label="Type"
        value={types}
        options={options(known.value === undefined ? [] : taskFilterValues(known.value, 'types'))}
        onChoose={(value) => change({ types: value })}
      />
      <TextField
        label="Index"
        value={indexUids}
        onInput={(value) => change({ indexUids: value })}
      />
    </>
  );
}

export function TasksView(): JSX.Element {
  const { client } = useSession();
  const { query } = useAddress();
  const { statuses = '', types = '', indexUids = '', from = '' } = query;
  const filter = { statuses, types, indexUids };
  const action = useAction();
  const [deleting, setDeleting] = useState(false);
  const path = pathOf(['tasks'], { ...filter, from, limit: PAGE });
  const tasks = useLoaded(
    (signal) => client.send<TaskPage<Task>>('GET', path, { signal }),
    [client, statuses, types, indexUids, from, action.done],
    REFRESH_MS,
  );
  const change = (part: Partial<Filter & { from: string }>): void =>
    replaceAddress(viewHref('tasks', null, { ...filter, from: '', ...part }));
  const cancel = ({ uid }: Task): void =>
    action.run(() => finish(client, 'POST', pathOf(['tasks', 'cancel'], { uids: uid })));
  const page = tasks.value;
  return (
    <>
      <Running />
      <div class="row">
        <Filters filter={filter} change={change} />
        <button type="button" class="danger" onClick={() => setDeleting(true)}>
          Delete finished tasks
        </button>
      </div>
      <Outcome action={action} />
      <Problem error={tasks.error} />
      <p class="note">{page === undefined ? '' : counted(page.total, 'task')}</p>
      <ul class="tasks" aria-label="Tasks">
        {page?.results.map((task) => (
          <TaskRow key={task.uid} task={task} onCancel={() => cancel(task)} />
        ))}
      </ul>
      <p class="buttons">
        {from === '' ? null : (
          <button type="button" onClick={() => change({})}>
            Newest
          </button>
        )}
        {page === undefined || page.next === null ? null : (
          <button type="button" onClick={() => change({ from: String(page.next) })}>
            Older
          </button>
        )}
      </p>
      <Batches />
      {deleting ? (
        <Confirm
          {...DELETION}
          onClose={() => setDeleting(false)}
          onConfirm={() => action.run(() => finish(client, 'DELETE', FINISHED_TASKS))}
        />
      ) : null}
    </>
  );
}

/**
 * The running batches, with their progress.
 * @param types task types to show; empty: all
 */
export function Running({ types = '' }: { types?: string }): JSX.Element | null {
  const { client } = useSession();
  const batches = useLoaded(
    (signal) =>
      client.send<TaskPage<Batch>>('GET', pathOf(['batches'], { statuses: 'processing', types }), {
        signal,
      }),
    [client, types],
    REFRESH_MS,
  );
  const running = batches.value?.results ?? [];
  if (running.length === 0) return null;
  return (
    <section aria-label="Running">
      {running.map(({ uid, progress, stats }) => (
        <article key={uid}>
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

function TaskRow({ task, onCancel }: { task: Task; onCancel(): void }): JSX.Element {
  const { uid, type, status, indexUid, duration, enqueuedAt, error } = task;
  const open = status === 'enqueued' || status === 'processing';
  return (
    <li>
      <details>
        <summary>
          <span class={`state ${status}`}>{status}</span>
          <span class="what">
            {uid}: {type}
            {indexUid === null ? '' : ` in ${indexUid}`}
          </span>
          <span class="count">
            {moment(enqueuedAt)} {milliseconds(durationMs(duration))}
          </span>
        </summary>
        {error === null ? null : <p class="problem">{error.message}</p>}
        <pre tabIndex={0}>{indentJson(JSON.stringify(task))}</pre>
      </details>
      {open ? (
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel<span class="unseen"> task {uid}</span>
        </button>
      ) : null}
    </li>
  );
}

function Batches(): JSX.Element {
  const { client } = useSession();
  const batches = useLoaded(
    (signal) =>
      client.send<TaskPage<Batch>>('GET', pathOf(['batches'], { limit: PAGE }), { signal }),
    [client],
    REFRESH_MS,
  );
  return (
    <section aria-label="Batches">
      <h2>Batches</h2>
      <Problem error={batches.error} />
      <ul class="tasks">
        {batches.value?.results.map((batch) => (
          <li key={batch.uid}>
            <details>
              <summary>
                <span class="what">
                  {batch.uid}: {counted(batch.stats.totalNbTasks, 'task')},{' '}
                  {Object.keys(batch.stats.types).join(', ')}
                </span>
                <span class="count">
                  {moment(batch.startedAt)} {milliseconds(durationMs(batch.duration))}
                </span>
              </summary>
              <p>{batch.batchStrategy}</p>
              <pre tabIndex={0}>{indentJson(JSON.stringify(batch))}</pre>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
