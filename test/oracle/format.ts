/**
 * Matches inside a text, and their use: highlighting, cropping, positions
 * (docs/behaviour/results.md).
 */
import { Analyzer, originalLength, type Token } from './analyzer.ts';
import type { Document, Json } from './corpus.ts';
import { INSIDE, isNgram, slotsOf, type Node } from './expand.ts';

export interface FormatOptions {
  /** Fields to highlight; null for none, `*` among them for all. */
  highlight: readonly string[] | null;
  crop: readonly string[] | null;
  cropLength: number;
  cropMarker: string;
  preTag: string;
  postTag: string;
}

/** A run of tokens that matches something in the query. */
interface Match {
  /** Token indexes, inclusive. */
  first: number;
  last: number;
  /** UTF-16 offset where the matched part of the first token begins. */
  start: number;
  /** UTF-16 offset where the matched part of the last token ends. */
  end: number;
  /** Query positions it stands for, ascending. */
  positions: number[];
  phraseWords: number;
}

interface WordPattern {
  lemma: string;
  prefix: boolean;
  /** Characters of the query word. */
  length: number;
  positions: number[];
}

interface PhrasePattern {
  words: string[];
  /** One for each word, also where it stands for one word of the query. */
  positions: number[];
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

const phraseAt = (first: number, words: string[]): PhrasePattern => ({
  words,
  positions: range(first, first + words.length - 1),
});

export class Matcher {
  #analyzer: Analyzer;
  #localesOf: (path: string) => readonly string[];
  #phrases: PhrasePattern[] = [];
  /** In the order in which they are tried. */
  #words: WordPattern[] = [];
  #exact = new Map<string, number>();
  #isParted: (path: string) => boolean;
  /** In attributes that are found by parts of words. */
  #parts: { text: string; positions: number[] }[] = [];
  #byFirst = new Map<string, number[]>();

  /** @param analyzer one without stop words */
  constructor(
    nodes: readonly Node[],
    texts: readonly string[],
    analyzer: Analyzer,
    localesOf: (path: string) => readonly string[],
    isParted: (path: string) => boolean,
  ) {
    this.#isParted = isParted;
    this.#analyzer = analyzer;
    this.#localesOf = localesOf;
    // Among equals what was typed precedes the synonyms of phrases, as in the graph.
    const order = [...nodes].sort(
      (a, b) => Number(a.term.prefix) - Number(b.term.prefix) || slotsOf(b) - slotsOf(a),
    );
    for (const node of order) {
      const positions = range(node.term.first, node.term.last);
      const typed = node.term.words.join('');
      const { prefix } = node.term;
      const add = (lemma: string): void => {
        const pattern = { lemma, prefix, length: [...typed].length, positions };
        const at = this.#words.push(pattern) - 1;
        if (!prefix && !this.#exact.has(lemma)) this.#exact.set(lemma, at);
        if (prefix) {
          const first = String.fromCodePoint(lemma.codePointAt(0)!);
          this.#byFirst.set(first, [...(this.#byFirst.get(first) ?? []), at]);
        }
      };
      if (node.inside) this.#parts.push({ text: typed, positions });
      if (node.verbatim >= 0) add(typed);
      for (const { typos, words, phrases } of node.alternatives) {
        if (typos === INSIDE) continue;
        if (node.shortPrefix && typos === 0) {
          // Only the word itself counts for a short prefix.
          if (isNgram(node) && [...words].some((id) => texts[id] === typed)) add(typed);
        } else {
          // What begins as typed counts, even if the index only has longer words.
          if (prefix && typos === 0 && node.verbatim < 0 && words.size > 0) add(typed);
          for (const id of words) if (texts[id] !== typed || isNgram(node)) add(texts[id]!);
        }
        for (const phrase of phrases) {
          if (!phrase.words.includes(null)) {
            const list = phrase.words.map((id) => texts[id!]!);
            this.#phrases.push(phraseAt(node.term.first, list));
          }
        }
      }
    }
  }

  /** @param path of the attribute that holds the text */
  tokens(text: string, path: string): Token[] {
    return this.#analyzer.tokens(text, this.#localesOf(path));
  }

  find(text: string, tokens: readonly Token[], path: string): Match[] {
    const out: Match[] = [];
    const words = tokens.flatMap((token, i) =>
      token.kind === 'word' && token.lemma !== '' ? [i] : [],
    );
    for (let w = 0; w < words.length;) {
      const at = words[w]!;
      const phrase = this.#phrases.find(({ words: list }) =>
        list.every(
          (word, i) => words[w + i] !== undefined && tokens[words[w + i]!]!.lemma === word,
        ),
      );
      if (phrase !== undefined) {
        const last = words[w + phrase.words.length - 1]!;
        out.push({
          first: at,
          last,
          start: tokens[at]!.start,
          end: tokens[last]!.end,
          positions: phrase.positions,
          phraseWords: phrase.words.length,
        });
        w += phrase.words.length;
        continue;
      }
      const token = tokens[at]!;
      const pattern = this.#pattern(token.lemma);
      if (pattern !== null) {
        const whole = !pattern.prefix;
        const chars = Math.min(pattern.length, [...pattern.lemma].length);
        const end = whole ? token.end : token.start + originalLength(text, token, chars);
        const { start } = token;
        out.push({ first: at, last: at, start, end, positions: pattern.positions, phraseWords: 1 });
      } else if (this.#isParted(path)) {
        const part = this.#parts.find(({ text }) => token.lemma.includes(text));
        if (part !== undefined) {
          const before = token.lemma.slice(0, token.lemma.indexOf(part.text));
          const [start, end] = [before, before + part.text].map((lemma) => {
            const chars = [...lemma].length;
            return token.start + (chars === 0 ? 0 : originalLength(text, token, chars));
          }) as [number, number];
          out.push({ first: at, last: at, start, end, positions: part.positions, phraseWords: 1 });
        }
      }
      w++;
    }
    return out;
  }

  #pattern(lemma: string): WordPattern | null {
    let best = this.#exact.get(lemma) ?? Infinity;
    for (const at of this.#byFirst.get(String.fromCodePoint(lemma.codePointAt(0)!)) ?? []) {
      if (at < best && lemma.startsWith(this.#words[at]!.lemma)) best = at;
    }
    return this.#words[best] ?? null;
  }
}

/**
 * The run of matches that is worth the most of those within `length` words that take in no further
 * match: [first, last].
 */
function bestRun(
  matches: readonly Match[],
  wordAt: readonly number[],
  length: number,
): [number, number] {
  let best: { score: number[]; run: [number, number] } | null = null;
  const fits = (i: number, j: number): boolean =>
    wordAt[matches[j]!.last]! - wordAt[matches[i]!.first]! < length;
  for (let i = 0; i < matches.length; i++) {
    let j = i;
    if (!fits(i, j)) continue;
    while (j + 1 < matches.length && fits(i, j + 1)) j++;
    if (i > 0 && fits(i - 1, j)) continue;
    const score = rate(matches.slice(i, j + 1), wordAt);
    if (best === null || compareScores(score, best.score) > 0) best = { score, run: [i, j] };
  }
  return best?.run ?? [0, 0];
}

function compareScores(a: readonly number[], b: readonly number[]): number {
  for (const [i, x] of a.entries()) if (x !== b[i]) return x - b[i]!;
  return 0;
}

const MAX_DISTANCE = 7;

function rate(run: readonly Match[], wordAt: readonly number[]): number[] {
  const positions = new Set(run.flatMap((match) => match.positions));
  let distance = 0;
  let ordered = 0;
  for (const [i, match] of run.entries()) {
    distance -= match.phraseWords - 1;
    ordered += match.phraseWords - 1;
    const next = run[i + 1];
    if (next === undefined) continue;
    distance -= Math.min(MAX_DISTANCE, wordAt[next.first]! - wordAt[match.last]!);
    if (next.positions[0]! > match.positions[0]!) ordered++;
  }
  return [positions.size, distance, ordered];
}

/** The window of tokens to show, [first, last] inclusive. */
function cropWindow(
  tokens: readonly Token[],
  matches: readonly Match[],
  length: number,
): [number, number] {
  const isWord = tokens.map((token) => token.kind === 'word' && token.lemma !== '');
  const wordAt: number[] = [];
  let words = 0;
  for (const word of isWord) wordAt.push(word ? words++ : words);
  if (matches.length === 0) {
    if (words < length) return [0, tokens.length - 1];
    return [0, isWord.findIndex((word, i) => word && wordAt[i] === length - 1)];
  }
  const [i, j] = bestRun(matches, wordAt, length);
  let first = matches[i]!.first;
  let last = matches[j]!.last;
  const long = wordAt[last]! - wordAt[first]! + 1 - length;
  if (long > 0) {
    // A match longer than the window: what precedes it stays, and its last words are cut with one
    // token before them.
    last = isWord.findIndex((word, at) => word && wordAt[at] === wordAt[first]! + length) - 1;
    return [0, isWord[last] ? last : last - 1];
  }
  let left = -long;
  const kind = (at: number): 'none' | 'word' | 'soft' | 'hard' => {
    const token = tokens[at];
    if (token === undefined) return 'none';
    return isWord[at] ? 'word' : token.kind === 'hard' ? 'hard' : 'soft';
  };
  while (left > 0) {
    const before = kind(first - 1);
    const after = kind(last + 1);
    if (before === 'none' && after === 'none') break;
    if (before === 'none') {
      last++;
      if (after === 'word') left--;
    } else if (after === 'none') {
      first--;
      if (before === 'word') left--;
    } else if (before === 'word' && after === 'word') {
      first--;
      left--;
      if (left > 0) {
        last++;
        left--;
      }
    } else if (before === 'word') {
      first--;
      left--;
    } else if (after === 'word') {
      last++;
      left--;
    } else if (before === after) {
      first--;
      if (left > 1) last++;
    } else if (before === 'hard') last++;
    else first--;
  }
  return [first, last];
}

function formatText(
  text: string,
  path: string,
  matcher: Matcher,
  highlight: boolean,
  length: number | null,
  options: FormatOptions,
): string {
  const tokens = matcher.tokens(text, path);
  if (tokens.length === 0) return text;
  const matches = matcher.find(text, tokens, path);
  const [first, last] =
    length === null || length === 0 ? [0, tokens.length - 1] : cropWindow(tokens, matches, length);
  const from = tokens[first]!.start;
  const to = tokens[last]!.end;
  let out = from > 0 ? options.cropMarker : '';
  let at = from;
  for (const match of highlight ? matches : []) {
    const start = Math.max(match.start, from);
    const end = Math.min(match.end, to);
    if (start >= to || end <= from) continue;
    out += text.slice(at, start) + options.preTag + text.slice(start, end) + options.postTag;
    at = end;
  }
  out += text.slice(at, to);
  return to < text.length ? out + options.cropMarker : out;
}

const covers = (list: readonly string[], path: string): boolean =>
  list.some((name) => name === '*' || path === name || path.startsWith(`${name}.`));

/** The document with its texts formatted. */
export function formatDocument(
  document: Document,
  matcher: Matcher,
  options: FormatOptions,
): Document {
  const crops = new Map<string, number>();
  for (const item of options.crop ?? []) {
    const at = item.lastIndexOf(':');
    const length = at < 0 ? NaN : Number(item.slice(at + 1));
    if (at < 0 || !Number.isInteger(length))
      crops.set(at < 0 ? item : item.slice(0, at), options.cropLength);
    else crops.set(item.slice(0, at), length);
  }
  const walk = (value: Json, path: string): Json => {
    if (Array.isArray(value)) return value.map((item) => walk(item, path));
    if (value !== null && typeof value === 'object') {
      return Object.fromEntries(
        Object.entries(value).map(([key, child]) => [key, walk(child, `${path}.${key}`)]),
      );
    }
    if (value === null || typeof value === 'boolean') return value;
    const crop = [...crops].find(([name]) => covers([name], path));
    return formatText(
      String(value),
      path,
      matcher,
      covers(options.highlight ?? [], path),
      crop?.[1] ?? null,
      options,
    );
  };
  return Object.fromEntries(
    Object.entries(document).map(([key, value]) => [key, walk(value, key)]),
  );
}

interface Position {
  start: number;
  length: number;
  indices?: number[];
}

export function matchesPosition(document: Document, matcher: Matcher): Record<string, Position[]> {
  const out: Record<string, Position[]> = {};
  const walk = (value: Json, path: string, indices: number[]): void => {
    if (Array.isArray(value)) value.forEach((item, i) => walk(item, path, [...indices, i]));
    else if (value !== null && typeof value === 'object') {
      for (const [key, child] of Object.entries(value))
        walk(child, path === '' ? key : `${path}.${key}`, indices);
    } else if (value !== null && typeof value !== 'boolean') {
      const text = String(value);
      const tokens = matcher.tokens(text, path);
      const found = matcher.find(text, tokens, path).map((match): Position => {
        const { start } = match;
        return {
          start: Buffer.byteLength(text.slice(0, start)),
          length: Buffer.byteLength(text.slice(start, match.end)),
          ...(indices.length > 0 ? { indices } : {}),
        };
      });
      // For an array only the last matching element is reported.
      if (found.length > 0) out[path] = found;
    }
  };
  walk(document, '', []);
  return out;
}
