/** What waits, of several requesters who take turns: each gets one item before another gets its second. */
export class FairQueue<T> {
  /** In the order of their turns. */
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
   * The oldest item of the requester whose turn it is.
   * @param may whether it can be the turn of a requester now
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

  /** Empties the queue. */
  *drain(): Generator<T> {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    this.#size = 0;
    yield* all;
  }
}
