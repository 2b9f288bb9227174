import type { IndexVisibility, TaskFilter } from '../contract/tasks.ts';
import { NONE, STATUS_CODES, type TaskChunk, TYPE_CODES } from './task-chunk.ts';
import type { TaskDigest } from './task-digest.ts';
import { type Bounds, SEVERAL, type UidSet } from './task-kinds.ts';

/** The data that filters are applied to. */
export interface TaskTable {
  readonly chunks: readonly (TaskChunk | undefined)[];
  readonly digest: TaskDigest;
  readonly batchTasks: Uint32Array;
  readonly taskCount: number;
  readonly batchCount: number;
  readonly nextTaskUid: number;
  readonly nextBatchUid: number;
  readonly linked: ReadonlyMap<number, readonly number[]>;
  readonly indexNumberCount: number;
  indexNumber(uid: string): number | undefined;
  indexName(number: number): string | null;
}

/** A condition that is null is met by every task. */
export interface Conditions {
  uids: readonly number[] | null;
  /** One bit per status code. */
  status: number | null;
  type: number | null;
  index: IndexMask | null;
  visible: IndexMask | null;
  /**
   * 1 at uid + 1 of each task that passes; at 0, for tasks that were not canceled, 0. Covers all
   * uids.
   */
  canceledBy: Uint8Array | null;
  batchUid: UidSet | null;
  /** Exclusive bounds. */
  enqueued: Bounds | null;
  started: Bounds | null;
  finished: Bounds | null;
}

/**
 * 1 at the number of each index that passes, minus `SEVERAL`. A task without an index never passes.
 */
export type IndexMask = Uint8Array;

/** Converts a filter to the form that is compared with the columns. */
export function conditionsOf(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
): Conditions {
  return {
    uids: filter.uids ?? null,
    status: bitsOf(filter.statuses?.map((status) => STATUS_CODES[status])),
    type: bitsOf(filter.types?.map((type) => TYPE_CODES[type])),
    index: filter.indexUids === undefined ? null : namedMask(table, filter.indexUids),
    visible: visible === null ? null : visibleMask(table, visible),
    canceledBy: uidMask(filter.canceledBy, table.nextTaskUid),
    batchUid: uidSet(filter.batchUids),
    enqueued: boundsOf(filter.afterEnqueuedAt, filter.beforeEnqueuedAt),
    started: boundsOf(filter.afterStartedAt, filter.beforeStartedAt),
    finished: boundsOf(filter.afterFinishedAt, filter.beforeFinishedAt),
  };
}

function bitsOf(codes: readonly number[] | undefined): number | null {
  return codes === undefined ? null : codes.reduce((bits, code) => bits | (1 << code), 0);
}

function namedMask(table: TaskTable, uids: readonly string[]): IndexMask {
  const mask = new Uint8Array(table.indexNumberCount - SEVERAL);
  for (const uid of uids) {
    const number = table.indexNumber(uid);
    if (number !== undefined) mask[number - SEVERAL] = 1;
  }
  return mask;
}

function visibleMask(table: TaskTable, visible: (uid: string) => boolean): IndexMask {
  const mask = new Uint8Array(table.indexNumberCount - SEVERAL);
  for (let n = 0; n < table.indexNumberCount; n++) {
    mask[n - SEVERAL] = visible(table.indexName(n)!) ? 1 : 0;
  }
  return mask;
}

function uidSet(values: readonly number[] | undefined): UidSet | null {
  if (values === undefined) return null;
  // `NONE` means "no value" in the columns. No task has it as its uid.
  const uids = values.filter((value) => value !== NONE);
  if (uids.length === 0) return { min: 0, span: -1, bits: new Uint32Array(1) };
  // As 32-bit integers, with which V8 computes faster.
  const min = uids.reduce((a, b) => Math.min(a, b)) >>> 0;
  const span = (uids.reduce((a, b) => Math.max(a, b)) - min) >>> 0;
  const bits = new Uint32Array((span >>> 5) + 2);
  for (const uid of uids) bits[(uid - min) >>> 5]! |= 1 << ((uid - min) & 31);
  return { min, span, bits };
}

function uidMask(uids: readonly number[] | undefined, end: number): Uint8Array | null {
  if (uids === undefined) return null;
  const mask = new Uint8Array(end + 1);
  for (const uid of uids) if (uid < end) mask[uid + 1] = 1;
  return mask;
}

function boundsOf(after: number | undefined, before: number | undefined): Bounds | null {
  if (after === undefined && before === undefined) return null;
  return { after: after ?? -Infinity, before: before ?? Infinity };
}
