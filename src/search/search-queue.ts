import { ApiError } from '../contract/errors.ts';
import { FairQueue } from '../base/fair-queue.ts';
import type { CancelSignal } from '../base/cancel-signal.ts';
import { activeSpan, within } from '../base/tracing.ts';
import { LocalPermits, type Permits } from './permits.ts';
import { metered, type SearchMeter } from './search-meter.ts';
import { keyOf, Shares } from './shares.ts';

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
  /** Called when a request gets its first permit, with the milliseconds that it waited. */
  onPermit?: (waitedMs: number) => void;
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

/** Who asks for a search. */
export interface Requester {
  /**
   * The searches of each holder share the permits with those of the others, in proportion to the
   * weights of their keys (1 by default).
   */
  access: { readonly holder: string; readonly weight?: number };
  /** Empty: the server itself, whose searches are not reported. */
  requestId?: string;
  /** Removes the search from the queue when canceled. */
  signal?: CancelSignal;
  /** Counts each search that starts. */
  meter?: SearchMeter | undefined;
}

type OneSearch<T> = (permit: Permit) => Promise<T>;

/** Informs a request about one of its searches. */
interface Watcher {
  /** The search has ended; it held a permit for `ms`. */
  ended(ms: number): void;
  /** The search has given its permit back for a while (1), or is about to take one again (-1). */
  away?(change: 1 | -1): void;
}

/** A request that has not had a permit yet, or a further search of one that has. */
interface Waiting {
  /** null: a further search. */
  request: {
    since: number;
    /** It has several searches. */
    several: boolean;
    refuse: (error: ApiError) => void;
  } | null;
  start: () => void;
}

/** What the queue knows of a requester whose requests wait or have several searches. */
interface Lane {
  /** Requests of several searches that have begun, except those whose searches are all away. */
  several: number;
  /** The next permit goes to a request that has not had one yet. */
  nextIsRequest: boolean;
  /** Requests that ended while others waited: their number, and their average time in ms. */
  ended: number;
  averageMs: number;
}

/** Runs one search of a request of several when it gets a permit. */
export type RunSearch = <T>(search: OneSearch<T>) => Promise<T>;

/**
 * Limits the number of concurrent searches, and shares them among requesters: the keys, and the
 * tenant tokens of each. A freed permit goes to the waiting key that is behind in its share; of its
 * requesters, to the one that holds the fewest; of those that hold as few, to each in turn; of its
 * requests, to the oldest. Beyond `Permits.busy` permits, only a requester that holds none gets
 * one: then it waits for no search of another.
 *
 * A request of several searches is refused before its first search or never, and each of its
 * searches takes a permit. Those that have begun get every second permit of their requester, and no
 * more of them begin than there are permits, unless the requester has none: so they finish, and
 * requests of one search get through between them.
 *
 * Too many wait if there are more than `waitingMax`; then a random request of the requester with
 * the most is refused, so that all its clients have the same chance. Too many of one requester wait
 * if they cannot be run in `DRAIN_MS_MAX`: with a request taking `ms` on average, and a share of
 * `n` permits, one is freed every `ms / n`. The average covers the requests that ended while others
 * of the requester waited; it has no effect before a round of all permits has ended, nor on as many
 * waiting requests as there are permits. So slow searches of the past do not count, nor does a
 * first slow one, and a server that is not busy never refuses.
 */
export class SearchQueue {
  readonly #options: Required<Omit<SearchQueueOptions, 'permits'>>;
  readonly #permits: Permits;
  readonly #waiting = new FairQueue<Waiting>();
  readonly #shares = new Shares();
  readonly #lanes = new Map<string, Lane>();
  /** Requests among those that wait. */
  #requests = 0;
  /** Searches that have given their permit back for a while; they count as waiting. */
  #away = 0;
  /** The sum over all requesters. */
  #several = 0;

  constructor(options: SearchQueueOptions) {
    const { permits, ...rest } = options;
    this.#permits =
      typeof permits === 'number' ? new LocalPermits({ count: permits, busy: permits }) : permits;
    this.#options = {
      onPermit: () => {},
      random: Math.random,
      now: () => performance.now(),
      ...rest,
    };
    this.#permits.onGranted(() => this.#startNext(true));
  }

  /** Searches that hold a permit, of all queues that share the permits. */
  get running(): number {
    return this.#permits.taken;
  }

  /** Requests that have not had a permit yet, of all these queues. */
  get waiting(): number {
    return this.#requests + this.#permits.waitingElsewhere;
  }

  get permits(): number {
    return this.#permits.count;
  }

  get waitingMax(): number {
    return this.#options.waitingMax;
  }

  /**
   * Rejects with `too_many_search_requests` when overloaded.
   * @param counted the searches that it counts as
   */
  run<T>(search: OneSearch<T>, requester: Requester, counted = 1): Promise<T> {
    const { holder } = requester.access;
    const watcher = { ended: (ms: number) => this.#learn(holder, ms) };
    const start = () => this.#hold(search, requester, watcher, counted);
    return this.#begins(requester) ? start() : this.#wait(start, false, requester);
  }

  /** Takes a permit for a new request, unless it has to wait. */
  #begins({ access: { holder }, requestId }: Requester): boolean {
    const away = this.#away < Math.max(this.permits, this.waitingMax);
    const isNext = !this.#waiting.of(holder).some((item) => this.#mayStart(holder, item));
    const begins = isNext && (away || this.#waitingOf(holder) === 0) && this.#takes(holder);
    if (begins && requestId !== '') this.#options.onPermit(0);
    return begins;
  }

  /** Requests of a requester that wait, or whose searches are away. */
  #waitingOf(holder: string): number {
    return this.#permits.of(holder, 'waiting') + this.#permits.of(holder, 'away');
  }

  #takes(holder: string): boolean {
    return this.#permits.take(this.#permits.of(holder, 'held') === 0);
  }

  #push({ access: { holder, weight = 1 } }: Requester, waiting: Waiting): void {
    this.#waiting.push(holder, waiting);
    this.#shares.wait(keyOf(holder), weight, this.#options.now());
  }

  /**
   * The same for a request of several searches.
   * @param request passes its searches to its argument, at least one of them before it waits for
   *   anything
   */
  runSeveral<T>(request: (run: RunSearch) => Promise<T>, requester: Requester): Promise<T> {
    const { holder } = requester.access;
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
        this.#lane(holder).several += counts ? 1 : -1;
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
          return takeHeld()
            ? this.#hold(search, requester, watcher)
            : this.#runFurther(search, requester, watcher);
        });
      } finally {
        if (takeHeld()) this.#permits.giveBack();
        isOver = true;
        count();
        this.#learn(holder, used);
        this.#startNext();
      }
    };
    return this.#maySeveral(holder) && this.#begins(requester)
      ? start()
      : this.#wait(start, true, requester);
  }

  /** Whether a request of several searches may begin. */
  #maySeveral(holder: string): boolean {
    return this.#several < this.permits || (this.#lanes.get(holder)?.several ?? 0) === 0;
  }

  #runFurther<T>(search: OneSearch<T>, requester: Requester, watcher: Watcher): Promise<T> {
    if (this.#takes(requester.access.holder)) return this.#hold(search, requester, watcher);
    return new Promise((resolve, reject) => {
      const start = traced(() => void this.#hold(search, requester, watcher).then(resolve, reject));
      this.#push(requester, { request: null, start });
      this.#lookAgain();
    });
  }

  /** Holds a permit until the search ends or is away. REQUIRES: the permit is taken */
  async #hold<T>(
    search: OneSearch<T>,
    requester: Requester,
    watcher: Watcher,
    counted = 1,
  ): Promise<T> {
    const { holder } = requester.access;
    let since = this.#begin(requester);
    let ms = 0;
    const giveBack = (): void => {
      const now = this.#options.now();
      ms += now - since;
      this.#shares.end(keyOf(holder), since, now);
      this.#permits.add(holder, 'held', -1);
      this.#permits.giveBack();
    };
    const leave = (change: 1 | -1): void => {
      this.#away += change;
      this.#permits.add(holder, 'away', change);
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
          since = await this.#takeAgain(requester);
        }
      },
    };
    try {
      return await metered(requester.meter, counted, () => search(permit));
    } finally {
      giveBack();
      watcher.ended(ms);
      this.#startNext();
    }
  }

  /** A search has a permit. @returns the moment */
  #begin({ access: { holder, weight = 1 } }: Requester): number {
    const now = this.#options.now();
    this.#permits.add(holder, 'held', 1);
    this.#shares.begin(keyOf(holder), weight, now);
    return now;
  }

  /** Resolves with a permit: since when. */
  async #takeAgain(requester: Requester): Promise<number> {
    if (this.#takes(requester.access.holder)) return this.#begin(requester);
    return new Promise((resolve) => {
      const start = (): void => resolve(this.#begin(requester));
      this.#push(requester, { request: null, start });
      this.#lookAgain();
    });
  }

  #wait<T>(start: () => Promise<T>, several: boolean, requester: Requester): Promise<T> {
    const { signal } = requester;
    const { holder } = requester.access;
    if (!this.#mayWait(holder)) return Promise.reject(this.#tooMany(holder));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        request: { since: this.#options.now(), several, refuse: reject },
        start: traced(() => void start().then(resolve, reject)),
      };
      this.#push(requester, waiting);
      this.#countRequest(holder, 1);
      signal?.onAbort(() => {
        if (!this.#waiting.remove(holder, waiting)) return;
        this.#shares.stopWaiting(keyOf(holder));
        this.#countRequest(holder, -1);
        reject(this.#tooMany(holder));
        this.#noteWaiting();
      });
      this.#lookAgain();
    });
  }

  #countRequest(holder: string, change: 1 | -1): void {
    this.#requests += change;
    this.#permits.add(holder, 'waiting', change);
  }

  /** Whether a request may wait, if need be after another one has been refused. */
  #mayWait(holder: string): boolean {
    const { waitingMax } = this;
    const own = this.#waitingOf(holder);
    if (own >= this.#limit(holder)) return this.#refuseOne(holder);
    const all = this.waiting + this.#away;
    if (all < waitingMax) return true;
    // The requester with the most gives way; if it cannot, this request may exceed the limit.
    const largest = this.#waiting.next((other, items) =>
      items.some(isRequest) ? -this.#waitingOf(other) : Infinity,
    );
    if (largest !== undefined && this.#waitingOf(largest) > own + 1) {
      return this.#refuseOne(largest);
    }
    if (all < 2 * waitingMax && this.#permits.waitingMax() > own + 1) return true;
    return this.#refuseOne(holder);
  }

  /** Refuses a random waiting request of a requester. @returns false: it has none */
  #refuseOne(holder: string): boolean {
    const items = this.#waiting.of(holder);
    const requests = [...items.keys()].filter((at) => isRequest(items[at]!));
    const chosen = requests[Math.floor(this.#options.random() * requests.length)];
    if (chosen === undefined) return false;
    const { request } = this.#waiting.removeAt(holder, chosen);
    this.#shares.stopWaiting(keyOf(holder));
    this.#countRequest(holder, -1);
    request!.refuse(this.#tooMany(holder));
    this.#noteWaiting();
    return true;
  }

  /**
   * Called after something has begun to wait: another queue may have returned a permit, and another
   * key may be behind by now.
   */
  #lookAgain(): void {
    this.#noteWaiting();
    this.#startNext();
  }

  #noteWaiting(): void {
    this.#permits.noteWaiting(() => {
      let startable = 0;
      for (const [holder, items] of this.#waiting.entries()) {
        startable += items.filter((one) => this.#mayStart(holder, one)).length;
      }
      const next = this.#next();
      const weight = next === undefined ? 1 : this.#shares.weightOf(keyOf(next));
      return { startable, next, weight, requests: this.#requests };
    });
  }

  #mayStart(holder: string, { request }: Waiting): boolean {
    return request?.several !== true || this.#maySeveral(holder);
  }

  #lane(holder: string): Lane {
    let lane = this.#lanes.get(holder);
    if (lane === undefined) {
      lane = { several: 0, nextIsRequest: false, ended: 0, averageMs: 0 };
      this.#lanes.set(holder, lane);
    }
    return lane;
  }

  /** Maximum number of waiting requests of a requester. */
  #limit(holder: string): number {
    const { permits, waitingMax } = this;
    const lane = this.#lanes.get(holder);
    if (lane === undefined || lane.ended < this.#permits.busy) return waitingMax;
    const share = Math.max(1, permits / Math.max(1, this.#waiting.requesters));
    const held = Math.min(share, this.#permits.busy);
    const inTime = Math.floor((DRAIN_MS_MAX * held) / Math.max(lane.averageMs, 1e-3));
    return Math.min(waitingMax, Math.max(permits, inTime));
  }

  /**
   * Updates the average after a request whose searches took `ms`; refuses waiting requests that can
   * no longer be run in time.
   */
  #learn(holder: string, ms: number): void {
    const lane = this.#lane(holder);
    if (!this.#waiting.of(holder).some(isRequest)) {
      lane.ended = 0;
      if (lane.several === 0) this.#lanes.delete(holder);
      return;
    }
    const counted = AVERAGED_ROUNDS * this.#permits.busy;
    lane.ended++;
    const before = lane.ended === 1 ? 0 : lane.averageMs;
    lane.averageMs = before + (ms - before) / Math.min(lane.ended, counted);
    const excess = this.#permits.of(holder, 'waiting') - this.#limit(holder);
    for (let left = excess; left > 0 && this.#refuseOne(holder); left--);
  }

  /** @param isHeld a permit is taken already */
  #startNext(isHeld = false): void {
    let held = isHeld;
    for (;;) {
      const holder = this.#next();
      if (holder === undefined || !(held || this.#takes(holder))) break;
      const next = this.#takeNext(holder);
      this.#noteWaiting();
      held = next === undefined;
      next?.start();
      // Not before: what a key used is forgotten when it neither waits nor holds.
      this.#shares.stopWaiting(keyOf(holder));
    }
    if (held) this.#permits.giveBack();
  }

  /** The requester whose search starts next, as soon as it may have a permit. */
  #next(): string | undefined {
    const now = this.#options.now();
    let key: string | undefined;
    let [behind, held] = [Infinity, Infinity];
    const mayStart = (holder: string, items: readonly Waiting[]): boolean =>
      items.some((item) => this.#mayStart(holder, item));
    for (const [holder, items] of this.#waiting.entries()) {
      const its = keyOf(holder);
      const at = this.#shares.at(its, now);
      if (at > behind || !mayStart(holder, items)) continue;
      if (at === behind && this.#shares.heldBy(its) >= held) continue;
      [key, behind, held] = [its, at, this.#shares.heldBy(its)];
    }
    return this.#waiting.next((holder, items) =>
      keyOf(holder) === key && mayStart(holder, items)
        ? this.#permits.of(holder, 'held')
        : Infinity,
    );
  }

  /** Removes what starts next of a requester; undefined: it has waited too long, and is refused. */
  #takeNext(holder: string): Waiting | undefined {
    const { now, onPermit, waitMsMax } = this.#options;
    const items = this.#waiting.of(holder);
    const further = items.findIndex((item) => !isRequest(item));
    const request = items.findIndex((item) => isRequest(item) && this.#mayStart(holder, item));
    const isFurther = further >= 0 && (request < 0 || !this.#lane(holder).nextIsRequest);
    if (further >= 0) this.#lane(holder).nextIsRequest = isFurther;
    const next = this.#waiting.take(holder, isFurther ? further : request);
    if (next.request === null) return next;
    this.#countRequest(holder, -1);
    const waitedMs = now() - next.request.since;
    if (waitedMs <= waitMsMax) {
      onPermit(waitedMs);
      return next;
    }
    next.request.refuse(this.#tooMany(holder));
    return undefined;
  }

  #tooMany(holder: string): ApiError {
    const limit = this.#limit(holder);
    return new ApiError(
      'too_many_search_requests',
      `Too many search requests are running at the same time: ${limit} are waiting already. ` +
        'Retry after 10 s.',
    );
  }
}

/** What begins when another search ends is part of the span of those who asked for it. */
function traced(start: () => void): () => void {
  const span = activeSpan();
  return () => within(span, start);
}

function isRequest({ request }: Waiting): boolean {
  return request !== null;
}
