import type { IndexVisibility, TaskFilter, TaskPaging } from '../contract/tasks.ts';
import { NONE, STATUS_CODES, TASKS_PER_CHUNK, type TaskChunk, TYPE_CODES } from './task-chunk.ts';
import {
  CHUNK_PLANE_WORDS,
  PLANE_WORDS,
  SEVERAL,
  SPAN,
  SPAN_NUMBERS,
  STATUS_PLANES,
  type TaskDigest,
  TRAIT,
  TYPE_PLANES,
} from './task-digest.ts';

/**
 * Filters over the digest of the chunks. Most chunks of 256 tasks are decided whole by what their tasks have
 * in common. In the others statuses, types and a range of `enqueuedAt` are a few operations on words of bits;
 * each other condition is checked once per group, which costs 1 to 2 ns. perf/micro/task-query.bench.ts
 * measures it.
 */
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

/** `uids`: in the order of the page, at most one more than its limit. `total` ignores the page. */
export interface Matches {
  uids: number[];
  total: number;
}

/** A condition that is null lets every task pass. */
interface Conditions {
  /** Bit per task uid, 32 in a word; what lies beyond does not pass. */
  uids: Uint32Array | null;
  /** Bit per code. */
  status: number | null;
  type: number | null;
  index: IndexMask | null;
  visible: IndexMask | null;
  canceledBy: UidSet | null;
  batchUid: UidSet | null;
  /** Exclusive bounds. */
  enqueued: Bounds | null;
  started: Bounds | null;
  finished: Bounds | null;
}

interface Bounds {
  after: number;
  before: number;
}

/** 1 at the number of each index that passes, plus one: `NONE` is at 0 and does not pass. */
type IndexMask = Uint8Array;

/** Uids from `min` to `min + span`, as bits; the word behind the last is 0. Empty: `span` is -1. */
interface UidSet {
  min: number;
  span: number;
  bits: Uint32Array;
}

export function matchTasks(
  table: TaskTable,
  filter: TaskFilter,
  visible: IndexVisibility,
  page: TaskPaging,
): Matches {
  const { reverse } = page;
  const conditions = conditionsOf(table, filter, visible);
  const selection = new Selection(table, conditions);
  const everything = Object.values(conditions).every((condition) => condition === null);
  const from = page.from ?? (reverse ? 0 : Infinity);
  const wanted = page.limit + 1;
  const uids: number[] = [];
  let total = 0;

  const chunkCount = table.chunks.length;
  for (let n = 0; n < chunkCount; n++) {
    if (everything && uids.length === wanted) break;
    const number = reverse ? n : chunkCount - 1 - n;
    const count = selection.count(number);
    total += count;
    const base = number * TASKS_PER_CHUNK;
    const onPage = uids.length < wanted && (reverse ? base + TASKS_PER_CHUNK > from : base <= from);
    if (count === 0 || !onPage) continue;
    const positions = selection.positions(number);
    if (!reverse) positions.reverse();
    for (const i of positions) {
      if (uids.length === wanted) break;
      if (reverse ? base + i >= from : base + i <= from) uids.push(base + i);
    }
  }
  return { uids, total: everything ? table.taskCount : total };
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
    for (let number = 0; number < table.chunks.length; number++) {
      selection.markBatches(number, matched, bit);
    }
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
    const ascending = [...new Set(filter.batchUids)].sort((a, b) => a - b);
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
    uids: filter.uids === undefined ? null : uidBits(filter.uids, table.chunks.length),
    status: bitsOf(filter.statuses?.map((status) => STATUS_CODES[status])),
    type: bitsOf(filter.types?.map((type) => TYPE_CODES[type])),
    index: filter.indexUids === undefined ? null : namedMask(table, filter.indexUids),
    visible: visible === null ? null : visibleMask(table, visible),
    canceledBy: uidSet(filter.canceledBy),
    batchUid: uidSet(filter.batchUids),
    enqueued: boundsOf(filter.afterEnqueuedAt, filter.beforeEnqueuedAt),
    started: boundsOf(filter.afterStartedAt, filter.beforeStartedAt),
    finished: boundsOf(filter.afterFinishedAt, filter.beforeFinishedAt),
  };
}

function uidBits(uids: readonly number[], chunkCount: number): Uint32Array {
  const bits = new Uint32Array(chunkCount * PLANE_WORDS);
  for (const uid of uids) {
    const word = Math.floor(uid / 32);
    if (word < bits.length) bits[word]! |= 1 << (uid & 31);
  }
  return bits;
}

function bitsOf(codes: readonly number[] | undefined): number | null {
  return codes === undefined ? null : codes.reduce((bits, code) => bits | (1 << code), 0);
}

function namedMask(table: TaskTable, uids: readonly string[]): IndexMask {
  const mask = new Uint8Array(table.indexNumberCount + 1);
  for (const uid of uids) {
    const number = table.indexNumber(uid);
    if (number !== undefined) mask[number + 1] = 1;
  }
  return mask;
}

function visibleMask(table: TaskTable, visible: (uid: string) => boolean): IndexMask {
  const mask = new Uint8Array(table.indexNumberCount + 1);
  for (let n = 0; n < table.indexNumberCount; n++)
    mask[n + 1] = visible(table.indexName(n)!) ? 1 : 0;
  return mask;
}

function uidSet(values: readonly number[] | undefined): UidSet | null {
  if (values === undefined) return null;
  // NONE stands for "no value" in the columns and is no uid that a task could have.
  const uids = values.filter((value) => value !== NONE);
  if (uids.length === 0) return { min: 0, span: -1, bits: new Uint32Array(1) };
  // As 32-bit integers, with which the engine of JavaScript computes faster.
  const min = uids.reduce((a, b) => Math.min(a, b)) >>> 0;
  const span = (uids.reduce((a, b) => Math.max(a, b)) - min) >>> 0;
  const bits = new Uint32Array((span >>> 5) + 2);
  for (const uid of uids) bits[(uid - min) >>> 5]! |= 1 << ((uid - min) & 31);
  return { min, span, bits };
}

function boundsOf(after: number | undefined, before: number | undefined): Bounds | null {
  if (after === undefined && before === undefined) return null;
  return { after: after ?? -Infinity, before: before ?? Infinity };
}

/** What is known of a chunk: `LEFT`, unless none of its tasks meets the conditions, and those that not all meet. */
const LEFT = 1;
const STATUS = 2;
const TYPE = 4;
const ENQUEUED = 8;
const UIDS = 16;
const STARTED = 32;
const FINISHED = 64;
const INDEX = 128;
const BATCH = 256;
const CANCELED_BY = 512;
/** Checked for each task; those of `BY_BATCH` for each group of a batch, that on the index for each of an index. */
const BY_TASK = STATUS | TYPE | ENQUEUED | UIDS;
const BY_BATCH = STARTED | FINISHED | BATCH | CANCELED_BY;

/**
 * The tasks that meet all conditions. One condition after another goes over all chunks, then over the groups
 * of those left: short loops over columns run several times as fast as a long one over chunks.
 */
class Selection {
  /** Per chunk. */
  readonly #known: Uint16Array;
  /** 1 for each group that is left, in chunks with a condition on them. */
  readonly #byIndex: Uint8Array | null;
  readonly #byBatch: Uint8Array | null;
  readonly #byBoth: Uint8Array | null;
  readonly #bits = new Uint32Array(PLANE_WORDS);
  readonly #table: TaskTable;
  readonly #digest: TaskDigest;
  readonly #conditions: Conditions;

  constructor(table: TaskTable, conditions: Conditions) {
    const { digest } = table;
    digest.refresh();
    this.#table = table;
    this.#digest = digest;
    this.#conditions = conditions;
    const { statuses, types, traits, spans, byIndex, byBatch } = digest;
    const { uids, status, type, index, visible, canceledBy, batchUid } = conditions;
    const { enqueued, started, finished } = conditions;
    const known = new Uint16Array(table.chunks.length);
    this.#known = known;
    for (let n = 0; n < known.length; n++) known[n] = statuses[n] === 0 ? 0 : LEFT;
    if (uids !== null) decideUids(known, uids);
    if (status !== null) decideCodes(known, statuses, status, STATUS);
    if (type !== null) decideCodes(known, types, type, TYPE);
    if (enqueued !== null) decideTimes(known, spans, SPAN.enqueued, enqueued, ENQUEUED);
    if (started !== null) decideTimes(known, spans, SPAN.started, started, STARTED);
    if (finished !== null) decideTimes(known, spans, SPAN.finished, finished, FINISHED);
    if (batchUid !== null) decideSet(known, spans, SPAN.batchUid, batchUid, BATCH);
    if (canceledBy !== null) decideSet(known, spans, SPAN.canceledBy, canceledBy, CANCELED_BY);
    const ownIndex =
      index === null || visible === null
        ? (index ?? visible)
        : index.map((passes, at) => passes & visible[at]!);
    if (ownIndex !== null) {
      for (let n = 0; n < known.length; n++) if (known[n] !== 0) known[n]! |= INDEX;
    }

    this.#byIndex = ownIndex === null ? null : new Uint8Array(byIndex.used);
    if (ownIndex !== null) {
      passIndexes({ known, groups: byIndex, passing: this.#byIndex! }, byIndex.index, ownIndex);
      for (let n = 0; n < known.length; n++) {
        if (known[n] !== 0 && (traits[n]! & TRAIT.linked) !== 0) this.#passLinked(n);
      }
    }
    this.#byBatch = null;
    this.#byBoth = null;
    if (!known.some((what) => (what & BY_BATCH) !== 0)) return;
    this.#byBatch = new Uint8Array(byBatch.used).fill(1);
    const left: Left = { known, groups: byBatch, passing: this.#byBatch };
    if (batchUid !== null) passSet(left, BATCH, byBatch.batchUid, batchUid);
    if (canceledBy !== null) passSet(left, CANCELED_BY, byBatch.canceledBy, canceledBy);
    if (started !== null) passTimes(left, STARTED, byBatch.startedAt, started);
    if (finished !== null) passTimes(left, FINISHED, byBatch.finishedAt, finished);
    if (this.#byIndex === null) return;
    this.#byBoth = new Uint8Array(digest.byBoth.used);
    passBoth(known, digest, this.#byBoth, this.#byIndex, this.#byBatch);
  }

  /** Number of tasks left in a chunk. */
  count(number: number): number {
    const known = this.#known[number]!;
    if (known === 0) return 0;
    if ((known & BY_TASK) === 0) {
      const { byIndex, byBatch, byBoth } = this.#digest;
      const batch = (known & BY_BATCH) !== 0;
      if ((known & INDEX) === 0) {
        if (batch) return sizeOf(byBatch, number, this.#byBatch!);
      } else if (batch) return sizeOf(byBoth, number, this.#byBoth!);
      else return sizeOf(byIndex, number, this.#byIndex!);
    }
    this.#select(number, known);
    let count = 0;
    for (let w = 0; w < PLANE_WORDS; w++) count += bitCount(this.#bits[w]!);
    return count;
  }

  /** Positions of the tasks left in a chunk, ascending. */
  positions(number: number): number[] {
    const known = this.#known[number]!;
    const positions: number[] = [];
    if (known === 0) return positions;
    this.#select(number, known);
    for (let w = 0; w < PLANE_WORDS; w++) {
      for (let left = this.#bits[w]!; left !== 0; left &= left - 1) {
        positions.push(w * 32 + lowest(left));
      }
    }
    return positions;
  }

  /** Puts `bit` at the batch of each task left in a chunk. */
  markBatches(number: number, batches: Uint16Array, bit: number): void {
    const known = this.#known[number]!;
    if (known === 0) return;
    const { at, count, of, batchUid } = this.#digest.byBatch;
    const begin = at[number]!;
    const byBatch = (known & BY_BATCH) !== 0 ? this.#byBatch : null;
    if ((known & (BY_TASK | INDEX)) === 0) {
      const end = begin + count[number]!;
      for (let g = begin; g < end; g++) {
        if (byBatch !== null && byBatch[g] === 0) continue;
        const batch = batchUid[g]!;
        if (batch < batches.length) batches[batch]! |= bit;
      }
      return;
    }
    this.#select(number, known);
    for (let w = 0; w < PLANE_WORDS; w++) {
      for (let left = this.#bits[w]!; left !== 0; left &= left - 1) {
        const i = number * TASKS_PER_CHUNK + w * 32 + lowest(left);
        const batch = batchUid[begin + of[i]!]!;
        if (batch < batches.length) batches[batch]! |= bit;
      }
    }
  }

  /** Makes `bits` the tasks left in a chunk. */
  #select(number: number, known: number): void {
    const bits = this.#bits;
    const { planes, statuses, types, traits, byIndex, byBatch, byBoth } = this.#digest;
    const { uids, status, type, enqueued } = this.#conditions;
    const plane = number * CHUNK_PLANE_WORDS;
    for (let w = 0; w < PLANE_WORDS; w++) bits[w] = planes[plane + w]!;
    if ((known & UIDS) !== 0) {
      for (let w = 0; w < PLANE_WORDS; w++) bits[w]! &= uids![number * PLANE_WORDS + w]!;
    }
    if ((known & STATUS) !== 0) {
      keepCodes(bits, planes, plane + STATUS_PLANES * PLANE_WORDS, status! & statuses[number]!);
    }
    if ((known & TYPE) !== 0) {
      keepCodes(bits, planes, plane + TYPE_PLANES * PLANE_WORDS, type! & types[number]!);
    }
    if ((known & ENQUEUED) !== 0) {
      const times = this.#table.chunks[number]!.enqueuedAt;
      if ((traits[number]! & TRAIT.ascending) !== 0) keepRange(bits, times, enqueued!);
      else keepTimes(bits, times, enqueued!);
    }
    if ((known & INDEX) === 0) {
      if ((known & BY_BATCH) !== 0) keepGroups(bits, byBatch, number, this.#byBatch!);
    } else if ((known & BY_BATCH) !== 0) keepGroups(bits, byBoth, number, this.#byBoth!);
    else keepGroups(bits, byIndex, number, this.#byIndex!);
  }

  #passLinked(number: number): void {
    const { at, count, index, first } = this.#digest.byIndex;
    const chunk = this.#table.chunks[number]!;
    const begin = at[number]!;
    const end = begin + count[number]!;
    for (let g = begin; g < end; g++) {
      if (index[g] !== SEVERAL) continue;
      const i = first[g]!;
      const numbers = this.#table.linked.get(number * TASKS_PER_CHUNK + i)!;
      this.#byIndex![g] = this.#meetsIndexes(chunk.type[i]!, numbers) ? 1 : 0;
    }
  }

  /** For a task of several indexes. */
  #meetsIndexes(type: number, numbers: readonly number[]): boolean {
    const { index, visible } = this.#conditions;
    if (index !== null) {
      const asked = (number: number): boolean => index[number + 1] === 1;
      // A swap is found by the filter only when all its indexes are named; a renaming by either.
      if (!(type === SWAP ? numbers.every(asked) : numbers.some(asked))) return false;
    }
    return visible === null || numbers.every((number) => visible[number + 1] === 1);
  }
}

const SWAP = TYPE_CODES.indexSwap;

// Each decides chunks: takes those away in which no task passes, and notes the condition where not all do.

function decideUids(known: Uint16Array, uids: Uint32Array): void {
  for (let n = 0; n < known.length; n++) {
    let any = 0;
    for (let w = 0; w < PLANE_WORDS; w++) any |= uids[n * PLANE_WORDS + w]!;
    if (any === 0) known[n] = 0;
    else if (known[n] !== 0) known[n]! |= UIDS;
  }
}

function decideCodes(known: Uint16Array, present: Uint32Array, wanted: number, what: number): void {
  for (let n = 0; n < known.length; n++) {
    if ((present[n]! & wanted) === 0) known[n] = 0;
    else if (known[n] !== 0 && (present[n]! & ~wanted) !== 0) known[n]! |= what;
  }
}

function decideTimes(
  known: Uint16Array,
  spans: Float64Array,
  span: number,
  { after, before }: Bounds,
  what: number,
): void {
  for (let n = 0; n < known.length; n++) {
    const min = spans[n * SPAN_NUMBERS + span]!;
    const max = spans[n * SPAN_NUMBERS + span + 1]!;
    // Without some of the dates the least is -Infinity, which is within no bounds.
    if (!(max > after && min < before)) known[n] = 0;
    else if (known[n] !== 0 && !(min > after && max < before)) known[n]! |= what;
  }
}

function decideSet(
  known: Uint16Array,
  spans: Float64Array,
  at: number,
  { min, span }: UidSet,
  what: number,
): void {
  for (let n = 0; n < known.length; n++) {
    const first = spans[n * SPAN_NUMBERS + at]!;
    const last = spans[n * SPAN_NUMBERS + at + 1]!;
    if (!(first <= min + span && min <= last)) known[n] = 0;
    else if (known[n] !== 0) known[n]! |= what;
  }
}

/** Position of the lowest bit. REQUIRES: there is one. */
function lowest(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function bitCount(word: number): number {
  let n = word - ((word >>> 1) & 0x5555_5555);
  n = (n & 0x3333_3333) + ((n >>> 2) & 0x3333_3333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/** @param first word at which the plane of code 0 begins; @param codes bit per code whose plane passes */
function keepCodes(bits: Uint32Array, planes: Uint32Array, first: number, codes: number): void {
  for (let w = 0; w < PLANE_WORDS; w++) {
    let passing = 0;
    for (let left = codes; left !== 0; left &= left - 1) {
      passing |= planes[first + lowest(left) * PLANE_WORDS + w]!;
    }
    bits[w]! &= passing;
  }
}

/** REQUIRES: ascending times. */
function keepRange(bits: Uint32Array, times: Float64Array, { after, before }: Bounds): void {
  const begin = lowerBound(times, (time) => time > after);
  const end = lowerBound(times, (time) => time >= before);
  for (let w = 0; w < PLANE_WORDS; w++) {
    bits[w]! &= lowBits(end - w * 32) & ~lowBits(begin - w * 32);
  }
}

/** Where `reached` turns from false to true. */
function lowerBound(times: Float64Array, reached: (time: number) => boolean): number {
  let begin = 0;
  let end = times.length;
  while (begin < end) {
    const middle = (begin + end) >> 1;
    if (reached(times[middle]!)) end = middle;
    else begin = middle + 1;
  }
  return begin;
}

function lowBits(count: number): number {
  if (count <= 0) return 0;
  return count >= 32 ? -1 : (1 << count) - 1;
}

/** With so many bits or more in a word, reading all 32 values is faster than going from bit to bit. */
const DENSE = 12;

/** NaN, the absent date, is within no bounds. For chunks with gaps. */
function keepTimes(bits: Uint32Array, column: Float64Array, { after, before }: Bounds): void {
  for (let w = 0; w < PLANE_WORDS; w++) {
    for (let left = bits[w]!; left !== 0; left &= left - 1) {
      const bit = left & -left;
      const time = column[w * 32 + lowest(left)]!;
      if (!(time > after && time < before)) bits[w]! &= ~bit;
    }
  }
}

/** The groups of some kind, over all chunks; see `TaskDigest`. */
interface Groups {
  readonly of: Uint8Array;
  readonly at: Uint32Array;
  readonly count: Uint16Array;
  readonly size: Uint16Array;
}

/** From groups to tasks: takes the bits of those away whose group is. */
function keepGroups(
  bits: Uint32Array,
  { of, at }: Groups,
  number: number,
  passing: Uint8Array,
): void {
  const begin = at[number]!;
  for (let w = 0; w < PLANE_WORDS; w++) {
    const first = number * TASKS_PER_CHUNK + w * 32;
    const before = bits[w]!;
    let kept = 0;
    if (bitCount(before) >= DENSE) {
      for (let b = 0; b < 32; b++) kept |= passing[begin + of[first + b]!]! << b;
      kept &= before;
    } else {
      for (let left = before; left !== 0; left &= left - 1) {
        const b = lowest(left);
        kept |= passing[begin + of[first + b]!]! << b;
      }
    }
    bits[w] = kept;
  }
}

function sizeOf({ at, count, size }: Groups, number: number, passing: Uint8Array): number {
  const begin = at[number]!;
  const end = begin + count[number]!;
  let sum = 0;
  for (let g = begin; g < end; g++) sum += passing[g]! * size[g]!;
  return sum;
}

interface Left {
  known: Uint16Array;
  groups: Groups;
  passing: Uint8Array;
}

// Each makes 0 the groups that do not pass, in chunks where not all do. No branch depends on their values:
// what passes is seldom predictable.

function passIndexes({ known, groups, passing }: Left, column: Uint32Array, mask: IndexMask): void {
  const { at, count } = groups;
  // `SEVERAL` and `NONE` come to lie at 0; see `IndexMask`.
  const numbers = mask.length - 1;
  for (let n = 0; n < known.length; n++) {
    if (known[n] === 0) continue;
    const end = at[n]! + count[n]!;
    for (let g = at[n]!; g < end; g++) {
      const index = column[g]!;
      passing[g] = mask[index < numbers ? index + 1 : 0]!;
    }
  }
}

function passSet(
  { known, groups, passing }: Left,
  what: number,
  column: Uint32Array,
  { min, span, bits }: UidSet,
): void {
  const { at, count } = groups;
  // What is outside falls on the empty word behind the last.
  const outside = (bits.length - 1) * 32;
  for (let n = 0; n < known.length; n++) {
    if ((known[n]! & what) === 0) continue;
    const end = at[n]! + count[n]!;
    for (let g = at[n]!; g < end; g++) {
      const from = (column[g]! - min) >>> 0;
      const place = from <= span ? from : outside;
      passing[g]! &= bits[place >>> 5]! >>> (place & 31);
    }
  }
}

/** NaN, the absent date, is within no bounds. */
function passTimes(
  { known, groups, passing }: Left,
  what: number,
  column: Float64Array,
  { after, before }: Bounds,
): void {
  const { at, count } = groups;
  for (let n = 0; n < known.length; n++) {
    if ((known[n]! & what) === 0) continue;
    const end = at[n]! + count[n]!;
    for (let g = at[n]!; g < end; g++) {
      const time = column[g]!;
      passing[g]! &= Number(time > after) & Number(time < before);
    }
  }
}

function passBoth(
  known: Uint16Array,
  { byIndex, byBatch, byBoth }: TaskDigest,
  passing: Uint8Array,
  indexes: Uint8Array,
  batches: Uint8Array,
): void {
  const { at, count, ofIndex, ofBatch } = byBoth;
  for (let n = 0; n < known.length; n++) {
    if ((known[n]! & BY_BATCH) === 0) continue;
    const firstIndex = byIndex.at[n]!;
    const firstBatch = byBatch.at[n]!;
    const end = at[n]! + count[n]!;
    for (let g = at[n]!; g < end; g++) {
      passing[g] = indexes[firstIndex + ofIndex[g]!]! & batches[firstBatch + ofBatch[g]!]!;
    }
  }
}
