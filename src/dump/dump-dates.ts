/** Dates of dumps: RFC 3339 with up to nine digits of a second. */

/** Milliseconds with microseconds as fraction; null when it is no date. */
export function dateOf(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return null;
  const digits = /\.(\d+)/.exec(text)?.[1];
  if (digits === undefined) return ms;
  const micros = Number(digits.padEnd(6, '0').slice(3, 6));
  return (Math.floor(ms) * 1000 + micros) / 1000;
}
