/** Dynamic search rules by their words, for the list of rules. */
import type { SearchRule } from '../contract/search-rules.ts';
import { wordsOf } from './words.ts';

/**
 * Rules that hold all words of the query; when none does, without its last words. Whole words, no typos. What is found in
 * the words of the conditions comes before what only descriptions hold; the order is otherwise kept.
 */
export function matchRules(rules: readonly SearchRule[], query: string): SearchRule[] {
  const wanted = wordsOf(query);
  if (wanted.length === 0) return [...rules];
  const indexed = rules.map((rule) => {
    const inWords = new Set(wordsOf(rule.conditions.query?.words ?? ''));
    const inDescription = new Set(wordsOf(rule.description ?? ''));
    return { rule, inWords, inDescription };
  });
  for (let count = wanted.length; count > 0; count--) {
    const some = wanted.slice(0, count);
    const found = indexed.filter(({ inWords, inDescription }) =>
      some.every((word) => inWords.has(word) || inDescription.has(word)),
    );
    if (found.length === 0) continue;
    const best = (item: (typeof found)[number]): number =>
      some.filter((word) => !item.inWords.has(word)).length;
    return found.sort((a, b) => best(a) - best(b)).map(({ rule }) => rule);
  }
  return [];
}
