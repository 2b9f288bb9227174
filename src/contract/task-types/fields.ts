/** Types that the entries of the registry share. */

export const TASK_STATUSES = ['enqueued', 'processing', 'succeeded', 'failed', 'canceled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** Greatest uid of a task or batch. */
export const TASK_UID_MAX = 4_294_967_295;

export type TaskDetails = Record<string, unknown>;

/** For a write in a network: its outcome on other servers, or its origin. */
export type TaskNetwork =
  | { remotes: Record<string, { task_uid: number } | { error: string }> }
  | { origin: { remoteName: string; taskUid: number } };

/**
 * Dates of an import that milliseconds cannot represent exactly: RFC 3339 in UTC, with nanoseconds.
 */
export interface ExactDates {
  enqueuedAt?: string;
  startedAt?: string;
  finishedAt?: string;
}

/**
 * Absent: no condition. An empty list matches nothing. Conditions are joined by AND, list elements
 * by OR.
 */
export interface FilterOfTasks<Type extends string> {
  uids?: number[];
  batchUids?: number[];
  canceledBy?: number[];
  types?: Type[];
  statuses?: TaskStatus[];
  indexUids?: string[];
  /** Milliseconds; strict comparisons. */
  afterEnqueuedAt?: number;
  beforeEnqueuedAt?: number;
  afterStartedAt?: number;
  beforeStartedAt?: number;
  afterFinishedAt?: number;
  beforeFinishedAt?: number;
}

/**
 * `null` when the caller may see every index; otherwise whether it may see the index with that uid.
 * Global tasks are shown only to callers whose visibility is null (an indexSwap also when all its
 * indexes are visible).
 */
export type IndexVisibility = null | ((indexUid: string) => boolean);
