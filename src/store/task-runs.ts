import { KindRunList, RunList } from './run-list.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { type TaskChunk, TASKS_PER_CHUNK } from './task-chunk.ts';
import { grown } from './task-columns.ts';
import { indexOfKind, SEVERAL, TaskKinds } from './task-kinds.ts';

const N = TASKS_PER_CHUNK;

/**
 * Size of the hash table for the runs of one chunk, which has run number + 1, or 0. At least half
 * of it stays empty.
 */
const SLOT_BITS = 9;
const slots = new Uint16Array(1 << SLOT_BITS);

// State of the current chunk. By run, in the order of their first tasks: its kind, its index, its
// number of tasks, and the properties for `KindRunList`.
const kindOf = new Int32Array(N);
const groupOf = new Uint8Array(N);
const sizes = new Uint16Array(N);
const statusesOf = new Uint8Array(N);
const typesOf = new Int32Array(N);
const earliestOf = new Float64Array(N);
const latestOf = new Float64Array(N);
/** Later the position of the next task of the run. */
const nextSlots = new Uint16Array(N);
/** By index: number of runs, later the position of its next run among all. */
const groups = new Uint16Array(N);
const ordered = new Uint8Array(N);
/** By task: its run. */
const runOf = new Uint8Array(N);

/**
 * By kind: a bit for each status code and each type code of its tasks, and the minimum and maximum
 * `enqueuedAt`.
 */
export interface KindTasks {
  /** 0: no task of the kind is left. */
  statuses: Uint8Array;
  types: Int32Array;
  earliest: Float64Array;
  latest: Float64Array;
}

/**
 * The tasks of each chunk in another order: the tasks of an index are consecutive, and among these
 * the tasks of a kind. So both an index and a kind are a range of bits.
 */
export class TaskRuns {
  readonly kinds = new TaskKinds();
  #ofKinds: KindTasks | null = null;
  /**
   * Position of each task among those of its chunk. A uid without a task has a position after them.
   */
  rank = new Uint8Array(0);
  /** Runs of tasks of a kind; the value is the number of the kind. */
  readonly ofKind: KindRunList;
  /**
   * Runs of tasks of an index; the value is the number of the index as kinds store it, minus
   * `SEVERAL`.
   */
  readonly ofIndex: RunList;

  /** @param wastedMax unused runs to tolerate before their space is reclaimed */
  constructor(wastedMax: number) {
    this.ofKind = new KindRunList(wastedMax);
    this.ofIndex = new RunList(wastedMax);
  }

  reserveChunks(size: number): void {
    this.rank = grown(this.rank, size * N);
    this.ofKind.reserveChunks(size);
    this.ofIndex.reserveChunks(size);
  }

  /**
   * The properties of the tasks of each kind. Recomputed after a change, in about 10 ms for 300,000
   * runs.
   */
  ofKinds(): KindTasks {
    return (this.#ofKinds ??= this.#collect());
  }

  #collect(): KindTasks {
    const { value, statuses, types, earliest, latest, at, count } = this.ofKind;
    const { used } = this.kinds;
    const tasks: KindTasks = {
      statuses: new Uint8Array(used),
      types: new Int32Array(used),
      earliest: new Float64Array(used).fill(Infinity),
      latest: new Float64Array(used).fill(-Infinity),
    };
    for (let number = 0; number < at.length; number++) {
      const end = at[number]! + count[number]!;
      for (let run = at[number]!; run < end; run++) {
        const kind = value[run]!;
        tasks.statuses[kind]! |= statuses[run]!;
        tasks.types[kind]! |= types[run]!;
        if (earliest[run]! < tasks.earliest[kind]!) tasks.earliest[kind] = earliest[run]!;
        if (latest[run]! > tasks.latest[kind]!) tasks.latest[kind] = latest[run]!;
      }
    }
    return tasks;
  }

  replace(number: number, chunk: TaskChunk | undefined): void {
    this.#ofKinds = null;
    this.ofIndex.drop(number);
    if (this.ofKind.drop(number)) this.kinds.keep(this.ofKind.value);
    if (chunk === undefined) return;
    const runs = this.#findRuns(chunk);
    this.#orderRuns(number, runs);
    for (let i = 0, next = this.#size(runs); i < N; i++) {
      this.rank[number * N + i] = chunk.type[i] === 0 ? next++ : nextSlots[runOf[i]!]!++;
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
        statusesOf[run] = 0;
        typesOf[run] = 0;
        earliestOf[run] = Infinity;
        latestOf[run] = -Infinity;
      }
      sizes[run]!++;
      statusesOf[run]! |= 1 << chunk.status[i]!;
      typesOf[run]! |= 1 << chunk.type[i]!;
      const time = chunk.enqueuedAt[i]!;
      if (time < earliestOf[run]!) earliestOf[run] = time;
      if (time > latestOf[run]!) latestOf[run] = time;
      runOf[i] = run;
    }
    return runs;
  }

  /** Assigns positions to the runs, such that those of an index are consecutive. */
  #orderRuns(number: number, runs: number): void {
    const { index } = this.kinds;
    let count = 0;
    slots.fill(0);
    groups.fill(0);
    for (let run = 0; run < runs; run++) {
      const own = index[kindOf[run]!]!;
      let slot = Math.imul(own, 0x9e37_79b1) >>> (32 - SLOT_BITS);
      let first = 0;
      // The table holds the first run of each index.
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
      const { ofKind } = this;
      ofKind.statuses[ofKind.used] = statusesOf[run]!;
      ofKind.types[ofKind.used] = typesOf[run]!;
      ofKind.earliest[ofKind.used] = earliestOf[run]!;
      ofKind.latest[ofKind.used] = latestOf[run]!;
      ofKind.push(number, kind, next);
      nextSlots[run] = next;
      next += sizes[run]!;
    }
  }
}
