import type { ErrorBody } from '../contract/errors.ts';
import type { BatchStats, ExactDates, TaskDetails } from '../contract/tasks.ts';

/** What a finished task has besides its columns; absent for most. */
export interface TaskOutcome {
  error?: ErrorBody;
  /** Replace or add keys of the details. */
  details?: TaskDetails;
}

/** A finished batch. Its tasks are those whose column `batchUid` names it. */
export interface BatchRow {
  /** Milliseconds, with microseconds as fraction. */
  startedAt: number;
  finishedAt: number;
  exactDates?: ExactDates;
  strategy: string;
  details: TaskDetails;
  stats: BatchStats;
}
