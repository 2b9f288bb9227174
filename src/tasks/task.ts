import { type TaskType, taskTypeEntry } from '../contract/task-types.ts';
import type { TaskRecord } from '../store/memory-table.ts';
import { FLAG, type TaskKind } from '../contract/task-types/task-type.ts';

/** The properties of a task that the batcher needs. */
export interface PendingTask {
  uid: number;
  type: TaskType;
  kind: TaskKind;
  mayCreateIndex: boolean;
  /** The `primaryKey` parameter of an addition. */
  primaryKey: string | null;
  /** Whether this is an addition by PUT. */
  update: boolean;
  payloadBytes: number;
  /** See `FLAG`. */
  followed: boolean;
}

/** How the task is merged with others on its index; `alone` for types in `TYPES_BY_PRIORITY`. */
export function kindOf(type: TaskType, flags: number): TaskKind {
  const { batching } = taskTypeEntry(type);
  return 'kind' in batching ? batching.kind(flags) : 'alone';
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
    followed: (record.flags & FLAG.followed) !== 0,
  };
}
