/** Which remotes have answered lately, so that searches of the whole network need not wait for one that is gone. */

/** Ms after a first failure during which a remote is left out; doubled by each further one. */
const FIRST_REST_MS = 1000;
const REST_MS_MAX = 30_000;

interface State {
  failures: number;
  /** Of `now`. */
  restUntil: number;
  /** A request finds out whether the remote is back. */
  probing: boolean;
}

export class RemoteHealth {
  readonly #states = new Map<string, State>();
  readonly #now: () => number;

  /** @param now ms, never going back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Whether a remote should be asked. After a rest one request is let through, and the others wait for what becomes of it;
   * who is let through must call `succeeded` or `failed`.
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
    // Requests that were under way together fail together.
    if (known !== undefined && !known.probing && this.#now() < known.restUntil) return;
    const failures = (known?.failures ?? 0) + 1;
    const restMs = Math.min(REST_MS_MAX, FIRST_REST_MS * 2 ** Math.min(failures - 1, 20));
    this.#states.set(url, { failures, restUntil: this.#now() + restMs, probing: false });
  }

  /** A request ended without saying anything about the remote. */
  undecided(url: string): void {
    const state = this.#states.get(url);
    if (state !== undefined) state.probing = false;
  }

  /** Forgets remotes that the network has no more. */
  keep(urls: ReadonlySet<string>): void {
    for (const url of this.#states.keys()) if (!urls.has(url)) this.#states.delete(url);
  }
}
