/**
 * Distances between words: the naive forms, one dictionary word at a time.
 */

/**
 * Edit distance between `query` and `word` where swapping two neighbours counts one. Stops at
 * `limit` + 1.
 *
 * With `prefix` the word may go on after what is compared. It is read from left to right and
 * accepted at the first point where no prefix of the query is nearer to what was read than the
 * whole query; when there is no such point, the whole word counts.
 */
export function editDistance(
  query: string[],
  word: string,
  prefix: boolean,
  limit: number,
): number {
  const n = query.length;
  const chars = [...word];
  let beforeLast: number[] = [];
  let last = Array.from({ length: n + 1 }, (_, i) => i);
  for (let j = 1; j <= chars.length; j++) {
    const row = [j];
    let smallest = j;
    for (let i = 1; i <= n; i++) {
      const same = query[i - 1] === chars[j - 1];
      let d = Math.min(last[i]! + 1, row[i - 1]! + 1, last[i - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && query[i - 1] === chars[j - 2] && query[i - 2] === chars[j - 1]) {
        d = Math.min(d, beforeLast[i - 2]! + 1);
      }
      row.push(d);
      if (d < smallest) smallest = d;
    }
    if (prefix && row[n]! <= limit && row[n] === smallest) return row[n]!;
    if (smallest > limit + 1) return limit + 1; // a swap may still lower it by one
    beforeLast = last;
    last = row;
  }
  return Math.min(last[n]!, limit + 1);
}

/** Typos that `word` costs for `query`, or -1 (docs/behaviour/query-analysis.md). */
export function typosOf(query: string[], word: string, prefix: boolean, allowed: number): number {
  const sameFirst = word.startsWith(query[0]!);
  if (allowed === 1) {
    if (!sameFirst) return -1;
    const d = editDistance(query, word, prefix, 1);
    return d <= 1 ? d : -1;
  }
  const d = editDistance(query, word, prefix, sameFirst ? 2 : 1);
  if (sameFirst) return d <= 2 ? d : -1;
  return d <= 1 ? 2 : -1;
}

/** Compares as the UTF-8 bytes do. */
export function compareBytes(a: string, b: string): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above the rest of the plane.
    if (x >= 0xd800 && y >= 0xd800) {
      x += x >= 0xe000 ? -0x800 : 0x2000;
      y += y >= 0xe000 ? -0x800 : 0x2000;
    }
    return x - y;
  }
  return a.length - b.length;
}
