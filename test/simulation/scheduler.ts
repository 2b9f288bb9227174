/** Virtual time, and everything that is going to happen, in an order that a seed decides. */
import { mulberry } from '../support/random.ts';

interface Event {
  readonly at: number;
  /** Events of the same moment happen in the order in which they were made. */
  readonly order: number;
  readonly run: () => void;
}

export class Scheduler {
  readonly random: () => number;
  #now = 0;
  #order = 0;
  /** A binary heap, the next event first. */
  readonly #heap: Event[] = [];

  constructor(seed: number) {
    this.random = mulberry(seed);
  }

  get isIdle(): boolean {
    return this.#heap.length === 0;
  }

  get now(): number {
    return this.#now;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** Mostly small, sometimes very large. */
  latency(typicalMs: number): number {
    const stretch = this.chance(0.05) ? 20 : 1;
    return typicalMs * stretch * (0.2 + 1.8 * this.random());
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)]!;
  }

  after(ms: number, run: () => void): void {
    const event = { at: this.#now + ms, order: this.#order++, run };
    let at = this.#heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, this.#heap[parent]!)) break;
      this.#heap[at] = this.#heap[parent]!;
      at = parent;
    }
    this.#heap[at] = event;
  }

  /** Lets the next event happen, and all that follows from it without waiting. */
  async step(): Promise<void> {
    const event = this.#pop();
    this.#now = event.at;
    event.run();
    // A tick comes once no promise is left to go on, and costs less than a pass of the event loop.
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }

  #pop(): Event {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
