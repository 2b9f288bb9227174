/**
 * Tracks which remotes have responded recently, so that searches of the whole network need not wait
 * for one that does not, and how many requests to each are running.
 */
import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';

/** A remote is skipped for this long after a first failure, ms; doubled by each further one. */
const FIRST_REST_MS = 1000;
const REST_MS_MAX = 30_000;

interface State {
  failures: number;
  /** Value of `now`. */
  restUntil: number;
  /** A request is testing whether the remote is back. */
  probing: boolean;
}

export class KnownRemotes {
  readonly #states = new Map<string, State>();
  readonly #limits = new Map<string, ConcurrencyLimit>();
  readonly #atOnce: number;
  readonly #now: () => number;

  /**
   * @param atOnce concurrent requests to one remote
   * @param now ms, never going back
   */
  constructor(atOnce: number, now: () => number = () => performance.now()) {
    this.#atOnce = atOnce;
    this.#now = now;
  }

  limitOf(url: string): ConcurrencyLimit {
    let limit = this.#limits.get(url);
    if (limit === undefined) {
      limit = new ConcurrencyLimit(this.#atOnce);
      this.#limits.set(url, limit);
    }
    return limit;
  }

  /**
   * Whether to send a request to a remote. After a rest one request is let through, and the others
   * wait for its outcome; the one let through must call `succeeded` or `failed`.
   */
  admits(url: string): boolean {
    const state = this.#states.get(url);
    if (state === undefined) return true;
    if (state.probing || this.#now() < state.restUntil) return false;
    state.probing = true;
    return true;
  }

  succeeded(url: string): void {
    this.#states.delete(url);
  }

  failed(url: string): void {
    const known = this.#states.get(url);
    // Concurrent requests fail together: they count as one failure.
    if (known !== undefined && !known.probing && this.#now() < known.restUntil) return;
    const failures = (known?.failures ?? 0) + 1;
    const restMs = Math.min(REST_MS_MAX, FIRST_REST_MS * 2 ** Math.min(failures - 1, 20));
    this.#states.set(url, { failures, restUntil: this.#now() + restMs, probing: false });
  }

  /** A request ended without telling anything about the remote. */
  undecided(url: string): void {
    const state = this.#states.get(url);
    if (state !== undefined) state.probing = false;
  }

  /** Forgets remotes that have left the network. */
  keep(urls: ReadonlySet<string>): void {
    for (const known of [this.#states, this.#limits]) {
      for (const url of known.keys()) if (!urls.has(url)) known.delete(url);
    }
  }
}
