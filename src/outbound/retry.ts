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
  wait?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

export interface Waits {
  /** The longest wait before the first retry. */
  firstMs: number;
  /** How much longer each further one waits. */
  factor: number;
  msMax: number;
}

/**
 * Ms to wait before a retry: at random, from half of the longest wait up to it, so that many do not
 * come back at once.
 * @param retry from 0
 */
export function backoffMs({ firstMs, factor, msMax }: Waits, retry: number): number {
  return Math.min(msMax, firstMs * factor ** retry) * (0.5 + Math.random() / 2);
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
