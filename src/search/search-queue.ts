import { ApiError } from '../contract/errors.ts';
import type { CancelSignal } from '../base/cancel-signal.ts';
import { LocalPermits, type Permits } from './permits.ts';

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
  /** Concurrent searches: their number, or the permits that several queues share. */
  permits: number | Permits;
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
  readonly #options: Required<Omit<SearchQueueOptions, 'permits'>>;
  readonly #permits: Permits;
  readonly #waiting: Waiting[] = [];
  /** Further searches of requests that have begun, oldest first. */
  readonly #further: (() => void)[] = [];
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
    const { permits, ...rest } = options;
    this.#permits = typeof permits === 'number' ? new LocalPermits(permits) : permits;
    this.#options = { random: Math.random, now: () => performance.now(), ...rest };
    this.#permits.onGranted(() => this.#startNext(true));
  }

  /** Searches that hold a permit, of all queues that share the permits. */
  get running(): number {
    return this.#permits.taken;
  }

  /** Requests that have not had a permit yet, of all these queues. */
  get waiting(): number {
    return this.#waiting.length + this.#permits.waitingElsewhere;
  }

  get permits(): number {
    return this.#permits.count;
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
    return this.#begins() ? start() : this.#wait(start, false, signal);
  }

  /** Takes a permit for a new request, unless it has to wait. */
  #begins(): boolean {
    return this.#away < Math.max(this.permits, this.waitingMax) && this.#permits.take();
  }

  /**
   * The same for a request of several searches.
   * @param request passes its searches to its argument, at least one of them before it waits for
   *   anything
   */
  runSeveral<T>(request: (run: RunSearch) => Promise<T>, signal?: CancelSignal): Promise<T> {
    const start = async (): Promise<T> => {
      // The request has a permit for its first search.
      let isHeld = true;
      const takeHeld = (): boolean => {
        const was = isHeld;
        isHeld = false;
        return was;
      };
      let used = 0;
      let [open, away] = [0, 0];
      let [isOver, isCounted] = [false, false];
      const count = (): void => {
        const counts = !isOver && (open === 0 || away < open);
        if (counts === isCounted) return;
        isCounted = counts;
        this.#several += counts ? 1 : -1;
        this.#noteWaiting();
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
          return takeHeld() ? this.#hold(search, watcher) : this.#runFurther(search, watcher);
        });
      } finally {
        if (takeHeld()) this.#permits.giveBack();
        isOver = true;
        count();
        this.#learn(used);
        this.#startNext();
      }
    };
    return this.#several < this.permits && this.#begins()
      ? start()
      : this.#wait(start, true, signal);
  }

  #runFurther<T>(search: OneSearch<T>, watcher: Watcher): Promise<T> {
    if (this.#permits.take()) return this.#hold(search, watcher);
    return new Promise((resolve, reject) => {
      this.#further.push(() => void this.#hold(search, watcher).then(resolve, reject));
      this.#lookAgain();
    });
  }

  /** Holds a permit until the search ends or is away. REQUIRES: the permit is taken */
  async #hold<T>(search: OneSearch<T>, watcher: Watcher): Promise<T> {
    const { now } = this.#options;
    let since = now();
    let ms = 0;
    const giveBack = (): void => {
      this.#permits.giveBack();
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
    if (this.#permits.take()) return;
    await new Promise<void>((resolve) => {
      this.#further.push(resolve);
      this.#lookAgain();
    });
  }

  #wait<T>(start: () => Promise<T>, several: boolean, signal?: CancelSignal): Promise<T> {
    const { now, waitingMax } = this.#options;
    if (waitingMax === 0) return Promise.reject(this.#tooMany());
    const limit = this.#limit();
    const elsewhere = this.#permits.waitingElsewhere;
    if (this.#waiting.length + elsewhere + this.#away >= limit) {
      const refused = this.#takeRandom();
      const isFull = this.#away + elsewhere >= limit;
      if (refused === undefined && isFull) return Promise.reject(this.#tooMany());
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
        if (at < 0) return;
        this.#take(at).refuse(this.#tooMany());
        this.#noteWaiting();
      });
      this.#lookAgain();
    });
  }

  /** Called after something has begun to wait: another queue may have returned a permit. */
  #lookAgain(): void {
    if (this.#noteWaiting()) this.#startNext();
  }

  #noteWaiting(): boolean {
    const waiting = this.#several < this.permits ? this.#waiting.length : this.#ofOne();
    return this.#permits.noteWaiting(this.#further.length + waiting, this.#waiting.length);
  }

  /** Waiting requests of one search. */
  #ofOne(): number {
    return this.#waiting.filter(({ several }) => !several).length;
  }

  /** Maximum number of waiting requests. */
  #limit(): number {
    const { permits, waitingMax } = this;
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
    const counted = AVERAGED_ROUNDS * this.permits;
    this.#ended++;
    const before = this.#ended === 1 ? 0 : this.#averageMs;
    this.#averageMs = before + (ms - before) / Math.min(this.#ended, counted);
    const excess = this.waiting - this.#limit();
    for (let left = excess; left > 0; left--) this.#takeRandom()?.refuse(this.#tooMany());
  }

  /** @param isHeld a permit is taken already */
  #startNext(isHeld = false): void {
    for (let held = isHeld; held || this.#permits.take(); held = false) {
      const further = this.#nextIsWaiting ? undefined : this.#further.shift();
      this.#nextIsWaiting = further !== undefined;
      const start = further ?? this.#takeStartable()?.start ?? this.#further.shift();
      this.#noteWaiting();
      if (start === undefined) {
        this.#permits.giveBack();
        return;
      }
      start();
    }
  }

  /** A random request of those that may begin and have not waited too long. */
  #takeStartable(): Waiting | undefined {
    const { now, waitMsMax } = this.#options;
    for (;;) {
      const next = this.#takeRandom(this.#several < this.permits);
      if (next === undefined || now() - next.since <= waitMsMax) return next;
      next.refuse(this.#tooMany());
    }
  }

  /** @param several whether it may be a request of several searches */
  #takeRandom(several = true): Waiting | undefined {
    const anyOf = (count: number): number => Math.floor(this.#options.random() * count);
    if (several) {
      const count = this.#waiting.length;
      return count === 0 ? undefined : this.#take(anyOf(count));
    }
    const ofOne = [...this.#waiting.keys()].filter((at) => !this.#waiting[at]!.several);
    return ofOne.length === 0 ? undefined : this.#take(ofOne[anyOf(ofOne.length)]!);
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
