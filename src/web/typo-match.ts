/** Whether a typed word matches a stored one with typos, by the settings. Pure functions. */

export interface TypoSettings {
  readonly enabled: boolean;
  readonly minWordSizeForTypos: { readonly oneTypo: number; readonly twoTypos: number };
  readonly disableOnWords: readonly string[];
  readonly disableOnNumbers: boolean;
}

/** The number of typos that a typed word may have. */
export function typosAllowed(word: string, settings: TypoSettings): number {
  const { enabled, minWordSizeForTypos, disableOnWords, disableOnNumbers } = settings;
  if (!enabled || disableOnWords.some((one) => one.toLowerCase() === word.toLowerCase())) return 0;
  if (disableOnNumbers && /^\d+$/.test(word)) return 0;
  const length = [...word].length;
  if (length >= minWordSizeForTypos.twoTypos) return 2;
  return length >= minWordSizeForTypos.oneTypo ? 1 : 0;
}

/** Letters that are missing, added, replaced or exchanged with their neighbour. */
export function distance(a: readonly string[], b: readonly string[]): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (__, j) => (i === 0 ? j : j === 0 ? i : 0)),
  );
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + Number(a[i - 1] !== b[j - 1]);
      let best = Math.min(rows[i - 1]![j]! + 1, rows[i]![j - 1]! + 1, replaced);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) best = Math.min(best, rows[i - 2]![j - 2]! + 1);
      rows[i]![j] = best;
    }
  }
  return rows[a.length]![b.length]!;
}

/** Typos between a typed word and a stored one. One in the first letter counts as two. */
export function typosBetween(typed: string, stored: string): number {
  const a = [...typed.toLowerCase()];
  const b = [...stored.toLowerCase()];
  const typos = distance(a, b);
  return typos > 0 && a[0] !== b[0] ? typos + 1 : typos;
}
