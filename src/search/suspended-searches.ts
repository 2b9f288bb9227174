import type { CancelSignal } from '../base/cancel-signal.ts';
import type { NativeAddon, PendingSearch } from '../engine/native.ts';

/**
 * Hybrid searches whose words are ranked, kept while their queries are embedded. Each holds memory
 * of the engine, so only a limited number is kept; the words of others are ranked again.
 */
export class SuspendedSearches {
  readonly #native: Pick<NativeAddon, 'dropSearch'>;
  readonly #limit: number;
  #kept = 0;

  constructor(native: Pick<NativeAddon, 'dropSearch'>, limit: number) {
    this.#native = native;
    this.#limit = limit;
  }

  get kept(): number {
    return this.#kept;
  }

  /**
   * Runs `work`, and drops the search immediately if it cannot be kept, if `work` fails, or if the
   * client disconnects.
   * @returns the search to resume, or null if it was dropped
   */
  async during<T>(
    search: PendingSearch,
    signal: CancelSignal,
    work: () => Promise<T>,
  ): Promise<{ result: T; search: PendingSearch | null }> {
    let isKept = true;
    this.#kept++;
    const release = (): void => {
      isKept = false;
      this.#kept--;
    };
    const drop = (): void => {
      if (!isKept) return;
      release();
      this.#native.dropSearch(search);
    };
    if (this.#kept > this.#limit) drop();
    signal.onAbort(drop);
    try {
      const result = await work();
      if (!isKept) return { result, search: null };
      release();
      return { result, search };
    } catch (error) {
      drop();
      throw error;
    }
  }
}
