import type { ErrorBody } from '../contract/errors.ts';
import type { ExactDates, TaskDetails } from '../contract/tasks.ts';
import type { BatchStats } from '../contract/responses.ts';

/** Properties of a finished task apart from its columns; absent for most. */
export interface TaskOutcome {
  error?: ErrorBody;
  /** Keys that replace or extend the details. */
  details?: TaskDetails;
}

/** A finished batch. Its tasks are those with its uid in the column `batchUid`. */
export interface BatchRow {
  /** Milliseconds with microseconds as the fraction. */
  startedAt: number;
  finishedAt: number;
  exactDates?: ExactDates;
  strategy: string;
  details: TaskDetails;
  stats: BatchStats;
}
