import { BATCH, BATCHES, COMPACTION, TASK, TASKS, TASK_SUMMARY } from '../../contract/answers.ts';
import {
  ApiError,
  batchNotFound,
  featureNotEnabled,
  taskNotFound,
  type ErrorCode,
} from '../../contract/errors.ts';
import { queryParser } from '../../contract/query.ts';
import {
  FILTER_TASKS_QUERY,
  LIST_TASKS_QUERY,
  taskFilter,
  type ListTasksQuery,
  type TaskFilterQuery,
} from '../../contract/task-filters.ts';
import { TASK_UID_MAX, type TaskPaging } from '../../contract/tasks.ts';
import type { Dependencies } from '../dependencies.ts';
import { shortSize } from '../../base/size.ts';
import {
  bytes,
  json,
  longJson,
  route,
  type Reply,
  type RequestContext,
  type Route,
} from '../route.ts';

function paging({ limit = 20, from, reverse = false }: ListTasksQuery): TaskPaging {
  return { limit, from: from ?? null, reverse };
}

export function taskRoutes({ services }: Dependencies): Route[] {
  const { tasks, features } = services;

  async function selectTasks(
    type: 'taskCancelation' | 'taskDeletion',
    { access, query, rawQuery }: RequestContext<TaskFilterQuery>,
  ): Promise<Reply> {
    if (Object.keys(query).length === 0) throw missingFilters();
    return json(
      200,
      await tasks.register({
        type,
        filter: taskFilter(query),
        originalFilter: `?${rawQuery}`,
        visible: access.visible,
      }),
    );
  }

  return [
    route<ListTasksQuery, unknown>({
      method: 'GET',
      path: '/tasks',
      action: 'tasks.get',
      summary: 'Lists tasks, the newest first.',
      query: queryParser(LIST_TASKS_QUERY),
      success: 200,
      answer: TASKS,
      handle: async ({ access, query }) =>
        longJson(await tasks.page(taskFilter(query), paging(query), access.visible)),
    }),
    route<TaskFilterQuery, unknown>({
      method: 'DELETE',
      path: '/tasks',
      action: 'tasks.delete',
      summary: 'Deletes finished tasks.',
      query: queryParser(FILTER_TASKS_QUERY),
      success: 200,
      answer: TASK_SUMMARY,
      handle: (context) => selectTasks('taskDeletion', context),
    }),
    route<TaskFilterQuery, unknown>({
      method: 'POST',
      path: '/tasks/cancel',
      action: 'tasks.cancel',
      summary: 'Cancels unfinished tasks.',
      query: queryParser(FILTER_TASKS_QUERY),
      success: 200,
      answer: TASK_SUMMARY,
      handle: (context) => selectTasks('taskCancelation', context),
    }),
    route({
      method: 'POST',
      path: '/tasks/compact',
      action: 'tasks.compact',
      summary: 'Gives back what is free in the task store.',
      success: 200,
      answer: COMPACTION,
      handle: async () => {
        if (!features.get().taskQueueCompactionRoute) {
          throw featureNotEnabled('Compacting the task store', 'taskQueueCompactionRoute');
        }
        const { before, after } = await tasks.compact();
        return json(200, {
          preSize: shortSize(before),
          postSize: shortSize(after),
          status: 'succeeded',
        });
      },
    }),
    route({
      method: 'GET',
      path: '/tasks/:task_uid',
      action: 'tasks.get',
      summary: 'Shows a task.',
      success: 200,
      answer: TASK,
      handle: ({ access, params }) => {
        const uid = pathUid(params.task_uid!, 'task', 'invalid_task_uids');
        const task = tasks.get(uid, access.visible);
        if (task === undefined) throw taskNotFound(uid);
        return longJson(task);
      },
    }),
    route({
      method: 'GET',
      path: '/tasks/:task_uid/documents',
      action: 'tasks.get',
      summary: 'Shows the documents of an addition that has not ended.',
      success: 200,
      handle: ({ access, params }) => {
        if (!features.get().getTaskDocumentsRoute) {
          throw featureNotEnabled('Reading the documents of a task', 'getTaskDocumentsRoute');
        }
        const uid = pathUid(params.task_uid!, 'task', 'invalid_task_uids');
        if (tasks.get(uid, access.visible) === undefined) throw taskNotFound(uid);
        const documents = tasks.documents(uid);
        if (documents === null) {
          throw new ApiError(
            'task_file_not_found',
            `The task \`${uid}\` has no documents: it is no addition, or it has ended.`,
          );
        }
        return { ...bytes(documents), type: 'application/x-ndjson' };
      },
    }),
    route<ListTasksQuery, unknown>({
      method: 'GET',
      path: '/batches',
      action: 'tasks.get',
      summary: 'Lists batches, the newest first.',
      query: queryParser(LIST_TASKS_QUERY),
      success: 200,
      answer: BATCHES,
      handle: async ({ access, query }) =>
        longJson(await tasks.batchPage(taskFilter(query), paging(query), access.visible)),
    }),
    route({
      method: 'GET',
      path: '/batches/:batch_uid',
      action: 'tasks.get',
      summary: 'Shows a batch.',
      success: 200,
      answer: BATCH,
      handle: ({ access, params }) => {
        const uid = pathUid(params.batch_uid!, 'batch', 'invalid_batch_uids');
        const batch = tasks.getBatch(uid, access.visible);
        if (batch === undefined) throw batchNotFound(uid);
        return longJson(batch);
      },
    }),
  ];
}

function pathUid(text: string, what: string, code: ErrorCode): number {
  const uid = /^\d+$/.test(text) ? Number(text) : NaN;
  if (uid <= TASK_UID_MAX) return uid;
  throw new ApiError(
    code,
    `\`${text}\` is not a ${what} uid, which is a non-negative integer of at most ${TASK_UID_MAX}.`,
  );
}

function missingFilters(): ApiError {
  const filters = [
    'uids',
    'indexUids',
    'statuses',
    'types',
    'canceledBy',
    'beforeEnqueuedAt',
    'afterEnqueuedAt',
    'beforeStartedAt',
    'afterStartedAt',
    'beforeFinishedAt',
    'afterFinishedAt',
  ];
  return new ApiError(
    'missing_task_filters',
    `At least one filter is required; accepted are ${filters.map((name) => `\`${name}\``).join(', ')}.`,
  );
}
