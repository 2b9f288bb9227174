import { pauser } from './pauser.ts';

/** Elements that are sorted, or merged, between two looks at the clock. */
const STEP = 1000;

/** A sorted copy, made while other work of the thread comes between. Equal elements keep their order. */
export async function sortInTurns<T>(
  values: readonly T[],
  compare: (a: T, b: T) => number,
): Promise<T[]> {
  const pause = pauser();
  let runs: T[][] = [];
  for (let from = 0; from < values.length; from += STEP) {
    runs.push(values.slice(from, from + STEP).sort(compare));
    await pause();
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let n = 0; n < runs.length; n += 2) {
      const right = runs[n + 1];
      merged.push(right === undefined ? runs[n]! : await merge(runs[n]!, right, compare, pause));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge<T>(
  left: readonly T[],
  right: readonly T[],
  compare: (a: T, b: T) => number,
  pause: ReturnType<typeof pauser>,
): Promise<T[]> {
  const merged: T[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    merged.push(compare(left[l]!, right[r]!) <= 0 ? left[l++]! : right[r++]!);
    if (merged.length % STEP === 0) await pause();
  }
  for (const [rest, from] of [
    [left, l],
    [right, r],
  ] as const) {
    for (let n = from; n < rest.length; n++) merged.push(rest[n]!);
  }
  return merged;
}
