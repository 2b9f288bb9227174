/**
 * Items of several requesters. Those that wait are served round robin: each requester gets one item
 * before another gets its second. If there are too many, the requester with the most has to give.
 */
export class FairQueue<T> {
  /** In the order in which they are served. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Number of requesters with items. */
  get requesters(): number {
    return this.#waiting.size;
  }

  /** The items of a requester, oldest first. */
  of(requester: string): readonly T[] {
    return this.#waiting.get(requester) ?? [];
  }

  /** The requesters and their items, in the order in which they are served. */
  entries(): Iterable<readonly [string, readonly T[]]> {
    return this.#waiting;
  }

  push(requester: string, item: T): void {
    const items = this.#waiting.get(requester);
    if (items === undefined) this.#waiting.set(requester, [item]);
    else items.push(item);
    this.#size++;
  }

  /** The requester with the lowest rank whose turn comes first. Infinity: it cannot be served. */
  next(rank: (requester: string, items: readonly T[]) => number): string | undefined {
    let next: string | undefined;
    let lowest = Infinity;
    for (const [requester, items] of this.#waiting) {
      const its = rank(requester, items);
      if (its < lowest) [next, lowest] = [requester, its];
    }
    return next;
  }

  /** Removes an item of a requester, whose next item waits for those of the others then. */
  take(requester: string, at = 0): T {
    const items = this.#waiting.get(requester)!;
    this.#waiting.delete(requester);
    this.#waiting.set(requester, items);
    return this.removeAt(requester, at);
  }

  /** Removes an item. The requester keeps its turn. */
  removeAt(requester: string, at: number): T {
    const items = this.#waiting.get(requester)!;
    const [item] = items.splice(at, 1);
    if (items.length === 0) this.#waiting.delete(requester);
    this.#size--;
    return item!;
  }

  /** Removes an item, if it is there. */
  remove(requester: string, item: T): boolean {
    const at = this.of(requester).indexOf(item);
    if (at >= 0) this.removeAt(requester, at);
    return at >= 0;
  }

  /** Removes and returns the items of a requester. */
  removeAll(requester: string): T[] {
    const items = this.#waiting.get(requester) ?? [];
    this.#waiting.delete(requester);
    this.#size -= items.length;
    return items;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const items of this.#waiting.values()) yield* items;
  }

  /** Empties the queue. */
  drain(): T[] {
    const all = [...this];
    this.#waiting.clear();
    this.#size = 0;
    return all;
  }
}
