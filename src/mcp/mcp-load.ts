import { ApiError } from '../contract/errors.ts';
import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';

/** Requests of one caller that are worked on, and that wait. Each runs one tool at a time. */
const AT_ONCE_MAX = 4;
const WAITING_MAX = 100;

/** The requests of assistants that are in progress, by caller. */
export class McpLoad {
  readonly #callers = new Map<string, { limit: ConcurrencyLimit; requests: number }>();

  /** Runs `work` when the caller has few enough requests. Throws `ApiError` if too many wait. */
  async run<T>(caller: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const known = this.#callers.get(caller);
    const load = known ?? { limit: new ConcurrencyLimit(AT_ONCE_MAX), requests: 0 };
    if (load.limit.waiting >= WAITING_MAX) {
      throw new ApiError(
        'too_many_search_requests',
        'Too many requests of assistants with this key wait. Try again later.',
      );
    }
    this.#callers.set(caller, load);
    load.requests++;
    try {
      return await load.limit.run(work, signal);
    } finally {
      load.requests--;
      if (load.requests === 0) this.#callers.delete(caller);
    }
  }
}
