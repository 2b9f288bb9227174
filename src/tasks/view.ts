import { rfc3339 } from '../base/clock.ts';
import { nanosOf } from '../base/exact-date.ts';
import { withFloats } from '../contract/settings.ts';
import { isoDuration, type ExactDates } from '../contract/tasks.ts';
import type { BatchView, TaskSummary, TaskView } from '../contract/responses.ts';
import type { TaskRecord } from '../store/memory-table.ts';
import type { BatchRow } from '../store/task-row.ts';
import type { TaskStore } from '../store/task-store.ts';
import { detailsOf, reportedDetails } from './details.ts';

/**
 * Tasks and batches as the API shows them. Internal times are milliseconds with microseconds as the
 * fraction.
 */

/** The dates of a task or batch that has ended, and its duration. */
function endedDates(
  startedAt: number,
  finishedAt: number,
  exact: ExactDates = {},
): { duration: string | null; startedAt: string; finishedAt: string } {
  const dates = {
    startedAt: exact.startedAt ?? rfc3339(startedAt),
    finishedAt: exact.finishedAt ?? rfc3339(finishedAt),
  };
  const nanos = nanosOf(dates.finishedAt)! - nanosOf(dates.startedAt)!;
  return { duration: isoDuration(Number(nanos) / 1_000_000), ...dates };
}

export function taskSummary(record: TaskRecord, customMetadata: string | undefined): TaskSummary {
  const summary: TaskSummary = {
    taskUid: record.uid,
    indexUid: record.indexUid,
    status: 'enqueued',
    type: record.type,
    enqueuedAt: rfc3339(record.enqueuedAt),
  };
  if (customMetadata !== undefined) summary.customMetadata = customMetadata;
  return summary;
}

/** Returns undefined when there is no such task. */
export function taskView(store: TaskStore, uid: number): TaskView | undefined {
  const record = store.record(uid);
  const row = store.row(uid);
  if (record === undefined || row === undefined) return undefined;
  const ended = record.finishedAt !== null;
  const outcome = ended ? store.outcome(uid) : undefined;
  const details = detailsOf(row, record.status, record.result, (n) => store.indexName(n));
  const { startedAt, finishedAt } = record;
  const dates =
    startedAt === null || finishedAt === null
      ? { duration: null, startedAt: startedAt === null ? null : rfc3339(startedAt) }
      : endedDates(startedAt, finishedAt, row.exactDates);
  const view: TaskView = {
    uid,
    batchUid: record.batchUid,
    indexUid: record.indexUid,
    status: record.status,
    type: record.type,
    canceledBy: record.canceledBy,
    details: outcome?.details === undefined ? details : { ...details, ...outcome.details },
    error: outcome?.error ?? null,
    duration: dates.duration,
    enqueuedAt: row.exactDates?.enqueuedAt ?? rfc3339(record.enqueuedAt),
    startedAt: dates.startedAt,
    finishedAt: 'finishedAt' in dates ? dates.finishedAt : null,
  };
  if (row.network !== undefined) view.network = row.network;
  if (row.customMetadata !== undefined) view.customMetadata = row.customMetadata;
  return view;
}

export function batchView(uid: number, row: BatchRow): BatchView {
  const details = reportedDetails(row.details);
  return {
    uid,
    progress: null,
    // The store does not distinguish integers from floats. If the batch has a change of settings,
    // its details are settings.
    details: row.stats.types.settingsUpdate === undefined ? details : withFloats(details),
    stats: row.stats,
    ...endedDates(row.startedAt, row.finishedAt, row.exactDates),
    batchStrategy: row.strategy,
  };
}
