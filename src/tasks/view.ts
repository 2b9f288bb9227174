import { rfc3339 } from '../base/clock.ts';
import { withFloats } from '../contract/settings.ts';
import { isoDuration, type BatchView, type TaskSummary, type TaskView } from '../contract/tasks.ts';
import type { TaskRecord } from '../store/memory-table.ts';
import type { BatchRow } from '../store/task-row.ts';
import type { TaskStore } from '../store/task-store.ts';
import { detailsOf } from './details.ts';

/** Tasks and batches as the API shows them. Times inside are milliseconds with microseconds as fraction. */

export function durationText(startedAt: number, finishedAt: number): string | null {
  return isoDuration(Math.round((finishedAt - startedAt) * 1000) / 1000);
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

/** undefined: no such task. */
export function taskView(store: TaskStore, uid: number): TaskView | undefined {
  const record = store.record(uid);
  const row = store.row(uid);
  if (record === undefined || row === undefined) return undefined;
  const ended = record.finishedAt !== null;
  const outcome = ended ? store.outcome(uid) : undefined;
  const details = detailsOf(row, record.status, record.result, (n) => store.indexName(n));
  const view: TaskView = {
    uid,
    batchUid: record.batchUid,
    indexUid: record.indexUid,
    status: record.status,
    type: record.type,
    canceledBy: record.canceledBy,
    details: outcome?.details === undefined ? details : { ...details, ...outcome.details },
    error: outcome?.error ?? null,
    duration:
      record.startedAt === null || record.finishedAt === null
        ? null
        : durationText(record.startedAt, record.finishedAt),
    enqueuedAt: rfc3339(record.enqueuedAt),
    startedAt: record.startedAt === null ? null : rfc3339(record.startedAt),
    finishedAt: record.finishedAt === null ? null : rfc3339(record.finishedAt),
  };
  if (row.network !== undefined) view.network = row.network;
  if (row.customMetadata !== undefined) view.customMetadata = row.customMetadata;
  return view;
}

export function batchView(uid: number, row: BatchRow): BatchView {
  return {
    uid,
    progress: null,
    // Stored without the distinction. Those of a change of settings are settings, whatever else is in the batch.
    details: row.stats.types.settingsUpdate === undefined ? row.details : withFloats(row.details),
    stats: row.stats,
    duration: durationText(row.startedAt, row.finishedAt),
    startedAt: rfc3339(row.startedAt),
    finishedAt: rfc3339(row.finishedAt),
    batchStrategy: row.strategy,
  };
}
