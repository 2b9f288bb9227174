import { fromRuns } from '../base/uid-runs.ts';
import { type TaskRequest, type TaskRow, taskTypeEntry } from '../contract/task-types.ts';
import type { NewTask } from '../store/append-tasks.ts';
import type { TaskStore } from '../store/task-store.ts';

/**
 * Converts a request to a new record of the task store.
 * @param payload the payload of an addition
 * @param store finds the tasks that match when the task is registered
 */
export function newTask(
  request: TaskRequest,
  payload: NewTask['payload'],
  store: Pick<TaskStore, 'matching'>,
): NewTask {
  const { type, customMetadata, network } = request;
  const draft = taskTypeEntry(type).draft(request);
  const matching: TaskStore['matching'] = (filter, visible) => store.matching(filter, visible);
  return {
    type,
    indexUid: draft.indexUid,
    alsoIndexes: draft.alsoIndexes ?? [],
    flags: draft.flags ?? 0,
    payload: payload ?? draft.payload ?? null,
    late: draft.late ?? false,
    row(_uid, numberOf) {
      const complete = (row: unknown): TaskRow => ({
        ...(row as TaskRow),
        ...(customMetadata === undefined ? {} : { customMetadata }),
        ...(network === undefined ? {} : { network }),
      });
      const row = draft.row({ numberOf, matching });
      return row instanceof Promise ? row.then(complete) : complete(row);
    },
  };
}

/** @param matched uids as runs */
export function deletionOf(matched: number[], originalFilter: string): NewTask {
  const matchedTasks = [...fromRuns(matched)].length;
  return {
    type: 'taskDeletion',
    indexUid: null,
    alsoIndexes: [],
    flags: 0,
    payload: null,
    late: false,
    row: () => ({ type: 'taskDeletion', originalFilter, matchedTasks, matched }),
  };
}
