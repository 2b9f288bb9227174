/** The permits of searches, of one queue or shared by the queues of several threads. */

export interface Permits {
  readonly count: number;
  /** Permits that are taken, by all queues. */
  readonly taken: number;
  /** Requests that wait in other queues for their first permit. */
  readonly waitingElsewhere: number;
  /** Takes a permit if one is free. */
  take(): boolean;
  /** Returns a permit. It may go to another queue at once. */
  giveBack(): void;
  /**
   * Tells other queues what waits here.
   * @param startable searches that could start if there were a permit
   * @param requests requests that wait for their first permit
   * @returns whether another queue may have returned a permit meanwhile: look again
   */
  noteWaiting(startable: number, requests: number): boolean;
  /** `listener` is called with a permit that another queue has handed over. */
  onGranted(listener: () => void): void;
}

/** The permits of the only queue. */
export class LocalPermits implements Permits {
  readonly count: number;
  readonly waitingElsewhere = 0;
  taken = 0;

  constructor(count: number) {
    this.count = count;
  }

  take(): boolean {
    if (this.taken >= this.count) return false;
    this.taken++;
    return true;
  }

  giveBack(): void {
    this.taken--;
  }

  noteWaiting(): boolean {
    return false;
  }

  onGranted(): void {}
}

/** Cells for all queues, then cells of each queue. */
const TAKEN = 0;
const COMMON_CELLS = 1;
const STARTABLE = 0;
const REQUESTS = 1;
const GRANTED = 2;
const QUEUE_CELLS = 3;

/** The memory of permits that `queues` queues share. */
export function sharedPermitMemory(queues: number): SharedArrayBuffer {
  return new SharedArrayBuffer(4 * (COMMON_CELLS + queues * QUEUE_CELLS));
}

/** `Atomics.waitAsync`, which the declarations of the language do not have yet. */
const { waitAsync } = Atomics as unknown as {
  waitAsync(cells: Int32Array, at: number, value: number): { value: Promise<string> | string };
};

/**
 * Permits that the queues of several threads share. A returned permit goes to a random waiting
 * search, wherever it waits: each queue is chosen in proportion to what waits there.
 *
 * Invariant: while a search waits, some permit is taken, and whoever returns it sees the search: a
 * queue notes what waits before it looks for a free permit once more, and a permit is returned
 * before its owner looks for searches once more.
 */
export class SharedPermits implements Permits {
  readonly count: number;
  readonly #cells: Int32Array;
  readonly #queues: number;
  readonly #queue: number;
  readonly #random: () => number;

  /** @param queue number of the queue that uses this object */
  constructor(
    memory: SharedArrayBuffer,
    { count, queue }: { count: number; queue: number },
    random: () => number = Math.random,
  ) {
    this.count = count;
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

  take(): boolean {
    for (;;) {
      const taken = Atomics.load(this.#cells, TAKEN);
      if (taken >= this.count) return false;
      if (Atomics.compareExchange(this.#cells, TAKEN, taken, taken + 1) === taken) return true;
    }
  }

  giveBack(): void {
    const chosen = this.#choose();
    if (chosen !== null && chosen !== this.#queue) {
      this.#grant(chosen);
      return;
    }
    Atomics.sub(this.#cells, TAKEN, 1);
    // This queue takes it again for what waits here.
    if (chosen === this.#queue) return;
    const late = this.#choose();
    if (late !== null && late !== this.#queue && this.take()) this.#grant(late);
  }

  noteWaiting(startable: number, requests: number): boolean {
    Atomics.store(this.#cells, cellOf(this.#queue, STARTABLE), startable);
    Atomics.store(this.#cells, cellOf(this.#queue, REQUESTS), requests);
    return startable > 0;
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

  /** A queue by the number of its searches that could start; null: none. */
  #choose(): number | null {
    const counts: number[] = [];
    let all = 0;
    for (let queue = 0; queue < this.#queues; queue++) {
      const count = Atomics.load(this.#cells, cellOf(queue, STARTABLE));
      counts.push(count);
      all += count;
    }
    if (all === 0) return null;
    let at = Math.floor(this.#random() * all);
    return counts.findIndex((count) => (at -= count) < 0);
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
