import type { IndexVisibility, TaskFilter, TaskPaging } from '../contract/tasks.ts';
import {
  type ChunkSummary,
  FLAG,
  NONE,
  STATUS_CODES,
  type TaskChunk,
  TASKS_PER_CHUNK,
  type TimeSpan,
  TYPE_CODES,
} from './task-chunk.ts';

/**
 * Filters over the columns, without any index to keep up to date. Most chunks of 256 tasks are decided
 * whole by their summary; in the others each condition thins out a list of positions, which costs about
 * 1 ns per task and condition. Measured with perf/micro/task-store.bench.ts.
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

/** Which values of a column pass; the last element is 0 and stands for all greater ones. null: all pass. */
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
  const { reverse } = page;
  const selection = new Selection(table, conditionsOf(table, filter, visible));
  const from = page.from ?? (reverse ? 0 : Infinity);
  const wanted = page.limit + 1;
  const uids: number[] = [];
  let total = 0;

  if (filter.uids !== undefined) {
    const ascending = [...new Set(filter.uids)].sort((a, b) => a - b);
    for (const uid of reverse ? ascending : ascending.reverse()) {
      if (!selection.includes(uid)) continue;
      total++;
      if (uids.length < wanted && (reverse ? uid >= from : uid <= from)) uids.push(uid);
    }
    return { uids, total };
  }
  const chunkCount = table.chunks.length;
  for (let n = 0; n < chunkCount; n++) {
    const number = reverse ? n : chunkCount - 1 - n;
    const base = number * TASKS_PER_CHUNK;
    const onPage = uids.length < wanted && (reverse ? base + TASKS_PER_CHUNK > from : base <= from);
    if (selection.everything && uids.length === wanted) break;
    const count = onPage || !selection.everything ? selection.select(number, onPage) : 0;
    total += count;
    if (!onPage) continue;
    for (let k = 0; k < count && uids.length < wanted; k++) {
      const uid = base + selection.positions[reverse ? k : count - 1 - k]!;
      if (reverse ? uid >= from : uid <= from) uids.push(uid);
    }
  }
  return { uids, total: selection.everything ? table.taskCount : total };
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
      if (batch < size) matched[batch] = 1;
    }
  }
  for (const conditions of batchConditions(table, whole)) {
    const bit = all + 1;
    all |= bit;
    const selection = new Selection(table, conditions);
    table.chunks.forEach((chunk, number) => {
      if (chunk === undefined || chunk.summary.batchMax < 0) return;
      const count = selection.select(number, true);
      for (let k = 0; k < count; k++) {
        const batch = chunk.batchUid[selection.positions[k]!]!;
        if (batch < size) matched[batch]! |= bit;
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

/** The conditions that a batch must meet each by one of its tasks. */
function batchConditions(table: TaskTable, whole: Conditions): Conditions[] {
  const parts: Partial<Conditions>[] = [];
  const { status, type, index, visible, canceledBy, enqueued, started, finished } = whole;
  if (visible !== null) parts.push({ visible });
  if (status !== null) parts.push({ status });
  if (type !== null) parts.push({ type });
  if (index !== null) parts.push({ index });
  if (canceledBy !== null) parts.push({ canceledBy });
  if (enqueued !== null) {
    // The most recent task is after the bound, the oldest one before it.
    parts.push({ enqueued: { after: enqueued.after, before: Infinity } });
    parts.push({ enqueued: { after: -Infinity, before: enqueued.before } });
  }
  if (started !== null) parts.push({ started });
  if (finished !== null) parts.push({ finished });
  const none = conditionsOf(table, {}, null);
  return parts.map((part) => ({ ...none, ...part }));
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

function conditionsOf(table: TaskTable, filter: TaskFilter, visible: IndexVisibility): Conditions {
  return {
    status: maskOf(
      filter.statuses?.map((status) => STATUS_CODES[status]),
      8,
    ),
    type: maskOf(
      filter.types?.map((type) => TYPE_CODES[type]),
      32,
    ),
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
  const mask = new Uint8Array(size + 1);
  for (const code of codes) if (code < size) mask[code] = 1;
  return mask;
}

function visibleMask(table: TaskTable, visible: (uid: string) => boolean): Uint8Array {
  const mask = new Uint8Array(table.indexNumberCount + 1);
  for (let n = 0; n < table.indexNumberCount; n++) mask[n] = visible(table.indexName(n)!) ? 1 : 0;
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

const ALL_POSITIONS = Uint16Array.from({ length: TASKS_PER_CHUNK }, (_, i) => i);

/** The tasks of one chunk after another that meet all conditions. */
class Selection {
  /** Positions in the chunk last selected, ascending; as many as `select` has returned. */
  readonly positions = new Uint16Array(TASKS_PER_CHUNK);
  /** There is no condition. */
  readonly everything: boolean;
  readonly #table: TaskTable;
  readonly #conditions: Conditions;
  readonly #batchMin: number;
  readonly #batchMax: number;
  readonly #statusBits: number;
  readonly #typeBits: number;

  constructor(table: TaskTable, conditions: Conditions) {
    this.#table = table;
    this.#conditions = conditions;
    this.everything = Object.values(conditions).every((condition) => condition === null);
    this.#statusBits = bitsOf(conditions.status);
    this.#typeBits = bitsOf(conditions.type);
    const batches = [...(conditions.batchUid ?? [])];
    this.#batchMin = batches.reduce((a, b) => Math.min(a, b), Infinity);
    this.#batchMax = batches.reduce((a, b) => Math.max(a, b), -1);
  }

  includes(uid: number): boolean {
    const count = this.select(Math.floor(uid / TASKS_PER_CHUNK), true);
    return this.positions.subarray(0, count).includes(uid % TASKS_PER_CHUNK);
  }

  /**
   * @param list false: only the number is wanted, and `positions` may be left as it is
   * @returns how many tasks of the chunk meet the conditions
   */
  select(number: number, list: boolean): number {
    const chunk = this.#table.chunks[number];
    if (chunk === undefined) return 0;
    const { status, type, index, visible, canceledBy, batchUid } = this.#conditions;
    const { summary } = chunk;
    if (canceledBy !== null && !summary.anyCanceled) return 0;
    if (batchUid !== null && !this.#meetsBatches(summary)) return 0;
    const byStatus = decide(summary.statuses, this.#statusBits);
    const byType = decide(summary.types, this.#typeBits);
    const byEnqueued = decideTime(summary.enqueued, this.#conditions.enqueued);
    const byStarted = decideTime(summary.started, this.#conditions.started);
    const byFinished = decideTime(summary.finished, this.#conditions.finished);
    if (
      byStatus === NO ||
      byType === NO ||
      byEnqueued === NO ||
      byStarted === NO ||
      byFinished === NO
    ) {
      return 0;
    }
    const byIndex = index !== null || visible !== null;
    if (!list) {
      const scans =
        (byIndex ? 1 : 0) +
        (canceledBy !== null ? 1 : 0) +
        (batchUid !== null ? 1 : 0) +
        (byStatus === SOME ? 1 : 0) +
        (byType === SOME ? 1 : 0) +
        (byEnqueued === SOME ? 1 : 0) +
        (byStarted === SOME ? 1 : 0) +
        (byFinished === SOME ? 1 : 0);
      if (scans === 0) return summary.count;
      if (scans === 1 && byStatus === SOME) return countStatuses(summary, status!);
      if (scans === 1 && byIndex && !summary.linked && summary.count === TASKS_PER_CHUNK) {
        if (visible === null) return countMask(chunk.index, index!);
        if (index === null) return countMask(chunk.index, visible);
      }
    }

    const { positions } = this;
    let count = TASKS_PER_CHUNK;
    if (summary.count === TASKS_PER_CHUNK) positions.set(ALL_POSITIONS);
    else count = livePositions(positions, chunk.type);
    if (byStatus === SOME) count = keepBytes(positions, count, chunk.status, status!);
    if (byType === SOME) count = keepBytes(positions, count, chunk.type, type!);
    if (byEnqueued === SOME) {
      count = keepTimes(positions, count, chunk.enqueuedAt, this.#conditions.enqueued!);
    }
    if (byStarted === SOME) {
      count = keepTimes(positions, count, chunk.startedAt, this.#conditions.started!);
    }
    if (byFinished === SOME) {
      count = keepTimes(positions, count, chunk.finishedAt, this.#conditions.finished!);
    }
    if (batchUid !== null) count = keepSet(positions, count, chunk.batchUid, batchUid);
    if (canceledBy !== null) count = keepSet(positions, count, chunk.canceledBy, canceledBy);
    if (!byIndex) return count;
    if (summary.linked) return this.#keepIndexes(chunk, number * TASKS_PER_CHUNK, count);
    if (index !== null) count = keepMask(positions, count, chunk.index, index);
    if (visible !== null) count = keepMask(positions, count, chunk.index, visible);
    return count;
  }

  #meetsBatches({ batchMin, batchMax }: ChunkSummary): boolean {
    return batchMin <= this.#batchMax && this.#batchMin <= batchMax;
  }

  /** For chunks with tasks of several indexes. */
  #keepIndexes(chunk: TaskChunk, base: number, count: number): number {
    const { index, visible } = this.#conditions;
    const { positions } = this;
    let kept = 0;
    for (let k = 0; k < count; k++) {
      const i = positions[k]!;
      const numbers =
        (chunk.flags[i]! & FLAG.linked) === 0
          ? [chunk.index[i]!]
          : this.#table.linked.get(base + i)!;
      if (index !== null) {
        const asked = (number: number): boolean => index[number] === 1;
        // A swap is found by the filter only when all its indexes are named; a renaming by either.
        const found = chunk.type[i] === SWAP ? numbers.every(asked) : numbers.some(asked);
        if (!found) continue;
      }
      if (visible !== null && !numbers.every((number) => visible[number] === 1)) continue;
      positions[kept++] = i;
    }
    return kept;
  }
}

const SWAP = TYPE_CODES.indexSwap;

/** How many tasks of a chunk meet a condition. */
const NO = 0;
const SOME = 1;
const YES = 2;

function bitsOf(mask: Mask): number {
  if (mask === null) return -1;
  return mask.reduce((bits, passes, code) => (passes === 1 ? bits | (1 << code) : bits), 0);
}

function decide(present: number, wanted: number): number {
  if ((present & wanted) === 0) return NO;
  return (present & ~wanted) === 0 ? YES : SOME;
}

function decideTime({ min, max, complete }: TimeSpan, bounds: Bounds | null): number {
  if (bounds === null) return YES;
  if (max <= bounds.after || min >= bounds.before) return NO;
  return complete && min > bounds.after && max < bounds.before ? YES : SOME;
}

function livePositions(positions: Uint16Array, types: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < TASKS_PER_CHUNK; i++) if (types[i] !== 0) positions[count++] = i;
  return count;
}

// Each keeps the positions whose value passes and returns their number. No branch depends on the data in
// those with a mask: what passes is seldom predictable. One function per kind of column, because code that
// sees several kinds of typed arrays runs at half the speed.

/** REQUIRES: the mask covers all values. */
function keepBytes(
  positions: Uint16Array,
  count: number,
  column: Uint8Array,
  mask: Uint8Array,
): number {
  let kept = 0;
  for (let k = 0; k < count; k++) {
    const i = positions[k]!;
    positions[kept] = i;
    kept += mask[column[i]!]!;
  }
  return kept;
}

/** A value beyond the mask does not pass. */
function keepMask(
  positions: Uint16Array,
  count: number,
  column: Uint32Array,
  mask: Uint8Array,
): number {
  const last = mask.length - 1;
  let kept = 0;
  for (let k = 0; k < count; k++) {
    const i = positions[k]!;
    const value = column[i]!;
    positions[kept] = i;
    kept += mask[value < last ? value : last]!;
  }
  return kept;
}

function countMask(column: Uint32Array, mask: Uint8Array): number {
  const last = mask.length - 1;
  let count = 0;
  for (let i = 0; i < TASKS_PER_CHUNK; i++) {
    const value = column[i]!;
    count += mask[value < last ? value : last]!;
  }
  return count;
}

function countStatuses({ statusCounts }: ChunkSummary, mask: Uint8Array): number {
  let count = 0;
  for (let code = 0; code < statusCounts.length; code++) count += statusCounts[code]! * mask[code]!;
  return count;
}

function keepSet(
  positions: Uint16Array,
  count: number,
  column: Uint32Array,
  set: ReadonlySet<number>,
): number {
  let kept = 0;
  for (let k = 0; k < count; k++) {
    const i = positions[k]!;
    if (set.has(column[i]!)) positions[kept++] = i;
  }
  return kept;
}

/** NaN, the absent date, is within no bounds. */
function keepTimes(
  positions: Uint16Array,
  count: number,
  column: Float64Array,
  { after, before }: Bounds,
): number {
  let kept = 0;
  for (let k = 0; k < count; k++) {
    const i = positions[k]!;
    const time = column[i]!;
    if (time > after && time < before) positions[kept++] = i;
  }
  return kept;
}
