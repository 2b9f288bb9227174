/** What histograms and charts compute. Pure functions. */

export const BUCKETS = 16;

/** The number of bars for numbers from `min` to `max`: at most one for each whole number. */
export function barsOf({ min, max }: { readonly min: number; readonly max: number }): number {
  const integers = Number.isInteger(min) && Number.isInteger(max);
  return integers ? Math.min(BUCKETS, max - min + 1) : BUCKETS;
}

/** Whether the numbers of a field are moments, by its name and their size. */
export function momentUnit(field: string, max: number): 's' | 'ms' | null {
  if (!/date|time|_at$|At$|timestamp|published|created|updated/i.test(field)) return null;
  // From the year 1990 on, so that years and durations stay numbers.
  if (max > 6.3e11 && max < 1e14) return 'ms';
  return max > 6.3e8 && max < 1e11 ? 's' : null;
}

/** The least round number that is not below `value`. Its half is whole, too. */
export function roundAbove(value: number, unit: number): number {
  if (value <= 2) return 2;
  let scale = 1;
  while (value > scale * unit) scale *= unit;
  const digits = 10 ** Math.floor(Math.log10(value / scale));
  const steps = [1, 2, 4, 6, 8, 10].map((step) => step * digits * scale);
  return steps.find((step) => step >= value)!;
}
