/** Greatest edit distance of a suggestion, by the byte length of the received name. */
function distanceMax(bytes: number): number {
  if (bytes <= 3) return 0;
  if (bytes <= 7) return 1;
  if (bytes <= 12) return 2;
  if (bytes <= 17) return 3;
  if (bytes <= 24) return 4;
  return 5;
}

/**
 * Damerau-Levenshtein distance (adjacent transpositions count one, no substring is edited twice).
 * @param ofPrefix that of the nearest prefix of `b`
 */
export function editDistance(a: string, b: string, ofPrefix = false): number {
  const from = [...a];
  const to = [...b];
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1];
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        best = Math.min(best, beforeLast[j - 2]! + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return ofPrefix ? Math.min(...last) : last[to.length]!;
}

/** The nearest accepted name, the first of equals, or undefined when none is near enough. */
export function suggest(received: string, accepted: readonly string[]): string | undefined {
  const limit = distanceMax(Buffer.byteLength(received));
  if (limit === 0) return undefined;
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const name of accepted) {
    if (Math.abs(name.length - received.length) > limit) continue;
    const distance = editDistance(received, name);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}
