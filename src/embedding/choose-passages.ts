/**
 * Chooses passages of the hits of a search that fit a budget of tokens and do not repeat each
 * other. Pure.
 */
import type { Chunks } from '../contract/embedders/fields.ts';
import { textField } from '../templates/document-template.ts';
import { cutText } from '../templates/value-text.ts';
import { cosineDistance } from './cosine-distance.ts';
import { type Passage, passagesOf, TOKEN_BYTES, tokensOf } from './passages.ts';

/** Passages of a hit that are considered. */
const PASSAGES_PER_HIT = 5;
/** How texts are cut that have no embeddings of passages. */
const CUT = { maxTokens: 200, overlap: 0, max: 255 };
/** The share of its relevance in the value of a passage; the rest is what it repeats. */
const RELEVANCE = 0.7;
/** A passage that shares this part of its words with one already chosen repeats it. */
const REPEATED = 0.8;

export interface CitedPassage extends Passage {
  /** Id of the document; null: it is not displayed. */
  id: unknown;
  attribute: string;
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
type Found = Passage & { attribute: string; score?: number };

export interface ChosenPassage {
  passage: CitedPassage;
  /** The hit that it is from. */
  hit: Readonly<Record<string, unknown>>;
}

/** An embedder that cuts an attribute into passages. */
export interface Chunked {
  embedder: string;
  chunks: Chunks;
}

export interface PassageChoice {
  primaryKey: string | null;
  maxTokens: number;
  /** null: words choose among the passages of a hit. */
  chunked: Chunked | null;
}

/** Members of a response; the hits, best first, with `_matchesPosition` and `_vectors`. */
interface Response {
  hits: readonly Json[];
  queryVector?: readonly number[];
}

export function choosePassages(
  { hits, queryVector }: Response,
  { primaryKey, maxTokens, chunked }: PassageChoice,
): ChosenPassage[] {
  const vector = queryVector ?? null;
  let candidates = hits.flatMap((hit, rank) => {
    const near = chunked === null || vector === null ? [] : nearest(hit, vector, chunked);
    return candidatesOf(hit, rank, near.length > 0 ? near : byWords(hit), primaryKey);
  });
  const chosen: ChosenPassage[] = [];
  let left = maxTokens;
  const [first] = candidates;
  if (first !== undefined && candidates.every(({ passage }) => passage.tokens > maxTokens)) {
    const text = cutText(first.passage.text, maxTokens * TOKEN_BYTES);
    const part = { text, length: Buffer.byteLength(text), tokens: tokensOf(text) };
    return [{ ...first, passage: { ...first.passage, ...part } }];
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
function candidatesOf(
  hit: Json,
  rank: number,
  found: readonly Found[],
  primaryKey: string | null,
): Candidate[] {
  const id = primaryKey === null ? null : (hit[primaryKey] ?? null);
  return found.slice(0, PASSAGES_PER_HIT).map(({ attribute, start, length, text, score }, n) => ({
    passage: {
      id,
      attribute,
      start,
      length,
      tokens: tokensOf(text),
      ...(score !== undefined && { score }),
      text,
    },
    hit,
    relevance: 61 / (61 + rank) / (n + 1),
    words: new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []),
    repeated: 0,
  }));
}

/** The passages whose embeddings are nearest to the vector, if they are those of the text. */
function nearest(hit: Json, vector: readonly number[], { embedder, chunks }: Chunked): Found[] {
  const { attribute } = chunks;
  const entry = (hit._vectors as Record<string, Entry> | undefined)?.[embedder];
  const text = textField(hit, attribute)?.text;
  if (entry?.regenerate !== true || text === undefined) return [];
  const passages = passagesOf(text, chunks);
  // The text has changed, and its embeddings are not made yet.
  if (passages.length !== entry.embeddings.length) return [];
  return passages
    .map((passage, n) => ({
      ...passage,
      attribute,
      score: 1 - cosineDistance(entry.embeddings[n]!, vector) / 2,
    }))
    .sort((a, b) => b.score - a.score);
}

/** What `_vectors` has for an embedder. */
interface Entry {
  embeddings: number[][];
  regenerate: boolean;
}

interface Match {
  start: number;
  length: number;
  indices?: unknown;
}

/**
 * Passages of the longest text in which words of the query are found, or of the longest text: those
 * with the most different words first.
 */
function byWords(hit: Json): Found[] {
  const matches = (hit._matchesPosition ?? {}) as Record<string, Match[]>;
  const isMatched = (attribute: string): boolean =>
    Object.hasOwn(matches, attribute) &&
    matches[attribute]!.every(({ indices }) => indices === undefined);
  const texts = textsOf(hit);
  const longest =
    longestOf(texts.filter(({ attribute }) => isMatched(attribute))) ??
    longestOf(texts.filter(({ attribute }) => !attribute.startsWith('_')));
  if (longest === null) return [];
  const { attribute, text } = longest;
  const bytes = Buffer.from(text);
  const found = passagesOf(text, CUT).map((passage) => ({ passage, words: new Set<string>() }));
  const positions = isMatched(attribute) ? matches[attribute]! : [];
  let n = 0;
  for (const { start, length } of positions.toSorted((a, b) => a.start - b.start)) {
    while (n < found.length && endOf(found[n]!.passage) <= start) n++;
    if (n === found.length) break;
    const { passage, words } = found[n]!;
    if (start >= passage.start) {
      words.add(bytes.toString('utf8', start, start + length).toLowerCase());
    }
  }
  return found
    .sort((a, b) => b.words.size - a.words.size)
    .filter(({ words }, rank) => words.size > 0 || rank === 0)
    .map(({ passage }) => ({ ...passage, attribute }));
}

function endOf({ start, length }: Passage): number {
  return start + length;
}

interface AttributeText {
  /** A path of names with dots between them. */
  attribute: string;
  text: string;
}

/** All texts outside of lists. */
function textsOf(owner: object, before = ''): AttributeText[] {
  return Object.entries(owner).flatMap(([name, value]: [string, unknown]) => {
    const attribute = before + name;
    if (typeof value === 'string') return [{ attribute, text: value }];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
    return textsOf(value, `${attribute}.`);
  });
}

/** null: all are blank. */
function longestOf(texts: readonly AttributeText[]): AttributeText | null {
  let longest: AttributeText | null = null;
  for (const one of texts) {
    if (one.text.trim() === '') continue;
    if (longest === null || one.text.length > longest.text.length) longest = one;
  }
  return longest;
}
