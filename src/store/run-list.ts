import { TASKS_PER_CHUNK } from './task-chunk.ts';
import { type Column, emptyLike, grown } from './task-columns.ts';

/** The runs of all chunks. The runs of a chunk are consecutive and cover its tasks. */
export class RunList {
  /** First run of each chunk, and the number of its runs. */
  at = new Int32Array(0);
  count = new Uint16Array(0);
  used = 0;
  /** By run: the property that its tasks share, and the position of the first task. */
  value = new Int32Array(0);
  start = new Uint8Array(0);

  /** Runs that no chunk uses any more. */
  #wasted = 0;
  readonly #wastedMax: number;

  /** @param wastedMax unused runs to tolerate before their space is reclaimed */
  constructor(wastedMax: number) {
    this.#wastedMax = wastedMax;
  }

  reserveChunks(size: number): void {
    this.at = grown(this.at, size);
    this.count = grown(this.count, size);
  }

  /** Removes the runs of a chunk. @returns whether the other runs have moved */
  drop(number: number): boolean {
    this.#wasted += this.count[number]!;
    this.count[number] = 0;
    if (this.#wasted <= this.#wastedMax || this.#wasted <= this.used / 2) return false;
    this.#compact();
    return true;
  }

  /** Begins a chunk that has no runs; the following pushes add its runs. */
  begin(number: number): void {
    if (this.used + TASKS_PER_CHUNK > this.start.length) {
      const size = Math.ceil((this.used + TASKS_PER_CHUNK) * 1.5);
      this.resize((column) => grown(column, size));
    }
    this.at[number] = this.used;
  }

  push(number: number, value: number, start: number): void {
    this.value[this.used] = value;
    this.start[this.used++] = start;
    this.count[number]!++;
  }

  protected resize(copy: <T extends Column>(column: T) => T): void {
    this.value = copy(this.value);
    this.start = copy(this.start);
  }

  /** Rewrites the runs in the order of the chunks. */
  #compact(): void {
    const { at, count } = this;
    const moved = new Int32Array(at.length);
    let used = 0;
    for (let n = 0; n < at.length; n++) {
      moved[n] = used;
      used += count[n]!;
    }
    this.resize((column) => {
      const compact = emptyLike(column, used);
      for (let n = 0; n < at.length; n++) {
        compact.set(column.subarray(at[n], at[n]! + count[n]!), moved[n]);
      }
      return compact;
    });
    this.at = moved;
    this.used = used;
    this.#wasted = 0;
  }
}

/** Runs of tasks of a kind, with the further properties that batches are searched by. */
export class KindRunList extends RunList {
  /** By run: a bit for each status code and each type code of its tasks. */
  statuses = new Uint8Array(0);
  types = new Int32Array(0);
  /** By run: the minimum and the maximum `enqueuedAt`. */
  earliest = new Float64Array(0);
  latest = new Float64Array(0);

  protected override resize(copy: <T extends Column>(column: T) => T): void {
    super.resize(copy);
    this.statuses = copy(this.statuses);
    this.types = copy(this.types);
    this.earliest = copy(this.earliest);
    this.latest = copy(this.latest);
  }
}
