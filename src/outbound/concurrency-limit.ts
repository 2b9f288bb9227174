/** Runs at most `permits` pieces of work at a time. Others wait in order. */
export class ConcurrencyLimit {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(permits: number) {
    this.#free = permits;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs `work` when a permit is free and returns its result. Rejects with the reason of `signal`
   * if it is aborted while waiting.
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      this.#giveBack();
    }
  }

  async #take(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const taken = (): void => {
        signal?.removeEventListener('abort', aborted);
        resolve();
      };
      const aborted = (): void => {
        this.#waiting.delete(taken);
        reject(signal!.reason as Error);
      };
      this.#waiting.add(taken);
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  /** Passes the permit to the longest waiter, so that no later caller overtakes it. */
  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
