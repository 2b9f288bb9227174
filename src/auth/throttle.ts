import type { Clock } from '../base/clock.ts';
import { ApiError } from '../contract/errors.ts';
import type { RateLimit } from '../contract/rate-limits.ts';

/**
 * The outcome for a request: it may pass, or why not; and what its response says about the limits.
 */
export interface Passage {
  refusal: ApiError | null;
  headers: readonly (readonly [name: string, value: string])[];
}

/** Tolerance for the sum of many small additions. */
const ROUNDING = 1e-9;

/** Assumed duration of a search, for callers with too many concurrent ones, seconds. */
const SEARCH_SECONDS = 1;

/**
 * Enforces the limits of one key. A token bucket that holds one second's worth of requests is
 * filled evenly, so a second's worth may come at once and the rate holds over any longer time. A
 * request needs one token to pass. A multi-search then takes one for each of its searches, and each
 * search of a conversation takes one: the bucket may go below zero, and the next request waits
 * until it is filled again. Concurrent searches are counted in the same way.
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

  /** Called for each request. If it passes as a search, `searchesEnded(1)` must follow. */
  enter(isSearch: boolean): Passage {
    const { requestsPerSecond, concurrentSearches } = this.#limit;
    if (requestsPerSecond !== null) {
      this.#refill();
      if (this.#left < 1 - ROUNDING) {
        const seconds = Math.ceil((1 - this.#left) / requestsPerSecond);
        const message = `The API key may send ${requestsPerSecond} requests a second.`;
        return refused(message, seconds, this.headers());
      }
      this.#left = Math.max(0, this.#left - 1);
    }
    const headers = this.headers();
    if (!isSearch) return { refusal: null, headers };
    if (concurrentSearches !== null && this.#searches >= concurrentSearches) {
      const message = `The API key may have ${concurrentSearches} searches under way at once.`;
      return refused(message, SEARCH_SECONDS, headers);
    }
    this.#searches++;
    return { refusal: null, headers };
  }

  /** A request that has passed runs `count` more searches. `searchesEnded` must follow for each. */
  searchesBegin(count: number): void {
    this.#searches += count;
    if (this.#limit.requestsPerSecond === null) return;
    this.#refill();
    this.#left -= count;
  }

  searchesEnded(count: number): void {
    this.#searches -= count;
  }

  /** The headers that describe the limits at this moment. */
  headers(): [name: string, value: string][] {
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

function refused(message: string, seconds: number, headers: [string, string][]): Passage {
  return {
    refusal: new ApiError('too_many_requests', `${message} Retry after ${seconds} s.`),
    headers: [['retry-after', String(seconds)], ...headers],
  };
}
