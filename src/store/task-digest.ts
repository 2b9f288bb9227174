import {
  FLAG,
  NONE,
  STATUS_OF_CODE,
  type TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_OF_CODE,
} from './task-chunk.ts';

const N = TASKS_PER_CHUNK;

/** A bit per task of a chunk, 32 in a word, is a plane. */
export const PLANE_WORDS = N / 32;

/** Planes of a chunk: there is a task, then one per status code, then one per type code. */
export const STATUS_PLANES = 1;
export const TYPE_PLANES = STATUS_PLANES + STATUS_OF_CODE.length;
const PLANES = TYPE_PLANES + TYPE_OF_CODE.length;
/** Words of all planes of a chunk. */
export const CHUNK_PLANE_WORDS = PLANES * PLANE_WORDS;

/**
 * Spans of a chunk: the least and the greatest value. The least is greater when there is none, and -Infinity
 * when some tasks lack a date that others have.
 */
export const SPAN = { enqueued: 0, started: 2, finished: 4, batchUid: 6, canceledBy: 8 } as const;
export const SPAN_NUMBERS = 10;

/** Bits of the column `traits`. */
export const TRAIT = {
  /** `enqueuedAt` never falls, and every uid has a task. */
  ascending: 1,
  /** Some tasks belong to several indexes. */
  linked: 2,
} as const;

/** Stands in the column `index` of groups for a task that is linked. No index has this number. */
export const SEVERAL = NONE - 1;

/**
 * What filters read: for each chunk what its tasks have in common, and its groups: tasks of the same index,
 * of the same batch, and of both, of which there are 1 to 60 in practice and at worst 256 each.
 *
 * Everything is in columns over all chunks, because a query that visits 4,000 objects spends its time waiting
 * for memory. Derived from the chunks, never stored. 1 M tasks take 7 MB, and
 * each group of an index 7 bytes, of a batch 26, of both 4.
 */
export class TaskDigest {
  readonly #chunks: readonly (TaskChunk | undefined)[];
  readonly #stale = new Set<number>();

  // One element per chunk, or as many as its name says.
  statuses = new Uint32Array(0);
  types = new Uint32Array(0);
  traits = new Uint8Array(0);
  spans = new Float64Array(0);
  planes = new Uint32Array(0);

  readonly byIndex: IndexGroups;
  readonly byBatch: BatchGroups;
  readonly byBoth: PairGroups;

  /** @param wastedMax groups of each kind whose space is not worth being taken back */
  constructor(chunks: readonly (TaskChunk | undefined)[], wastedMax = WASTED_GROUPS_MAX) {
    this.#chunks = chunks;
    this.byIndex = new IndexGroups(wastedMax);
    this.byBatch = new BatchGroups(wastedMax);
    this.byBoth = new PairGroups(this.byIndex, this.byBatch, wastedMax);
    for (let number = 0; number < chunks.length; number++) this.#stale.add(number);
  }

  /** The chunk of that number is another one, or its columns are. */
  changed(number: number): void {
    this.#stale.add(number);
  }

  /**
   * Catches up with the changes.
   * @param ms stop after about so long
   * @returns whether it has caught up
   */
  refresh(ms = Infinity): boolean {
    if (this.#stale.size === 0) return true;
    this.#reserve(this.#chunks.length);
    const end = performance.now() + ms;
    for (const number of this.#stale) {
      this.#stale.delete(number);
      this.#digest(number, this.#chunks[number]);
      if (performance.now() >= end) break;
    }
    return this.#stale.size === 0;
  }

  #reserve(chunks: number): void {
    if (chunks <= this.statuses.length) return;
    const size = Math.max(chunks, Math.ceil(this.statuses.length * 1.5), 16);
    this.statuses = grown(this.statuses, size);
    this.types = grown(this.types, size);
    this.traits = grown(this.traits, size);
    this.spans = grown(this.spans, size * SPAN_NUMBERS);
    this.planes = grown(this.planes, size * CHUNK_PLANE_WORDS);
    this.byIndex.reserveChunks(size);
    this.byBatch.reserveChunks(size);
    this.byBoth.reserveChunks(size);
  }

  #digest(number: number, chunk: TaskChunk | undefined): void {
    const { planes, spans } = this;
    const firstPlane = number * CHUNK_PLANE_WORDS;
    planes.fill(0, firstPlane, firstPlane + CHUNK_PLANE_WORDS);
    let statuses = 0;
    let types = 0;
    this.byIndex.replace(number, chunk);
    this.byBatch.replace(number, chunk);
    this.byBoth.replace(number, chunk);
    if (chunk !== undefined) {
      const { type, status, flags, enqueuedAt } = chunk;
      let linked = 0;
      let ascending: number = TRAIT.ascending;
      let min = Infinity;
      let max = -Infinity;
      for (let i = 0; i < N; i++) {
        const code = type[i]!;
        if (code === 0) {
          ascending = 0;
          continue;
        }
        const state = status[i]!;
        const word = firstPlane + (i >> 5);
        const bit = 1 << (i & 31);
        planes[word]! |= bit;
        planes[word + (STATUS_PLANES + state) * PLANE_WORDS]! |= bit;
        planes[word + (TYPE_PLANES + code) * PLANE_WORDS]! |= bit;
        statuses |= 1 << state;
        types |= 1 << code;
        linked |= flags[i]! & FLAG.linked;
        const time = enqueuedAt[i]!;
        if (time < max) ascending = 0;
        min = Math.min(min, time);
        max = Math.max(max, time);
      }
      const base = number * SPAN_NUMBERS;
      spans[base + SPAN.enqueued] = min;
      spans[base + SPAN.enqueued + 1] = max;
      this.byBatch.spans(number, spans, base);
      this.traits[number] = ascending | (linked === 0 ? 0 : TRAIT.linked);
    }
    this.statuses[number] = statuses;
    this.types[number] = types;
  }
}

const WASTED_GROUPS_MAX = 10_000;

/** A hash table for the groups of one chunk: their number plus 1, or 0. Half of it stays empty at least. */
const SLOT_BITS = 9;
const slots = new Uint16Array(1 << SLOT_BITS);

/** The groups of all chunks; those of one chunk follow each other. Columns have one element per group. */
abstract class Groups {
  /** Group of each task, counted from the first of its chunk; void where there is no task. */
  of = new Uint8Array(0);
  /** First group of each chunk, and their number. */
  at = new Uint32Array(0);
  count = new Uint16Array(0);
  used = 0;
  /** Groups that no chunk has any more. */
  #wasted = 0;
  /** Number of tasks. */
  size = new Uint16Array(0);
  readonly #wastedMax: number;

  constructor(wastedMax: number) {
    this.#wastedMax = wastedMax;
  }

  /** Copies the columns: to a larger size, or only the groups that are in use. */
  protected abstract resize(copy: <T extends Column>(column: T) => T): void;
  /** Whether a task belongs to a group. */
  protected abstract has(group: number, chunk: TaskChunk, i: number): boolean;
  protected abstract put(group: number, chunk: TaskChunk, i: number): void;
  protected abstract hash(chunk: TaskChunk, i: number): number;
  /** Whether a task is a group of its own. */
  protected abstract alone(chunk: TaskChunk, i: number): boolean;

  reserveChunks(size: number): void {
    this.of = grown(this.of, size * N);
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
    if (this.used + N > this.size.length) {
      const size = Math.ceil((this.used + N) * 1.5);
      this.size = grown(this.size, size);
      this.resize((column) => grown(column, size));
    }
    const { type } = chunk;
    const begin = this.used;
    slots.fill(0);
    for (let i = 0; i < N; i++) {
      if (type[i] === 0) continue;
      const alone = this.alone(chunk, i);
      let slot = Math.imul(this.hash(chunk, i), 0x9e37_79b1) >>> (32 - SLOT_BITS);
      let group = 0;
      while (!alone && (group = slots[slot]!) !== 0) {
        if (this.has(begin + group - 1, chunk, i)) break;
        slot = (slot + 1) % slots.length;
      }
      if (group === 0) {
        this.put(this.used, chunk, i);
        this.size[this.used++] = 0;
        group = this.used - begin;
        if (!alone) slots[slot] = group;
      }
      this.size[begin + group - 1]!++;
      this.of[number * N + i] = group - 1;
    }
    this.at[number] = begin;
    this.count[number] = this.used - begin;
  }

  /** Writes the groups anew, in the order of the chunks. */
  #compact(): void {
    const { at, count } = this;
    const moved = new Uint32Array(at.length);
    let used = 0;
    for (let n = 0; n < at.length; n++) {
      moved[n] = used;
      used += count[n]!;
    }
    const copy = <T extends Column>(column: T): T => {
      const compact = empty(column, used);
      for (let n = 0; n < at.length; n++) {
        compact.set(column.subarray(at[n], at[n]! + count[n]!), moved[n]);
      }
      return compact;
    };
    this.size = copy(this.size);
    this.resize(copy);
    this.at = moved;
    this.used = used;
    this.#wasted = 0;
  }
}

/** The tasks of one index; a task of several indexes is a group of its own. */
class IndexGroups extends Groups {
  index = new Uint32Array(0);
  /** Position in the chunk of the first task. */
  first = new Uint8Array(0);

  protected override resize(copy: <T extends Column>(column: T) => T): void {
    this.index = copy(this.index);
    this.first = copy(this.first);
  }

  protected override has(group: number, chunk: TaskChunk, i: number): boolean {
    return this.index[group] === chunk.index[i];
  }

  protected override put(group: number, chunk: TaskChunk, i: number): void {
    this.index[group] = this.alone(chunk, i) ? SEVERAL : chunk.index[i]!;
    this.first[group] = i;
  }

  protected override hash(chunk: TaskChunk, i: number): number {
    return chunk.index[i]!;
  }

  protected override alone(chunk: TaskChunk, i: number): boolean {
    return (chunk.flags[i]! & FLAG.linked) !== 0;
  }
}

/** The tasks of one batch, which have the same dates; and of those that wait. */
class BatchGroups extends Groups {
  batchUid = new Uint32Array(0);
  canceledBy = new Uint32Array(0);
  startedAt = new Float64Array(0);
  finishedAt = new Float64Array(0);

  protected override resize(copy: <T extends Column>(column: T) => T): void {
    this.batchUid = copy(this.batchUid);
    this.canceledBy = copy(this.canceledBy);
    this.startedAt = copy(this.startedAt);
    this.finishedAt = copy(this.finishedAt);
  }

  protected override has(group: number, chunk: TaskChunk, i: number): boolean {
    return (
      this.batchUid[group] === chunk.batchUid[i] &&
      this.canceledBy[group] === chunk.canceledBy[i] &&
      sameTime(this.startedAt[group]!, chunk.startedAt[i]!) &&
      sameTime(this.finishedAt[group]!, chunk.finishedAt[i]!)
    );
  }

  protected override put(group: number, chunk: TaskChunk, i: number): void {
    this.batchUid[group] = chunk.batchUid[i]!;
    this.canceledBy[group] = chunk.canceledBy[i]!;
    this.startedAt[group] = chunk.startedAt[i]!;
    this.finishedAt[group] = chunk.finishedAt[i]!;
  }

  protected override hash(chunk: TaskChunk, i: number): number {
    return chunk.batchUid[i]!;
  }

  protected override alone(): boolean {
    return false;
  }

  spans(number: number, spans: Float64Array, base: number): void {
    const begin = this.at[number]!;
    const end = begin + this.count[number]!;
    timeSpan(this.startedAt, begin, end, spans, base + SPAN.started);
    timeSpan(this.finishedAt, begin, end, spans, base + SPAN.finished);
    uidSpan(this.batchUid, begin, end, spans, base + SPAN.batchUid);
    uidSpan(this.canceledBy, begin, end, spans, base + SPAN.canceledBy);
  }
}

/** The tasks of one index and one batch. */
class PairGroups extends Groups {
  /** Their groups, counted as `of` counts. */
  ofIndex = new Uint8Array(0);
  ofBatch = new Uint8Array(0);
  readonly #byIndex: IndexGroups;
  readonly #byBatch: BatchGroups;
  /** First task of the chunk that is being done. */
  #base = 0;

  constructor(byIndex: IndexGroups, byBatch: BatchGroups, wastedMax: number) {
    super(wastedMax);
    this.#byIndex = byIndex;
    this.#byBatch = byBatch;
  }

  /** REQUIRES: the groups of the chunk by index and by batch are made. */
  override replace(number: number, chunk: TaskChunk | undefined): void {
    this.#base = number * N;
    super.replace(number, chunk);
  }

  protected override resize(copy: <T extends Column>(column: T) => T): void {
    this.ofIndex = copy(this.ofIndex);
    this.ofBatch = copy(this.ofBatch);
  }

  protected override has(group: number, _: TaskChunk, i: number): boolean {
    return (
      this.ofIndex[group] === this.#byIndex.of[this.#base + i] &&
      this.ofBatch[group] === this.#byBatch.of[this.#base + i]
    );
  }

  protected override put(group: number, _: TaskChunk, i: number): void {
    this.ofIndex[group] = this.#byIndex.of[this.#base + i]!;
    this.ofBatch[group] = this.#byBatch.of[this.#base + i]!;
  }

  protected override hash(_: TaskChunk, i: number): number {
    return this.#byIndex.of[this.#base + i]! * 256 + this.#byBatch.of[this.#base + i]!;
  }

  protected override alone(): boolean {
    return false;
  }
}

function sameTime(a: number, b: number): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

function timeSpan(
  times: Float64Array,
  begin: number,
  end: number,
  spans: Float64Array,
  at: number,
): void {
  let min = Infinity;
  let max = -Infinity;
  let all = true;
  for (let g = begin; g < end; g++) {
    const time = times[g]!;
    if (Number.isNaN(time)) all = false;
    if (time < min) min = time;
    if (time > max) max = time;
  }
  spans[at] = all || max === -Infinity ? min : -Infinity;
  spans[at + 1] = max;
}

function uidSpan(
  uids: Uint32Array,
  begin: number,
  end: number,
  spans: Float64Array,
  at: number,
): void {
  let min = Infinity;
  let max = -Infinity;
  for (let g = begin; g < end; g++) {
    const uid = uids[g]!;
    if (uid === NONE) continue;
    if (uid < min) min = uid;
    if (uid > max) max = uid;
  }
  spans[at] = min;
  spans[at + 1] = max;
}

type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

function empty<T extends Column>(like: T, size: number): T {
  return new (like.constructor as new (size: number) => T)(size);
}

function grown<T extends Column>(column: T, size: number): T {
  const larger = empty(column, size);
  larger.set(column);
  return larger;
}
