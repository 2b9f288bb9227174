import type { IndexVisibility, TaskFilter, TaskPaging } from '../contract/tasks.ts';
import {
  FLAG,
  NONE,
  STATUS_CODES,
  type TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_CODES,
} from './task-chunk.ts';

/**
 * Filters over the columns. One pass over all tasks costs 2 to 4 ns per task whatever the filter, so
 * that 1 M tasks are counted in a few milliseconds without any index to keep up to date.
 */
export interface TaskTable {
  readonly chunks: readonly (TaskChunk | undefined)[];
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

/** `uids`: in the order of the page, at most one more than its limit. `total` ignores the page. */
export interface Matches {
  uids: number[];
  total: number;
}

/** Which values of a column pass; null: all. */
type Mask = Uint8Array | null;

interface Conditions {
  status: Mask;
  type: Mask;
  index: Mask;
  visible: Mask;
  canceledBy: ReadonlySet<number> | null;
  batchUid: ReadonlySet<number> | null;
  /** Exclusive bounds. */
  enqueued: Bounds | null;
  started: Bounds | null;
  finished: Bounds | null;
}

interface Bounds {
  after: number;
  before: number;
}

export function matchTasks(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
  page: TaskPaging,
): Matches {
  const conditions = conditionsOf(table, filter, visible);
  const test = tester(table, conditions);
  const from = page.from ?? (page.reverse ? 0 : Infinity);
  const wanted = page.limit + 1;
  const uids: number[] = [];
  let total = 0;
  const take = (uid: number): void => {
    total++;
    if (uids.length < wanted && (page.reverse ? uid >= from : uid <= from)) uids.push(uid);
  };

  if (filter.uids !== undefined) {
    const ascending = [...new Set(filter.uids)].sort((a, b) => a - b);
    for (const uid of page.reverse ? ascending : ascending.reverse()) {
      const chunk = table.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
      if (chunk !== undefined && test(chunk, uid % TASKS_PER_CHUNK, uid)) take(uid);
    }
    return { uids, total };
  }
  const unfiltered = Object.values(conditions).every((condition) => condition === null);
  const count = table.chunks.length;
  for (let n = 0; n < count; n++) {
    const number = page.reverse ? n : count - 1 - n;
    const chunk = table.chunks[number];
    if (chunk === undefined) continue;
    const base = number * TASKS_PER_CHUNK;
    for (let k = 0; k < TASKS_PER_CHUNK; k++) {
      const i = page.reverse ? k : TASKS_PER_CHUNK - 1 - k;
      if (test(chunk, i, base + i)) take(base + i);
    }
    if (unfiltered && uids.length === wanted) break;
  }
  return { uids, total: unfiltered ? table.taskCount : total };
}

/**
 * A batch matches when, for each condition, one of its tasks meets it (not necessarily the same one).
 * `filter.uids` are task uids; the page counts batch uids.
 */
export function matchBatches(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
  page: TaskPaging,
): Matches {
  const whole = conditionsOf(table, filter, visible);
  const none = conditionsOf(table, {}, null);
  const parts: Tester[] = [];
  const part = (conditions: Partial<Conditions>): void => {
    parts.push(tester(table, { ...none, ...conditions }));
  };
  const { status, type, index, canceledBy, enqueued, started, finished } = whole;
  if (whole.visible !== null) part({ visible: whole.visible });
  if (status !== null) part({ status });
  if (type !== null) part({ type });
  if (index !== null) part({ index });
  if (canceledBy !== null) part({ canceledBy });
  if (enqueued !== null) {
    // The most recent task is after the bound, the oldest one before it.
    part({ enqueued: { after: enqueued.after, before: Infinity } });
    part({ enqueued: { after: -Infinity, before: enqueued.before } });
  }
  if (started !== null) part({ started });
  if (finished !== null) part({ finished });

  const size = table.nextBatchUid;
  const matched = new Uint16Array(size);
  let all = 0;
  if (filter.uids !== undefined) {
    all = 1;
    for (const uid of filter.uids) {
      const chunk = table.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
      const i = uid % TASKS_PER_CHUNK;
      if (chunk === undefined || chunk.type[i] === 0) continue;
      const batch = chunk.batchUid[i]!;
      if (batch < size) matched[batch]! |= 1;
    }
  }
  if (parts.length > 0) {
    const shift = filter.uids === undefined ? 0 : 1;
    all |= ((1 << parts.length) - 1) << shift;
    table.chunks.forEach((chunk, number) => {
      if (chunk === undefined) return;
      for (let i = 0; i < TASKS_PER_CHUNK; i++) {
        const batch = chunk.batchUid[i]!;
        if (batch >= size || chunk.type[i] === 0 || matched[batch] === all) continue;
        for (let p = 0; p < parts.length; p++) {
          if (parts[p]!(chunk, i, number * TASKS_PER_CHUNK + i)) matched[batch]! |= 1 << (p + shift);
        }
      }
    });
  }

  const from = page.from ?? (page.reverse ? 0 : Infinity);
  const wanted = page.limit + 1;
  const uids: number[] = [];
  let total = 0;
  const consider = (uid: number): void => {
    if (uid >= size || table.batchTasks[uid] === 0 || matched[uid] !== all) return;
    total++;
    if (uids.length < wanted && (page.reverse ? uid >= from : uid <= from)) uids.push(uid);
  };
  if (whole.batchUid !== null) {
    const ascending = [...whole.batchUid].sort((a, b) => a - b);
    (page.reverse ? ascending : ascending.reverse()).forEach(consider);
  } else if (page.reverse) for (let uid = 0; uid < size; uid++) consider(uid);
  else for (let uid = size - 1; uid >= 0; uid--) consider(uid);
  return { uids, total };
}

/** Whether a caller may see one task. */
export function isVisible(table: TaskTable, uid: number, visible: IndexVisibility): boolean {
  const chunk = table.chunks[Math.floor(uid / TASKS_PER_CHUNK)];
  const i = uid % TASKS_PER_CHUNK;
  if (chunk === undefined || chunk.type[i] === 0) return false;
  if (visible === null) return true;
  const numbers = table.linked.get(uid) ?? [chunk.index[i]!];
  return numbers.every((number) => {
    const name = table.indexName(number);
    return name !== null && visible(name);
  });
}

/** Whether a caller may see one batch. */
export function isBatchVisible(table: TaskTable, uid: number, visible: IndexVisibility): boolean {
  if (uid >= table.nextBatchUid || table.batchTasks[uid] === 0) return false;
  if (visible === null) return true;
  const page = { limit: 1, from: null, reverse: false };
  return matchTasks(table, { batchUids: [uid] }, visible, page).total > 0;
}

function conditionsOf(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
): Conditions {
  return {
    status: maskOf(filter.statuses?.map((status) => STATUS_CODES[status]), 8),
    type: maskOf(filter.types?.map((type) => TYPE_CODES[type]), 32),
    index: maskOf(
      filter.indexUids?.map((uid) => table.indexNumber(uid) ?? NONE),
      table.indexNumberCount,
    ),
    visible: visible === null ? null : visibleMask(table, visible),
    canceledBy: setOf(filter.canceledBy),
    batchUid: setOf(filter.batchUids),
    enqueued: boundsOf(filter.afterEnqueuedAt, filter.beforeEnqueuedAt),
    started: boundsOf(filter.afterStartedAt, filter.beforeStartedAt),
    finished: boundsOf(filter.afterFinishedAt, filter.beforeFinishedAt),
  };
}

function maskOf(codes: readonly number[] | undefined, size: number): Mask {
  if (codes === undefined) return null;
  const mask = new Uint8Array(size);
  for (const code of codes) if (code < size) mask[code] = 1;
  return mask;
}

function visibleMask(table: TaskTable, visible: (uid: string) => boolean): Uint8Array {
  const mask = new Uint8Array(table.indexNumberCount);
  for (let n = 0; n < mask.length; n++) mask[n] = visible(table.indexName(n)!) ? 1 : 0;
  return mask;
}

function setOf(values: readonly number[] | undefined): ReadonlySet<number> | null {
  // NONE stands for "no value" in the columns and is no uid that a task could have.
  return values === undefined ? null : new Set(values.filter((value) => value !== NONE));
}

function boundsOf(after: number | undefined, before: number | undefined): Bounds | null {
  if (after === undefined && before === undefined) return null;
  return { after: after ?? -Infinity, before: before ?? Infinity };
}

type Tester = (chunk: TaskChunk, i: number, uid: number) => boolean;

function tester(table: TaskTable, conditions: Conditions): Tester {
  const { status, type, index, visible, canceledBy, batchUid } = conditions;
  const { enqueued, started, finished } = conditions;
  return (chunk, i, uid) => {
    if (chunk.type[i] === 0) return false;
    if (status !== null && status[chunk.status[i]!] === 0) return false;
    if (type !== null && type[chunk.type[i]!] === 0) return false;
    if (index !== null || visible !== null) {
      if ((chunk.flags[i]! & FLAG.linked) === 0) {
        // A number beyond the mask is NONE: the task belongs to no index.
        const number = chunk.index[i]!;
        if (index !== null && index[number] !== 1) return false;
        if (visible !== null && visible[number] !== 1) return false;
      } else {
        const numbers = table.linked.get(uid)!;
        if (index !== null && !numbers.some((number) => index[number] === 1)) return false;
        if (visible !== null && !numbers.every((number) => visible[number] === 1)) return false;
      }
    }
    if (canceledBy !== null && !canceledBy.has(chunk.canceledBy[i]!)) return false;
    if (batchUid !== null && !batchUid.has(chunk.batchUid[i]!)) return false;
    // NaN, the absent date, is within no bounds.
    if (enqueued !== null && !within(chunk.enqueuedAt[i]!, enqueued)) return false;
    if (started !== null && !within(chunk.startedAt[i]!, started)) return false;
    if (finished !== null && !within(chunk.finishedAt[i]!, finished)) return false;
    return true;
  };
}

function within(time: number, { after, before }: Bounds): boolean {
  return time > after && time < before;
}
