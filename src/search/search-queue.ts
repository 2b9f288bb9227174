import { ApiError } from '../contract/errors.ts';
import type { CancelSignal } from '../base/cancel-signal.ts';

/**
 * A queue that would take longer to be worked off is shortened, whatever its size: after an
 * overload the server responds as usual within this time plus the running searches, and works for
 * no client that has given up.
 */
const DRAIN_MS_MAX = 4000;

/**
 * The average covers about this many rounds of all permits: few, so that it follows what clients
 * send.
 */
const AVERAGED_ROUNDS = 4;

/** Limits of the queue; the defaults are those of the launch options. */
interface SearchQueueOptions {
  /** Concurrent searches. */
  permits: number;
  /** Searches that may wait in addition. */
  waitingMax: number;
  /** A search that has waited longer is refused instead of run. */
  waitMsMax: number;
  random?: () => number;
  /** Milliseconds of a steady clock. */
  now?: () => number;
}

/** Passed to a search that holds a permit. */
export interface Permit {
  /**
   * Gives the permit back while `work`, which waits for another server, is running; then waits for
   * a permit again, and is not refused. Settles as `work` does. One call at a time.
   */
  away<T>(work: () => Promise<T>): Promise<T>;
}

type OneSearch<T> = (permit: Permit) => Promise<T>;

/** Informs a request about one of its searches. */
interface Watcher {
  /** The search has ended; it held a permit for `ms`. */
  ended(ms: number): void;
  /** The search has given its permit back for a while (1), or is about to take one again (-1). */
  away?(change: 1 | -1): void;
}

/** A request that has not had a permit yet. */
interface Waiting {
  since: number;
  /** It has several searches. */
  several: boolean;
  start: () => void;
  refuse: (error: ApiError) => void;
}

/** Runs one search of a request of several when it gets a permit. */
export type RunSearch = <T>(search: OneSearch<T>) => Promise<T>;

/**
 * Limits the number of concurrent searches. A freed permit goes to a random waiting request, and a
 * random one is refused when too many wait: under overload every client has the same chance.
 *
 * A request of several searches is refused before its first search or never, and each of its
 * searches takes a permit. Requests that have begun get every second permit, and no more of them
 * begin than there are permits: so they finish, and requests of one search get through between
 * them.
 *
 * Too many wait if there are more than `waitingMax`, or more than can be run in `DRAIN_MS_MAX`:
 * with a request taking `ms` on average, a permit is freed every `ms / permits`. The average covers
 * the requests that ended while others waited; it has no effect before a round of all permits has
 * ended, nor on as many waiting requests as there are permits. So slow searches of the past do not
 * count, nor does a first slow one, and a server that is not busy never refuses.
 */
export class SearchQueue {
  readonly #options: Required<SearchQueueOptions>;
  readonly #waiting: Waiting[] = [];
  /** Further searches of requests that have begun, oldest first. */
  readonly #further: (() => void)[] = [];
  #running = 0;
  /** Searches that have given their permit back for a while; they count as waiting. */
  #away = 0;
  /** Requests of several searches that have begun, except those whose searches are all away. */
  #several = 0;
  /** The next permit goes to a request that has not had one yet. */
  #nextIsWaiting = false;
  /** Requests that ended while others waited: their number, and their average time in ms. */
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

  get permits(): number {
    return this.#options.permits;
  }

  get waitingMax(): number {
    return this.#options.waitingMax;
  }

  /**
   * Rejects with `too_many_search_requests` when overloaded.
   * @param signal removes the search from the queue when canceled
   */
  run<T>(search: OneSearch<T>, signal?: CancelSignal): Promise<T> {
    const start = () => this.#hold(search, { ended: (ms) => this.#learn(ms) });
    return this.#isFree() ? start() : this.#wait(start, false, signal);
  }

  #isFree(): boolean {
    const { permits, waitingMax } = this.#options;
    return this.#running < permits && this.#away < Math.max(permits, waitingMax);
  }

  /**
   * The same for a request of several searches.
   * @param request passes its searches to its argument, at least one of them before it waits for
   *   anything
   */
  runSeveral<T>(request: (run: RunSearch) => Promise<T>, signal?: CancelSignal): Promise<T> {
    const start = async (): Promise<T> => {
      let used = 0;
      let [open, away] = [0, 0];
      let [isOver, isCounted] = [false, false];
      const count = (): void => {
        const counts = !isOver && (open === 0 || away < open);
        if (counts === isCounted) return;
        isCounted = counts;
        this.#several += counts ? 1 : -1;
      };
      const watcher: Watcher = {
        ended: (ms) => {
          used += ms;
          open--;
          count();
        },
        away: (change) => {
          away += change;
          count();
        },
      };
      count();
      try {
        return await request((search) => {
          open++;
          return this.#runFurther(search, watcher);
        });
      } finally {
        isOver = true;
        count();
        this.#learn(used);
        this.#startNext();
      }
    };
    return this.#isFree() && this.#several < this.#options.permits
      ? start()
      : this.#wait(start, true, signal);
  }

  #runFurther<T>(search: OneSearch<T>, watcher: Watcher): Promise<T> {
    if (this.#running < this.#options.permits) return this.#hold(search, watcher);
    return new Promise((resolve, reject) => {
      this.#further.push(() => void this.#hold(search, watcher).then(resolve, reject));
    });
  }

  /** Takes a free permit until the search ends or is away. */
  async #hold<T>(search: OneSearch<T>, watcher: Watcher): Promise<T> {
    const { now } = this.#options;
    let since = now();
    let ms = 0;
    this.#running++;
    const giveBack = (): void => {
      this.#running--;
      ms += now() - since;
    };
    const leave = (change: 1 | -1): void => {
      this.#away += change;
      watcher.away?.(change);
    };
    const permit: Permit = {
      away: async (work) => {
        giveBack();
        leave(1);
        this.#startNext();
        try {
          return await work();
        } finally {
          leave(-1);
          await this.#takeAgain();
          since = now();
        }
      },
    };
    try {
      return await search(permit);
    } finally {
      giveBack();
      watcher.ended(ms);
      this.#startNext();
    }
  }

  async #takeAgain(): Promise<void> {
    if (this.#running < this.#options.permits) {
      this.#running++;
      return;
    }
    await new Promise<void>((resolve) => {
      this.#further.push(() => {
        // Counted immediately: no other search may take the permit meanwhile.
        this.#running++;
        resolve();
      });
    });
  }

  #wait<T>(start: () => Promise<T>, several: boolean, signal?: CancelSignal): Promise<T> {
    const { now, waitingMax } = this.#options;
    if (waitingMax === 0) return Promise.reject(this.#tooMany());
    const limit = this.#limit();
    if (this.#waiting.length + this.#away >= limit) {
      const refused = this.#takeRandom();
      if (refused === undefined && this.#away >= limit) return Promise.reject(this.#tooMany());
      refused?.refuse(this.#tooMany());
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        since: now(),
        several,
        start: () => void start().then(resolve, reject),
        refuse: reject,
      };
      this.#waiting.push(waiting);
      signal?.onAbort(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at >= 0) this.#take(at).refuse(this.#tooMany());
      });
    });
  }

  /** Maximum number of waiting requests. */
  #limit(): number {
    const { permits, waitingMax } = this.#options;
    if (this.#ended < permits) return waitingMax;
    const inTime = Math.floor((DRAIN_MS_MAX * permits) / Math.max(this.#averageMs, 1e-3));
    return Math.min(waitingMax, Math.max(permits, inTime));
  }

  /**
   * Updates the average after a request whose searches took `ms`; refuses waiting requests that can
   * no longer be run in time.
   */
  #learn(ms: number): void {
    if (this.#waiting.length === 0) {
      this.#ended = 0;
      return;
    }
    const counted = AVERAGED_ROUNDS * this.#options.permits;
    this.#ended++;
    const before = this.#ended === 1 ? 0 : this.#averageMs;
    this.#averageMs = before + (ms - before) / Math.min(this.#ended, counted);
    while (this.#waiting.length > this.#limit()) this.#takeRandom()?.refuse(this.#tooMany());
  }

  #startNext(): void {
    while (this.#running < this.#options.permits) {
      const further = this.#nextIsWaiting ? undefined : this.#further.shift();
      this.#nextIsWaiting = further !== undefined;
      const start = further ?? this.#takeStartable()?.start ?? this.#further.shift();
      if (start === undefined) return;
      start();
    }
  }

  /** A random request of those that may begin and have not waited too long. */
  #takeStartable(): Waiting | undefined {
    const { now, permits, waitMsMax } = this.#options;
    for (;;) {
      const next = this.#takeRandom(this.#several < permits);
      if (next === undefined || now() - next.since <= waitMsMax) return next;
      next.refuse(this.#tooMany());
    }
  }

  /** @param several whether it may be a request of several searches */
  #takeRandom(several = true): Waiting | undefined {
    const candidates = [...this.#waiting.keys()].filter(
      (at) => several || !this.#waiting[at]!.several,
    );
    return candidates.length === 0
      ? undefined
      : this.#take(candidates[Math.floor(this.#options.random() * candidates.length)]!);
  }

  #take(at: number): Waiting {
    const taken = this.#waiting[at]!;
    // The order does not matter: move the last one here.
    const last = this.#waiting.pop()!;
    if (at < this.#waiting.length) this.#waiting[at] = last;
    return taken;
  }

  #tooMany(): ApiError {
    return new ApiError(
      'too_many_search_requests',
      `Too many search requests are running at the same time: ${this.#limit()} are waiting already. ` +
        'Retry after 10 s.',
    );
  }
}
