/** Dates of tasks and batches in dumps. */
import { dateOfNanos, nanosOf } from '../base/exact-date.ts';
import type { ExactDates } from '../contract/tasks.ts';

/** The dates of a task or batch that are more precise than microseconds; undefined: none. */
export function exactDates(line: Readonly<Record<string, unknown>>): ExactDates | undefined {
  const exact: ExactDates = {};
  for (const name of ['enqueuedAt', 'startedAt', 'finishedAt'] as const) {
    const nanos = nanosOf(String(line[name]));
    if (nanos !== null && nanos % 1000n !== 0n) exact[name] = dateOfNanos(nanos);
  }
  return Object.keys(exact).length === 0 ? undefined : exact;
}

/**
 * Converts an RFC 3339 date with at most nine fractional digits to milliseconds, with microseconds
 * as the fraction.
 */
export function dateOf(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return null;
  const digits = /\.(\d+)/.exec(text)?.[1];
  if (digits === undefined) return ms;
  const micros = Number(digits.padEnd(6, '0').slice(3, 6));
  return (Math.floor(ms) * 1000 + micros) / 1000;
}
