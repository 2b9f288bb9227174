/** What a requester is to the shares: tenant tokens of a key have its share together. */
export function keyOf(holder: string): string {
  const space = holder.indexOf(' ');
  return space < 0 ? holder : holder.slice(0, space);
}

interface Share {
  weight: number;
  /** Milliseconds of permits that have ended, by the weight, from where the key began. */
  used: number;
  /** Permits held, and the sum of the moments at which they began. */
  held: number;
  begun: number;
  /** Searches that wait. */
  waiting: number;
}

/**
 * How long the keys that have searches have held permits, each divided by the weight of the key.
 * The key that is behind comes next, so keys that could use more get times in proportion to their
 * weights. A key begins where the one that is behind is: it makes up for no time in which it had no
 * searches, and pays for none.
 */
export class Shares {
  readonly #shares = new Map<string, Share>();

  /** How far a key is that has a search. */
  at(key: string, now: number): number {
    return timeOf(this.#shares.get(key)!, now);
  }

  weightOf(key: string): number {
    return this.#shares.get(key)!.weight;
  }

  /** Permits that it holds, by its weight. */
  heldBy(key: string): number {
    const { held, weight } = this.#shares.get(key)!;
    return held / weight;
  }

  /** A search of the key begins to wait. */
  wait(key: string, weight: number, now: number): void {
    this.#share(key, weight, now).waiting++;
  }

  /** A search that waited has begun, or has left. */
  stopWaiting(key: string): void {
    this.#shares.get(key)!.waiting--;
    this.#forget(key);
  }

  begin(key: string, weight: number, now: number): void {
    const share = this.#share(key, weight, now);
    share.held++;
    share.begun += now;
  }

  /** @param since when it began */
  end(key: string, since: number, now: number): void {
    const share = this.#shares.get(key)!;
    share.held--;
    share.begun -= since;
    share.used += (now - since) / share.weight;
    this.#forget(key);
  }

  #share(key: string, weight: number, now: number): Share {
    let share = this.#shares.get(key);
    if (share === undefined) {
      let used = Infinity;
      for (const other of this.#shares.values()) used = Math.min(used, timeOf(other, now));
      share = { weight, used: used === Infinity ? 0 : used, held: 0, begun: 0, waiting: 0 };
      this.#shares.set(key, share);
    }
    share.weight = weight;
    return share;
  }

  #forget(key: string): void {
    const { held, waiting } = this.#shares.get(key)!;
    if (held === 0 && waiting === 0) this.#shares.delete(key);
  }
}

function timeOf({ used, held, begun, weight }: Share, now: number): number {
  return used + (held * now - begun) / weight;
}
