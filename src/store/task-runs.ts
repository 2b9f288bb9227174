import { BatchDates, NO_BATCH } from './batch-dates.ts';
import { FLAG, NONE, type TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';

const N = TASKS_PER_CHUNK;

/**
 * Stand in the column `index`, where no index has such a number: for no index, and for the task at position 0 of the
 * chunk that belongs to several indexes; that at position 1 has one less, and so on.
 */
export const NO_INDEX = -1;
export const SEVERAL = -2;
export const INDEX_MIN = SEVERAL - N + 1;

/** A hash table for the runs of one chunk: their number plus 1, or 0. Half of it stays empty at least. */
const SLOT_BITS = 9;
const slots = new Uint16Array(1 << SLOT_BITS);
const sizes = new Uint16Array(N);
const runOf = new Uint8Array(N);

/**
 * The tasks of each chunk in another order: those of the same index, batch and cancelation follow each other as a
 * run. What depends on these three is checked once per run, and a run is a range of bits. A task of several
 * indexes is a run of its own. The runs of a chunk follow each other in the columns.
 *
 * Signed, like all that is computed with per run: the compiler takes sums of unsigned numbers for floating-point.
 */
export class TaskRuns {
  /** Place of each task among those of its chunk. Where there is no task: a place behind them. */
  rank = new Uint8Array(0);
  /** First run of each chunk, and their number. */
  at = new Int32Array(0);
  count = new Uint16Array(0);
  used = 0;

  // One element per run.
  /** Place of its first task. */
  start = new Uint8Array(0);
  index = new Int32Array(0);
  batchUid = new Uint32Array(0);
  /** -1: by none. */
  canceledBy = new Int32Array(0);
  /** Place of the batch in `dates`. */
  place = new Int32Array(0);
  readonly dates = new BatchDates();

  /** Runs that no chunk has any more. */
  #wasted = 0;
  readonly #wastedMax: number;

  /** @param wastedMax runs whose space is not worth being taken back */
  constructor(wastedMax: number) {
    this.#wastedMax = wastedMax;
  }

  reserveChunks(size: number): void {
    this.rank = grown(this.rank, size * N);
    this.at = grown(this.at, size);
    this.count = grown(this.count, size);
  }

  replace(number: number, chunk: TaskChunk | undefined): void {
    this.#wasted += this.count[number]!;
    this.count[number] = 0;
    if (this.#wasted > this.#wastedMax && this.#wasted > this.used / 2) this.#compact();
    if (chunk !== undefined) this.#add(number, chunk);
  }

  #add(number: number, chunk: TaskChunk): void {
    if (this.used + N > this.start.length) {
      const size = Math.ceil((this.used + N) * 1.5);
      this.#resize((column) => grown(column, size));
    }
    const { type, batchUid } = chunk;
    const begin = this.used;
    slots.fill(0);
    sizes.fill(0);
    for (let i = 0; i < N; i++) {
      if (type[i] === 0) continue;
      const index = indexIn(chunk, i);
      const hash = Math.imul(Math.imul(index, 31) + batchUid[i]!, 0x9e37_79b1);
      let slot = hash >>> (32 - SLOT_BITS);
      let run = 0;
      while ((run = slots[slot]!) !== 0) {
        if (this.#has(begin + run - 1, index, chunk, i)) break;
        slot = (slot + 1) % slots.length;
      }
      if (run === 0) {
        this.#put(this.used++, index, chunk, i);
        run = this.used - begin;
        slots[slot] = run;
      }
      sizes[run - 1]!++;
      runOf[i] = run - 1;
    }
    this.at[number] = begin;
    this.count[number] = this.used - begin;
    this.#order(number, chunk);
  }

  /** Gives places to the tasks, from the sizes of the runs. */
  #order(number: number, { type }: TaskChunk): void {
    const begin = this.at[number]!;
    const runs = this.count[number]!;
    let next = 0;
    for (let r = 0; r < runs; r++) {
      this.start[begin + r] = next;
      next += sizes[r]!;
      // From here on the place of the next task of the run.
      sizes[r] = next - sizes[r]!;
    }
    for (let i = 0; i < N; i++) {
      this.rank[number * N + i] = type[i] === 0 ? next++ : sizes[runOf[i]!]!++;
    }
  }

  #has(run: number, index: number, chunk: TaskChunk, i: number): boolean {
    return (
      this.index[run] === index &&
      this.batchUid[run] === chunk.batchUid[i] &&
      this.canceledBy[run] === (chunk.canceledBy[i]! | 0)
    );
  }

  #put(run: number, index: number, chunk: TaskChunk, i: number): void {
    const uid = chunk.batchUid[i]!;
    this.index[run] = index;
    this.batchUid[run] = uid;
    this.canceledBy[run] = chunk.canceledBy[i]!;
    this.place[run] =
      uid === NONE ? NO_BATCH : this.dates.set(uid, chunk.startedAt[i]!, chunk.finishedAt[i]!);
  }

  #resize(copy: <T extends Column>(column: T) => T): void {
    this.start = copy(this.start);
    this.index = copy(this.index);
    this.batchUid = copy(this.batchUid);
    this.canceledBy = copy(this.canceledBy);
    this.place = copy(this.place);
  }

  /** Writes the runs anew, in the order of the chunks. */
  #compact(): void {
    const { at, count } = this;
    const moved = new Int32Array(at.length);
    let used = 0;
    for (let n = 0; n < at.length; n++) {
      moved[n] = used;
      used += count[n]!;
    }
    this.#resize((column) => {
      const compact = empty(column, used);
      for (let n = 0; n < at.length; n++) {
        compact.set(column.subarray(at[n], at[n]! + count[n]!), moved[n]);
      }
      return compact;
    });
    this.at = moved;
    this.used = used;
    this.#wasted = 0;
    this.dates.keep(this.place);
  }
}

function indexIn(chunk: TaskChunk, i: number): number {
  if ((chunk.flags[i]! & FLAG.linked) !== 0) return SEVERAL - i;
  const index = chunk.index[i]!;
  return index === NONE ? NO_INDEX : index;
}

type Column = Int32Array | Uint8Array | Uint16Array | Uint32Array | Float64Array;

function empty<T extends Column>(like: T, size: number): T {
  return new (like.constructor as new (size: number) => T)(size);
}

export function grown<T extends Column>(column: T, size: number): T {
  const larger = empty(column, size);
  larger.set(column);
  return larger;
}
