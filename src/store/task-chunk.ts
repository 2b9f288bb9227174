import { TASK_TYPE_ENTRIES } from '../contract/task-types/registry.ts';
import type { TaskStatus, TaskType } from '../contract/tasks.ts';
import { FLAG } from '../contract/task-types/task-type.ts';

/**
 * The filterable properties of 256 consecutive task uids, as columns in one buffer, which is also
 * the stored form. One million tasks are 3,907 chunks of 12 KiB: 48 MB in memory, read at start
 * with one copy each.
 *
 * Layout, little-endian. Each column holds 256 elements:
 *
 *   u8   status, type, flags (`FLAG`), unused
 *   u32  index, canceledBy, batchUid, result, payloadBytes
 *   f64  enqueuedAt, startedAt, finishedAt (ms since 1970, NaN = never)
 *
 * Type 0 marks a uid without a task.
 */
export const TASKS_PER_CHUNK = 256;
const N = TASKS_PER_CHUNK;
export const CHUNK_BYTES = N * (4 + 5 * 4 + 3 * 8);

/** Absent value in the u32 columns. */
export const NONE = 0xffff_ffff;

export const TYPE_CODES = Object.fromEntries(
  TASK_TYPE_ENTRIES.map(({ name, code }) => [name, code]),
) as Readonly<Record<TaskType, number>>;

export const TYPE_OF_CODE: readonly (TaskType | undefined)[] = (() => {
  const types: (TaskType | undefined)[] = [];
  for (const { name, code } of TASK_TYPE_ENTRIES) types[code] = name;
  return types;
})();

/** Stored codes. `processing` is never stored. */
export const STATUS_CODES: Readonly<Record<TaskStatus, number>> = {
  enqueued: 0,
  processing: 1,
  succeeded: 2,
  failed: 3,
  canceled: 4,
};
export const STATUS_OF_CODE: readonly TaskStatus[] = [
  'enqueued',
  'processing',
  'succeeded',
  'failed',
  'canceled',
];
export const PROCESSING = STATUS_CODES.processing;

/** The columns that a new task sets. */
interface EnqueuedColumns {
  type: TaskType;
  flags: number;
  /** Number of its index, or `NONE`. */
  index: number;
  /** Sizes that do not fit are stored as the greatest value. */
  payloadBytes: number;
  enqueuedAt: number;
}

/** The columns that the end of a task sets. */
interface EndColumns {
  status: TaskStatus;
  result: number | null;
  canceledBy?: number;
}

/** The columns that all tasks of a finished batch share. */
interface BatchColumns {
  batchUid: number;
  startedAt: number;
  finishedAt: number;
}

/** The minimum and the maximum of some numbers; without any, the minimum is greater. */
class Span {
  first = Infinity;
  last = -Infinity;

  add(value: number): void {
    if (value < this.first) this.first = value;
    if (value > this.last) this.last = value;
  }
}

export interface ChunkSummary {
  readonly batchUid: Readonly<Span>;
  readonly enqueuedAt: Readonly<Span>;
  /** Positions of the tasks that belong to several indexes. */
  readonly linked: readonly number[];
}

export class TaskChunk {
  readonly buffer: ArrayBuffer;
  readonly status: Uint8Array;
  readonly type: Uint8Array;
  readonly flags: Uint8Array;
  /** Four values each, the first in the lowest byte. */
  readonly statusWords: Int32Array;
  readonly typeWords: Int32Array;
  readonly index: Uint32Array;
  readonly canceledBy: Uint32Array;
  readonly batchUid: Uint32Array;
  /**
   * The counter that the task ended with: documents indexed or deleted, tasks canceled or deleted.
   */
  readonly result: Uint32Array;
  readonly payloadBytes: Uint32Array;
  readonly enqueuedAt: Float64Array;
  readonly startedAt: Float64Array;
  readonly finishedAt: Float64Array;
  #summary: ChunkSummary | null = null;

  /** @param buffer `CHUNK_BYTES` long; the chunk takes ownership */
  constructor(buffer: ArrayBuffer) {
    this.buffer = buffer;
    this.status = new Uint8Array(buffer, 0, N);
    this.type = new Uint8Array(buffer, N, N);
    this.flags = new Uint8Array(buffer, 2 * N, N);
    this.statusWords = new Int32Array(buffer, 0, N / 4);
    this.typeWords = new Int32Array(buffer, N, N / 4);
    let at = 4 * N;
    const u32 = (): Uint32Array => new Uint32Array(buffer, (at += 4 * N) - 4 * N, N);
    this.index = u32();
    this.canceledBy = u32();
    this.batchUid = u32();
    this.result = u32();
    this.payloadBytes = u32();
    const f64 = (): Float64Array => new Float64Array(buffer, (at += 8 * N) - 8 * N, N);
    this.enqueuedAt = f64();
    this.startedAt = f64();
    this.finishedAt = f64();
  }

  static empty(): TaskChunk {
    return new TaskChunk(new ArrayBuffer(CHUNK_BYTES));
  }

  static decode(bytes: Uint8Array): TaskChunk {
    if (bytes.length !== CHUNK_BYTES) throw new Error(`a task chunk has ${bytes.length} bytes`);
    const buffer = new ArrayBuffer(CHUNK_BYTES);
    new Uint8Array(buffer).set(bytes);
    return new TaskChunk(buffer);
  }

  clone(): TaskChunk {
    return new TaskChunk(this.buffer.slice(0));
  }

  /**
   * The stored form, in which tasks that are being processed are enqueued. May share memory with
   * the chunk.
   */
  encode(): Buffer {
    if (!this.status.includes(PROCESSING)) return Buffer.from(this.buffer);
    const stored = this.clone();
    for (let i = 0; i < N; i++) if (stored.status[i] === PROCESSING) stored.unmark(i);
    return Buffer.from(stored.buffer);
  }

  /** Computed when it is needed. */
  get summary(): ChunkSummary {
    return (this.#summary ??= this.#summarize());
  }

  #summarize(): ChunkSummary {
    const summary = { batchUid: new Span(), enqueuedAt: new Span(), linked: [] as number[] };
    for (let i = 0; i < N; i++) {
      if (this.type[i] === 0) continue;
      summary.enqueuedAt.add(this.enqueuedAt[i]!);
      const batchUid = this.batchUid[i]!;
      if (batchUid !== NONE) summary.batchUid.add(batchUid);
      if ((this.flags[i]! & FLAG.linked) !== 0) summary.linked.push(i);
    }
    return summary;
  }

  /** Sets a new, waiting task. */
  enqueue(i: number, { type, flags, index, payloadBytes, enqueuedAt }: EnqueuedColumns): void {
    this.status[i] = STATUS_CODES.enqueued;
    this.type[i] = TYPE_CODES[type];
    this.flags[i] = flags;
    this.index[i] = index;
    this.canceledBy[i] = NONE;
    this.batchUid[i] = NONE;
    this.result[i] = NONE;
    this.payloadBytes[i] = Math.min(payloadBytes, NONE);
    this.enqueuedAt[i] = enqueuedAt;
    this.#summary = null;
    this.startedAt[i] = NaN;
    this.finishedAt[i] = NaN;
  }

  /** Shows a task as processing. */
  mark(i: number, batchUid: number, startedAt: number): void {
    this.status[i] = PROCESSING;
    this.batchUid[i] = batchUid;
    this.#summary = null;
    this.startedAt[i] = startedAt;
  }

  /** Sets a task back to enqueued. */
  unmark(i: number): void {
    this.status[i] = STATUS_CODES.enqueued;
    this.batchUid[i] = NONE;
    this.#summary = null;
    this.startedAt[i] = NaN;
  }

  end(i: number, { status, result, canceledBy }: EndColumns, batch: BatchColumns): void {
    this.status[i] = STATUS_CODES[status];
    this.batchUid[i] = batch.batchUid;
    this.#summary = null;
    this.startedAt[i] = batch.startedAt;
    this.finishedAt[i] = batch.finishedAt;
    this.result[i] = result ?? NONE;
    this.canceledBy[i] = canceledBy ?? NONE;
  }

  /** Removes a finished task. Its batch can still be read. */
  remove(i: number): void {
    this.type[i] = 0;
    this.status[i] = STATUS_CODES.succeeded;
  }
}
