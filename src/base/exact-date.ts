/**
 * Dates with nanoseconds, as other servers write them. Where numbers suffice, dates are
 * milliseconds with microseconds as fraction (`Clock`).
 */

const UTC_DATE = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/**
 * Nanoseconds since 1970 of an RFC 3339 date in UTC with up to nine digits of a second; null: not
 * such a date.
 */
export function nanosOf(text: string): bigint | null {
  const match = UTC_DATE.exec(text);
  const ms = match === null ? NaN : Date.parse(`${match[1]}Z`);
  if (Number.isNaN(ms)) return null;
  return BigInt(ms) * 1_000_000n + BigInt((match![2] ?? '').padEnd(9, '0'));
}

/** The inverse: six digits of a second, or more if needed. */
export function dateOfNanos(nanos: bigint): string {
  const rest = ((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const date = new Date(Number((nanos - rest) / 1_000_000n)).toISOString().slice(0, -5);
  const digits = String(rest)
    .padStart(9, '0')
    .replace(/0{1,3}$/, '');
  return `${date}.${digits}Z`;
}
