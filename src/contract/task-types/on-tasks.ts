/** Types of tasks on other tasks. */
import { decodeUids, encodeUids } from '../../base/uid-bitmap.ts';
import { fromRuns, runsOf } from '../../base/uid-runs.ts';
import type { FilterOfTasks, IndexVisibility, TaskDetails } from './fields.ts';
import { numberOf, type ReadTask, type TaskLine, textOf } from './dump-form.ts';
import { type TaskDraft, taskType } from './task-type.ts';

interface OnTasksRequest<Name> {
  type: Name;
  filter: FilterOfTasks<string>;
  /** `?` and the raw query string. */
  originalFilter: string;
  visible: IndexVisibility;
}

interface OnTasksRow<Name> {
  type: Name;
  originalFilter: string;
  matchedTasks: number;
  /** Matched uids as runs: first, count, first, count, ... ascending. */
  matched: number[];
}

/** The matching tasks are determined once all earlier tasks are registered. */
function onTasks<Name extends string>({
  type,
  filter,
  originalFilter,
  visible,
}: OnTasksRequest<Name>): TaskDraft<OnTasksRow<Name>> {
  return {
    indexUid: null,
    late: true,
    async row({ matching }) {
      const uids = await matching(filter, visible);
      return { type, originalFilter, matchedTasks: uids.length, matched: runsOf(uids) };
    },
  };
}

function writtenMatches({ originalFilter, matched }: OnTasksRow<string>): TaskDetails {
  return { query: originalFilter, tasks: encodeUids([...fromRuns(matched)]) };
}

function readMatches<Name>(
  type: Name,
  { content, details }: TaskLine,
  result: unknown,
): ReadTask<OnTasksRequest<Name>> {
  const matched = decodeUids(content.tasks) ?? [];
  const found = numberOf(details.matched_tasks) ?? matched.length;
  const originalFilter = textOf(details.original_filter) ?? textOf(content.query) ?? '';
  return {
    request: { type, filter: {}, originalFilter, visible: null },
    matched,
    result: numberOf(result),
    ...(found === matched.length ? {} : { details: { matchedTasks: found } }),
  };
}

export const taskCancelation = taskType({
  name: 'taskCancelation',
  words: 'Cancel tasks',
  code: 9,
  batching: { priority: 0, take: 'highest' },
  counts: true,
  inBatch: { matchedTasks: 'sum', canceledTasks: 'sum', originalFilter: 'joined' },
  runsToItsEnd: true,
  freesSpace: true,
  draft: onTasks<'taskCancelation'>,
  details: ({ matchedTasks, originalFilter }: OnTasksRow<'taskCancelation'>, { result }) => ({
    matchedTasks,
    canceledTasks: result,
    originalFilter,
  }),
  dump: {
    write: (row: OnTasksRow<'taskCancelation'>, { details }) => ({
      type: { tasksCancelation: writtenMatches(row) },
      details: {
        TaskCancelation: {
          matched_tasks: details.matchedTasks,
          canceled_tasks: details.canceledTasks,
          original_filter: details.originalFilter,
        },
      },
    }),
    read: {
      tasksCancelation: (line) => readMatches('taskCancelation', line, line.details.canceled_tasks),
    },
  },
});

export const taskDeletion = taskType({
  name: 'taskDeletion',
  words: 'Delete task records',
  code: 10,
  batching: { priority: 3, take: 'all' },
  counts: true,
  inBatch: { matchedTasks: 'sum', deletedTasks: 'sum', originalFilter: 'joined' },
  freesSpace: true,
  draft: onTasks<'taskDeletion'>,
  details: ({ matchedTasks, originalFilter }: OnTasksRow<'taskDeletion'>, { result }) => ({
    matchedTasks,
    deletedTasks: result,
    originalFilter,
  }),
  dump: {
    write: (row: OnTasksRow<'taskDeletion'>, { details }) => ({
      type: { tasksDeletion: writtenMatches(row) },
      details: {
        TaskDeletion: {
          matched_tasks: details.matchedTasks,
          deleted_tasks: details.deletedTasks,
          original_filter: details.originalFilter,
        },
      },
    }),
    read: {
      tasksDeletion: (line) => readMatches('taskDeletion', line, line.details.deleted_tasks),
    },
  },
});
