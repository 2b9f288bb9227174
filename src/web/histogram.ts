/** Buckets of numbers for a histogram. Pure functions. */
import type { Range } from './search-request.ts';

export const BUCKETS = 16;

/** Equal parts from `min` to `max`. Both ends of a part belong to it, and no value to two parts. */
export function bucketsOf(min: number, max: number): Range[] {
  const integers = Number.isInteger(min) && Number.isInteger(max);
  const number = integers ? Math.min(BUCKETS, max - min + 1) : BUCKETS;
  const edge = (position: number): number => {
    const value = min + ((max - min + (integers ? 1 : 0)) * position) / number;
    return integers ? Math.ceil(value) : value;
  };
  return Array.from({ length: number }, (_, position) => ({
    min: edge(position),
    max: position === number - 1 ? max : below(edge(position + 1), integers),
  }));
}

/** The greatest value before an edge. */
function below(edge: number, integers: boolean): number {
  return integers ? edge - 1 : edge - Math.abs(edge || 1) * Number.EPSILON;
}

/** The number of values, each counted as often as it occurs, in each bucket. */
export function filled(
  buckets: readonly Range[],
  counts: Readonly<Record<string, number>>,
): number[] {
  const sums = buckets.map(() => 0);
  for (const [text, count] of Object.entries(counts)) {
    const value = Number(text);
    const at = buckets.findLastIndex(({ min }) => value >= min!);
    if (at >= 0) sums[at]! += count;
  }
  return sums;
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
