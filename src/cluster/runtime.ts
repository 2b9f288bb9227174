/** The parts of the machine that the cluster uses. A simulation provides its own. */
export interface Runtime {
  /** Ms since 1970; may jump. */
  now(): number;
  /** Monotonic time, ms since an arbitrary moment. */
  elapsed(): number;
  /** Resolves after `ms`, or at the signal. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A random number from 0 up to but not including 1. */
  random(): number;
  /**
   * Whether a process listens at the URL of a node. `dead`: the machine has refused the connection.
   */
  probe(url: string): Promise<'alive' | 'dead' | 'unknown'>;
  log(message: string): void;
}

/** Runs tasks one after the other, in the order of the calls. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}

/** Runs at most `max` tasks at a time. */
export class Limit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#free = max;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
