/** Explains the details of a ranking score in words. */
import { count, counted, percent } from './format.ts';

interface Detail {
  order: number;
  score?: number;
  [field: string]: unknown;
}

export interface ScoreReason {
  /** The name of the ranking rule. */
  readonly rule: string;
  readonly words: string;
  /** From 0 to 1; null for rules that only sort. */
  readonly score: number | null;
}

/** Explanations in the order in which the rules were applied. */
export function scoreReasons(details: Readonly<Record<string, unknown>>): ScoreReason[] {
  return Object.entries(details)
    .filter((entry): entry is [string, Detail] => typeof entry[1] === 'object' && entry[1] !== null)
    .sort(([, a], [, b]) => a.order - b.order)
    .map(([rule, detail]) => ({
      rule,
      words: wordsFor(rule, detail),
      score: typeof detail.score === 'number' ? detail.score : null,
    }));
}

function wordsFor(rule: string, detail: Detail): string {
  const number = (name: string): number => Number(detail[name] ?? 0);
  switch (rule) {
    case 'skipped':
      return 'The search reached its time limit, so the remaining rules were skipped.';
    case 'words':
      return number('matchingWords') === number('maxMatchingWords')
        ? 'Every word of the query was found.'
        : `${count(number('matchingWords'))} of ${counted(number('maxMatchingWords'), 'word')} of the query were found.`;
    case 'typo':
      return number('typoCount') === 0
        ? 'The words are spelt as in the query.'
        : `${counted(number('typoCount'), 'letter')} differ${number('typoCount') === 1 ? 's' : ''} from the query (at most ${count(number('maxTypoCount'))} allowed).`;
    case 'proximity':
      return (detail.score ?? 0) >= 1
        ? 'The words are next to each other, in the order of the query.'
        : 'Other words are between those of the query, or their order differs.';
    case 'attribute':
      return `The words are in ${weighed(number('attributeRankingOrderScore'))}, ${early(number('queryWordDistanceScore'))}.`;
    case 'attributeRank':
      return `The words are in ${weighed(detail.score ?? 0)}.`;
    case 'wordPosition':
      return `The words are ${early(detail.score ?? 0)}.`;
    case 'exactness':
      return exactness(detail);
    case 'vectorSort':
      return `The meaning is similar to that of the query (${percent(number('similarity'))}).`;
    case 'natural':
      return natural(detail);
    case 'rrf':
      return ranks(number('wordsRank'), number('semanticRank'));
    default:
      return sorted(rule, detail);
  }
}

function weighed(score: number): string {
  if (score >= 1) return 'the most important searchable field';
  return score >= 0.5 ? 'an important searchable field' : 'a less important searchable field';
}

function early(score: number): string {
  if (score >= 1) return 'at the beginning of the field';
  return score >= 0.75 ? 'near the beginning of the field' : 'far from the beginning of the field';
}

function exactness({ matchType, matchingWords, maxMatchingWords }: Detail): string {
  if (matchType === 'exactMatch') return 'A field is exactly the query.';
  if (matchType === 'matchesStart') return 'A field begins with exactly the query.';
  if (typeof matchingWords !== 'number' || typeof maxMatchingWords !== 'number') {
    return 'No field is exactly the query.';
  }
  return matchingWords === maxMatchingWords
    ? 'Every word was found exactly as in the query, together with other words.'
    : `${count(matchingWords)} of ${counted(maxMatchingWords, 'word')} were found exactly as in the query; the others matched by prefix, typo or synonym.`;
}

function sorted(rule: string, { value, distance }: Detail): string {
  const direction = rule.endsWith(':desc') ? 'greatest first' : 'smallest first';
  if (typeof distance === 'number') {
    const near = rule.endsWith(':desc') ? 'farthest first' : 'nearest first';
    return `The document is ${count(Math.round(distance))} m from the point; ${near}.`;
  }
  if (value === undefined) return 'This rule was applied.';
  if (value === null) return `The document has no value to sort by; such documents come last.`;
  const shown = typeof value === 'string' ? `“${value}”` : JSON.stringify(value);
  return `Sorted by the value ${shown}, ${direction}.`;
}

const VARIANTS: Readonly<Record<string, string>> = {
  stem: ' by its stem',
  synonym: ' by a synonym',
  typo: ' with other letters',
  prefix: ' as the beginning of a word',
};

interface NaturalWord {
  readonly word: string;
  readonly attribute: string;
  readonly variant: string;
  readonly contribution: number;
}

/** The words that count most first. */
function natural({ words, proximity, wholeField }: Detail): string {
  const found = [...((words ?? []) as readonly NaturalWord[])]
    .sort((a, b) => b.contribution - a.contribution)
    .map(
      ({ word, attribute, variant, contribution }) =>
        `“${word}” in ${attribute}${VARIANTS[variant] ?? ''} (${percent(contribution)})`,
    );
  const near = Number(proximity ?? 0);
  const whole = Number(wholeField ?? 0);
  return [
    found.length === 0 ? 'No word of the query was found.' : `${found.join(', ')}.`,
    ...(near > 0 ? [`Words that stand together add ${percent(near)}.`] : []),
    ...(whole > 0 ? [`A field that is the whole query adds ${percent(whole)}.`] : []),
  ].join(' ');
}

/** @param words 0: not in that list */
function ranks(words: number, meaning: number): string {
  const ranked = [
    ...(words > 0 ? [`number ${count(words)} by its words`] : []),
    ...(meaning > 0 ? [`number ${count(meaning)} by its meaning`] : []),
  ];
  return ranked.length === 0
    ? 'Neither words nor meaning placed it.'
    : `It is ${ranked.join(' and ')}.`;
}
