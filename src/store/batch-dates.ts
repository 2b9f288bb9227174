/** Batch uids of a block follow each other. */
const BLOCK = 256;

/** The place of what has no batch; nothing passes in the block of this place. */
export const NO_BATCH = 0;

/** Of a block: least and greatest `startedAt`, then `finishedAt`. */
const SPAN_NUMBERS = 4;

/** Exclusive bounds of a date, ms since 1970. */
export interface Bounds {
  after: number;
  before: number;
}

/**
 * When batches started and finished: all tasks of a batch have the same dates. A batch has a place, which is what
 * its runs of tasks remember. Places are given to 256 uids at a time and taken back by `keep`, so that memory
 * (16 bytes per place) follows the batches that still have tasks and not the uids ever given.
 */
export class BatchDates {
  /** By place; NaN: never, or not known. */
  startedAt = new Float64Array(0);
  finishedAt = new Float64Array(0);
  /** The first place of each block. */
  #places = new Map<number, number>();
  #spans = new Float64Array(0);
  #passing = new Uint8Array(0);
  /** First places of blocks with changes since their spans were computed. */
  readonly #stale = new Set<number>();

  /** Number of places. */
  get size(): number {
    return (this.#places.size + 1) * BLOCK;
  }

  /** The last dates given for a batch count. Returns its place, which it has until `keep`. */
  set(uid: number, startedAt: number, finishedAt: number): number {
    const block = Math.floor(uid / BLOCK);
    let first = this.#places.get(block);
    if (first === undefined) {
      first = this.size;
      if (first >= this.startedAt.length) this.#resize(first * 2);
      this.#places.set(block, first);
    }
    const place = first + (uid % BLOCK);
    this.startedAt[place] = startedAt;
    this.finishedAt[place] = finishedAt;
    this.#stale.add(first);
    return place;
  }

  /** Gives up the blocks without any of these places, and moves the places of the others. */
  keep(places: Int32Array): void {
    const { size, startedAt, finishedAt } = this;
    const used = new Uint8Array(size / BLOCK);
    for (const place of places) used[Math.floor(place / BLOCK)] = 1;
    used[NO_BATCH] = 0;
    const moved = new Int32Array(used.length);
    const kept = new Map<number, number>();
    for (const [block, first] of this.#places) {
      if (used[first / BLOCK] === 0) continue;
      const to = (kept.size + 1) * BLOCK;
      moved[first / BLOCK] = to;
      kept.set(block, to);
    }
    this.#places = kept;
    this.#stale.clear();
    this.#resize(this.size, false);
    for (let b = 0; b < used.length; b++) {
      if (used[b] === 0) continue;
      const to = moved[b]!;
      this.startedAt.set(startedAt.subarray(b * BLOCK, (b + 1) * BLOCK), to);
      this.finishedAt.set(finishedAt.subarray(b * BLOCK, (b + 1) * BLOCK), to);
      this.#stale.add(to);
    }
    for (let g = 0; g < places.length; g++) {
      const place = places[g]!;
      places[g] = moved[Math.floor(place / BLOCK)]! + (place % BLOCK);
    }
  }

  /** To be called after changes and before `passing`. */
  refresh(): void {
    for (const first of this.#stale) {
      const base = (first / BLOCK) * SPAN_NUMBERS;
      this.#span(this.startedAt, first, base);
      this.#span(this.finishedAt, first, base + 2);
    }
    this.#stale.clear();
  }

  /** 1 at the place of each batch whose dates are within the bounds; null: any dates. Valid until the next call. */
  passing(started: Bounds | null, finished: Bounds | null): Uint8Array {
    // One array for all calls, because fresh memory is slow.
    const passing = this.#passing;
    passing.fill(1, BLOCK);
    if (started !== null) this.#pass(passing, this.startedAt, 0, started);
    if (finished !== null) this.#pass(passing, this.finishedAt, 2, finished);
    return passing;
  }

  /** Takes one bit of each uid of a set: those without one do not pass. */
  keepUids(passing: Uint8Array, min: number, span: number, bits: Uint32Array): void {
    const outside = (bits.length - 1) * 32;
    for (const [block, first] of this.#places) {
      const uid = block * BLOCK;
      if (uid > min + span || uid + BLOCK <= min) {
        passing.fill(0, first, first + BLOCK);
        continue;
      }
      for (let i = 0; i < BLOCK; i++) {
        const from = uid + i - min;
        const at = from >= 0 && from <= span ? from : outside;
        passing[first + i]! &= bits[at >>> 5]! >>> (at & 31);
      }
    }
  }

  #pass(passing: Uint8Array, dates: Float64Array, span: number, { after, before }: Bounds): void {
    const spans = this.#spans;
    for (let first = BLOCK; first < passing.length; first += BLOCK) {
      const base = (first / BLOCK) * SPAN_NUMBERS + span;
      const min = spans[base]!;
      const max = spans[base + 1]!;
      if (min > after && max < before) continue;
      const end = first + BLOCK;
      if (!(max > after)) passing.fill(0, first, end);
      else {
        // No branch depends on the dates: what passes is seldom predictable. NaN is within no bounds.
        for (let p = first; p < end; p++) {
          const date = dates[p]!;
          passing[p]! &= Number(date > after) & Number(date < before);
        }
      }
    }
  }

  /** The least is -Infinity, which is within no bounds, when some batches lack the date. */
  #span(dates: Float64Array, first: number, at: number): void {
    let min = Infinity;
    let max = -Infinity;
    for (let p = first; p < first + BLOCK; p++) {
      const date = dates[p]!;
      if (date < min) min = date;
      if (date > max) max = date;
      if (Number.isNaN(date) && !Number.isNaN(this.startedAt[p]!)) min = -Infinity;
    }
    this.#spans[at] = min;
    this.#spans[at + 1] = max;
  }

  #resize(size: number, copy = true): void {
    const resized = (column: Float64Array, length: number): Float64Array<ArrayBuffer> => {
      const larger = new Float64Array(length);
      if (copy) larger.set(column);
      return larger;
    };
    const begin = copy ? this.startedAt.length : 0;
    this.startedAt = resized(this.startedAt, size).fill(NaN, begin);
    this.finishedAt = resized(this.finishedAt, size).fill(NaN, begin);
    this.#passing = new Uint8Array(size);
    this.#spans = resized(this.#spans, (size / BLOCK) * SPAN_NUMBERS);
  }
}
