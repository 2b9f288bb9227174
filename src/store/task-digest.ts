import { FLAG } from '../contract/task-types/task-type.ts';
import {
  NONE,
  STATUS_OF_CODE,
  type TaskChunk,
  TASKS_PER_CHUNK,
  TYPE_OF_CODE,
} from './task-chunk.ts';
import { grown } from './task-columns.ts';
import { TaskRuns } from './task-runs.ts';

const N = TASKS_PER_CHUNK;

/** Words of a plane, which has one bit per task of a chunk, at its position among the runs. */
export const PLANE_WORDS = N / 32;

/** Planes of a chunk: one for existing tasks, then one per status code, then one per type code. */
export const STATUS_PLANES = 1;
export const TYPE_PLANES = STATUS_PLANES + STATUS_OF_CODE.length;
const PLANES = TYPE_PLANES + TYPE_OF_CODE.length;
/** Words of all planes of a chunk. */
export const CHUNK_PLANE_WORDS = PLANES * PLANE_WORDS;

/**
 * Spans of a chunk: minimum and maximum. The minimum is greater than the maximum when there is no
 * value, and -Infinity when some tasks lack a date that others have.
 */
export const SPAN = { enqueued: 0, started: 2, finished: 4, batchUid: 6, canceledBy: 8 } as const;
export const SPAN_NUMBERS = 10;

/**
 * The data that filters read: for each chunk the properties that its tasks share, and its runs. A
 * run is the tasks of the same index, batch and cancelation; a chunk has 1 to 90 in practice and at
 * most 256.
 *
 * Everything is in columns over all chunks, because a query that visits 4,000 objects spends its
 * time waiting for memory. Derived from the chunks, never stored. One million tasks take 4 MB, plus
 * 26 bytes per run and 37 per kind.
 */
export class TaskDigest {
  readonly #chunks: readonly (TaskChunk | undefined)[];
  readonly #stale = new Set<number>();

  // One element per chunk, or as many as the name says.
  statuses = new Uint32Array(0);
  types = new Uint32Array(0);
  spans = new Float64Array(0);
  planes = new Int32Array(0);
  /** By chunk: positions of the tasks that belong to several indexes, if any. */
  readonly linked: (Uint8Array | undefined)[] = [];

  readonly runs: TaskRuns;

  /** @param wastedMax unused runs to tolerate before their space is reclaimed */
  constructor(chunks: readonly (TaskChunk | undefined)[], wastedMax = WASTED_RUNS_MAX) {
    this.#chunks = chunks;
    this.runs = new TaskRuns(wastedMax);
    for (let number = 0; number < chunks.length; number++) this.#stale.add(number);
  }

  /** Call this when the chunk with that number was replaced, or its columns have changed. */
  changed(number: number): void {
    this.#stale.add(number);
  }

  /**
   * Catches up with the changes.
   * @param ms stop after about this time
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
    this.runs.kinds.refresh();
    return this.#stale.size === 0;
  }

  #reserve(chunks: number): void {
    if (chunks <= this.statuses.length) return;
    const size = Math.max(chunks, Math.ceil(this.statuses.length * 1.5), 16);
    this.statuses = grown(this.statuses, size);
    this.types = grown(this.types, size);
    this.spans = grown(this.spans, size * SPAN_NUMBERS);
    this.planes = grown(this.planes, size * CHUNK_PLANE_WORDS);
    this.runs.reserveChunks(size);
  }

  #digest(number: number, chunk: TaskChunk | undefined): void {
    const { planes, spans } = this;
    const firstPlane = number * CHUNK_PLANE_WORDS;
    planes.fill(0, firstPlane, firstPlane + CHUNK_PLANE_WORDS);
    let statuses = 0;
    let types = 0;
    this.runs.replace(number, chunk);
    if (chunk !== undefined) {
      const { type, status, flags, enqueuedAt } = chunk;
      const { rank } = this.runs;
      const linked: number[] = [];
      let min = Infinity;
      let max = -Infinity;
      for (let i = 0; i < N; i++) {
        const code = type[i]!;
        if (code === 0) continue;
        const state = status[i]!;
        const slot = rank[number * N + i]!;
        const word = firstPlane + (slot >> 5);
        const bit = 1 << (slot & 31);
        planes[word]! |= bit;
        planes[word + (STATUS_PLANES + state) * PLANE_WORDS]! |= bit;
        planes[word + (TYPE_PLANES + code) * PLANE_WORDS]! |= bit;
        statuses |= 1 << state;
        types |= 1 << code;
        if ((flags[i]! & FLAG.linked) !== 0) linked.push(i);
        const time = enqueuedAt[i]!;
        min = Math.min(min, time);
        max = Math.max(max, time);
      }
      const base = number * SPAN_NUMBERS;
      spans[base + SPAN.enqueued] = min;
      spans[base + SPAN.enqueued + 1] = max;
      dateSpan(chunk.startedAt, chunk, spans, base + SPAN.started);
      dateSpan(chunk.finishedAt, chunk, spans, base + SPAN.finished);
      uidSpan(chunk.batchUid, chunk, spans, base + SPAN.batchUid);
      uidSpan(chunk.canceledBy, chunk, spans, base + SPAN.canceledBy);
      this.linked[number] = linked.length === 0 ? undefined : Uint8Array.from(linked);
    }
    this.statuses[number] = statuses;
    this.types[number] = types;
  }
}

/** Unused runs to tolerate before their space is reclaimed. */
const WASTED_RUNS_MAX = 10_000;

function dateSpan(dates: Float64Array, { type }: TaskChunk, spans: Float64Array, at: number): void {
  let min = Infinity;
  let max = -Infinity;
  let all = true;
  for (let i = 0; i < N; i++) {
    if (type[i] === 0) continue;
    const date = dates[i]!;
    if (Number.isNaN(date)) all = false;
    if (date < min) min = date;
    if (date > max) max = date;
  }
  spans[at] = all || max === -Infinity ? min : -Infinity;
  spans[at + 1] = max;
}

function uidSpan(uids: Uint32Array, { type }: TaskChunk, spans: Float64Array, at: number): void {
  let min = Infinity;
  let max = -Infinity;
  for (let i = 0; i < N; i++) {
    const uid = uids[i]!;
    if (type[i] === 0 || uid === NONE) continue;
    if (uid < min) min = uid;
    if (uid > max) max = uid;
  }
  spans[at] = min;
  spans[at + 1] = max;
}
