/**
 * Chooses passages of the hits of a search that fit a budget of tokens and do not repeat each
 * other. Pure.
 */
import { textField } from '../templates/document-template.ts';
import { type Passage, passagesOf, tokensOf } from './passages.ts';

/** Passages of a hit that are considered. */
export const PASSAGES_PER_HIT = 5;
/** How the texts of hits are cut that name no passages. */
const CUT = { maxTokens: 200, overlap: 0, max: 255 };
/** The share of its relevance in the value of a passage; the rest is what it repeats. */
const RELEVANCE = 0.7;
/** A passage that shares this part of its words with one already chosen repeats it. */
const REPEATED = 0.8;

export interface CitedPassage extends Passage {
  /** Id of the document; null: it is not displayed. */
  id: unknown;
  attribute: string;
  /** Leads from the outermost list to the text, as in `_matchesPosition`. */
  indices?: readonly number[];
  tokens: number;
  /** The similarity of its embedding. */
  score?: number;
}

interface Candidate extends ChosenPassage {
  relevance: number;
  words: ReadonlySet<string>;
  /** With the passages chosen so far. */
  repeated: number;
}

type Json = Readonly<Record<string, unknown>>;
type Found = Passage & Pick<CitedPassage, 'attribute' | 'indices' | 'score'>;

export interface ChosenPassage {
  passage: CitedPassage;
  /** The hit that it is from. */
  hit: Readonly<Record<string, unknown>>;
}

export interface PassageChoice {
  primaryKey: string | null;
  maxTokens: number;
}

/** @param hits of a response, best first, with `_matchesPosition` and `_passages` */
export function choosePassages(
  hits: readonly Json[],
  { primaryKey, maxTokens }: PassageChoice,
): ChosenPassage[] {
  let candidates = hits.flatMap((hit, rank) => candidatesOf(hit, rank, primaryKey));
  const chosen: ChosenPassage[] = [];
  let left = maxTokens;
  const [first] = candidates;
  // A shorter one would fit and say less.
  if (first !== undefined && first.passage.tokens > maxTokens) {
    const { start, text } = first.passage;
    const [part] = passagesOf(text, { maxTokens, overlap: 0, max: 1 }) as [Passage];
    const passage = { ...first.passage, ...part, start: start + part.start };
    return [{ ...first, passage: { ...passage, tokens: tokensOf(part.text) } }];
  }
  for (;;) {
    candidates = candidates.filter(
      ({ passage, repeated }) => passage.tokens <= left && repeated < REPEATED,
    );
    if (candidates.length === 0) return chosen;
    const best = candidates.reduce((a, b) => (valueOf(b) > valueOf(a) ? b : a));
    chosen.push(best);
    left -= best.passage.tokens;
    candidates = candidates.filter((one) => one !== best);
    for (const one of candidates) one.repeated = Math.max(one.repeated, overlap(one, best));
  }
}

function valueOf({ relevance, repeated }: Candidate): number {
  return RELEVANCE * relevance - (1 - RELEVANCE) * repeated;
}

/** The part of the words of the smaller one that the other has too. */
function overlap({ words: a }: Candidate, { words: b }: Candidate): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  let both = 0;
  for (const word of small) if (large.has(word)) both++;
  return small.size === 0 ? 1 : both / small.size;
}

/** The first passages of all hits come before the second ones. */
function candidatesOf(hit: Json, rank: number, primaryKey: string | null): Candidate[] {
  const named = namedBy(hit);
  const found = named.length > 0 ? named : byWords(hit);
  const id = primaryKey === null ? null : (hit[primaryKey] ?? null);
  return found.slice(0, PASSAGES_PER_HIT).map(({ text, attribute, ...more }, n) => ({
    passage: { id, attribute, ...more, tokens: tokensOf(text), text },
    hit,
    relevance: 61 / (61 + rank) / (n + 1),
    words: wordsOf(text),
    repeated: 0,
  }));
}

/**
 * The passages that a hit names. A search without a vector names none: then a document may have a
 * field of this name, which cites no text.
 */
function namedBy(hit: Json): Found[] {
  const given = (Array.isArray(hit._passages) ? hit._passages : []) as (Found | null)[];
  const attribute = String(given[0]?.attribute);
  const bytes = Buffer.from(textField(hit, attribute)?.text ?? '');
  return given.flatMap((one) => {
    const { start, length, score, text } = one ?? ({} as Found);
    if (!Number.isInteger(start) || bytes.toString('utf8', start, start + length) !== text)
      return [];
    return [{ attribute, start, length, score: score!, text }];
  });
}

interface Match {
  start: number;
  length: number;
  indices?: readonly number[];
}

/**
 * Passages of the longest attribute in which words of the query are found, or of the longest one:
 * those with the most different words first.
 */
function byWords(hit: Json): Found[] {
  const matches = (hit._matchesPosition ?? {}) as Record<string, Match[]>;
  const isMatched = (attribute: string): boolean => Object.hasOwn(matches, attribute);
  const texts = textsOf(hit);
  const matched = longestOf(texts.filter(({ attribute }) => isMatched(attribute)));
  const longest =
    matched.length > 0
      ? matched
      : longestOf(texts.filter(({ attribute }) => !attribute.startsWith('_')));
  const positions = matched.length > 0 ? matches[matched[0]!.attribute]! : [];
  const found = longest.flatMap((one) => countedPassages(one, positions));
  // Only the last text of a list has positions; its words are looked for in the others.
  const words = [...new Set(found.flatMap((one) => [...one.words]))];
  for (const { passage, hasPositions, words: own } of found) {
    if (hasPositions) continue;
    const all = [...wordsOf(passage.text)];
    for (const word of words) if (all.some((one) => one.startsWith(word))) own.add(word);
  }
  return found
    .sort((a, b) => b.words.size - a.words.size)
    .filter((one, rank) => one.words.size > 0 || rank === 0)
    .map(({ passage }) => passage);
}

interface Counted {
  passage: Found;
  /** The words of the query in it, in lower case. */
  words: Set<string>;
  /** Whether the text has positions. */
  hasPositions: boolean;
}

function countedPassages(
  { attribute, indices, text }: AttributeText,
  positions: readonly Match[],
): Counted[] {
  const own = String(indices) === String(positions[0]?.indices) ? positions : [];
  const found: Counted[] = passagesOf(text, CUT).map((passage) => ({
    passage: { ...passage, attribute, ...(indices !== undefined && { indices }) },
    words: new Set(),
    hasPositions: own.length > 0,
  }));
  const bytes = Buffer.from(text);
  let n = 0;
  for (const { start, length } of own.toSorted((a, b) => a.start - b.start)) {
    while (n < found.length && endOf(found[n]!.passage) <= start) n++;
    if (n === found.length) break;
    const { passage, words } = found[n]!;
    if (start >= passage.start) {
      words.add(bytes.toString('utf8', start, start + length).toLowerCase());
    }
  }
  return found;
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

function endOf({ start, length }: Passage): number {
  return start + length;
}

interface AttributeText {
  /** A path of names with dots between them. */
  attribute: string;
  /** Leads to a text in a list. */
  indices?: readonly number[];
  text: string;
}

function textsOf(value: unknown, attribute = '', indices?: readonly number[]): AttributeText[] {
  if (typeof value === 'string') return [{ attribute, text: value, ...(indices && { indices }) }];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) {
    return value.flatMap((item, n) => textsOf(item, attribute, [...(indices ?? []), n]));
  }
  return Object.entries(value).flatMap(([name, member]) =>
    textsOf(member, attribute === '' ? name : `${attribute}.${name}`, indices),
  );
}

/** The texts of one attribute. Empty: all are blank. */
function longestOf(texts: readonly AttributeText[]): AttributeText[] {
  const byAttribute = new Map<string, AttributeText[]>();
  for (const one of texts) {
    if (one.text.trim() === '') continue;
    const others = byAttribute.get(one.attribute);
    if (others === undefined) byAttribute.set(one.attribute, [one]);
    else others.push(one);
  }
  let [longest, length]: [AttributeText[], number] = [[], 0];
  for (const all of byAttribute.values()) {
    const its = all.reduce((sum, { text }) => sum + text.length, 0);
    if (its > length) [longest, length] = [all, its];
  }
  return longest;
}
