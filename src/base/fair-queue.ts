/**
 * Waiting items of several requesters, served round robin: each requester gets one item before
 * another gets its second.
 */
export class FairQueue<T> {
  /** In the order in which they are served. */
  readonly #waiting = new Map<string, T[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(requester: string, item: T): void {
    const items = this.#waiting.get(requester);
    if (items === undefined) this.#waiting.set(requester, [item]);
    else items.push(item);
    this.#size++;
  }

  /**
   * Removes the oldest item of the next requester.
   * @param may whether a requester can be served now
   */
  take(may: (requester: string) => boolean): T | undefined {
    for (const [requester, items] of this.#waiting) {
      if (!may(requester)) continue;
      const item = items.shift()!;
      this.#waiting.delete(requester);
      if (items.length > 0) this.#waiting.set(requester, items);
      this.#size--;
      return item;
    }
    return undefined;
  }

  /** Removes and returns the items of a requester. */
  remove(requester: string): T[] {
    const items = this.#waiting.get(requester) ?? [];
    this.#waiting.delete(requester);
    this.#size -= items.length;
    return items;
  }

  /** Empties the queue. */
  *drain(): Generator<T> {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#size = 0;
    yield* all;
  }
}
