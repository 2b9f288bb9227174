/** Members of the JSON of dumps, each of them null when it is something else. */
import { dateOfNanos, nanosOf } from '../base/exact-date.ts';
import type { ExactDates } from '../contract/tasks.ts';
import { SETTING_ENTRIES } from '../contract/settings.ts';

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Formats may hold settings that this program does not know; they are left out. */
export function knownSettings(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const known = SETTING_ENTRIES.filter(({ name }) => given[name] !== undefined);
  return Object.fromEntries(known.map(({ name }) => [name, given[name]]));
}

/** The dates of a task or batch of which milliseconds with microseconds would lose something; undefined: none. */
export function exactDates(line: Readonly<Record<string, unknown>>): ExactDates | undefined {
  const exact: ExactDates = {};
  for (const name of ['enqueuedAt', 'startedAt', 'finishedAt'] as const) {
    const nanos = nanosOf(String(line[name]));
    if (nanos !== null && nanos % 1000n !== 0n) exact[name] = dateOfNanos(nanos);
  }
  return Object.keys(exact).length === 0 ? undefined : exact;
}

/** A date of RFC 3339 with up to nine digits of a second, in milliseconds with microseconds as fraction. */
export function dateOf(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return null;
  const digits = /\.(\d+)/.exec(text)?.[1];
  if (digits === undefined) return ms;
  const micros = Number(digits.padEnd(6, '0').slice(3, 6));
  return (Math.floor(ms) * 1000 + micros) / 1000;
}
