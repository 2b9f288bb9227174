/**
 * Intervals by the bootstrap: the mean of as many values, drawn with repetition, many times (Efron
 * and Tibshirani, An Introduction to the Bootstrap, section 13.3). The same seed gives the same
 * interval.
 */
import { mean } from './metrics.ts';
import { mulberry } from './random.ts';

export const RESAMPLES = 2000;
/** The share of the means within the interval. */
export const CONFIDENCE = 0.95;

export interface Estimate {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** @param values at least one: of each query, or the differences of pairs */
export function estimate(values: readonly number[], seed: number): Estimate {
  const random = mulberry(seed);
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let n = 0; n < values.length; n++) sum += values[Math.floor(random() * values.length)]!;
    return sum / values.length;
  }).sort();
  const at = (share: number): number => means[Math.floor(share * (RESAMPLES - 1))]!;
  const outside = (1 - CONFIDENCE) / 2;
  return { mean: mean(values), low: at(outside), high: at(1 - outside) };
}

/** Whether a difference this far from 0 is hardly due to the choice of the queries. */
export function isClear({ low, high }: Estimate): boolean {
  return low > 0 || high < 0;
}
