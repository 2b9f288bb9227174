import type { Clock } from '../base/clock.ts';
import { ApiError } from '../contract/errors.ts';
import type { RateLimit } from '../contract/rate-limits.ts';

/** What became of a request: it may pass, or why not; and what its answer tells of the limits. */
export interface Passage {
  refusal: ApiError | null;
  headers: readonly (readonly [name: string, value: string])[];
}

/** What the sum of many small fillings may be short of. */
const ROUNDING = 1e-9;

/** How long a search is thought to take, for whoever has too many under way, seconds. */
const SEARCH_SECONDS = 1;

/**
 * Keeps one key to its limits. A token bucket that holds one second's worth of requests is filled evenly, so a second's worth
 * may come at once and the rate holds over any longer time. A request needs one token to pass. A multi-search then takes
 * one for each of its searches, and each search of a conversation takes one: the bucket may go below zero, and the next
 * request waits until it is filled again. Searches under way are counted in the same way.
 */
export class Throttle {
  readonly #clock: Clock;
  #limit: RateLimit;
  /** Tokens, negative after a request of many searches, and the moment at which that was so. */
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

  /** What has been used up stays used up. */
  set limit(limit: RateLimit) {
    this.#refill();
    const before = this.#limit.requestsPerSecond;
    const now = limit.requestsPerSecond ?? 0;
    this.#left = before === null ? now : Math.min(now, this.#left);
    this.#limit = limit;
  }

  /** A request comes. One that passes as a search ends with `searchesEnded(1)`. */
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

  /** A request that has passed runs so many searches more. Each ends with `searchesEnded`. */
  searchesBegin(count: number): void {
    this.#searches += count;
    if (this.#limit.requestsPerSecond === null) return;
    this.#refill();
    this.#left -= count;
  }

  searchesEnded(count: number): void {
    this.#searches -= count;
  }

  /** What a response says about the limits at this moment. */
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
