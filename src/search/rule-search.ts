/** Finds dynamic search rules by their words, for the list of rules. */
import { pauser } from '../base/pauser.ts';
import type { SearchRule } from '../contract/search-rules.ts';
import { wordsOf } from './words.ts';

/** Limits of a query: UTF-16 units, and different words. */
const QUERY_LENGTH_MAX = 10_000;
const QUERY_WORDS_MAX = 100;

/**
 * Rules that contain all words of the query; if none does, without its last words. Whole words, no
 * typos. Matches in the words of the conditions come before matches in descriptions; otherwise the
 * order is kept. Yields to other work of the thread.
 */
export async function matchRules(
  rules: readonly SearchRule[],
  query: string,
): Promise<SearchRule[]> {
  const wanted = [...new Set(wordsOf(query.slice(0, QUERY_LENGTH_MAX)))].slice(0, QUERY_WORDS_MAX);
  if (wanted.length === 0) return [...rules];
  const pause = pauser();
  let longest = 1;
  let found: { rule: SearchRule; inDescription: number }[] = [];
  for (const rule of rules) {
    await pause();
    const words = new Set(wordsOf(rule.conditions.query?.words ?? ''));
    const description = new Set(wordsOf(rule.description ?? ''));
    const missing = wanted.findIndex((word) => !words.has(word) && !description.has(word));
    const held = missing < 0 ? wanted : wanted.slice(0, missing);
    if (held.length < longest) continue;
    if (held.length > longest) found = [];
    longest = held.length;
    found.push({ rule, inDescription: held.filter((word) => !words.has(word)).length });
  }
  return found.sort((a, b) => a.inDescription - b.inDescription).map(({ rule }) => rule);
}
