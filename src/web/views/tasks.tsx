import { useState } from 'preact/hooks';
import { replaceAddress, useAddress, viewHref } from '../address.ts';
import { pathOf, type Client } from '../client.ts';
import { counted } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Empty } from '../parts/empty.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import type { Retry } from '../retry.ts';
import { useSession } from '../session.ts';
import type { Batch, Task, TaskPage } from '../task.ts';
import { finish } from '../tasks.ts';
import { Batches } from './tasks/batches.tsx';
import { beginOf, TaskFilters, type Filter } from './tasks/filters.tsx';
import { REFRESH_MS, Running, useRunning } from './tasks/running.tsx';
import { TaskRow } from './tasks/task-row.tsx';

const PAGE = 20;

const FINISHED_TASKS = pathOf(['tasks'], { statuses: 'succeeded,failed,canceled' });
const DELETION = {
  title: 'Delete finished tasks',
  warning:
    'This deletes the records of all tasks that succeeded, failed or were canceled. Their effects remain.',
  name: 'delete',
  verb: 'Delete the records',
};

export function TasksView(): JSX.Element {
  const { client } = useSession();
  const { query } = useAddress();
  const { from, ...filter } = taskQuery(query);
  const { statuses, types, indexUids, since } = filter;
  const action = useAction();
  const [deleting, setDeleting] = useState(false);
  const running = useRunning();
  const tasks = useLoaded(
    (signal) => {
      const afterEnqueuedAt = beginOf(since, Date.now());
      const given = { statuses, types, indexUids, afterEnqueuedAt, from, limit: PAGE };
      return client.send<TaskPage<Task>>('GET', pathOf(['tasks'], given), { signal });
    },
    [client, statuses, types, indexUids, since, from, action.done],
    REFRESH_MS,
  );
  const change = (part: Partial<Filter & { from: string }>): void =>
    replaceAddress(viewHref('tasks', null, { ...filter, from: '', ...part }));
  const act = (one: Retry): void => action.run(() => send(client, one));
  const page = tasks.value;
  return (
    <>
      <Running batches={running} />
      <div class="row">
        <TaskFilters filter={filter} change={change} />
        <button type="button" class="danger" onClick={() => setDeleting(true)}>
          Delete finished tasks
        </button>
      </div>
      <Outcome action={action} />
      <Problem error={tasks.error} />
      <p class="note">{page === undefined ? '' : counted(page.total, 'task')}</p>
      {page === undefined ? <Skeleton /> : null}
      <ul class="card list tasks" aria-label="Tasks">
        {page?.results.map((task) => (
          <TaskRow
            key={task.uid}
            task={task}
            progress={progressOf(task, running)}
            onCancel={() =>
              act({ method: 'POST', path: pathOf(['tasks', 'cancel'], { uids: task.uid }) })
            }
            onRetry={act}
          />
        ))}
      </ul>
      {page?.total === 0 ? <NoTask filtered={Object.values(filter).some(Boolean)} /> : null}
      <Paging page={page} from={from} change={change} />
      <Batches />
      {deleting ? (
        <Confirm
          {...DELETION}
          onClose={() => setDeleting(false)}
          onConfirm={() => act({ method: 'DELETE', path: FINISHED_TASKS })}
        />
      ) : null}
    </>
  );
}

function send(client: Client, { method, path, body }: Retry): Promise<string> {
  return finish(client, method, path, body);
}

function taskQuery(query: Readonly<Record<string, string>>): Filter & { from: string } {
  const { statuses = '', types = '', indexUids = '', since = '', from = '' } = query;
  return { statuses, types, indexUids, since, from };
}

function progressOf({ status, batchUid }: Task, running: readonly Batch[]): number | undefined {
  if (status !== 'processing') return undefined;
  return running.find(({ uid }) => uid === batchUid)?.progress?.percentage;
}

function NoTask({ filtered }: { filtered: boolean }): JSX.Element {
  return (
    <Empty icon="tasks" title={filtered ? 'No task matches' : 'There is no task yet'}>
      {filtered ? (
        <p class="buttons">
          <a class="button" href="#/tasks">
            Show all tasks
          </a>
        </p>
      ) : (
        <p>Every change of documents, settings and indexes is a task.</p>
      )}
    </Empty>
  );
}

interface PagingProps {
  page: TaskPage<Task> | undefined;
  from: string;
  change(part: { from?: string }): void;
}

function Paging({ page, from, change }: PagingProps): JSX.Element {
  return (
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
  );
}
