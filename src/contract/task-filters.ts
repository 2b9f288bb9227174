/** Query parameters of the task and batch routes. */
import {
  boolean,
  date,
  integer,
  object,
  oneOf,
  optionals,
  starList,
  string,
  type Static,
} from './declare.ts';
import { pageMembers } from './pages.ts';
import { TASK_STATUSES, TASK_TYPES, TASK_UID_MAX, TASK_WORDS, type TaskFilter } from './tasks.ts';

const UID = integer({ minimum: 0, maximum: TASK_UID_MAX });

/** The older name of the upgrade type is accepted too. */
const TYPE_NAMES = [...TASK_TYPES, 'upgradeDatabase'] as const;

/** A filter given as `*` is present and undefined. */
const FILTERS = optionals({
  batchUids: starList(UID, 'invalid_batch_uids'),
  uids: starList(UID, 'invalid_task_uids'),
  canceledBy: starList(UID, 'invalid_task_canceled_by'),
  types: starList(
    oneOf(TYPE_NAMES, { 'x-ignore-case': true, 'x-words': TASK_WORDS }),
    'invalid_task_types',
  ),
  statuses: starList(oneOf(TASK_STATUSES, { 'x-ignore-case': true }), 'invalid_task_statuses'),
  indexUids: starList(string({ format: 'index-uid' }), 'invalid_index_uid'),
  afterEnqueuedAt: date('date-after', { 'x-code': 'invalid_task_after_enqueued_at' }),
  beforeEnqueuedAt: date('date-before', { 'x-code': 'invalid_task_before_enqueued_at' }),
  afterStartedAt: date('date-after', { 'x-code': 'invalid_task_after_started_at' }),
  beforeStartedAt: date('date-before', { 'x-code': 'invalid_task_before_started_at' }),
  afterFinishedAt: date('date-after', { 'x-code': 'invalid_task_after_finished_at' }),
  beforeFinishedAt: date('date-before', { 'x-code': 'invalid_task_before_finished_at' }),
});

export const LIST_TASKS_QUERY = object({
  ...optionals({
    limit: pageMembers(undefined, 'invalid_task_limit').limit,
    from: integer({ minimum: 0, maximum: TASK_UID_MAX, 'x-code': 'invalid_task_from' }),
    reverse: boolean({ default: false, 'x-code': 'invalid_task_reverse' }),
  }),
  ...FILTERS,
});
export type ListTasksQuery = Static<typeof LIST_TASKS_QUERY>;

export const FILTER_TASKS_QUERY = object(FILTERS);
export type TaskFilterQuery = Static<typeof FILTER_TASKS_QUERY>;

/**
 * The filters that restrict something, without paging. The name of an alias selects its own tasks
 * and those of its index.
 */
export function taskFilter(
  query: ListTasksQuery,
  aliases: { targetOf(alias: string): string | undefined } = { targetOf: () => undefined },
): TaskFilter {
  const filter: Record<string, unknown> = {};
  for (const name of Object.keys(FILTERS)) {
    const value = query[name as keyof TaskFilter];
    if (value !== undefined) filter[name] = value;
  }
  const { indexUids } = query;
  if (indexUids !== undefined) {
    filter.indexUids = indexUids.flatMap((uid) => [uid, aliases.targetOf(uid) ?? []].flat());
  }
  const types = filter.types as string[] | undefined;
  if (types !== undefined) {
    filter.types = types.map((type) => (type === 'upgradeDatabase' ? 'databaseUpgrade' : type));
  }
  return filter as TaskFilter;
}
