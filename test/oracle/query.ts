/**
 * From the text of a query to terms, phrases and negatives (docs/behaviour/query-analysis.md).
 */
import { segmentation } from '../../src/search/segmentation.ts';
import { Analyzer, type Token } from './analyzer.ts';

const LONG_MARK = 'ー';
const MAX_TERMS = 10;
const MAX_TOKENS = 1000;

export interface Term {
  /** One word; or a phrase, where null stands for a stop word. */
  words: (string | null)[];
  phrase: boolean;
  /** A phrase of the user: never dropped. */
  mandatory: boolean;
  /** Words that such a phrase counts as, stop words left out. */
  counted: number;
  prefix: boolean;
  /** Query positions of the first real word and of the last word. */
  first: number;
  last: number;
}

export interface ParsedQuery {
  terms: Term[];
  negativeWords: string[];
  negativePhrases: (string | null)[][];
}

export function parseQuery(
  q: string,
  analyzer: Analyzer,
  locales: readonly string[],
  prefixSearch: boolean,
): ParsedQuery {
  const tokens = analyzer.tokens(q, locales).slice(0, MAX_TOKENS);
  const out: ParsedQuery = { terms: [], negativeWords: [], negativePhrases: [] };
  let position = -1;
  let phrase: Term | null = null;
  let phraseNegative = false;
  let negativeNext = false;

  const close = (): void => {
    if (phrase === null) return;
    const words = phrase.words;
    if (words.some((word) => word !== null)) {
      if (phraseNegative) out.negativePhrases.push(words);
      else out.terms.push(phrase);
    }
    phrase = null;
  };
  const open = (): Term => ({
    words: [],
    phrase: true,
    mandatory: true,
    counted: 0,
    prefix: false,
    first: -1,
    last: -1,
  });
  const wordStarts = new Set(segmentation(q));
  /** Whether the token is a character of the word of the one before it. */
  const continues = (i: number): boolean => {
    const [before, token] = [tokens[i - 1], tokens[i]];
    if (before === undefined || token === undefined) return false;
    if (!before.unspaced || !token.unspaced || token.start !== before.end) return false;
    return !wordStarts.has(Buffer.byteLength(q.slice(0, token.start)));
  };
  let wordCounted = false;

  for (let i = 0; i < tokens.length; i++) {
    if (out.terms.length >= MAX_TERMS) {
      phrase = null;
      break;
    }
    const token = tokens[i]!;
    const isLast = i === tokens.length - 1;
    if (token.kind === 'word' || token.kind === 'stop') {
      if (token.lemma === '') continue;
      position++;
      const open = phrase as Term | null;
      if (open !== null) {
        // A phrase stands where its first real word stands.
        if (open.first < 0 && token.kind === 'word') open.first = position;
        open.last = position;
        if (!continues(i)) wordCounted = false;
        if (token.kind === 'word' && !wordCounted) {
          open.counted++;
          wordCounted = true;
        }
        open.words.push(token.kind === 'stop' ? null : token.lemma);
      } else if (token.unspaced) {
        // The characters of one word must stand together.
        const words: Term['words'] = [token.kind === 'stop' ? null : token.lemma];
        let first = position;
        for (; continues(i + 1); i++) {
          const next = tokens[i + 1]!;
          position++;
          if (words.every((word) => word === null)) first = position;
          words.push(next.kind === 'stop' ? null : next.lemma);
        }
        // A long mark at the beginning is the vowel of a kana that the query does not show.
        const marks = words.findIndex((word) => word !== LONG_MARK);
        if (marks > 0) {
          words.fill(null, 0, marks);
          const counts = words.findIndex((word) => word !== null);
          if (counts >= 0) first = position - words.length + 1 + counts;
        }
        const single = words.length === 1;
        // Nothing but stop words: it counts only where it ends the query, as a word does.
        if (!words.some((word) => word !== null)) {
          if (!single || (!isLast && !negativeNext)) {
            negativeNext = false;
            continue;
          }
          words[0] = token.lemma;
        }
        if (!negativeNext) {
          const term = { words, phrase: !single, mandatory: false, counted: 0, prefix: false };
          out.terms.push({ ...term, first, last: position });
        } else if (single) out.negativeWords.push(token.lemma);
        else out.negativePhrases.push(words);
        negativeNext = false;
      } else if (negativeNext) {
        out.negativeWords.push(token.lemma);
        negativeNext = false;
      } else if (token.kind === 'word' || isLast) {
        const prefix = isLast && prefixSearch;
        out.terms.push({
          words: [token.lemma],
          phrase: false,
          mandatory: false,
          counted: 0,
          prefix,
          first: position,
          last: position,
        });
      }
      continue;
    }
    if (token.kind === 'hard') position += 7;
    if (token.kind === 'hard' && phrase !== null) {
      close();
      phrase = open();
      continue;
    }
    if (token.lemma === '"') {
      if (phrase === null) {
        phraseNegative = negativeNext;
        negativeNext = false;
        phrase = open();
      } else close();
      continue;
    }
    negativeNext = phrase === null && token.lemma === '-' && isNegation(q, tokens, i);
  }
  close();
  return out;
}

function isNegation(q: string, tokens: readonly Token[], i: number): boolean {
  const before = tokens[i - 1];
  const after = tokens[i + 1];
  if (before !== undefined && !/\s$/u.test(q.slice(before.start, before.end))) return false;
  // An ignored token is not a word, and the word after it does not directly follow the one before.
  return (
    after !== undefined &&
    (((after.kind === 'word' || after.kind === 'stop') && after.lemma !== '') ||
      after.lemma === '"')
  );
}
