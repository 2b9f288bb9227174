import type { IndexVisibility, TaskFilter } from '../contract/tasks.ts';
import { STATUS_CODES, type TaskChunk, TASKS_PER_CHUNK, TYPE_CODES } from './task-chunk.ts';

const N = TASKS_PER_CHUNK;
const SWAP = TYPE_CODES.indexSwap;

/** The data that filters are applied to. */
export interface TaskTable {
  readonly chunks: readonly (TaskChunk | undefined)[];
  readonly batches: BatchColumns;
  readonly taskCount: number;
  readonly nextTaskUid: number;
  readonly nextBatchUid: number;
  /** All indexes of a task that belongs to several, or to one that it does not show. */
  readonly linked: ReadonlyMap<number, readonly number[]>;
  readonly indexNumberCount: number;
  indexNumber(uid: string): number | undefined;
  indexName(number: number): string | null;
}

/** What the tasks of a batch have in common, by batch uid. */
export interface BatchColumns {
  /** Number of tasks; 0: no such batch. */
  readonly tasks: Uint32Array;
  /** Milliseconds since 1970; NaN: not yet. */
  readonly startedAt: Float64Array;
  readonly finishedAt: Float64Array;
}

/** The bit of a task that exists. */
export const EXISTS = 1;

/** Two bounds of a date, which are a condition each; a bit of 0: none. */
interface Bounds {
  after: number;
  afterBit: number;
  before: number;
  beforeBit: number;
}

/**
 * The conditions of a filter, each with a bit. A condition takes one or two nanoseconds per task,
 * because all tasks of a chunk are tested for it at once, without a branch on the result: those are
 * seldom predictable. The dates of a task are those of its batch, so they are tested once per
 * batch.
 */
export class Conditions {
  /** The bits of a task that meets all conditions. */
  all = EXISTS;
  /** The conditions that each task of a chunk meets, after `test`. */
  readonly met = new Int32Array(N);

  readonly #table: TaskTable;
  // By code of the type and of the status.
  readonly #types = new Int32Array(N);
  readonly #statuses = new Int32Array(N);
  // By value of the column + 1, so that `NONE` is at 0; null: no condition.
  readonly #indexes: Int32Array | null;
  readonly #canceledBy: Int32Array | null;
  #batches: Int32Array | null;
  readonly #enqueued: Bounds | null;
  readonly #uids: ReadonlyMap<number, number[]>;
  readonly #batchBits: number;
  readonly #uidBit: number;
  readonly #indexBit: number;
  readonly #visibleBit: number;

  constructor(table: TaskTable, filter: TaskFilter, visible: IndexVisibility) {
    const { uids, types, statuses, batchUids, canceledBy, indexUids } = filter;
    this.#table = table;
    const typeBit = this.#bitFor(types);
    this.#types.fill(EXISTS, 1);
    for (const type of types ?? []) this.#types[TYPE_CODES[type]] = EXISTS | typeBit;
    const statusBit = this.#bitFor(statuses);
    for (const status of statuses ?? []) this.#statuses[STATUS_CODES[status]] = statusBit;
    this.#uidBit = this.#bitFor(uids);
    this.#uids = byChunk(uids ?? []);

    this.#indexBit = this.#bitFor(indexUids);
    this.#visibleBit = this.#bitFor(visible);
    this.#indexes = null;
    if ((this.#indexBit | this.#visibleBit) !== 0) {
      const named = indexUids?.map((uid) => table.indexNumber(uid) ?? -1);
      this.#indexes = maskOf(named ?? [], table.indexNumberCount, this.#indexBit);
      for (let number = 0; visible !== null && number < table.indexNumberCount; number++) {
        if (visible(table.indexName(number)!)) this.#indexes[number + 1]! |= this.#visibleBit;
      }
    }
    const canceledBit = this.#bitFor(canceledBy);
    this.#canceledBy = canceledBy ? maskOf(canceledBy, table.nextTaskUid, canceledBit) : null;
    this.#enqueued = this.#boundsOf(filter.afterEnqueuedAt, filter.beforeEnqueuedAt);
    const started = this.#boundsOf(filter.afterStartedAt, filter.beforeStartedAt);
    const finished = this.#boundsOf(filter.afterFinishedAt, filter.beforeFinishedAt);
    const batchBit = this.#bitFor(batchUids);
    this.#batches = null;
    if (batchUids !== undefined || started !== null || finished !== null) {
      this.#batches = maskOf(batchUids ?? [], table.nextBatchUid, batchBit);
      const met = this.#batches.subarray(1);
      if (started !== null) testDates(met, table.batches.startedAt, started);
      if (finished !== null) testDates(met, table.batches.finishedAt, finished);
    }
    this.#batchBits = batchBit | bitsOf(started) | bitsOf(finished);
  }

  /** A new bit, or 0 if there is no condition. */
  #bitFor(condition: unknown): number {
    if (condition === undefined || condition === null) return 0;
    const bit = this.all + 1;
    this.all |= bit;
    return bit;
  }

  #boundsOf(after: number | undefined, before: number | undefined): Bounds | null {
    if (after === undefined && before === undefined) return null;
    const bits = { afterBit: this.#bitFor(after), beforeBit: this.#bitFor(before) };
    return { after: after ?? Infinity, before: before ?? -Infinity, ...bits };
  }

  /**
   * From now on `test` leaves out the conditions that all tasks of a batch meet or none.
   * @returns those that each batch meets, by batch uid + 1, and the bits of the others
   */
  takeOfBatches(): { met: Int32Array; left: number } {
    const { nextBatchUid } = this.#table;
    const met = this.#batches ?? new Int32Array(nextBatchUid + 1);
    this.#batches = null;
    return { met, left: this.all & ~EXISTS & ~this.#batchBits };
  }

  /** Sets `met`. */
  test(number: number, chunk: TaskChunk): void {
    const { met } = this;
    const enqueued = this.#enqueued && this.#decide(this.#enqueued, chunk);
    testCodes(met, chunk, this.#types, this.#statuses, enqueued ?? 0);
    if (this.#enqueued !== null && enqueued === null) {
      testDates(met, chunk.enqueuedAt, this.#enqueued);
    }
    if (this.#canceledBy !== null) testNumbers(met, chunk.canceledBy, this.#canceledBy);
    if (this.#batches !== null) testNumbers(met, chunk.batchUid, this.#batches);
    if (this.#indexes !== null) {
      testNumbers(met, chunk.index, this.#indexes);
      this.#testLinked(number, chunk);
    }
    for (const uid of this.#uids.get(number) ?? []) met[uid % N]! |= this.#uidBit;
  }

  /** The conditions on `enqueuedAt` that all tasks of a chunk meet; null: some tasks meet one. */
  #decide({ after, afterBit, before, beforeBit }: Bounds, { summary }: TaskChunk): number | null {
    const { first, last } = summary.enqueuedAt;
    const isAfter = first > after;
    const isBefore = last < before;
    if (!isAfter && afterBit !== 0 && last > after) return null;
    if (!isBefore && beforeBit !== 0 && first < before) return null;
    return (isAfter ? afterBit : 0) | (isBefore ? beforeBit : 0);
  }

  /** Corrects the conditions on indexes for tasks that belong to several. */
  #testLinked(number: number, { summary, type }: TaskChunk): void {
    const { met } = this;
    const [indexBit, visibleBit] = [this.#indexBit, this.#visibleBit];
    for (const i of summary.linked) {
      let [some, every] = [0, indexBit | visibleBit];
      for (const linked of this.#table.linked.get(number * N + i) ?? []) {
        const bits = this.#indexes![linked + 1] ?? 0;
        some |= bits;
        every &= bits;
      }
      // The filter finds a swap only if it names all its indexes; otherwise any one is enough.
      const named = (type[i] === SWAP ? every : some) & indexBit;
      met[i] = (met[i]! & ~(indexBit | visibleBit)) | named | (every & visibleBit);
    }
  }
}

function bitsOf(bounds: Bounds | null): number {
  return bounds === null ? 0 : bounds.afterBit | bounds.beforeBit;
}

/** By number + 1: the bit, if the number is one of those. */
function maskOf(numbers: readonly number[], end: number, bit: number): Int32Array {
  const mask = new Int32Array(end + 1);
  for (const number of numbers) if (number >= 0 && number < end) mask[number + 1] = bit;
  return mask;
}

function byChunk(uids: readonly number[]): Map<number, number[]> {
  const chunks = new Map<number, number[]>();
  for (const uid of uids) {
    const number = Math.floor(uid / N);
    const others = chunks.get(number);
    if (others === undefined) chunks.set(number, [uid]);
    else others.push(uid);
  }
  return chunks;
}

function testCodes(
  met: Int32Array,
  { typeWords, statusWords }: TaskChunk,
  types: Int32Array,
  statuses: Int32Array,
  known: number,
): void {
  for (let w = 0; w < N / 4; w++) {
    const type = typeWords[w]!;
    const status = statusWords[w]!;
    const i = 4 * w;
    met[i] = types[type & 255]! | statuses[status & 255]! | known;
    met[i + 1] = types[(type >>> 8) & 255]! | statuses[(status >>> 8) & 255]! | known;
    met[i + 2] = types[(type >>> 16) & 255]! | statuses[(status >>> 16) & 255]! | known;
    met[i + 3] = types[type >>> 24]! | statuses[status >>> 24]! | known;
  }
}

function testNumbers(met: Int32Array, column: Uint32Array, mask: Int32Array): void {
  for (let i = 0; i < N; i += 4) {
    met[i]! |= mask[(column[i]! + 1) | 0]!;
    met[i + 1]! |= mask[(column[i + 1]! + 1) | 0]!;
    met[i + 2]! |= mask[(column[i + 2]! + 1) | 0]!;
    met[i + 3]! |= mask[(column[i + 3]! + 1) | 0]!;
  }
}

/** NaN, the absent date, is within no bounds. */
function testDates(
  met: Int32Array,
  dates: Float64Array,
  { after, afterBit, before, beforeBit }: Bounds,
): void {
  for (let i = 0; i < met.length; i++) {
    const date = dates[i]!;
    met[i]! |= (-Number(date > after) & afterBit) | (-Number(date < before) & beforeBit);
  }
}
