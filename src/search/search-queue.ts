import { ApiError } from '../contract/errors.ts';

/** See search.md 2.13; the defaults are those of the launch options. */
interface SearchQueueOptions {
  /** Searches under way at once. */
  permits: number;
  /** Searches that wait beyond those. */
  waitingMax: number;
  /** A search that has waited longer is refused instead of being run. */
  waitMsMax: number;
  random?: () => number;
  /** Milliseconds of a steady clock. */
  now?: () => number;
}

export type OnGone = (listener: () => void) => void;

interface Waiting {
  since: number;
  start: () => void;
  refuse: (error: ApiError) => void;
}

/**
 * Lets a bounded number of searches run at once. A freed permit goes to a random one of those that wait,
 * and a random one gives way when too many do: under overload every client has the same chance.
 */
export class SearchQueue {
  readonly #options: Required<SearchQueueOptions>;
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(options: SearchQueueOptions) {
    this.#options = { random: Math.random, now: () => performance.now(), ...options };
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Rejects with `too_many_search_requests` when overloaded.
   * @param onGone takes a listener that is called when the client goes away; it then no longer waits
   */
  run<T>(search: () => Promise<T>, onGone?: OnGone): Promise<T> {
    if (this.#running < this.#options.permits) return this.#start(search);
    return this.#wait(search, onGone);
  }

  async #start<T>(search: () => Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await search();
    } finally {
      this.#running--;
      this.#startNext();
    }
  }

  #wait<T>(search: () => Promise<T>, onGone?: OnGone): Promise<T> {
    const { waitingMax, now } = this.#options;
    if (waitingMax === 0) return Promise.reject(this.#tooMany());
    if (this.#waiting.length >= waitingMax) this.#takeRandom()!.refuse(this.#tooMany());
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        since: now(),
        start: () => this.#start(search).then(resolve, reject),
        refuse: reject,
      };
      this.#waiting.push(waiting);
      onGone?.(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#take(at).refuse(this.#tooMany());
      });
    });
  }

  #startNext(): void {
    const { now, waitMsMax } = this.#options;
    for (;;) {
      const next = this.#takeRandom();
      if (next === undefined) return;
      if (now() - next.since <= waitMsMax) return next.start();
      next.refuse(this.#tooMany());
    }
  }

  #takeRandom(): Waiting | undefined {
    const count = this.#waiting.length;
    return count === 0 ? undefined : this.#take(Math.floor(this.#options.random() * count));
  }

  #take(at: number): Waiting {
    const taken = this.#waiting[at]!;
    // Order does not matter: the last one takes the place.
    const last = this.#waiting.pop()!;
    if (at < this.#waiting.length) this.#waiting[at] = last;
    return taken;
  }

  #tooMany(): ApiError {
    return new ApiError(
      'too_many_search_requests',
      `Too many search requests are running at the same time: ${this.#options.waitingMax} are waiting already. ` +
        'Retry after 10 s.',
    );
  }
}
