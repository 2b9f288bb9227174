import { setTimeout as delay } from 'node:timers/promises';

export interface RetryPolicy<E = unknown> {
  /** The first attempt and its retries. */
  attemptsMax: number;
  /**
   * @param error what the attempt threw
   * @param retry number of the retry that would follow, from 0
   * @returns ms to wait before it; null: the error is final
   */
  waitMs(error: E, retry: number): number | null;
}

export interface RetryOptions {
  /** Ends the waiting at once, with its reason. */
  signal?: AbortSignal | undefined;
  /** Replaces the timer in tests. */
  wait?: (ms: number, signal: AbortSignal | undefined) => Promise<unknown>;
}

/** @returns what the first successful attempt answers; throws the error of the last attempt */
export async function withRetries<T>(
  attempt: (retry: number) => Promise<T>,
  policy: RetryPolicy,
  { signal, wait = timer }: RetryOptions = {},
): Promise<T> {
  for (let number = 0; ; number++) {
    signal?.throwIfAborted();
    try {
      return await attempt(number);
    } catch (error) {
      if (signal?.aborted === true || number + 1 >= policy.attemptsMax) throw error;
      const ms = policy.waitMs(error, number);
      if (ms === null) throw error;
      await wait(ms, signal);
    }
  }
}

async function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal });
  } catch {
    signal?.throwIfAborted();
  }
}
