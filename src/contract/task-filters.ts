/** Query parameters of the task and batch routes. */
import type { Schema } from './schema.ts';
import { TASK_STATUSES, TASK_TYPES, TASK_UID_MAX, TASK_WORDS, type TaskFilter } from './tasks.ts';

type Code = NonNullable<Schema['x-code']>;

function uidList(code: Code): Schema {
  return {
    type: 'array',
    items: { type: 'integer', minimum: 0, maximum: TASK_UID_MAX },
    'x-query': 'star-list',
    'x-code': code,
  };
}

function date(kind: 'date-after' | 'date-before', code: Code): Schema {
  return { type: 'string', 'x-query': kind, 'x-code': code };
}

/** The older name of the upgrade type is accepted too. */
const TYPE_NAMES = [...TASK_TYPES, 'upgradeDatabase'];

const FILTERS: Record<string, Schema> = {
  batchUids: uidList('invalid_batch_uids'),
  uids: uidList('invalid_task_uids'),
  canceledBy: uidList('invalid_task_canceled_by'),
  types: {
    type: 'array',
    items: { type: 'string', enum: TYPE_NAMES, 'x-ignore-case': true, 'x-words': TASK_WORDS },
    'x-query': 'star-list',
    'x-code': 'invalid_task_types',
  },
  statuses: {
    type: 'array',
    items: { type: 'string', enum: TASK_STATUSES, 'x-ignore-case': true },
    'x-query': 'star-list',
    'x-code': 'invalid_task_statuses',
  },
  indexUids: {
    type: 'array',
    items: { type: 'string', format: 'index-uid' },
    'x-query': 'star-list',
    'x-code': 'invalid_index_uid',
  },
  afterEnqueuedAt: date('date-after', 'invalid_task_after_enqueued_at'),
  beforeEnqueuedAt: date('date-before', 'invalid_task_before_enqueued_at'),
  afterStartedAt: date('date-after', 'invalid_task_after_started_at'),
  beforeStartedAt: date('date-before', 'invalid_task_before_started_at'),
  afterFinishedAt: date('date-after', 'invalid_task_after_finished_at'),
  beforeFinishedAt: date('date-before', 'invalid_task_before_finished_at'),
};

export const LIST_TASKS_QUERY: Schema = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 0, default: 20, 'x-code': 'invalid_task_limit' },
    from: { type: 'integer', minimum: 0, maximum: TASK_UID_MAX, 'x-code': 'invalid_task_from' },
    reverse: { type: 'boolean', default: false, 'x-code': 'invalid_task_reverse' },
    ...FILTERS,
  },
  additionalProperties: false,
};

export const FILTER_TASKS_QUERY: Schema = {
  type: 'object',
  properties: FILTERS,
  additionalProperties: false,
};

/** As parsed: a filter given as `*` is present and undefined. */
export type TaskFilterQuery = { [K in keyof TaskFilter]?: TaskFilter[K] | undefined };

export interface ListTasksQuery extends TaskFilterQuery {
  limit?: number;
  from?: number;
  reverse?: boolean;
}

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
