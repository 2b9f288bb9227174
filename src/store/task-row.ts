import type { ErrorBody } from '../contract/errors.ts';
import type {
  BatchStats,
  DocumentMethod,
  ExportRequest,
  TaskDetails,
  TaskType,
} from '../contract/tasks.ts';

/**
 * What a task was asked to do, stored once when it is registered. Index uids are not in here but in the
 * columns, as numbers, so that a swap of two indexes moves their history by exchanging two names.
 */
export type TaskRow = TaskRowBody & { customMetadata?: string };

type TaskRowBody =
  | {
      type: 'documentAdditionOrUpdate';
      method: DocumentMethod;
      format: 'json' | 'ndjson';
      documents: number;
      primaryKey: string | null;
      skipCreation: boolean;
    }
  /** The ids are in the payload, a JSON array of strings. */
  | { type: 'documentDeletion'; by: 'ids'; ids: number }
  | { type: 'documentDeletion'; by: 'filter'; filter: unknown }
  | { type: 'documentDeletion'; by: 'all' }
  | {
      type: 'documentEdition';
      function: string;
      context: Record<string, unknown> | null;
      filter: unknown;
    }
  | { type: 'settingsUpdate'; settings: Record<string, unknown> }
  | { type: 'indexCreation'; primaryKey: string | null }
  /** The uids are those of the request, for the details; `target` is the number of the new one. */
  | {
      type: 'indexUpdate';
      primaryKey: string | null;
      rename?: { oldUid: string; newUid: string; target: number };
    }
  | { type: 'indexDeletion' }
  /** Pairs of index numbers. */
  | { type: 'indexSwap'; swaps: { pair: [number, number]; rename: boolean }[] }
  | {
      type: 'taskCancelation' | 'taskDeletion';
      originalFilter: string;
      matchedTasks: number;
      /** Matched uids as runs: first, count, first, count, ... ascending. */
      matched: number[];
    }
  | { type: 'dumpCreation' }
  | { type: 'snapshotCreation' }
  | ExportRequest;

export type RowOf<T extends TaskType> = PickRow<TaskRow, T>;

type PickRow<R, T> = R extends { type: infer U } ? (T extends U ? R : never) : never;

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
  strategy: string;
  details: TaskDetails;
  stats: BatchStats;
}
