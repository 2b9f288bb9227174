import { NONE, type TaskChunk } from './task-chunk.ts';
import { type Column, grown } from './task-columns.ts';

/** Number of consecutive kinds in a block. */
const BLOCK = 256;

/** Numbers of the spans of a block: minimum and maximum `startedAt`, then `finishedAt`. */
const SPAN_NUMBERS = 4;

/**
 * Stand for the index of a task that belongs to none, and to several. No index has such a number.
 */
export const NO_INDEX = -1;
export const SEVERAL = -2;

/** Exclusive bounds of a date, ms since 1970. */
export interface Bounds {
  after: number;
  before: number;
}

/** Conditions on a kind; null: none. */
export interface KindConditions {
  /** By number of the index minus `SEVERAL`. Not conclusive for tasks of several indexes. */
  index: Uint8Array | null;
  /** By task uid plus 1; at 0, for tasks that were not canceled, 0. */
  canceledBy: Uint8Array | null;
  batchUid: UidSet | null;
  started: Bounds | null;
  finished: Bounds | null;
}

/** Uids from `min` to `min + span` as bits. `span` is -1 for an empty set. */
export interface UidSet {
  min: number;
  span: number;
  bits: Uint32Array;
}

/**
 * The kinds of tasks in all chunks. Tasks of the same index, batch and cancelation are of one kind,
 * and have the same dates, because all tasks of a batch do. Most batches have one kind; one that
 * canceled tasks has several.
 *
 * So conditions on these five properties are checked once per kind. A kind keeps its number until
 * `keep`. The columns are signed, because the compiler treats sums of unsigned numbers as
 * floating-point.
 */
export class TaskKinds {
  used = 0;
  // By number of the kind, 28 bytes each.
  index = new Int32Array(0);
  batchUid = new Uint32Array(0);
  /** -1: not canceled. */
  canceledBy = new Int32Array(0);
  /** NaN: not yet. */
  startedAt = new Float64Array(0);
  finishedAt = new Float64Array(0);

  /**
   * Hash table of numbers plus 1; 0: free. Its length is a power of two, and at least half of it is
   * free.
   */
  #slots = new Int32Array(1);
  #spans = new Float64Array(0);
  #passing = new Uint8Array(0);
  /** Blocks that have changed since their spans were computed. */
  readonly #stale = new Set<number>();

  /** The kind of a task. It takes its dates from the task. */
  of(chunk: TaskChunk, i: number, index: number): number {
    const batchUid = chunk.batchUid[i]!;
    const canceledBy = chunk.canceledBy[i]! | 0;
    let slot = this.#slot(index, batchUid, canceledBy);
    if (this.#slots[slot] === 0) {
      if (2 * (this.used + 1) > this.#slots.length) {
        this.#grow();
        slot = this.#slot(index, batchUid, canceledBy);
      }
      this.index[this.used] = index;
      this.batchUid[this.used] = batchUid;
      this.canceledBy[this.used] = canceledBy;
      this.#slots[slot] = ++this.used;
    }
    const kind = this.#slots[slot]! - 1;
    this.startedAt[kind] = chunk.startedAt[i]!;
    this.finishedAt[kind] = chunk.finishedAt[i]!;
    this.#stale.add(Math.floor(kind / BLOCK));
    return kind;
  }

  is(kind: number, index: number, batchUid: number, canceledBy: number): boolean {
    return (
      this.batchUid[kind] === batchUid &&
      this.index[kind] === index &&
      this.canceledBy[kind] === canceledBy
    );
  }

  /** The slot of a kind in the table, or the free slot where it belongs. */
  #slot(index: number, batchUid: number, canceledBy: number): number {
    const mask = this.#slots.length - 1;
    const mixed = Math.imul(Math.imul(batchUid, 31) + index, 31) + canceledBy;
    let slot = (Math.imul(mixed, 0x9e37_79b1) >>> 7) & mask;
    for (;;) {
      const kind = this.#slots[slot]! - 1;
      if (kind < 0) return slot;
      if (this.is(kind, index, batchUid, canceledBy)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const size = Math.max(BLOCK, this.#slots.length);
    this.#resize((column) => grown(column, size));
    this.#slots = new Int32Array(2 * size);
    for (let kind = 0; kind < this.used; kind++) this.#enter(kind);
  }

  #enter(kind: number): void {
    const slot = this.#slot(this.index[kind]!, this.batchUid[kind]!, this.canceledBy[kind]!);
    this.#slots[slot] = kind + 1;
  }

  #resize(copy: <T extends Column>(column: T) => T): void {
    this.index = copy(this.index);
    this.batchUid = copy(this.batchUid);
    this.canceledBy = copy(this.canceledBy);
    this.startedAt = copy(this.startedAt);
    this.finishedAt = copy(this.finishedAt);
    const blocks = Math.ceil(this.index.length / BLOCK);
    this.#spans = grown(this.#spans, blocks * SPAN_NUMBERS);
    this.#passing = new Uint8Array(this.index.length);
  }

  /** Drops all kinds except these, and replaces the given numbers by new ones. */
  keep(kinds: Int32Array): void {
    const used = new Uint8Array(this.used);
    for (const kind of kinds) used[kind] = 1;
    const moved = new Int32Array(this.used);
    let count = 0;
    for (let kind = 0; kind < used.length; kind++) if (used[kind] === 1) moved[kind] = count++;
    const { length } = this.index;
    this.#resize((column) => {
      const kept = grown(column.subarray(0, 0) as typeof column, length);
      for (let kind = 0; kind < used.length; kind++) {
        if (used[kind] === 1) kept[moved[kind]!] = column[kind]!;
      }
      return kept;
    });
    this.used = count;
    this.#slots.fill(0);
    for (let kind = 0; kind < count; kind++) this.#enter(kind);
    for (let block = 0; block * BLOCK < count; block++) this.#stale.add(block);
    for (let n = 0; n < kinds.length; n++) kinds[n] = moved[kinds[n]!]!;
  }

  /** Call this after changes and before `passing`. */
  refresh(): void {
    for (const block of this.#stale) {
      this.#span(this.startedAt, block, block * SPAN_NUMBERS);
      this.#span(this.finishedAt, block, block * SPAN_NUMBERS + 2);
    }
    this.#stale.clear();
  }

  /** The minimum is -Infinity, which is within no bounds, when some kinds lack the date. */
  #span(dates: Float64Array, block: number, at: number): void {
    let min = Infinity;
    let max = -Infinity;
    const end = Math.min((block + 1) * BLOCK, this.used);
    for (let kind = block * BLOCK; kind < end; kind++) {
      const date = dates[kind]!;
      if (Number.isNaN(date)) min = -Infinity;
      if (date < min) min = date;
      if (date > max) max = date;
    }
    this.#spans[at] = min;
    this.#spans[at + 1] = max;
  }

  /**
   * 1 for each kind that meets all conditions. Valid until the next call, because allocating would
   * be slow.
   */
  passing({ index, canceledBy, batchUid, started, finished }: KindConditions): Uint8Array {
    const { used } = this;
    const passing = this.#passing;
    passing.fill(1, 0, used);
    if (index !== null) keepIndexes(passing, used, this.index, index);
    if (canceledBy !== null) keepCanceled(passing, used, this.canceledBy, canceledBy);
    if (batchUid !== null) keepUids(passing, used, this.batchUid, batchUid);
    if (started !== null) this.#keepDates(passing, this.startedAt, 0, started);
    if (finished !== null) this.#keepDates(passing, this.finishedAt, 2, finished);
    return passing;
  }

  #keepDates(
    passing: Uint8Array,
    dates: Float64Array,
    span: number,
    { after, before }: Bounds,
  ): void {
    for (let first = 0; first < this.used; first += BLOCK) {
      const base = (first / BLOCK) * SPAN_NUMBERS + span;
      const min = this.#spans[base]!;
      const max = this.#spans[base + 1]!;
      if (min > after && max < before) continue;
      const end = Math.min(first + BLOCK, this.used);
      if (max > after) keepDates(passing, first, end, dates, after, before);
      else passing.fill(0, first, end);
    }
  }
}

// Avoids branches on the values, because the results are seldom predictable.

function keepIndexes(passing: Uint8Array, end: number, index: Int32Array, mask: Uint8Array): void {
  for (let kind = 0; kind < end; kind++) passing[kind]! &= mask[index[kind]! - SEVERAL]!;
}

function keepCanceled(
  passing: Uint8Array,
  end: number,
  canceledBy: Int32Array,
  mask: Uint8Array,
): void {
  for (let kind = 0; kind < end; kind++) passing[kind]! &= mask[canceledBy[kind]! + 1]!;
}

function keepUids(
  passing: Uint8Array,
  end: number,
  uids: Uint32Array,
  { min, span, bits }: UidSet,
): void {
  for (let kind = 0; kind < end; kind++) {
    const from = (uids[kind]! - min) >>> 0;
    passing[kind]! &= from <= span ? bits[from >>> 5]! >>> (from & 31) : 0;
  }
}

/** NaN, the absent date, is within no bounds. */
function keepDates(
  passing: Uint8Array,
  begin: number,
  end: number,
  dates: Float64Array,
  after: number,
  before: number,
): void {
  for (let kind = begin; kind < end; kind++) {
    const date = dates[kind]!;
    passing[kind]! &= Number(date > after) & Number(date < before);
  }
}

/** The number of a task's index as kinds store it. */
export function indexOfKind(index: number, linked: boolean): number {
  if (linked) return SEVERAL;
  return index === NONE ? NO_INDEX : index;
}
