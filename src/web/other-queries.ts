/** Queries to try where one finds nothing. Pure functions. */
import { splitMarks, type Marks } from './marks.ts';
import type { SearchResult } from './search-request.ts';

export interface Suggestion {
  readonly text: string;
  readonly hits: number;
}

/** Queries at most, so that trying them costs little. */
const QUERIES_MAX = 12;
const SUGGESTIONS_MAX = 5;
const BEGINNING_MIN = 3;

/** Each query without one of its words, each word alone, and beginnings of a single word. */
function tried(q: string): { q: string; isBeginning: boolean }[] {
  const words = q.trim().split(/\s+/);
  const [only = ''] = words;
  if (words.length === 1) {
    const letters = [...only];
    const lengths = [1, 2, 3, 4].map((less) => letters.length - less);
    return lengths
      .filter((length) => length >= BEGINNING_MIN)
      .map((length) => ({ q: letters.slice(0, length).join(''), isBeginning: true }));
  }
  const without = words.map((_, at) => words.filter((_one, other) => other !== at).join(' '));
  const all = [...new Set([...without, ...words])];
  return all.slice(0, QUERIES_MAX).map((text) => ({ q: text, isBeginning: false }));
}

interface OtherQuery {
  readonly q: string;
  /** Given: the word that the query is the beginning of is meant. */
  readonly highlightPreTag?: string;
}

export function otherQueries(indexUid: string, q: string, marks: Marks): OtherQuery[] {
  return tried(q).map(({ q: text, isBeginning }) => ({
    indexUid,
    q: text,
    matchingStrategy: 'all',
    page: 1,
    hitsPerPage: 1,
    ...(isBeginning && {
      attributesToHighlight: ['*'],
      highlightPreTag: marks.begin,
      highlightPostTag: marks.end,
    }),
  }));
}

/** The queries that find something, those with the most words first. */
export function suggestionsFrom(
  queries: readonly OtherQuery[],
  results: readonly SearchResult[],
  marks: Marks,
): Suggestion[] {
  const found = queries.flatMap(({ q, highlightPreTag }, at): [string, number][] => {
    const { hits = [], totalHits = 0 } = results[at] ?? {};
    if (totalHits === 0) return [];
    const text = highlightPreTag === undefined ? q : markedWord(hits[0]?._formatted, marks);
    return text === null ? [] : [[text, totalHits]];
  });
  // The first of equal texts is that of the longest beginning.
  const unique = new Map(found.toReversed());
  const texts = [...new Set(found.map(([text]) => text))];
  return texts.slice(0, SUGGESTIONS_MAX).map((text) => ({ text, hits: unique.get(text)! }));
}

/** The first whole word of a text in which something is marked. */
function markedWord(value: unknown, marks: Marks): string | null {
  if (typeof value === 'string') {
    const parts = splitMarks(value, marks);
    const at = parts.findIndex(({ marked }) => marked);
    if (at < 0) return null;
    const rest = /^[\p{L}\p{N}]*/u.exec(parts[at + 1]?.text ?? '')![0];
    return `${parts[at]!.text}${rest}`.toLowerCase();
  }
  if (typeof value !== 'object' || value === null) return null;
  for (const member of Object.values(value)) {
    const word = markedWord(member, marks);
    if (word !== null) return word;
  }
  return null;
}
