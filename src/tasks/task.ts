import type { TaskType } from '../contract/tasks.ts';
import type { TaskRecord } from '../store/memory-table.ts';
import { FLAG } from '../store/task-chunk.ts';

/** Kinds of tasks on one index, as the merging rules tell them apart. */
export type TaskKind =
  | 'add'
  | 'deleteIds'
  | 'deleteFilter'
  | 'clear'
  | 'settings'
  | 'indexDeletion'
  /** Always alone: edition, creation, update, swap. */
  | 'alone';

/** What the batcher looks at. */
export interface PendingTask {
  uid: number;
  type: TaskType;
  kind: TaskKind;
  mayCreateIndex: boolean;
  /** Of an addition: the `primaryKey` parameter. */
  primaryKey: string | null;
  /** Of an addition: a PUT. */
  update: boolean;
  payloadBytes: number;
}

export function kindOf(type: TaskType, flags: number): TaskKind {
  switch (type) {
    case 'documentAdditionOrUpdate':
      return 'add';
    case 'documentDeletion':
      if ((flags & FLAG.all) !== 0) return 'clear';
      return (flags & FLAG.byFilter) !== 0 ? 'deleteFilter' : 'deleteIds';
    case 'settingsUpdate':
      return 'settings';
    case 'indexDeletion':
      return 'indexDeletion';
    default:
      return 'alone';
  }
}

/** @param primaryKey reads the parameter; called only when the task has one */
export function pendingTask(record: TaskRecord, primaryKey: () => string | null): PendingTask {
  return {
    uid: record.uid,
    type: record.type,
    kind: kindOf(record.type, record.flags),
    mayCreateIndex: (record.flags & FLAG.mayCreateIndex) !== 0,
    primaryKey: (record.flags & FLAG.primaryKey) !== 0 ? primaryKey() : null,
    update: (record.flags & FLAG.update) !== 0,
    payloadBytes: record.payloadBytes,
  };
}
