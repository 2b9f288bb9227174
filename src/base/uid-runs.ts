/** Ascending uids as runs: first, count, first, count, ... */
export function runsOf(ascending: readonly number[]): number[] {
  const runs: number[] = [];
  for (const n of ascending) {
    const last = runs.length - 2;
    if (last >= 0 && runs[last]! + runs[last + 1]! === n) runs[last + 1]!++;
    else runs.push(n, 1);
  }
  return runs;
}

export function* fromRuns(runs: readonly number[]): Generator<number> {
  for (let r = 0; r < runs.length; r += 2) {
    for (let n = 0; n < runs[r + 1]!; n++) yield runs[r]! + n;
  }
}

/** The first uids, at most `limit`, and the runs of the others. */
export function takeFromRuns(runs: readonly number[], limit: number): [number[], number[]] {
  const taken: number[] = [];
  const left = [...runs];
  while (left.length > 0 && taken.length < limit) {
    const n = Math.min(limit - taken.length, left[1]!);
    for (let k = 0; k < n; k++) taken.push(left[0]! + k);
    if (n === left[1]) left.splice(0, 2);
    else {
      left[0]! += n;
      left[1]! -= n;
    }
  }
  return [taken, left];
}
