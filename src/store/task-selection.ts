import { TASKS_PER_CHUNK, TYPE_CODES } from './task-chunk.ts';
import type { Conditions, IndexMask, TaskTable } from './task-conditions.ts';
import {
  CHUNK_PLANE_WORDS,
  PLANE_WORDS,
  SPAN,
  SPAN_NUMBERS,
  STATUS_PLANES,
  type TaskDigest,
  TYPE_PLANES,
} from './task-digest.ts';
import type { RunList } from './run-list.ts';
import { type Bounds, SEVERAL, type UidSet } from './task-kinds.ts';

/**
 * State of a chunk: `LEFT`, unless none of its tasks meets the conditions, and the conditions that
 * not all tasks meet.
 */
const LEFT = 1;
const STATUS = 2;
const TYPE = 4;
const ENQUEUED = 8;
const UIDS = 16;
const STARTED = 32;
const FINISHED = 64;
const INDEX = 128;
const BATCH = 256;
const CANCELED_BY = 512;
/**
 * Conditions checked for each kind of tasks, together with `INDEX`. `INDEX` alone is checked for
 * each run of an index.
 */
const BY_KIND = STARTED | FINISHED | BATCH | CANCELED_BY;

// State of the current chunk. Module constants, because the compiler then knows their lengths.

/** A bit per remaining task, at its position among the runs. */
const bits = new Int32Array(PLANE_WORDS);
/** A bit at the first task of each run where passing begins or ends. */
const flips = new Int32Array(PLANE_WORDS);

/**
 * The tasks that meet all conditions. Most chunks are decided as a whole, by the properties that
 * their tasks share. In the others, statuses and types take a few operations on words of bits. The
 * index, the batch, the cancelation and the dates of the batch are checked once per kind of tasks
 * in the whole queue, and a run of a passing kind is a range of bits. Single tasks are checked only
 * if they belong to several indexes, or in the few chunks where a range of `enqueuedAt` begins or
 * ends.
 */
export class Selection {
  /** State per chunk. */
  readonly #known: Uint16Array;
  /** Bit per task, at its position among the runs of its chunk. */
  readonly #uids: Int32Array | null;
  /** Condition on tasks of one index. */
  readonly #index: IndexMask | null;
  /** 1 for each kind that passes. */
  readonly #kinds: Uint8Array | null;
  readonly #table: TaskTable;
  readonly #digest: TaskDigest;
  readonly #conditions: Conditions;

  constructor(table: TaskTable, conditions: Conditions) {
    const { digest } = table;
    digest.refresh();
    this.#table = table;
    this.#digest = digest;
    this.#conditions = conditions;
    const { statuses, types, spans } = digest;
    const { uids, status, type, index, visible, canceledBy, batchUid } = conditions;
    const { enqueued, started, finished } = conditions;
    const known = new Uint16Array(table.chunks.length);
    this.#known = known;
    for (let n = 0; n < known.length; n++) known[n] = statuses[n] === 0 ? 0 : LEFT;
    this.#uids = uids === null ? null : this.#decideUids(uids);
    if (status !== null) decideCodes(known, statuses, status, STATUS);
    if (type !== null) decideCodes(known, types, type, TYPE);
    if (enqueued !== null) decideTimes(known, spans, SPAN.enqueued, enqueued, ENQUEUED);
    if (started !== null) decideTimes(known, spans, SPAN.started, started, STARTED);
    if (finished !== null) decideTimes(known, spans, SPAN.finished, finished, FINISHED);
    if (batchUid !== null) decideSet(known, spans, SPAN.batchUid, batchUid, BATCH);
    if (canceledBy !== null) decideCanceled(known, spans, CANCELED_BY);
    if (index !== null || visible !== null) {
      for (let n = 0; n < known.length; n++) if (known[n] !== 0) known[n]! |= INDEX;
    }
    this.#index = ownIndex(index, visible);
    this.#kinds = null;
    if (known.some((what) => (what & BY_KIND) !== 0)) {
      const kinds = { index: this.#index, canceledBy, batchUid, started, finished };
      this.#kinds = digest.runs.kinds.passing(kinds);
    }
  }

  #decideUids(uids: readonly number[]): Int32Array {
    const known = this.#known;
    const { rank } = this.#digest.runs;
    const wanted = new Int32Array(known.length * PLANE_WORDS);
    const chunks = new Uint8Array(known.length);
    for (const uid of uids) {
      const number = Math.floor(uid / TASKS_PER_CHUNK);
      if (number >= known.length) continue;
      const slot = rank[uid]!;
      wanted[number * PLANE_WORDS + (slot >> 5)]! |= 1 << (slot & 31);
      chunks[number] = 1;
    }
    for (let n = 0; n < known.length; n++) {
      if (chunks[n] === 0) known[n] = 0;
      else if (known[n] !== 0) known[n]! |= UIDS;
    }
    return wanted;
  }

  /** Number of remaining tasks in a chunk. */
  count(number: number): number {
    const known = this.#known[number]!;
    if (known === 0) return 0;
    this.#select(number, known);
    return countBits();
  }

  /** Positions of the remaining tasks in a chunk, ascending. */
  positions(number: number): number[] {
    const known = this.#known[number]!;
    const positions: number[] = [];
    if (known === 0) return positions;
    this.#select(number, known);
    const { rank } = this.#digest.runs;
    const first = number * TASKS_PER_CHUNK;
    for (let i = 0; i < TASKS_PER_CHUNK; i++) {
      const slot = rank[first + i]!;
      if (((bits[slot >> 5]! >>> (slot & 31)) & 1) === 1) positions.push(i);
    }
    return positions;
  }

  /** The tasks of a chunk for which the kind does not decide the condition on the index. */
  #linkedIn(number: number, known: number): Uint8Array | undefined {
    return (known & INDEX) === 0 ? undefined : this.#digest.linked[number];
  }

  /** Sets `bits` to the remaining tasks in a chunk. */
  #select(number: number, known: number): void {
    const { planes, statuses, types } = this.#digest;
    const { status, type } = this.#conditions;
    const plane = number * CHUNK_PLANE_WORDS;
    loadBits(planes, plane);
    if ((known & UIDS) !== 0) keepBits(this.#uids!, number * PLANE_WORDS);
    if ((known & STATUS) !== 0) {
      keepCodes(planes, plane + STATUS_PLANES * PLANE_WORDS, statuses[number]!, status!);
    }
    if ((known & TYPE) !== 0) {
      keepCodes(planes, plane + TYPE_PLANES * PLANE_WORDS, types[number]!, type!);
    }
    if ((known & ENQUEUED) !== 0) this.#keepEnqueued(number);
    const { ofKind, ofIndex } = this.#digest.runs;
    if ((known & BY_KIND) !== 0) keepRuns(ofKind, number, this.#kinds!);
    else if ((known & INDEX) !== 0) keepRuns(ofIndex, number, this.#index!);
    const linked = this.#linkedIn(number, known);
    if (linked !== undefined) this.#keepLinked(number, linked);
  }

  #keepEnqueued(number: number): void {
    const { after, before } = this.#conditions.enqueued!;
    const { enqueuedAt } = this.#table.chunks[number]!;
    const { rank } = this.#digest.runs;
    for (let i = 0; i < TASKS_PER_CHUNK; i++) {
      const time = enqueuedAt[i]!;
      const slot = rank[number * TASKS_PER_CHUNK + i]!;
      if (!(time > after && time < before)) bits[slot >> 5]! &= ~(1 << (slot & 31));
    }
  }

  /** Removes those tasks of several indexes that do not pass. */
  #keepLinked(number: number, linked: Uint8Array): void {
    const { type } = this.#table.chunks[number]!;
    const { rank } = this.#digest.runs;
    for (const i of linked) {
      const uid = number * TASKS_PER_CHUNK + i;
      const slot = rank[uid]!;
      if (((bits[slot >> 5]! >>> (slot & 31)) & 1) === 0) continue;
      if (meetsIndexes(type[i]!, this.#table.linked.get(uid)!, this.#conditions)) continue;
      bits[slot >> 5]! &= ~(1 << (slot & 31));
    }
  }
}

const SWAP = TYPE_CODES.indexSwap;

/** Whether a task of several indexes meets the conditions on them. */
export function meetsIndexes(
  type: number,
  numbers: readonly number[],
  { index, visible }: Pick<Conditions, 'index' | 'visible'>,
): boolean {
  if (index !== null) {
    // The filter finds a swap only if it names all its indexes; for a renaming any one is enough.
    const asked = countIn(index, numbers);
    if (asked === 0 || (type === SWAP && asked < numbers.length)) return false;
  }
  return visible === null || countIn(visible, numbers) === numbers.length;
}

/** Condition on tasks of one index. Tasks of several are checked one by one. */
function ownIndex(index: IndexMask | null, visible: IndexMask | null): IndexMask | null {
  if (index === null && visible === null) return null;
  const mask = (index ?? visible)!.slice();
  if (index !== null && visible !== null) {
    for (let n = 0; n < mask.length; n++) mask[n]! &= visible[n]!;
  }
  // Index 0 is the number of `SEVERAL`.
  mask[0] = 1;
  return mask;
}

function countIn(mask: IndexMask, numbers: readonly number[]): number {
  let count = 0;
  for (const number of numbers) count += mask[number - SEVERAL] ?? 0;
  return count;
}

// Each function below decides chunks: it drops those in which no task passes, and notes the
// condition where not all tasks pass.

function decideCodes(known: Uint16Array, present: Uint32Array, wanted: number, what: number): void {
  for (let n = 0; n < known.length; n++) {
    if ((present[n]! & wanted) === 0) known[n] = 0;
    else if (known[n] !== 0 && (present[n]! & ~wanted) !== 0) known[n]! |= what;
  }
}

function decideTimes(
  known: Uint16Array,
  spans: Float64Array,
  span: number,
  { after, before }: Bounds,
  what: number,
): void {
  for (let n = 0; n < known.length; n++) {
    const min = spans[n * SPAN_NUMBERS + span]!;
    const max = spans[n * SPAN_NUMBERS + span + 1]!;
    // If some dates are absent, the minimum is -Infinity, which is within no bounds.
    if (!(max > after && min < before)) known[n] = 0;
    else if (known[n] !== 0 && !(min > after && max < before)) known[n]! |= what;
  }
}

function decideSet(
  known: Uint16Array,
  spans: Float64Array,
  at: number,
  { min, span }: UidSet,
  what: number,
): void {
  for (let n = 0; n < known.length; n++) {
    const first = spans[n * SPAN_NUMBERS + at]!;
    const last = spans[n * SPAN_NUMBERS + at + 1]!;
    if (!(first <= min + span && min <= last)) known[n] = 0;
    else if (known[n] !== 0) known[n]! |= what;
  }
}

/** Decides only chunks in which some tasks were canceled. */
function decideCanceled(known: Uint16Array, spans: Float64Array, what: number): void {
  for (let n = 0; n < known.length; n++) {
    if (spans[n * SPAN_NUMBERS + SPAN.canceledBy]! === Infinity) known[n] = 0;
    else if (known[n] !== 0) known[n]! |= what;
  }
}

/** Position of the lowest bit. REQUIRES: there is one. */
function lowest(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function bitCount(word: number): number {
  let n = word - ((word >>> 1) & 0x5555_5555);
  n = (n & 0x3333_3333) + ((n >>> 2) & 0x3333_3333);
  return Math.imul((n + (n >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

/**
 * Restricts `bits` to the tasks whose code passes. Either unites the passing planes or removes the
 * others, whichever are fewer.
 * @param first word at which the plane of code 0 begins
 * @param present bit per code that occurs in the chunk
 * @param wanted bit per code that passes
 */
function keepCodes(planes: Int32Array, first: number, present: number, wanted: number): void {
  const passing = present & wanted;
  const failing = present & ~wanted;
  if (bitCount(failing) <= bitCount(passing)) {
    for (let left = failing; left !== 0; left &= left - 1) {
      const plane = first + lowest(left) * PLANE_WORDS;
      for (let w = 0; w < PLANE_WORDS; w++) bits[w]! &= ~planes[plane + w]!;
    }
    return;
  }
  for (let w = 0; w < PLANE_WORDS; w++) {
    let any = 0;
    for (let left = passing; left !== 0; left &= left - 1) {
      any |= planes[first + lowest(left) * PLANE_WORDS + w]!;
    }
    bits[w]! &= any;
  }
}

/**
 * Clears the bits of runs whose value does not pass: marks where passing begins and ends, then
 * fills in between. Avoids branches on the result, because they are seldom predictable.
 */
function keepRuns({ at, count, start, value }: RunList, number: number, passing: Uint8Array): void {
  const begin = at[number]!;
  const runs = count[number]!;
  for (let w = 0; w < PLANE_WORDS; w++) flips[w] = 0;
  let before = 0;
  for (let r = 0; r < runs; r++) {
    const passes = passing[value[begin + r]!]!;
    const first = start[begin + r]!;
    flips[first >> 5]! ^= (passes ^ before) << (first & 31);
    before = passes;
  }
  let carry = 0;
  for (let w = 0; w < PLANE_WORDS; w++) {
    let word = flips[w]!;
    word ^= word << 1;
    word ^= word << 2;
    word ^= word << 4;
    word ^= word << 8;
    word ^= word << 16;
    word ^= carry;
    carry = word >> 31;
    bits[w]! &= word;
  }
}

function loadBits(from: Int32Array, first: number): void {
  for (let w = 0; w < PLANE_WORDS; w++) bits[w] = from[first + w]!;
}

function keepBits(from: Int32Array, first: number): void {
  for (let w = 0; w < PLANE_WORDS; w++) bits[w]! &= from[first + w]!;
}

/** Number of remaining bits. */
function countBits(): number {
  let count = 0;
  for (let w = 0; w < PLANE_WORDS; w++) count += bitCount(bits[w]!);
  return count;
}
