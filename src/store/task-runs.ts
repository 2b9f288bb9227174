import { RunList } from './run-list.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { type TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';
import { grown } from './task-columns.ts';
import { indexOfKind, SEVERAL, TaskKinds } from './task-kinds.ts';

const N = TASKS_PER_CHUNK;

/** A hash table for the runs of one chunk: their number plus 1, or 0. Half of it stays empty at least. */
const SLOT_BITS = 9;
const slots = new Uint16Array(1 << SLOT_BITS);

// Of the chunk that is being done. By run, in the order of their first tasks: its kind, its index, how many tasks.
const kindOf = new Int32Array(N);
const groupOf = new Uint8Array(N);
const sizes = new Uint16Array(N);
/** Then the place of the next task of the run. */
const places = new Uint16Array(N);
/** By index: how many runs, then the place of the next one among all. */
const groups = new Uint16Array(N);
const ordered = new Uint8Array(N);
/** By task. */
const runOf = new Uint8Array(N);

/**
 * The tasks of each chunk in another order: those of an index follow each other, and among these those of a kind.
 * So both an index and a kind are a range of bits.
 */
export class TaskRuns {
  readonly kinds = new TaskKinds();
  /** Place of each task among those of its chunk. Where there is no task: a place behind them. */
  rank = new Uint8Array(0);
  /** Runs of tasks of a kind; the value is its number. */
  readonly ofKind: RunList;
  /** Runs of tasks of an index; the value is its number as kinds have it, minus `SEVERAL`. */
  readonly ofIndex: RunList;

  /** @param wastedMax runs whose space is not worth being taken back */
  constructor(wastedMax: number) {
    this.ofKind = new RunList(wastedMax);
    this.ofIndex = new RunList(wastedMax);
  }

  reserveChunks(size: number): void {
    this.rank = grown(this.rank, size * N);
    this.ofKind.reserveChunks(size);
    this.ofIndex.reserveChunks(size);
  }

  replace(number: number, chunk: TaskChunk | undefined): void {
    this.ofIndex.drop(number);
    if (this.ofKind.drop(number)) this.kinds.keep(this.ofKind.value);
    if (chunk === undefined) return;
    const runs = this.#findRuns(chunk);
    this.#orderRuns(number, runs);
    for (let i = 0, next = this.#size(runs); i < N; i++) {
      this.rank[number * N + i] = chunk.type[i] === 0 ? next++ : places[runOf[i]!]!++;
    }
  }

  #size(runs: number): number {
    let sum = 0;
    for (let run = 0; run < runs; run++) sum += sizes[run]!;
    return sum;
  }

  /** Returns the number of runs. */
  #findRuns(chunk: TaskChunk): number {
    const { kinds } = this;
    let runs = 0;
    slots.fill(0);
    sizes.fill(0);
    for (let i = 0; i < N; i++) {
      if (chunk.type[i] === 0) continue;
      const index = indexOfKind(chunk.index[i]!, (chunk.flags[i]! & FLAG.linked) !== 0);
      const batchUid = chunk.batchUid[i]!;
      const canceledBy = chunk.canceledBy[i]! | 0;
      let slot = Math.imul(Math.imul(index, 31) + batchUid, 0x9e37_79b1) >>> (32 - SLOT_BITS);
      let run = 0;
      while ((run = slots[slot]! - 1) >= 0) {
        if (kinds.is(kindOf[run]!, index, batchUid, canceledBy)) break;
        slot = (slot + 1) % slots.length;
      }
      if (run < 0) {
        run = runs++;
        kindOf[run] = kinds.of(chunk, i, index);
        slots[slot] = runs;
      }
      sizes[run]!++;
      runOf[i] = run;
    }
    return runs;
  }

  /** Gives places to the runs, those of an index side by side. */
  #orderRuns(number: number, runs: number): void {
    const { index } = this.kinds;
    let count = 0;
    slots.fill(0);
    groups.fill(0);
    for (let run = 0; run < runs; run++) {
      const own = index[kindOf[run]!]!;
      let slot = Math.imul(own, 0x9e37_79b1) >>> (32 - SLOT_BITS);
      let first = 0;
      // In the table is the first run of each index.
      while ((first = slots[slot]! - 1) >= 0 && index[kindOf[first]!] !== own) {
        slot = (slot + 1) % slots.length;
      }
      if (first < 0) slots[slot] = run + 1;
      const group = first < 0 ? count++ : groupOf[first]!;
      groupOf[run] = group;
      groups[group]!++;
    }
    let before = 0;
    for (let group = 0; group < count; group++) {
      before += groups[group]!;
      groups[group] = before - groups[group]!;
    }
    for (let run = 0; run < runs; run++) ordered[groups[groupOf[run]!]!++] = run;

    this.ofKind.begin(number);
    this.ofIndex.begin(number);
    let next = 0;
    for (let n = 0; n < runs; n++) {
      const run = ordered[n]!;
      const kind = kindOf[run]!;
      if (n === 0 || groupOf[run] !== groupOf[ordered[n - 1]!]) {
        this.ofIndex.push(number, index[kind]! - SEVERAL, next);
      }
      this.ofKind.push(number, kind, next);
      places[run] = next;
      next += sizes[run]!;
    }
  }
}
