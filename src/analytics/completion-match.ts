/** Compares what somebody types with a completion, word by word, with typos. Pure. */
import { editDistance } from '../base/suggest.ts';

/** Code points of a word from which it may have one typo, and two; null: none are allowed. */
export type AllowedTypos = { one: number; two: number } | null;

export interface CompletionMatch {
  typos: number;
  /** The match begins with the first word of the completion. */
  atStart: boolean;
}

/** Words as they are compared: in lower case, without accents. */
export function foldedWords(text: string): string[] {
  const folded = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return folded.split(/[\s\p{P}]+/u).filter((word) => word !== '');
}

/**
 * How `typed` begins, or goes on within, `words`: each word must be equal and the last one a
 * prefix, within its typos. The first character of the first word allows none. null: it does not.
 */
export function bestMatch(
  typed: readonly string[],
  words: readonly string[],
  allowed: AllowedTypos,
): CompletionMatch | null {
  let best: CompletionMatch | null = null;
  for (let from = 0; from + typed.length <= words.length; from++) {
    const typos = typosAt(typed, words, from, allowed);
    if (typos === null || (best !== null && typos >= best.typos)) continue;
    best = { typos, atStart: from === 0 };
    if (typos === 0) break;
  }
  return best;
}

function typosAt(
  typed: readonly string[],
  words: readonly string[],
  from: number,
  allowed: AllowedTypos,
): number | null {
  if (typed.length > 0 && typed[0]!.codePointAt(0) !== words[from]!.codePointAt(0)) return null;
  let sum = 0;
  for (const [i, word] of typed.entries()) {
    const other = words[from + i]!;
    const isLast = i === typed.length - 1;
    if (isLast ? other.startsWith(word) : other === word) continue;
    const max = typosMax(word, allowed);
    if (max === 0) return null;
    // A prefix that is longer has more typos.
    const compared = isLast ? other.slice(0, word.length + 2 * max) : other;
    const typos = editDistance(word, compared, isLast);
    if (typos > max) return null;
    sum += typos;
  }
  return sum;
}

function typosMax(word: string, allowed: AllowedTypos): number {
  if (allowed === null) return 0;
  const chars = [...word].length;
  if (chars >= allowed.two) return 2;
  return chars >= allowed.one ? 1 : 0;
}
