import { BATCH, BATCHES, COMPACTION, TASK, TASKS, TASK_SUMMARY } from '../../contract/responses.ts';
import { ApiError, batchNotFound, taskNotFound, type ErrorCode } from '../../contract/errors.ts';
import { defaultOf } from '../../contract/declare.ts';
import { queryParser } from '../../contract/query.ts';
import {
  FILTER_TASKS_QUERY,
  LIST_TASKS_QUERY,
  taskFilter,
  type ListTasksQuery,
  type TaskFilterQuery,
} from '../../contract/task-filters.ts';
import {
  type IndexVisibility,
  TASK_UID_MAX,
  type TaskFilter,
  type TaskPaging,
} from '../../contract/tasks.ts';
import type { Dependencies } from '../dependencies.ts';
import { shortSize } from '../../base/size.ts';
import { needFeature } from '../need-feature.ts';
import {
  bytes,
  json,
  longJson,
  registered,
  route,
  STREAMED,
  type RouteResponse,
  type RequestContext,
  type Route,
} from '../route.ts';

function paging({ limit, from, reverse }: ListTasksQuery): TaskPaging {
  return {
    limit: limit ?? defaultOf(LIST_TASKS_QUERY.properties.limit),
    from: from ?? null,
    reverse: reverse ?? false,
  };
}

const LISTED = queryParser(LIST_TASKS_QUERY);
const SELECTED = queryParser(FILTER_TASKS_QUERY);

export const TASK_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tasks',
    action: 'tasks.get',
    summary: 'Lists tasks, the newest first.',
    query: LISTED,
    success: 200,
    response: TASKS,
    handle: listTasks,
  }),
  route({
    method: 'DELETE',
    path: '/tasks',
    action: 'tasks.delete',
    summary: 'Deletes finished tasks.',
    query: SELECTED,
    success: 200,
    response: TASK_SUMMARY,
    handle: deleteTasks,
  }),
  route({
    method: 'POST',
    path: '/tasks/cancel',
    action: 'tasks.cancel',
    summary: 'Cancels unfinished tasks.',
    query: SELECTED,
    success: 200,
    response: TASK_SUMMARY,
    handle: cancelTasks,
  }),
  route({
    method: 'POST',
    path: '/tasks/compact',
    action: 'tasks.compact',
    summary: 'Releases the free space of the task store.',
    success: 200,
    response: COMPACTION,
    handle: compactStore,
  }),
  route({
    method: 'GET',
    path: '/tasks/stream',
    action: 'tasks.get',
    summary: 'Streams tasks as they change, as Server-Sent Events.',
    query: SELECTED,
    success: 200,
    response: 'text',
    responseType: 'text/event-stream',
    handle: streamOf('task', 'Streaming the tasks'),
  }),
  route({
    method: 'GET',
    path: '/tasks/:task_uid',
    action: 'tasks.get',
    summary: 'Shows a task.',
    success: 200,
    response: TASK,
    handle: showTask,
  }),
  route({
    method: 'GET',
    path: '/tasks/:task_uid/documents',
    action: 'tasks.get',
    summary: 'Shows the documents of an addition that has not ended.',
    success: 200,
    handle: showDocuments,
  }),
  route({
    method: 'GET',
    path: '/batches',
    action: 'tasks.get',
    summary: 'Lists batches, the newest first.',
    query: LISTED,
    success: 200,
    response: BATCHES,
    handle: listBatches,
  }),
  route({
    method: 'GET',
    path: '/batches/stream',
    action: 'tasks.get',
    summary: 'Streams batches as they begin and end, as Server-Sent Events.',
    query: SELECTED,
    success: 200,
    response: 'text',
    responseType: 'text/event-stream',
    handle: streamOf('batch', 'Streaming the batches'),
  }),
  route({
    method: 'GET',
    path: '/batches/:batch_uid',
    action: 'tasks.get',
    summary: 'Shows a batch.',
    success: 200,
    response: BATCH,
    handle: showBatch,
  }),
];

async function listTasks(
  { access, query }: RequestContext<ListTasksQuery>,
  { services: { tasks }, aliases }: Dependencies,
): Promise<RouteResponse> {
  return longJson(await tasks.page(taskFilter(query, aliases), paging(query), access.visible));
}

function streamOf(kind: 'task' | 'batch', what: string): Route<TaskFilterQuery>['handle'] {
  return ({ access, connection, query, requestId }, server) => {
    needFeature(server, 'tasksStreamingRoute', what);
    if (connection.method === 'HEAD') {
      return { status: 200, body: null, headers: [['content-type', 'text/event-stream']] };
    }
    const { authorization, legacyKey } = connection.headers;
    server.taskStreams.open({
      kind,
      connection,
      requestId,
      filter: taskFilter(query, server.aliases),
      holder: access.holder,
      authorize: () => server.authorizer.authorize({ authorization, legacyKey }, 'tasks.get', null),
    });
    return STREAMED;
  };
}

function deleteTasks(
  context: RequestContext<TaskFilterQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return registered(server, { type: 'taskDeletion', ...selection(context, server) }, 200);
}

function cancelTasks(
  context: RequestContext<TaskFilterQuery>,
  server: Dependencies,
): Promise<RouteResponse> {
  return registered(server, { type: 'taskCancelation', ...selection(context, server) }, 200);
}

function selection(
  { access, query, rawQuery }: RequestContext<TaskFilterQuery>,
  { aliases }: Dependencies,
): {
  filter: TaskFilter;
  originalFilter: string;
  visible: IndexVisibility;
} {
  if (Object.keys(query).length === 0) throw missingFilters();
  const filter = taskFilter(query, aliases);
  return { filter, originalFilter: `?${rawQuery}`, visible: access.visible };
}

async function compactStore(_: RequestContext, server: Dependencies): Promise<RouteResponse> {
  needFeature(server, 'taskQueueCompactionRoute', 'Compacting the task store');
  const { before, after } = await server.services.tasks.compact();
  return json(200, {
    preSize: shortSize(before),
    postSize: shortSize(after),
    status: 'succeeded',
  });
}

function showTask(
  { access, params }: RequestContext,
  { services: { tasks } }: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const uid = pathUid(params.task_uid!, 'task', 'invalid_task_uids');
  const task = tasks.get(uid, access.visible);
  if (task === undefined) throw taskNotFound(uid);
  return longJson(task);
}

function showDocuments({ access, params }: RequestContext, server: Dependencies): RouteResponse {
  needFeature(server, 'getTaskDocumentsRoute', 'Reading the documents of a task');
  const { tasks } = server.services;
  const uid = pathUid(params.task_uid!, 'task', 'invalid_task_uids');
  if (tasks.get(uid, access.visible) === undefined) throw taskNotFound(uid);
  const documents = tasks.documents(uid);
  if (documents === null) {
    throw new ApiError(
      'task_file_not_found',
      `The task \`${uid}\` has no documents: it is not an addition, or has ended.`,
    );
  }
  return { ...bytes(documents), type: 'application/x-ndjson' };
}

async function listBatches(
  { access, query }: RequestContext<ListTasksQuery>,
  { services: { tasks }, aliases }: Dependencies,
): Promise<RouteResponse> {
  return longJson(await tasks.batchPage(taskFilter(query, aliases), paging(query), access.visible));
}

function showBatch(
  { access, params }: RequestContext,
  { services: { tasks } }: Dependencies,
): RouteResponse | Promise<RouteResponse> {
  const uid = pathUid(params.batch_uid!, 'batch', 'invalid_batch_uids');
  const batch = tasks.getBatch(uid, access.visible);
  if (batch === undefined) throw batchNotFound(uid);
  return longJson(batch);
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
