import type { JsonFloat } from '../base/json.ts';
import type { ErrorBody } from './errors.ts';
import type { FilterOfTasks, TaskDetails, TaskNetwork, TaskStatus } from './task-types/fields.ts';
import type { TaskType } from './task-types.ts';

export {
  type ExactDates,
  type IndexVisibility,
  TASK_STATUSES,
  TASK_UID_MAX,
  type TaskDetails,
  type TaskNetwork,
  type TaskStatus,
} from './task-types/fields.ts';
export { TASK_TYPES, TASK_WORDS, type TaskRequest, type TaskType } from './task-types.ts';
export type { DocumentMethod, TaskPayload } from './task-types/documents.ts';
export type { IndexSwapPair } from './task-types/indexes.ts';
export type { ExportRequest } from './task-types/server.ts';

/** A task as the API shows it. Keys in this order; dates are RFC 3339 in UTC. */
export interface TaskView {
  uid: number;
  batchUid: number | null;
  indexUid: string | null;
  status: TaskStatus;
  type: TaskType;
  canceledBy: number | null;
  /** null only for types without details. */
  details: TaskDetails | null;
  error: ErrorBody | null;
  /** ISO 8601, see `isoDuration`. */
  duration: string | null;
  enqueuedAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  network?: TaskNetwork;
  customMetadata?: string;
}

/** The body of a 202. Keys in this order. */
export interface TaskSummary {
  taskUid: number;
  indexUid: string | null;
  status: 'enqueued';
  type: TaskType;
  enqueuedAt: string;
  customMetadata?: string;
}

export interface ProgressView {
  steps: { currentStep: string; finished: number; total: number }[];
  percentage: JsonFloat;
}

export interface BatchStats {
  totalNbTasks: number;
  status: Partial<Record<TaskStatus, number>>;
  types: Partial<Record<TaskType, number>>;
  indexUids: Record<string, number>;
  progressTrace?: Record<string, string>;
  internalDatabaseSizes?: Record<string, string>;
  embedderRequests?: { total: number; failed: number; lastError?: string };
}

/** A batch as the API shows it. Keys in this order. */
export interface BatchView {
  uid: number;
  progress: ProgressView | null;
  details: TaskDetails;
  stats: BatchStats;
  duration: string | null;
  startedAt: string;
  finishedAt: string | null;
  batchStrategy: string;
}

export interface TaskPage<T> {
  results: T[];
  total: number;
  limit: number;
  from: number | null;
  next: number | null;
}

/** Numbers of tasks, as filters with one value find them. */
export interface TaskTotals {
  ofStatus(status: TaskStatus): number;
  ofType(type: TaskType): number;
  readonly byIndex: ReadonlyMap<string, number>;
}

export type TaskFilter = FilterOfTasks<TaskType>;

export interface TaskPaging {
  limit: number;
  from: number | null;
  reverse: boolean;
}

/**
 * ISO 8601 with days and seconds only: the fraction has the fewest of 3, 6 or 9 digits that are
 * exact.
 * @returns null for a negative difference
 */
export function isoDuration(ms: number): string | null {
  if (!(ms >= 0)) return null;
  const days = Math.floor(ms / 86_400_000);
  const rest = ms - days * 86_400_000;
  if (rest === 0) return days === 0 ? 'PT0S' : `P${days}D`;
  const nanos = Math.round(rest * 1_000_000);
  const seconds = Math.floor(nanos / 1_000_000_000);
  let fraction = String(nanos % 1_000_000_000).padStart(9, '0');
  while (fraction.endsWith('000')) fraction = fraction.slice(0, -3);
  return `P${days === 0 ? '' : `${days}D`}T${seconds}${fraction === '' ? '' : `.${fraction}`}S`;
}
