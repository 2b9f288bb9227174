import { FLAG, type TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';
import { type Column, emptyLike, grown } from './task-columns.ts';
import { indexOfKind, TaskKinds } from './task-kinds.ts';

const N = TASKS_PER_CHUNK;

/** A hash table for the runs of one chunk: their number plus 1, or 0. Half of it stays empty at least. */
const SLOT_BITS = 9;
const slots = new Uint16Array(1 << SLOT_BITS);
const sizes = new Uint16Array(N);
const runOf = new Uint8Array(N);

/**
 * The tasks of each chunk in another order: those of a kind follow each other as a run, which is a range of bits.
 * The runs of a chunk follow each other in the columns.
 */
export class TaskRuns {
  readonly kinds = new TaskKinds();
  /** Place of each task among those of its chunk. Where there is no task: a place behind them. */
  rank = new Uint8Array(0);
  /** First run of each chunk, and their number. */
  at = new Int32Array(0);
  count = new Uint16Array(0);
  used = 0;

  /** By run: its kind, and the place of its first task. */
  kind = new Int32Array(0);
  start = new Uint8Array(0);

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
    const begin = this.used;
    slots.fill(0);
    sizes.fill(0);
    for (let i = 0; i < N; i++) {
      if (chunk.type[i] === 0) continue;
      const run = this.#runOf(chunk, i, begin);
      sizes[run]!++;
      runOf[i] = run;
    }
    this.at[number] = begin;
    this.count[number] = this.used - begin;
    this.#order(number, chunk);
  }

  /** The run of a task in its chunk, counted from 0; the chunk has those from `begin` on so far. */
  #runOf(chunk: TaskChunk, i: number, begin: number): number {
    const index = indexOfKind(chunk.index[i]!, (chunk.flags[i]! & FLAG.linked) !== 0);
    const batchUid = chunk.batchUid[i]!;
    const canceledBy = chunk.canceledBy[i]! | 0;
    const { kinds } = this;
    let slot = Math.imul(Math.imul(index, 31) + batchUid, 0x9e37_79b1) >>> (32 - SLOT_BITS);
    for (;;) {
      const run = slots[slot]! - 1;
      if (run < 0) break;
      const kind = this.kind[begin + run]!;
      if (
        kinds.index[kind] === index &&
        kinds.batchUid[kind] === batchUid &&
        kinds.canceledBy[kind] === canceledBy
      ) {
        return run;
      }
      slot = (slot + 1) % slots.length;
    }
    this.kind[this.used++] = kinds.of(chunk, i, index);
    slots[slot] = this.used - begin;
    return this.used - begin - 1;
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

  #resize(copy: <T extends Column>(column: T) => T): void {
    this.start = copy(this.start);
    this.kind = copy(this.kind);
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
      const compact = emptyLike(column, used);
      for (let n = 0; n < at.length; n++) {
        compact.set(column.subarray(at[n], at[n]! + count[n]!), moved[n]);
      }
      return compact;
    });
    this.at = moved;
    this.used = used;
    this.#wasted = 0;
    this.kinds.keep(this.kind);
  }
}
