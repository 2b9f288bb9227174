import { Random } from '../test/http/kill/support/random.ts';
import type { Document } from './corpus.ts';
import type { QueryKind, QueryModel } from './workload.ts';

export interface Query {
  kind: QueryKind;
  q: string;
  /**
   * Id of the document that the words were taken from; a person who types them hopes to see it
   * first.
   */
  target: string | number | null;
}

const COMMON_WORDS = 200;

/** Makes queries that people looking for known documents would type. */
export function makeQueries(
  documents: readonly Document[],
  { fields, kinds, count }: QueryModel,
  seed: number,
): Query[] {
  const random = new Random(seed);
  const common = kinds.includes('common') ? commonWords(documents, fields) : [];
  const queries: Query[] = [];
  while (queries.length < count) {
    const kind = kinds[queries.length % kinds.length]!;
    if (kind === 'common') {
      queries.push({ kind, q: random.pick(common), target: null });
      continue;
    }
    const document = random.pick(documents);
    const q = typed(wordsOf(String(document[random.pick(fields)] ?? '')), kind, random);
    if (q !== null) queries.push({ kind, q, target: document.id });
  }
  return queries;
}

function wordsOf(text: string): string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length < 25);
}

function commonWords(documents: readonly Document[], fields: readonly string[]): string[] {
  const frequency = new Map<string, number>();
  for (const document of documents) {
    for (const field of fields) {
      for (const word of new Set(wordsOf(String(document[field] ?? '')))) {
        frequency.set(word, (frequency.get(word) ?? 0) + 1);
      }
    }
  }
  return [...frequency]
    .filter(([word]) => /^\p{L}{3,}$/u.test(word))
    .sort((a, b) => b[1] - a[1])
    .slice(0, COMMON_WORDS)
    .map(([word]) => word);
}

/** @returns null when the words are not suitable for this kind of query */
function typed(words: readonly string[], kind: QueryKind, random: Random): string | null {
  if (words.length === 0) return null;
  const wanted = kind === 'phrase' ? random.int(2, 5) : random.int(1, 5);
  const count = Math.min(words.length, wanted);
  const from = random.int(0, words.length - count + 1);
  const picked = words.slice(from, from + count);
  if (picked.join('').length < 4) return null;
  if (kind === 'phrase') return count < 2 ? null : `"${picked.join(' ')}"`;
  if (kind === 'typo' || kind === 'typoprefix') {
    const long = [...picked.keys()].filter((n) => /^\p{L}{5,}$/u.test(picked[n]!));
    if (long.length === 0) return null;
    const n = random.pick(long);
    const word = picked[n]!;
    picked[n] = edited(word, random);
    if (word.length >= 9 && random.chance(0.4)) picked[n] = edited(picked[n]!, random);
  }
  if (kind === 'prefix' || kind === 'typoprefix') {
    const last = [...picked.at(-1)!];
    if (last.length < 4) return null;
    picked[count - 1] = last.slice(0, random.int(2, last.length - 1)).join('');
  }
  return picked.join(' ');
}

/** Makes one letter wrong, missing, extra or swapped, but never the first. */
function edited(word: string, random: Random): string {
  const letters = [...word];
  const at = random.int(1, letters.length);
  const letter = String.fromCharCode(97 + random.int(0, 26));
  switch (random.int(0, 4)) {
    case 0:
      letters[at] = letter;
      break;
    case 1:
      letters.splice(at, 1);
      break;
    case 2:
      letters.splice(at, 0, letter);
      break;
    default:
      if (at + 1 < letters.length) {
        [letters[at], letters[at + 1]] = [letters[at + 1]!, letters[at]!];
      } else letters[at] = letter;
  }
  return letters.join('');
}
