/** The permits of searches, of one queue or shared by the queues of several threads. */

/** What waits in a queue. */
export interface WaitingSearches {
  /** Searches that could start if there were a permit. */
  startable: number;
  /** The requester whose search starts next; undefined: none can start. */
  next: string | undefined;
  /** The weight of its key. */
  weight: number;
  /** Requests that wait for their first permit. */
  requests: number;
}

/** Counts kept for each requester, over all queues. */
export type Counted = 'held' | 'waiting' | 'away';

export interface PermitLimits {
  /** Permits of all queues together. */
  readonly count: number;
  /** Beyond this number of permits, only a requester that holds none gets one. */
  readonly busy: number;
}

export interface Permits extends PermitLimits {
  /** Permits that are taken, by all queues. */
  readonly taken: number;
  /** Requests that wait in other queues for their first permit. */
  readonly waitingElsewhere: number;
  /**
   * Takes a permit if one is free.
   * @param isFirst its requester holds none
   */
  take(isFirst: boolean): boolean;
  /** Returns a permit. It may go to another queue at once. */
  giveBack(): void;
  /** How many permits a requester holds, requests of it wait, or searches of it are away. */
  of(requester: string, what: Counted): number;
  add(requester: string, what: Counted, change: 1 | -1): void;
  /** The requests that wait or are away of the requester that has the most. */
  waitingMax(): number;
  /** Tells other queues what waits here. One of them may have returned a permit meanwhile. */
  noteWaiting(look: () => WaitingSearches): void;
  /** `listener` is called with a permit that another queue has handed over. */
  onGranted(listener: () => void): void;
}

/** The permits of the only queue. */
export class LocalPermits implements Permits {
  readonly count: number;
  readonly busy: number;
  readonly waitingElsewhere = 0;
  taken = 0;
  /** Requesters with none are absent. */
  readonly #counts: Record<Counted, Map<string, number>> = {
    held: new Map(),
    waiting: new Map(),
    away: new Map(),
  };

  constructor({ count, busy }: PermitLimits) {
    this.count = count;
    this.busy = busy;
  }

  take(isFirst: boolean): boolean {
    if (this.taken >= (isFirst ? this.count : this.busy)) return false;
    this.taken++;
    return true;
  }

  giveBack(): void {
    this.taken--;
  }

  of(requester: string, what: Counted): number {
    return this.#counts[what].get(requester) ?? 0;
  }

  add(requester: string, what: Counted, change: 1 | -1): void {
    const count = this.of(requester, what) + change;
    if (count === 0) this.#counts[what].delete(requester);
    else this.#counts[what].set(requester, count);
  }

  waitingMax(): number {
    let max = 0;
    for (const holder of [...this.#counts.waiting.keys(), ...this.#counts.away.keys()]) {
      max = Math.max(max, this.of(holder, 'waiting') + this.of(holder, 'away'));
    }
    return max;
  }

  noteWaiting(): void {}

  onGranted(): void {}
}

/**
 * A cell for all queues, three for each group of requesters, then cells of each queue. Requesters
 * are grouped by a hash, because the memory has no names; those of one group count as one.
 */
const TAKEN = 0;
const GROUPS = 4096;
const COUNTS = { held: 1, waiting: 1 + GROUPS, away: 1 + 2 * GROUPS };
const COMMON_CELLS = 1 + 3 * GROUPS;
const STARTABLE = 0;
const REQUESTS = 1;
const GRANTED = 2;
/** The group of the requester whose search starts next. */
const NEXT = 3;
const WEIGHT = 4;
const QUEUE_CELLS = 5;

/** The memory of permits that `queues` queues share. */
export function sharedPermitMemory(queues: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (COMMON_CELLS + queues * QUEUE_CELLS));
}

/** `Atomics.waitAsync`, which the declarations of the language do not have yet. */
const { waitAsync } = Atomics as unknown as {
  waitAsync(cells: Int32Array, at: number, value: number): { value: Promise<string> | string };
};

/**
 * Permits that the queues of several threads share. Each queue names the requester whose search
 * starts next. A returned permit goes to the one that holds the fewest by its weight; where several
 * hold as few, each of their queues is chosen in proportion to what waits there.
 *
 * Invariant: while a search waits, some permit is taken, and whoever returns it sees the search: a
 * queue notes what waits before it looks for a free permit once more, and a permit is returned
 * before its owner looks for searches once more. A search that waits because its requester holds
 * some is seen by the return that leaves fewer than `busy`, or by the requester's last.
 */
export class SharedPermits implements Permits {
  readonly count: number;
  readonly busy: number;
  readonly #cells: Int32Array;
  readonly #queues: number;
  readonly #queue: number;
  readonly #random: () => number;

  /** @param queue number of the queue that uses this object */
  constructor(
    memory: SharedArrayBuffer,
    { count, busy, queue }: PermitLimits & { queue: number },
    random: () => number = Math.random,
  ) {
    this.count = count;
    this.busy = busy;
    this.#cells = new Int32Array(memory);
    this.#queues = (this.#cells.length - COMMON_CELLS) / QUEUE_CELLS;
    this.#queue = queue;
    this.#random = random;
  }

  get taken(): number {
    return Atomics.load(this.#cells, TAKEN);
  }

  get waitingElsewhere(): number {
    let sum = 0;
    for (let queue = 0; queue < this.#queues; queue++) {
      if (queue !== this.#queue) sum += Atomics.load(this.#cells, cellOf(queue, REQUESTS));
    }
    return sum;
  }

  take(isFirst: boolean): boolean {
    const max = isFirst ? this.count : this.busy;
    for (;;) {
      const taken = Atomics.load(this.#cells, TAKEN);
      if (taken >= max) return false;
      if (Atomics.compareExchange(this.#cells, TAKEN, taken, taken + 1) === taken) return true;
    }
  }

  giveBack(): void {
    const chosen = this.#choose(this.taken - 1);
    if (chosen !== null && chosen.queue !== this.#queue) {
      this.#grant(chosen.queue);
      return;
    }
    Atomics.sub(this.#cells, TAKEN, 1);
    // This queue takes it again for what waits here.
    if (chosen !== null) return;
    const late = this.#choose(this.taken);
    if (late !== null && late.queue !== this.#queue && this.take(late.isFirst)) {
      this.#grant(late.queue);
    }
  }

  of(requester: string, what: Counted): number {
    return Atomics.load(this.#cells, countCell(requester, what));
  }

  add(requester: string, what: Counted, change: 1 | -1): void {
    Atomics.add(this.#cells, countCell(requester, what), change);
  }

  waitingMax(): number {
    let max = 0;
    for (let group = 0; group < GROUPS; group++) {
      const waiting = Atomics.load(this.#cells, COUNTS.waiting + group);
      max = Math.max(max, waiting + Atomics.load(this.#cells, COUNTS.away + group));
    }
    return max;
  }

  noteWaiting(look: () => WaitingSearches): void {
    const { startable, next, weight, requests } = look();
    const group = next === undefined ? 0 : groupOf(next);
    Atomics.store(this.#cells, cellOf(this.#queue, NEXT), group);
    Atomics.store(this.#cells, cellOf(this.#queue, WEIGHT), weight);
    Atomics.store(this.#cells, cellOf(this.#queue, STARTABLE), startable);
    Atomics.store(this.#cells, cellOf(this.#queue, REQUESTS), requests);
  }

  onGranted(listener: () => void): void {
    const cell = cellOf(this.#queue, GRANTED);
    const takeGranted = (): void => {
      for (let left = Atomics.exchange(this.#cells, cell, 0); left > 0; left--) listener();
      // Resolves, or is resolved already, when the cell is no longer 0.
      void Promise.resolve(waitAsync(this.#cells, cell, 0).value).then(takeGranted);
    };
    takeGranted();
  }

  /**
   * The queue that gets a returned permit, while `taken` others are taken; null: none.
   * `isFirst`: for a requester that holds none.
   */
  #choose(taken: number): { queue: number; isFirst: boolean } | null {
    let fewest = taken < this.busy ? Infinity : 0;
    let all = 0;
    const counts: number[] = [];
    for (let queue = 0; queue < this.#queues; queue++) {
      counts.push(0);
      const startable = Atomics.load(this.#cells, cellOf(queue, STARTABLE));
      if (startable === 0) continue;
      const group = Atomics.load(this.#cells, cellOf(queue, NEXT));
      const weight = Math.max(1, Atomics.load(this.#cells, cellOf(queue, WEIGHT)));
      const held = Atomics.load(this.#cells, COUNTS.held + group) / weight;
      if (held > fewest) continue;
      if (held < fewest) {
        counts.fill(0);
        [fewest, all] = [held, 0];
      }
      counts[queue] = startable;
      all += startable;
    }
    if (all === 0) return null;
    let at = Math.floor(this.#random() * all);
    return { queue: counts.findIndex((count) => (at -= count) < 0), isFirst: fewest === 0 };
  }

  #grant(queue: number): void {
    const cell = cellOf(queue, GRANTED);
    Atomics.add(this.#cells, cell, 1);
    Atomics.notify(this.#cells, cell);
  }
}

function cellOf(queue: number, which: number): number {
  return COMMON_CELLS + queue * QUEUE_CELLS + which;
}

function countCell(requester: string, what: Counted): number {
  return COUNTS[what] + groupOf(requester);
}

/** FNV-1a. */
function groupOf(requester: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < requester.length; at++) {
    hash = Math.imul(hash ^ requester.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (GROUPS - 1);
}
