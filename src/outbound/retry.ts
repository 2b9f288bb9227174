/**
 * Bounded retries. Loops elsewhere are something else: those of `cluster/` and `replica/` wait for
 * as long as a node leads or follows, by the clock of a simulation; `background-embedding.ts` waits
 * until something wakes it; the others poll a condition.
 */
import { setTimeout as delay } from 'node:timers/promises';

export interface RetryPolicy<E = unknown> {
  /** Maximum number of attempts, including the first. */
  attemptsMax: number;
  /**
   * @param error what the attempt threw
   * @param retry number of the retry that would follow, from 0
   * @returns ms to wait before the retry; null: the error is final
   */
  waitMs(error: E, retry: number): number | null;
  /** Ms that are left for retries; none begins later, even if the timer fires late. */
  remainingMs?(): number;
}

export interface RetryOptions {
  /** Aborts the wait and rejects with its reason. */
  signal?: AbortSignal | undefined;
  /** Replaces the timer in tests. */
  wait?: ((ms: number, signal: AbortSignal | undefined) => Promise<unknown>) | undefined;
}

export interface Waits {
  /** Maximum wait before the first retry. */
  firstMs: number;
  /** Factor by which the wait grows with each further retry. */
  factor: number;
  msMax: number;
}

/**
 * A random wait before a retry in ms, between half the maximum wait and the maximum, so that many
 * clients do not retry at the same time.
 * @param retry from 0
 */
export function backoffMs({ firstMs, factor, msMax }: Waits, retry: number): number {
  return Math.min(msMax, firstMs * factor ** retry) * (0.5 + Math.random() / 2);
}

/** @returns the result of the first successful attempt; throws the error of the last attempt */
export async function withRetries<T>(
  attempt: (retry: number) => Promise<T>,
  policy: RetryPolicy,
  { signal, wait = timer }: RetryOptions = {},
): Promise<T> {
  const remainingMs = (): number => policy.remainingMs?.() ?? Infinity;
  for (let number = 0; ; number++) {
    signal?.throwIfAborted();
    try {
      return await attempt(number);
    } catch (error) {
      if (signal?.aborted === true || number + 1 >= policy.attemptsMax) throw error;
      const ms = policy.waitMs(error, number);
      if (ms === null || ms >= remainingMs()) throw error;
      await wait(ms, signal);
      if (remainingMs() <= 0) throw error;
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
