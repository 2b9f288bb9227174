import type { CancelSignal } from '../../src/base/cancel-signal.ts';
import { type Permit, type RunSearch, SearchQueue } from '../../src/search/search-queue.ts';

/** The queue of searches, for requesters that are just a name. */
export class TestQueue {
  readonly #queue: SearchQueue;

  constructor(...options: ConstructorParameters<typeof SearchQueue>) {
    this.#queue = new SearchQueue(...options);
  }

  get running(): number {
    return this.#queue.running;
  }

  get waiting(): number {
    return this.#queue.waiting;
  }

  run<T>(
    search: (permit: Permit) => Promise<T>,
    holder = 'all',
    signal?: CancelSignal,
    weight = 1,
  ): Promise<T> {
    return this.#queue.run(search, { access: { holder, weight }, ...(signal && { signal }) });
  }

  runSeveral<T>(request: (run: RunSearch) => Promise<T>, holder = 'all'): Promise<T> {
    return this.#queue.runSeveral(request, { access: { holder } });
  }
}
