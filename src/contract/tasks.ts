import type { FilterOfTasks, TaskStatus } from './task-types/fields.ts';
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
