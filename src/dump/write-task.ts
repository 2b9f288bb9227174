/** Converts tasks and batches to lines of a dump; the inverse of `read-task.ts`. */
import { type TaskRow, taskTypeEntry } from '../contract/task-types.ts';
import type { WrittenTask } from '../contract/task-types/dump-form.ts';
import type { BatchView, TaskView } from '../contract/responses.ts';

type Json = Record<string, unknown>;

/** The data of a task line. */
export interface TaskSource extends Omit<WrittenTask, 'indexUid' | 'details'> {
  readonly row: TaskRow;
  readonly view: TaskView;
}

export function taskLine(source: TaskSource): Json {
  const { row, view } = source;
  const { dump } = taskTypeEntry(row.type);
  const shown = { indexUid: view.indexUid, details: view.details ?? {} };
  const { type, details } = dump.write(row, { ...source, ...shown });
  const line: Json = {
    uid: view.uid,
    batchUid: view.batchUid,
    indexUid: view.indexUid,
    status: view.status === 'processing' ? 'enqueued' : view.status,
    type,
    canceledBy: view.canceledBy,
    details,
    error: view.error,
    enqueuedAt: view.enqueuedAt,
    startedAt: view.status === 'processing' ? null : view.startedAt,
    finishedAt: view.finishedAt,
  };
  if (view.status === 'processing') line.batchUid = null;
  if (view.network !== undefined) line.network = view.network;
  if (view.customMetadata !== undefined) line.customMetadata = view.customMetadata;
  return line;
}

/** The line of a finished batch. */
export function batchLine(view: BatchView, enqueued: { first: string; last: string }): Json {
  const { uid, details, stats, startedAt, finishedAt, batchStrategy } = view;
  return {
    uid,
    details,
    stats,
    startedAt,
    finishedAt,
    enqueuedAt: { earliest: enqueued.last, oldest: enqueued.first },
    batchStrategy,
  };
}
