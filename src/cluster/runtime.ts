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
