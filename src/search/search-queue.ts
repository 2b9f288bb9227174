import { ApiError } from '../contract/errors.ts';
import type { OnGone } from '../engine/handle.ts';

/**
 * A list that would take longer to be worked off is cut, whatever its size: after an overload the server answers as
 * usual within this time and the searches that run, and nobody waits for an answer that he has given up.
 */
const DRAIN_MS_MAX = 4000;

/** The average counts about so many rounds of all permits: few, so that it follows what clients send. */
const AVERAGED_ROUNDS = 4;

/** Bounds of the queue; the defaults are those of the launch options. */
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

interface Waiting {
  since: number;
  /** It may be told that too many wait. */
  refusable: boolean;
  start: () => void;
  refuse: (error: ApiError) => void;
}

/**
 * Lets a bounded number of searches run at once. A freed permit goes to a random one of those that wait,
 * and a random one gives way when too many do: under overload every client has the same chance.
 *
 * Too many are more than `waitingMax`, and more than can be run in `DRAIN_MS_MAX`: with a search taking `ms` on
 * average, a permit is freed every `ms / permits`. The average is that of the searches which ended since some wait;
 * before a round of all permits has ended, and for as many as there are permits, it decides nothing. So what was slow
 * before has no say, a first slow search neither, and a server that is not busy never refuses.
 */
export class SearchQueue {
  readonly #options: Required<SearchQueueOptions>;
  readonly #waiting: Waiting[] = [];
  #running = 0;
  /** Of the searches that ended since some wait: their number, and their average time in ms. */
  #ended = 0;
  #averageMs = 0;

  constructor(options: SearchQueueOptions) {
    this.#options = { random: Math.random, now: () => performance.now(), ...options };
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get waitingMax(): number {
    return this.#options.waitingMax;
  }

  /**
   * Rejects with `too_many_search_requests` when overloaded.
   * @param onGone takes a listener that is called when the client goes away; it then no longer waits
   */
  run<T>(search: () => Promise<T>, onGone?: OnGone): Promise<T> {
    if (this.#running < this.#options.permits) return this.#start(search);
    const { waitingMax } = this.#options;
    if (waitingMax === 0) return Promise.reject(this.#tooMany());
    if (this.#waiting.length >= this.#most()) this.#takeRefusable()?.refuse(this.#tooMany());
    return this.#wait(search, true, onGone);
  }

  /** The same for a further search of a request that has had its turn already: it waits, and is never refused. */
  runNext<T>(search: () => Promise<T>): Promise<T> {
    if (this.#running < this.#options.permits) return this.#start(search);
    return this.#wait(search, false);
  }

  async #start<T>(search: () => Promise<T>): Promise<T> {
    const { now } = this.#options;
    const since = now();
    this.#running++;
    try {
      return await search();
    } finally {
      this.#running--;
      this.#learn(now() - since);
      this.#startNext();
    }
  }

  #wait<T>(search: () => Promise<T>, refusable: boolean, onGone?: OnGone): Promise<T> {
    const { now } = this.#options;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        since: now(),
        refusable,
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

  /** How many may wait. */
  #most(): number {
    const { permits, waitingMax } = this.#options;
    if (this.#ended < permits) return waitingMax;
    const inTime = Math.floor((DRAIN_MS_MAX * permits) / Math.max(this.#averageMs, 1e-3));
    return Math.min(waitingMax, Math.max(permits, inTime));
  }

  /** A search has ended; those that can no longer be run in time are told so now. */
  #learn(ms: number): void {
    if (this.#waiting.length === 0) {
      this.#ended = 0;
      return;
    }
    const counted = AVERAGED_ROUNDS * this.#options.permits;
    this.#ended++;
    const before = this.#ended === 1 ? 0 : this.#averageMs;
    this.#averageMs = before + (ms - before) / Math.min(this.#ended, counted);
    while (this.#waiting.length > this.#most()) {
      const refused = this.#takeRefusable();
      if (refused === undefined) return;
      refused.refuse(this.#tooMany());
    }
  }

  #startNext(): void {
    const { now, waitMsMax } = this.#options;
    for (;;) {
      const next = this.#takeRandom();
      if (next === undefined) return;
      if (!next.refusable || now() - next.since <= waitMsMax) return next.start();
      next.refuse(this.#tooMany());
    }
  }

  #takeRandom(): Waiting | undefined {
    const count = this.#waiting.length;
    return count === 0 ? undefined : this.#take(Math.floor(this.#options.random() * count));
  }

  /** A random one of those that may be refused. */
  #takeRefusable(): Waiting | undefined {
    const refusable = this.#waiting.flatMap((waiting, at) => (waiting.refusable ? [at] : []));
    const { random } = this.#options;
    return refusable.length === 0
      ? undefined
      : this.#take(refusable[Math.floor(random() * refusable.length)]!);
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
      `Too many search requests are running at the same time: ${this.#most()} are waiting already. ` +
        'Retry after 10 s.',
    );
  }
}
