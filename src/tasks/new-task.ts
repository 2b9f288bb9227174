import type { TaskRequest } from '../contract/tasks.ts';
import type { NewTask } from '../store/append-tasks.ts';
import { FLAG } from '../store/task-chunk.ts';
import type { TaskRow } from '../store/task-row.ts';
import type { TaskStore } from '../store/task-store.ts';
import { fromRuns, runsOf } from '../store/uid-runs.ts';

/** What a request becomes in the task store. */

type RequestOf<T extends TaskRequest['type']> = Extract<TaskRequest, { type: T }>;

const PLAIN = {
  indexUid: null,
  alsoIndexes: [],
  flags: 0,
  payload: null,
  late: false,
} satisfies Partial<NewTask>;

/**
 * @param payload of an addition
 * @param store asked for the tasks that match when the task is registered
 */
export function newTask(
  request: TaskRequest,
  payload: NewTask['payload'],
  store: Pick<TaskStore, 'matching'>,
): NewTask {
  const { customMetadata } = request;
  const task = plainTask(request, payload, store);
  if (customMetadata === undefined) return task;
  return {
    ...task,
    row: (uid, numberOf) => ({ ...task.row(uid, numberOf), customMetadata }),
  };
}

/** @param matched uids as runs */
export function deletionOf(matched: number[], originalFilter: string): NewTask {
  const matchedTasks = [...fromRuns(matched)].length;
  return onNone({ type: 'taskDeletion', originalFilter, matchedTasks, matched });
}

function plainTask(
  request: TaskRequest,
  payload: NewTask['payload'],
  store: Pick<TaskStore, 'matching'>,
): NewTask {
  switch (request.type) {
    case 'documentAdditionOrUpdate':
      return addition(request, payload);
    case 'documentDeletion':
      return deletion(request);
    case 'documentEdition': {
      const { type, context, filter, indexUid } = request;
      return onIndex(indexUid, 0, null, { type, function: request.function, context, filter });
    }
    case 'settingsUpdate': {
      const { type, settings, indexUid } = request;
      const mayCreate = request.allowIndexCreation && !request.isReset;
      return onIndex(indexUid, mayCreate ? FLAG.mayCreateIndex : 0, null, { type, settings });
    }
    case 'indexCreation': {
      const { type, primaryKey, indexUid } = request;
      return onIndex(indexUid, 0, null, { type, primaryKey });
    }
    case 'indexDeletion':
      return onIndex(request.indexUid, 0, null, { type: request.type });
    case 'indexUpdate':
      return indexUpdate(request);
    case 'indexSwap':
      return indexSwap(request);
    case 'taskCancelation':
    case 'taskDeletion':
      return onTasks(request, store);
    case 'dumpCreation':
    case 'snapshotCreation':
      return onNone({ type: request.type });
    case 'export': {
      const { type, url, apiKey, payloadSizeBytes, indexes } = request;
      return onNone({ type, url, apiKey, payloadSizeBytes, indexes });
    }
  }
}

function onIndex(
  indexUid: string,
  flags: number,
  payload: NewTask['payload'],
  row: TaskRow,
): NewTask {
  return { ...PLAIN, type: row.type, indexUid, flags, payload, row: () => row };
}

/** A task that belongs to no index. */
function onNone(row: TaskRow): NewTask {
  return { ...PLAIN, type: row.type, row: () => row };
}

function addition(
  request: RequestOf<'documentAdditionOrUpdate'>,
  payload: NewTask['payload'],
): NewTask {
  const { type, method, format, documents, primaryKey, skipCreation, indexUid } = request;
  let flags = request.allowIndexCreation ? FLAG.mayCreateIndex : 0;
  if (primaryKey !== null) flags |= FLAG.primaryKey;
  if (method === 'update') flags |= FLAG.update;
  const row: TaskRow = { type, method, format, documents, primaryKey, skipCreation };
  return onIndex(indexUid, flags, payload, row);
}

function deletion({ type, by, indexUid }: RequestOf<'documentDeletion'>): NewTask {
  if ('all' in by) return onIndex(indexUid, FLAG.all, null, { type, by: 'all' });
  if ('filter' in by) {
    return onIndex(indexUid, FLAG.byFilter, null, { type, by: 'filter', filter: by.filter });
  }
  const payload = { bytes: Buffer.from(JSON.stringify(by.ids)) };
  return onIndex(indexUid, 0, payload, { type, by: 'ids', ids: by.ids.length });
}

function indexUpdate(request: RequestOf<'indexUpdate'>): NewTask {
  const { type, primaryKey = null, newUid, indexUid: oldUid } = request;
  if (newUid === undefined) return onIndex(oldUid, 0, null, { type, primaryKey });
  return {
    ...PLAIN,
    type,
    indexUid: oldUid,
    alsoIndexes: [newUid],
    row: (_, numberOf) => {
      const rename = { oldUid, newUid, target: numberOf(newUid) };
      return { type, primaryKey, rename };
    },
  };
}

function indexSwap({ type, swaps }: RequestOf<'indexSwap'>): NewTask {
  return {
    ...PLAIN,
    type,
    alsoIndexes: swaps.flatMap(({ indexes }) => indexes),
    row: (_, numberOf) => ({
      type,
      swaps: swaps.map(({ indexes: [a, b], rename }) => ({
        pair: [numberOf(a), numberOf(b)],
        rename,
      })),
    }),
  };
}

/** Which tasks match is decided when all before it are registered. */
function onTasks(
  { type, filter, originalFilter, visible }: RequestOf<'taskCancelation' | 'taskDeletion'>,
  store: Pick<TaskStore, 'matching'>,
): NewTask {
  return {
    ...PLAIN,
    type,
    late: true,
    row: () => {
      const uids = store.matching(filter, visible);
      return { type, originalFilter, matchedTasks: uids.length, matched: runsOf(uids) };
    },
  };
}
