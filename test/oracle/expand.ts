/**
 * The query graph: one node per term and per run of two or three words glued together, and for each
 * node the words and phrases of the index that may stand for it (docs/behaviour/query-analysis.md).
 */
import { Analyzer } from './analyzer.ts';
import type { Occurrences } from './corpus.ts';
import type { Term } from './query.ts';
import { compareBytes, typosOf } from './words.ts';

export interface TypoSettings {
  enabled: boolean;
  oneTypo: number;
  twoTypos: number;
  disableOnWords: ReadonlySet<string>;
}

export interface Phrase {
  words: (number | null)[];
}

/** What a word costs that contains the word of the query; instead of a number of typos. */
export const INSIDE = 3;

/**
 * One way to match a node: any of the words, or any of the phrases, at the same number of typos.
 */
export interface Alternative {
  typos: number;
  words: Set<number>;
  phrases: Phrase[];
}

export interface Node {
  term: Term;
  /** Added to words in scripts without spaces, which are phrases, for the synonyms of their run. */
  synonymsOnly: boolean;
  /** Slots covered, inclusive. */
  firstSlot: number;
  lastSlot: number;
  /** The query word as typed, -1 when the index has no such word. */
  verbatim: number;
  /** By number of typos; an entry without words and phrases is left out. */
  alternatives: Alternative[];
  allowedTypos: number;
  /** Words that contain it count. */
  inside: boolean;
  /** The prefix is one of the short ones for which the index keeps lists of its own. */
  shortPrefix: boolean;
}

export const slotsOf = (node: Node): number => node.lastSlot - node.firstSlot + 1;
export const isNgram = (node: Node): boolean => node.lastSlot > node.firstSlot;

const MAX_PREFIX_WORDS = 1000;
const MAX_PART_WORDS = 1000;
const MAX_TYPO_WORDS = [0, 150, 50];
const SHORT_PREFIX_BYTES = 4;
const SHORT_PREFIX_WORDS = 100;
const MAX_WORD_BYTES = 250;
const MAX_SYNONYMS = 50;
const MAX_SYNONYM_WORDS = 100;

/** The dictionary of the index. */
export class Lexicon {
  readonly ids = new Map<string, number>();
  /** Word ids in byte order. */
  readonly sorted: Uint32Array;
  readonly texts: readonly string[];
  /** 1 for words that may be reached by a typo. */
  readonly tolerant: Uint8Array;
  /** 1 for words that may be found by their parts. */
  readonly parted: Uint8Array;

  readonly occurrences: Occurrences;

  constructor(
    occurrences: Occurrences,
    isExactField: (field: string) => boolean,
    isPartedField: (field: string) => boolean,
    exactNumbers: boolean,
  ) {
    this.occurrences = occurrences;
    const { words, fields, word, field } = occurrences;
    this.texts = words;
    for (const [id, text] of words.entries()) this.ids.set(text, id);
    this.sorted = Uint32Array.from(words.keys()).sort((a, b) => compareBytes(words[a]!, words[b]!));
    this.tolerant = new Uint8Array(words.length);
    const exact = fields.map(isExactField);
    for (let i = 0; i < word.length; i++) if (!exact[field[i]!]) this.tolerant[word[i]!] = 1;
    this.parted = new Uint8Array(words.length);
    const parted = fields.map(isPartedField);
    for (let i = 0; i < word.length; i++) if (parted[field[i]!]) this.parted[word[i]!] = 1;
    if (exactNumbers) {
      for (const [id, text] of words.entries()) if (isNumeric(text)) this.tolerant[id] = 0;
    }
  }

  id(word: string): number {
    return this.ids.get(word) ?? -1;
  }

  /** Ids of the words that start with `prefix`, in byte order. */
  startingWith(prefix: string): number[] {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(this.texts[this.sorted[middle]!]!, prefix) < 0) low = middle + 1;
      else high = middle;
    }
    const out: number[] = [];
    while (low < this.sorted.length && this.texts[this.sorted[low]!]!.startsWith(prefix)) {
      out.push(this.sorted[low++]!);
    }
    return out;
  }
}

export function isNumeric(word: string): boolean {
  return /^[\p{N}!-/:-@[-`{-~]+$/u.test(word);
}

export interface Synonyms {
  /** Key words joined by a space -> values as word lists, in the order in which they count. */
  get(key: string): string[][] | undefined;
}

export function buildSynonyms(
  settings: Readonly<Record<string, readonly string[]>>,
  analyzer: Analyzer,
): Synonyms {
  const raw = new Map<string, Set<string>>();
  for (const [key, values] of Object.entries(settings)) {
    const words = analyzer.words(key).join(' ');
    if (words === '') continue;
    const known = raw.get(words) ?? new Set();
    for (const value of values) known.add(value);
    raw.set(words, known);
  }
  const out = new Map<string, string[][]>();
  for (const [key, values] of raw) {
    const lists = [...values].sort(compareBytes).map((value) => analyzer.words(value));
    const distinct = new Map(lists.filter((l) => l.length > 0).map((l) => [l.join(' '), l]));
    out.set(key, [...distinct.values()]);
  }
  return out;
}

export function typosAllowed(word: string, settings: TypoSettings): number {
  if (!settings.enabled || settings.disableOnWords.has(word)) return 0;
  const length = [...word].length;
  return length < settings.oneTypo ? 0 : length < settings.twoTypos ? 1 : 2;
}

export class Expander {
  readonly lexicon: Lexicon;
  readonly typo: TypoSettings;
  readonly synonyms: Synonyms;
  /** Words of one field count as neighbours, wherever they are. */
  readonly byAttribute: boolean;
  /** Whether some attributes are found by parts of words. */
  readonly inside: boolean;

  constructor(
    lexicon: Lexicon,
    typo: TypoSettings,
    synonyms: Synonyms,
    byAttribute: boolean,
    inside: boolean,
  ) {
    this.inside = inside;
    this.byAttribute = byAttribute;
    this.lexicon = lexicon;
    this.typo = typo;
    this.synonyms = synonyms;
  }

  graph(terms: readonly Term[]): Node[] {
    const nodes: Node[] = [];
    for (const [slot, term] of terms.entries()) {
      nodes.push(term.phrase ? this.#phrase(term, slot) : this.#word(term, slot, slot));
    }
    for (let first = 0; first < terms.length; first++) {
      for (let count = 1; count <= 3 && first + count <= terms.length; count++) {
        const run = terms.slice(first, first + count);
        if (run.some((term) => term.mandatory)) continue;
        if (run.some((term, i) => i > 0 && term.first !== run[i - 1]!.last + 1)) continue;
        const words = run.flatMap((term) => term.words).filter((word) => word !== null);
        const synonymsOnly = run.some((term) => term.phrase);
        const glued: Term = {
          words,
          phrase: false,
          mandatory: false,
          counted: 0,
          prefix: !synonymsOnly && run.at(-1)!.prefix,
          first: run[0]!.first,
          last: run.at(-1)!.last,
        };
        if (synonymsOnly) {
          if (this.synonyms.get(words.join(' ')) === undefined) continue;
          nodes.push(this.#synonymsOf(glued, first, first + count - 1));
        } else if (count > 1 && Buffer.byteLength(words.join('')) <= MAX_WORD_BYTES) {
          nodes.push(this.#word(glued, first, first + count - 1));
        }
      }
    }
    return nodes;
  }

  #phrase(term: Term, slot: number): Node {
    const words = term.words.map((word) => (word === null ? null : this.lexicon.id(word)));
    const possible = !words.includes(-1);
    return {
      term,
      synonymsOnly: false,
      firstSlot: slot,
      lastSlot: slot,
      verbatim: -1,
      allowedTypos: 0,
      inside: false,
      shortPrefix: false,
      alternatives: possible ? [{ typos: 0, words: new Set(), phrases: [{ words }] }] : [],
    };
  }

  #synonymsOf(term: Term, firstSlot: number, lastSlot: number): Node {
    const words = term.words as string[];
    const phrases =
      firstSlot === lastSlot ? this.#synonyms([], words.join(' ')) : this.#synonyms(words, '');
    return {
      term,
      synonymsOnly: true,
      firstSlot,
      lastSlot,
      verbatim: -1,
      allowedTypos: 0,
      inside: false,
      shortPrefix: false,
      alternatives: phrases.length > 0 ? [{ typos: 0, words: new Set(), phrases }] : [],
    };
  }

  #word(term: Term, firstSlot: number, lastSlot: number): Node {
    const { lexicon } = this;
    const ngram = lastSlot > firstSlot;
    const text = term.words.join('');
    const allowed = Math.max(0, typosAllowed(text, this.typo) - (lastSlot - firstSlot));
    const inside =
      this.inside && !ngram && [...text].length >= 3 && !this.typo.disableOnWords.has(text);
    const found = [0, 1, 2, INSIDE].map((typos): Alternative => ({
      typos,
      words: new Set(),
      phrases: [],
    }));
    const usable = Buffer.byteLength(text) <= MAX_WORD_BYTES;
    const verbatim = usable ? lexicon.id(text) : -1;
    if (verbatim >= 0) found[0]!.words.add(verbatim);
    let shortPrefix = false;
    if (usable && term.prefix) {
      const words = lexicon.startingWith(text);
      shortPrefix =
        Buffer.byteLength(text) <= SHORT_PREFIX_BYTES && words.length >= SHORT_PREFIX_WORDS;
      for (const id of shortPrefix ? words : words.slice(0, MAX_PREFIX_WORDS))
        found[0]!.words.add(id);
    }
    // Words of exact fields, and numbers that are exact, are not glued together.
    if (ngram)
      for (const id of found[0]!.words) if (!lexicon.tolerant[id]) found[0]!.words.delete(id);
    if (usable && allowed > 0) this.#typos(text, term.prefix, allowed, found);
    if (usable && inside) this.#containing(text, term.prefix, found[INSIDE]!.words);
    for (const phrase of this.#synonyms(term.words as string[], text))
      found[0]!.phrases.push(phrase);
    const split = usable ? this.#split(text, ngram ? (term.words as string[]) : null) : null;
    if (split !== null) found[1]!.phrases.push(split);
    return {
      term,
      synonymsOnly: false,
      firstSlot,
      lastSlot,
      verbatim: ngram ? -1 : verbatim,
      allowedTypos: allowed,
      inside: usable && inside,
      shortPrefix,
      alternatives: found.filter((a) => a.words.size > 0 || a.phrases.length > 0),
    };
  }

  #typos(text: string, prefix: boolean, allowed: number, found: Alternative[]): void {
    const query = [...text];
    const [q0, q1] = [query[0]!, query[1] ?? ''];
    const { sorted, texts, tolerant } = this.lexicon;
    for (const id of sorted) {
      if (tolerant[id] === 0) continue;
      const word = texts[id]!;
      if (!word.startsWith(q0)) {
        if (allowed < 2) continue;
        // One edit away with another first character: the second characters tell quickly.
        if (!(word.startsWith(q1, 1) || word.startsWith(q0, 1) || word.startsWith(q1))) continue;
      }
      if (!prefix && Math.abs(word.length - text.length) > 2 * allowed) continue;
      const typos = typosOf(query, word, prefix, allowed);
      if (typos < 1) continue;
      const list = found[typos]!.words;
      if (!found[0]!.words.has(id) && list.size < MAX_TYPO_WORDS[typos]!) list.add(id);
    }
  }

  #containing(text: string, prefix: boolean, found: Set<number>): void {
    const { sorted, texts, parted } = this.lexicon;
    for (const id of sorted) {
      const word = texts[id]!;
      if (parted[id] === 0 || word === text || !word.includes(text)) continue;
      if ((!prefix || !word.startsWith(text)) && found.size < MAX_PART_WORDS) found.add(id);
    }
  }

  #synonyms(words: string[], text: string): Phrase[] {
    const lists: string[][] = [];
    let total = 0;
    for (const list of (this.synonyms.get(text) ?? []).slice(0, MAX_SYNONYMS)) {
      if (total + list.length > MAX_SYNONYM_WORDS) continue;
      total += list.length;
      lists.push(list);
    }
    if (words.length > 1) lists.push(...(this.synonyms.get(words.join(' ')) ?? []));
    return lists
      .map((list) => ({ words: list.map((word) => this.lexicon.id(word)) }))
      .filter((phrase) => !phrase.words.includes(-1));
  }

  /**
   * The split into two words that are adjacent in the most documents; none when that gives
   * `notThese`.
   */
  #split(text: string, notThese: string[] | null): Phrase | null {
    const chars = [...text];
    const pairs: [left: number, right: number][] = [];
    for (let at = 1; at < chars.length; at++) {
      const left = chars.slice(0, at).join('');
      const right = chars.slice(at).join('');
      const pair = [this.lexicon.id(left), this.lexicon.id(right)] as const;
      if (pair[0] >= 0 && pair[1] >= 0) pairs.push([...pair]);
    }
    if (pairs.length === 0) return null;
    const counts = this.#neighbours(pairs);
    let best = -1;
    for (let i = 0; i < pairs.length; i++) if (counts[i]! > (counts[best] ?? 0)) best = i;
    if (best < 0) return null;
    const texts = pairs[best]!.map((id) => this.lexicon.texts[id]);
    return notThese !== null && texts.join(' ') === notThese.join(' ')
      ? null
      : { words: pairs[best]! };
  }

  /** Documents in which the second word of each pair directly follows the first. */
  #neighbours(pairs: [number, number][]): number[] {
    const { starts, word, field, position } = this.lexicon.occurrences;
    const byLeft = new Map(pairs.map(([left], i) => [left, i]));
    const marked = new Uint8Array(this.lexicon.texts.length);
    for (const [left] of pairs) marked[left] = 1;
    const counts = pairs.map(() => 0);
    const lastDocument = pairs.map(() => -1);
    for (let d = 0; d + 1 < starts.length; d++) {
      for (let i = starts[d]!; i < starts[d + 1]!; i++) {
        if (marked[word[i]!] === 0) continue;
        const pair = byLeft.get(word[i]!)!;
        if (lastDocument[pair] === d) continue;
        const from = this.byAttribute ? starts[d]! : i + 1;
        const to = this.byAttribute ? starts[d + 1]! : Math.min(i + 2, starts[d + 1]!);
        for (let j = from; j < to; j++) {
          if (word[j] !== pairs[pair]![1] || field[j] !== field[i]) continue;
          if (!this.byAttribute && position[j] !== position[i]! + 1) continue;
          lastDocument[pair] = d;
          counts[pair]!++;
          break;
        }
      }
    }
    return counts;
  }
}
