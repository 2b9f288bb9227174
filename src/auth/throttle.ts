import type { Clock } from '../base/clock.ts';
import { ApiError } from '../contract/errors.ts';
import type { RateLimit } from '../contract/responses.ts';

type Header = [name: string, value: string];

/** A request that a key may not send now. */
export interface Refused {
  readonly refusal: ApiError;
  /** The headers of its response that describe the limits. */
  headers(): Header[];
}

/** Tolerance for the sum of many small additions. */
const ROUNDING = 1e-9;

/** Assumed duration of a search, for callers with too many concurrent ones, seconds. */
const SEARCH_SECONDS = 1;

/**
 * Enforces the limits of one key. A token bucket that holds one second's worth of requests is
 * filled evenly, so a second's worth may come at once and the rate holds over any longer time. A
 * request needs one token to pass, which covers its first search. Each further search takes one:
 * the bucket may go below zero, and the next request waits until it is filled again. Concurrent
 * searches are counted in the same way.
 */
export class Throttle {
  readonly #clock: Clock;
  #limit: RateLimit;
  /** Tokens, negative after a request of many searches, and the moment of that count. */
  #left: number;
  #at: number;
  #searches = 0;

  constructor(limit: RateLimit, clock: Clock) {
    this.#clock = clock;
    this.#limit = limit;
    this.#left = limit.requestsPerSecond ?? 0;
    this.#at = this.#elapsed();
  }

  get limit(): RateLimit {
    return this.#limit;
  }

  /** Tokens already used stay used. */
  set limit(limit: RateLimit) {
    this.#refill();
    const before = this.#limit.requestsPerSecond;
    const now = limit.requestsPerSecond ?? 0;
    this.#left = before === null ? now : Math.min(now, this.#left);
    this.#limit = limit;
  }

  /**
   * Called for each request. If it passes, `close` of its meter must follow.
   * @param isCovered another request has a token for it
   */
  enter(isSearch: boolean, isCovered = false): RequestMeter | Refused {
    const { requestsPerSecond, concurrentSearches } = this.#limit;
    if (requestsPerSecond !== null && !isCovered) {
      this.#refill();
      if (this.#left < 1 - ROUNDING) {
        const seconds = Math.ceil((1 - this.#left) / requestsPerSecond);
        const message = `The API key may send ${requestsPerSecond} requests a second.`;
        return this.#refused(message, seconds);
      }
      this.#left = Math.max(0, this.#left - 1);
    }
    if (isSearch && concurrentSearches !== null && this.#searches >= concurrentSearches) {
      const message = `The API key may have ${concurrentSearches} searches under way at once.`;
      return this.#refused(message, SEARCH_SECONDS);
    }
    return new RequestMeter(this, isSearch);
  }

  #refused(message: string, seconds: number): Refused {
    return {
      refusal: new ApiError('too_many_requests', `${message} Retry after ${seconds} s.`),
      headers: () => [['retry-after', String(seconds)], ...this.headers()],
    };
  }

  /** Takes tokens for what is not refused any more. */
  take(count: number): void {
    if (this.#limit.requestsPerSecond === null) return;
    this.#refill();
    this.#left -= count;
  }

  /** The number of concurrent searches has changed. */
  countConcurrent(change: number): void {
    this.#searches += change;
  }

  /** The headers that describe the limits at this moment. */
  headers(): Header[] {
    const { requestsPerSecond } = this.#limit;
    if (requestsPerSecond === null) return [];
    this.#refill();
    const full = Math.ceil((requestsPerSecond - this.#left) / requestsPerSecond);
    return [
      ['ratelimit-policy', `${requestsPerSecond};w=1`],
      ['ratelimit-limit', String(requestsPerSecond)],
      ['ratelimit-remaining', String(Math.max(0, Math.floor(this.#left)))],
      ['ratelimit-reset', String(full)],
    ];
  }

  #refill(): void {
    const now = this.#elapsed();
    const { requestsPerSecond } = this.#limit;
    if (requestsPerSecond !== null) {
      const filled = (Math.max(0, now - this.#at) * requestsPerSecond) / 1000;
      this.#left = Math.min(requestsPerSecond, this.#left + filled);
    }
    this.#at = now;
  }

  #elapsed(): number {
    return this.#clock.elapsed?.() ?? this.#clock.now();
  }
}

/**
 * Counts the searches of one request that has passed. Its token covers the first of them, or else
 * the first request that it makes itself.
 */
export class RequestMeter {
  readonly refusal = null;
  readonly #throttle: Throttle;
  #isCovering = true;
  /** Concurrent searches that the request counts as, even while fewer run. */
  #minimum: number;
  #running = 0;
  #counted = 0;

  constructor(throttle: Throttle, isSearch: boolean) {
    this.#throttle = throttle;
    this.#minimum = isSearch ? 1 : 0;
    this.#count();
  }

  /** `end` must follow with the same number. */
  begin(searches: number): void {
    if (searches === 0) return;
    this.#throttle.take(this.takeCover() ? searches - 1 : searches);
    this.#running += searches;
    this.#count();
  }

  end(searches: number): void {
    this.#running -= searches;
    this.#count();
  }

  /** Whether the token of the request was not used yet; it is now. */
  takeCover(): boolean {
    const was = this.#isCovering;
    this.#isCovering = false;
    return was;
  }

  /** The response is complete. Searches may still be running. */
  close(): void {
    this.#minimum = 0;
    this.#count();
  }

  /** The headers that describe the limits at this moment. */
  headers(): Header[] {
    return this.#throttle.headers();
  }

  #count(): void {
    const counted = Math.max(this.#minimum, this.#running);
    this.#throttle.countConcurrent(counted - this.#counted);
    this.#counted = counted;
  }
}
