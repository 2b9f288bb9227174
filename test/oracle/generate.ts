/**
 * Random collections and searches in which much coincides: few words, most of them near each other.
 */
import type { Random } from '../http/kill/support/random.ts';
import type { Collection } from './compare.ts';
import type { Document, Json } from './corpus.ts';
import type { SearchParams, Settings } from './engine.ts';
import type { Batch } from './native-index.ts';

/**
 * `small`: all kinds of everything. `large`: enough short documents that buckets are
 * not read one by one.
 */
export type Size = 'small' | 'large';

/** What all collections or searches have, rather than some. */
export const FOCUSES = ['elements', 'expiry', 'groups', 'pairs'] as const;
export type Focus = (typeof FOCUSES)[number];

const STEMS = (
  'sun flower sunflower water fall waterfall red read bread a an the of it light house lighthouse book books ' +
  'black blackbird bird wonder wonderful wonderland landing garden gardener elephant elephants captain marvel'
).split(' ');
const NUMBERS = ['7', '12', '120', '2024', '20245', '3.5', '1,000', 'r2d2'];
const MARKED = ['café', 'cafe', 'élan', 'Straße', 'œuvre', 'naïve', 'Ωμέγα', 'привет', 'приват'];
const UNSPACED = ['東京', '京都', '東', '日本語', '学国', '學國', '한국', 'ภาษาไทย'];
/** Words that languages treat differently. */
const FOREIGN = [
  ...['på', 'pa', 'öl', 'Ölet', 'ol', 'Åre', 'are', 'grün', 'straße', 'cafe\u0301', 'a\u030a'],
  ...['السلام', 'سلام', 'كتاب', 'کتاب', 'الكتاب', 'على', 'علی', 'أحمد', 'احمد', 'مدرسة', '۱۲'],
  ...[
    'カー',
    'かあ',
    'トヨタ',
    'とよた',
    'サーバー',
    'コーヒー',
    'ガス',
    'がす',
    'Հայաստան',
    'ՀԱՅ',
  ],
];
const LOCALES = [['swe'], ['jpn'], ['cmn'], ['ara'], ['pes'], ['eng'], ['deu'], [], ['swe', 'deu']];
const LETTERS = 'abdelnorstw';
const SEPARATORS = [
  ' ',
  ' ',
  ' ',
  ' ',
  ' ',
  ' ',
  ', ',
  '. ',
  '-',
  "'",
  '_',
  '/',
  '! ',
  ' - ',
  '  ',
];

/** Top-level fields of documents; `info` is nested. */
const TEXT_FIELDS = ['title', 'overview', 'tags', 'info.name', 'info.notes.text'];
/** Its values are compared as dates. */
const DATE_FIELD = 'released';
const VALUE_FIELDS = ['year', 'price', 'genre', 'colours', 'info.rank', 'flag'];
const DATES = {
  attributePatterns: [DATE_FIELD, 'items.released'],
  features: { filter: { equality: true, date: true } },
};
/** Their elements are tested in brackets. */
const ELEMENTS = {
  attributePatterns: ['items', 'orders'],
  features: { filter: { equality: true, elements: true } },
};
/** Where documents may expire. */
const EXPIRY_FIELD = 'until';

export class Generator {
  readonly #random: Random;
  readonly size: Size;
  readonly #focus: Focus | null;
  readonly #words: string[];
  /** Whether words are used that languages treat differently. */
  readonly #foreign: boolean;
  /** Whether most words are of scripts without spaces, and adjacent. */
  readonly #unspaced: boolean;
  /**
   * Phrases that stand for words of queries, synonyms and split words, of which texts contain the
   * whole or a part: rules that look at pairs of words tell them apart. Empty in most collections.
   */
  readonly #phrases: string[][];
  readonly settings: Settings;
  readonly batches: Batch[];

  constructor(random: Random, size: Size, focus: Focus | null = null) {
    this.#random = random;
    this.size = size;
    this.#focus = focus;
    this.#foreign = random.chance(size === 'large' ? 0.05 : 0.2);
    this.#unspaced = random.chance(size === 'large' ? 0.05 : 0.1);
    this.#words = this.#vocabulary();
    this.#phrases = !this.#unspaced && this.#often('pairs', 0.2) ? this.#pairedWords() : [];
    this.settings = this.#settings();
    this.batches = this.#batches();
  }

  get collection(): Collection {
    return { settings: this.settings, batches: this.batches };
  }

  /** Always in the focus. */
  #often(focus: Focus, chance: number): boolean {
    return this.#focus === focus || this.#random.chance(chance);
  }

  // --- Words and texts ---------------------------------------------------------------------------

  #vocabulary(): string[] {
    const random = this.#random;
    const large = this.size === 'large';
    if (this.#unspaced) return [...UNSPACED, ...random.some(STEMS, random.int(1, 4))];
    const words = random.some(STEMS, random.int(4, large ? 8 : 14));
    const out = new Set(words);
    const more = large ? random.int(0, 8) : random.int(4, 30);
    for (let i = 0; i < more; i++) out.add(this.#near(random.pick(words)));
    if (!large || random.chance(0.2)) {
      for (const list of [NUMBERS, MARKED]) {
        if (random.chance(0.5))
          for (const word of random.some(list, random.int(1, 4))) out.add(word);
      }
      if (random.chance(0.15)) for (const word of random.some(UNSPACED, 2)) out.add(word);
    }
    // One that is not indexed, and one that just is.
    if (!large && random.chance(0.03)) out.add('s'.repeat(251)).add('s'.repeat(250));
    if (this.#foreign) for (const word of random.some(FOREIGN, random.int(3, 12))) out.add(word);
    // Enough words with one beginning that the lists of prefixes and typos reach their limits.
    if (random.chance(0.08)) {
      const stem = random.pick(words);
      for (let i = 0; i < 160; i++) {
        const letter = LETTERS[i % LETTERS.length]!;
        out.add(`${stem}${letter}${LETTERS[Math.floor(i / LETTERS.length) % LETTERS.length]!}`);
      }
    }
    return [...out];
  }

  /** The word with one or two small changes, or glued to another, or cut. */
  #near(word: string): string {
    const random = this.#random;
    const letter = (): string => random.pick([...LETTERS]);
    let chars = [...word];
    const edits = random.int(1, 3);
    for (let i = 0; i < edits; i++) {
      const at = random.int(0, chars.length + 1);
      switch (
        random.weighted({ insert: 3, remove: 3, replace: 3, swap: 2, cut: 1, glue: 1, end: 2 })
      ) {
        case 'insert':
          chars.splice(at, 0, letter());
          break;
        case 'remove':
          if (chars.length > 1) chars.splice(Math.min(at, chars.length - 1), 1);
          break;
        case 'replace':
          chars[Math.min(at, chars.length - 1)] = letter();
          break;
        case 'swap':
          if (at + 1 < chars.length) [chars[at], chars[at + 1]] = [chars[at + 1]!, chars[at]!];
          break;
        case 'cut':
          chars = chars.slice(0, Math.max(1, at));
          break;
        case 'glue':
          chars.push(...random.pick(STEMS));
          break;
        case 'end':
          chars.push(letter());
          break;
      }
    }
    return chars.join('').slice(0, 40);
  }

  /** Runs of two or three words, and words cut in two. */
  #pairedWords(): string[][] {
    const random = this.#random;
    const runs = Array.from({ length: random.int(1, 4) }, () =>
      random.some(this.#words, random.int(2, 4)),
    );
    const long = this.#words.filter((word) => [...word].length > 2 && word.length < 40);
    const cut = random.some(long, random.int(1, 4)).map((word) => {
      const chars = [...word];
      const at = random.int(1, chars.length);
      return [chars.slice(0, at).join(''), chars.slice(at).join('')];
    });
    return [...runs, ...cut];
  }

  /** A phrase, its end, its beginning, or its words glued together. */
  #ofPhrase(): string {
    const random = this.#random;
    const phrase = random.pick(this.#phrases);
    return {
      whole: phrase.join(' '),
      end: phrase.slice(1).join(' '),
      beginning: phrase.slice(0, -1).join(' '),
      glued: phrase.join(''),
    }[random.weighted({ whole: 3, end: 4, beginning: 3, glued: 2 })];
  }

  #word(): string {
    const random = this.#random;
    const word = random.pick(this.#words);
    return random.chance(0.05) ? word[0]!.toUpperCase() + word.slice(1) : word;
  }

  #space(): string {
    return this.#unspaced && this.#random.chance(0.6) ? '' : ' ';
  }

  #text(max: number): string {
    const random = this.#random;
    const plain = this.size === 'large' || random.chance(0.6);
    let out = '';
    const count = random.int(1, max + 1);
    for (let i = 0; i < count; i++) {
      if (i > 0) out += plain && random.chance(0.95) ? this.#space() : random.pick(SEPARATORS);
      out += this.#phrases.length > 0 && random.chance(0.3) ? this.#ofPhrase() : this.#word();
    }
    return random.chance(0.03) ? `${random.pick(SEPARATORS)}${out}` : out;
  }

  // --- Documents ---------------------------------------------------------------------------------

  #batches(): Batch[] {
    const random = this.#random;
    const large = this.size === 'large';
    const total = large ? random.int(700, 2600) : random.weighted({ few: 1, some: 4, many: 1 });
    const documents =
      typeof total === 'number'
        ? total
        : { few: random.int(1, 8), some: random.int(10, 80), many: random.int(100, 300) }[total];
    const ids = Math.ceil(documents * 1.1);
    const batches: Batch[] = [];
    let left = documents;
    const cuts = random.int(1, large ? 4 : 6);
    for (let i = 0; i < cuts; i++) {
      const size = i === cuts - 1 ? left : random.int(0, left + 1);
      left -= size;
      // The first batch in order, so that batches after it replace documents and add new ones.
      const start = random.int(0, ids);
      const batch: Batch = { documents: [], deleted: [] };
      for (let k = 0; k < size; k++) {
        const id = i === 0 ? k : random.chance(0.5) ? random.int(0, ids) : (start + k) % ids;
        batch.documents.push(this.#document(id));
      }
      if (i > 0 || random.chance(0.2)) {
        const many = random.chance(0.3) ? random.int(0, Math.ceil(ids / 4)) : random.int(0, 5);
        for (let k = 0; k < many; k++) batch.deleted.push(random.int(0, ids));
      }
      batches.push(batch);
    }
    return batches;
  }

  #document(id: number): Document {
    const random = this.#random;
    const out: Document = { id };
    if (this.size === 'large') {
      out.title = this.#text(random.pick([1, 2, 3, 5]));
      if (random.chance(0.6)) out.overview = this.#text(6);
      if (random.chance(0.2)) out.tags = [this.#word(), this.#word()];
      out.year = random.int(1990, 1996);
      if (random.chance(0.3)) out.items = this.#items();
      if (random.chance(0.3)) out[EXPIRY_FIELD] = this.#expiry();
      return out;
    }
    if (random.chance(0.9)) out.title = this.#text(random.pick([1, 3, 5, 8]));
    if (random.chance(0.6)) out.overview = this.#text(random.pick([3, 10, 40]));
    if (random.chance(0.5)) {
      out.tags = Array.from({ length: random.int(0, 4) }, () => this.#leaf(2));
    }
    if (random.chance(0.4)) {
      const info: Document = {};
      if (random.chance(0.8)) info.name = this.#leaf(4);
      if (random.chance(0.6)) info.rank = random.int(0, 5);
      if (random.chance(0.5)) {
        const notes = Array.from({ length: random.int(1, 3) }, (): Json => ({
          text: this.#leaf(4),
        }));
        info.notes = random.chance(0.5) ? notes : notes[0]!;
      }
      out.info = info;
    }
    // Never nested as well: which of two values of a field comes first depends on the fields that
    // the index knows.
    if (random.chance(0.1)) out['info.motto'] = this.#leaf(3);
    if (random.chance(0.8)) out.year = random.int(1990, 1995);
    if (random.chance(0.6)) out.price = this.#value();
    if (random.chance(0.7)) out.genre = random.pick(['Drama', 'drama', 'comedy', 'Élan', 'war']);
    if (random.chance(0.4)) {
      out.colours = Array.from({ length: random.int(0, 3) }, () => this.#value());
    }
    if (random.chance(0.3)) out.flag = random.chance(0.5);
    if (random.chance(0.4)) {
      out[DATE_FIELD] = Array.from({ length: random.int(1, 3) }, () => this.#date());
    }
    if (random.chance(0.5)) out.items = this.#items();
    if (random.chance(0.3)) {
      const orders = (): Json => ({
        ...(random.chance(0.8) && { open: random.chance(0.5) }),
        ...(random.chance(0.9) && { lines: this.#items() }),
      });
      out.orders = Array.from({ length: random.int(0, 3) }, orders);
    }
    if (random.chance(0.6)) out[EXPIRY_FIELD] = this.#expiry();
    // Some neighbouring documents are as good as equally far, and the rest of their bucket, without
    // them, begins elsewhere.
    if (random.chance(0.2)) {
      const lat = random.int(-3, 4) + random.pick([0, 0.000006, 0.000012]);
      out._geo = { lat, lng: random.int(-3, 4) };
    }
    return out;
  }

  /** Objects of which brackets test one; now and then something else. */
  #items(): Json {
    const random = this.#random;
    const one = (): Json => {
      const out: Document = {};
      if (random.chance(0.8)) out.price = random.chance(0.8) ? random.int(0, 5) : this.#value();
      if (random.chance(0.8)) out.colour = random.chance(0.7) ? this.#colour() : this.#value();
      if (random.chance(0.2)) out.sizes = [this.#value(), this.#value()];
      if (random.chance(0.2)) out.made = { by: this.#colour(), year: random.int(1990, 1993) };
      if (random.chance(0.1)) out['made.by'] = this.#colour();
      if (random.chance(0.2)) out[DATE_FIELD] = this.#date();
      if (random.chance(0.2)) {
        const lat = random.int(-2, 3);
        out._geo = { lat: random.chance(0.2) ? String(lat) : lat, lng: random.int(-2, 3) };
      }
      return out;
    };
    const any = (): Json =>
      random.chance(0.9) ? one() : random.pick<Json>([null, 'red', 3, [], {}, [one(), one()]]);
    return random.chance(0.15) ? any() : Array.from({ length: random.int(0, 5) }, any);
  }

  #colour(): string {
    return this.#random.pick(['red', 'Red', 'blue', 'Été', 'ete']);
  }

  /** Dates that are past or far in the future on every machine; sometimes no date. */
  #expiry(): Json {
    const random = this.#random;
    const date = (): Json =>
      random.pick<Json>([
        ...['2020-01-01', '2001-02-03T04:05:06+07:00', 1_500_000_000, 1.5, -3],
        ...['2190-01-01', '2190-01-01T00:00:00Z', ' 2200-01-01 ', 8_000_000_000],
        ...[8_000_000_000.5, '2200-12-31t23:59:59.5-08:00', '2190-01-02', '2190-01-03'],
        ...['never', '1500000000', '2020-02-30', null, '', true],
      ]);
    if (random.chance(0.8)) return date();
    return Array.from({ length: random.int(0, 4) }, date);
  }

  /** What stands at the end of a path into a document. */
  #leaf(words: number): Json {
    const random = this.#random;
    switch (random.weighted({ text: 12, number: 1, none: 1, flag: 1 })) {
      case 'text':
        return this.#text(words);
      case 'number':
        return random.int(0, 130);
      case 'none':
        return null;
      case 'flag':
        return random.chance(0.5);
    }
  }

  /** Often the same moments in other forms; sometimes no date. */
  #date(): Json {
    const random = this.#random;
    return random.pick<Json>([
      ...['2026-01-01', '2026-01-01T01:00:00+01:00', '2025-12-31t23:59:59.5z', '2024-02-29'],
      ...['2026-01-01 00:00:00Z', '2025-02-29', 'soon', '2026', 1767225600, 1767225599, null],
    ]);
  }

  /** For sorting and filtering. */
  #value(): Json {
    const random = this.#random;
    switch (random.weighted({ number: 6, text: 5, none: 1, empty: 1, fraction: 1 })) {
      case 'number':
        return random.int(-2, 12);
      case 'text':
        return random.pick(['red', 'Red', 'blue', 'Été', 'ete', ' green ', '10', '9']);
      case 'none':
        return null;
      case 'empty':
        return '';
      case 'fraction':
        return random.int(0, 8) / 4;
    }
  }

  // --- Settings ----------------------------------------------------------------------------------

  #settings(): Settings {
    const random = this.#random;
    const out: Settings = {
      filterableAttributes: [
        ...[...VALUE_FIELDS, '_geo', DATES],
        ...(this.#often('elements', 0.9) ? [ELEMENTS] : []),
      ],
      sortableAttributes: [...VALUE_FIELDS, '_geo'],
    };
    if (random.chance(0.6)) {
      const fields = random.some(
        [...TEXT_FIELDS, 'info', 'ghost', 'genre', 'year'],
        random.int(1, 6),
      );
      out.searchableAttributes = fields;
    }
    if (random.chance(0.6)) out.rankingRules = this.#rankingRules();
    else if (this.#phrases.length > 0) {
      out.rankingRules = random.some(['words', 'typo', 'proximity', 'attribute', 'exactness'], 5);
    }
    if (random.chance(0.5)) out.typoTolerance = this.#typoTolerance();
    if (random.chance(0.25)) {
      out.substringAttributes = random.some([...TEXT_FIELDS, 'info', 'ghost'], random.int(1, 4));
    }
    if (this.#often('expiry', 0.25)) out.expiresAtAttribute = EXPIRY_FIELD;
    if (this.#phrases.length > 0 || random.chance(0.35)) out.synonyms = this.#synonyms();
    if (random.chance(0.25)) out.stopWords = random.some(this.#words, random.int(1, 4));
    if (random.chance(0.1)) out.separatorTokens = random.some(['$', 'nd', '|', '<br>'], 2);
    if (random.chance(0.1)) out.nonSeparatorTokens = random.some(['-', '_', "'", '/', ', '], 2);
    if (random.chance(0.1)) {
      const pair = (): string =>
        `${this.#word()}${random.pick(['-', '. ', ' ', '_'])}${this.#word()}`;
      out.dictionary = [pair(), pair()];
    }
    if (random.chance(0.2)) out.proximityPrecision = 'byAttribute';
    if (random.chance(0.15)) out.prefixSearch = 'disabled';
    if (random.chance(0.1)) out.distinctAttribute = random.pick(VALUE_FIELDS);
    if (random.chance(this.#foreign ? 0.6 : 0.03)) {
      out.localizedAttributes = Array.from({ length: random.int(1, 3) }, () => ({
        attributePatterns: random.some(
          ['*', 't*', '*e', '*n*', 'info.*', 'info', ...TEXT_FIELDS],
          random.int(1, 3),
        ),
        locales: this.#locales(),
      }));
    }
    if (random.chance(0.1)) {
      out.displayedAttributes = random.some(['id', ...TEXT_FIELDS, 'info', 'year', '_geo'], 5);
    }
    if (random.chance(0.2)) {
      const order = (): 'alpha' | 'count' => random.pick(['alpha', 'count'] as const);
      out.faceting = {
        maxValuesPerFacet: random.int(0, 6),
        sortFacetValuesBy: { '*': order(), [random.pick(VALUE_FIELDS)]: order() },
      };
    }
    if (random.chance(0.1)) out.pagination = { maxTotalHits: random.int(1, 30) };
    return out;
  }

  #locales(): string[] {
    const random = this.#random;
    if (random.chance(0.8)) return random.pick(LOCALES);
    return random
      .some(LOCALES.flat(), random.int(1, 4))
      .filter((a, i, all) => all.indexOf(a) === i);
  }

  #rankingRules(): string[] {
    const random = this.#random;
    const halves = random.chance(0.3);
    const rules = [
      ...['words', 'typo', 'proximity', 'sort', 'exactness'],
      ...(halves ? ['attributeRank', 'wordPosition'] : ['attribute']),
    ];
    const custom = random
      .some(VALUE_FIELDS, random.int(0, 3))
      .map((field) => `${field}:${random.pick(['asc', 'desc'])}`);
    if (random.chance(0.5)) {
      // Near the usual order, with something in between.
      const order = halves
        ? ['words', 'typo', 'proximity', 'attributeRank', 'sort', 'wordPosition', 'exactness']
        : ['words', 'typo', 'proximity', 'attribute', 'sort', 'exactness'];
      for (const rule of custom) order.splice(random.int(0, order.length + 1), 0, rule);
      if (random.chance(0.5)) order.splice(random.int(0, order.length), 1);
      return order;
    }
    return random.some([...rules, ...custom], random.int(1, rules.length + custom.length + 1));
  }

  #typoTolerance(): NonNullable<Settings['typoTolerance']> {
    const random = this.#random;
    const oneTypo = random.int(0, 7);
    return {
      enabled: random.chance(0.9),
      minWordSizeForTypos: random.chance(0.5)
        ? { oneTypo, twoTypos: oneTypo + random.int(0, 5) }
        : { oneTypo: 5, twoTypos: 9 },
      disableOnWords: random.chance(0.3) ? random.some(this.#words, 2) : [],
      disableOnAttributes: random.chance(0.4)
        ? random.some([...TEXT_FIELDS, 'info'], random.int(1, 3))
        : [],
      disableOnNumbers: random.chance(0.3),
    };
  }

  #synonyms(): Record<string, string[]> {
    const random = this.#random;
    const phrase = (max: number): string =>
      random.some(this.#words, random.int(1, max + 1)).join(this.#space());
    const out: Record<string, string[]> = {};
    const keys = random.int(1, 5);
    for (let i = 0; i < keys; i++) {
      out[phrase(3)] = Array.from({ length: random.int(1, 4) }, () => phrase(3));
    }
    for (const words of this.#phrases) {
      const key = random.chance(0.8) ? random.pick(this.#words) : phrase(2);
      if (random.chance(0.6)) out[key] = [...(out[key] ?? []), words.join(' ')];
    }
    return out;
  }

  // --- Searches ----------------------------------------------------------------------------------

  search(): SearchParams {
    const random = this.#random;
    const large = this.size === 'large';
    const out: SearchParams = { attributesToRetrieve: ['id'] };
    if (random.chance(0.97))
      out.q = random.chance(0.99) ? this.#query() : random.pick([null, '  ']);
    if (random.chance(0.5)) {
      out.matchingStrategy = random.pick(['last', 'all', 'frequency'] as const);
    }
    if (random.chance(large ? 0.3 : 0.55)) {
      out.showRankingScore = true;
      out.showRankingScoreDetails = random.chance(0.8);
    }
    if (random.chance(0.25)) out.attributesToSearchOn = this.#searchOn();
    if (random.chance(0.25) && this.settings.rankingRules?.includes('sort') !== false) {
      out.sort = this.#sort();
    }
    if (random.chance(0.12)) out.rankingScoreThreshold = random.int(0, 101) / 100;
    if (random.chance(0.12)) out.distinct = random.pick(VALUE_FIELDS);
    if (this.#often('elements', 0.25)) out.filter = this.#filter();
    if (random.chance(this.#foreign ? 0.3 : 0.03)) out.locales = this.#locales();
    // The engine marks words that begin like a word of a deleted document, in text that is not
    // indexed.
    const { searchableAttributes, stopWords } = this.settings;
    const whole = searchableAttributes === undefined && stopWords === undefined;
    const marks = whole || this.batches.length === 1;
    if (marks && random.chance(large ? 0.02 : 0.15)) Object.assign(out, this.#shaping());
    if (random.chance(0.1)) out.facets = random.some([...VALUE_FIELDS, '*'], 2);
    if (this.settings.displayedAttributes === undefined && this.#often('groups', 0.08)) {
      delete out.distinct;
      out.groupBy = { attribute: random.pick(VALUE_FIELDS), page: random.int(1, 4) };
      if (random.chance(0.8)) Object.assign(out.groupBy, { hits: random.int(1, 8) });
      if (random.chance(0.8)) Object.assign(out.groupBy, { limit: random.int(1, 12) });
      if (random.chance(0.5)) out.facetsPer = random.pick(['document', 'group'] as const);
    } else if (random.chance(0.2)) {
      out.hitsPerPage = random.int(0, 12);
      if (random.chance(0.7)) out.page = random.int(0, 5);
    } else {
      if (random.chance(0.3)) out.offset = random.int(0, large ? 300 : 15);
      if (random.chance(0.6)) out.limit = random.int(0, random.chance(0.2) ? 1200 : 40);
    }
    return out;
  }

  /** What is shown of a hit. */
  #shaping(): SearchParams {
    const random = this.#random;
    const names = (): string[] =>
      random.some(['*', 'id', 'info', 'year', 'price', '_geo', 'ghost', ...TEXT_FIELDS], 3);
    const out: SearchParams = { attributesToRetrieve: random.chance(0.3) ? ['*'] : names() };
    if (random.chance(0.1)) out.attributesToRetrieve = [...names(), '_geo.lat', '_geo.lng'];
    if (random.chance(0.6)) out.attributesToHighlight = names();
    if (random.chance(0.5)) {
      // The oldest attribute decides for overlapping names; there are none here.
      const cropped = random.chance(0.2)
        ? [random.pick(['*', 'info'])]
        : random.some(['id', 'year', 'ghost', ...TEXT_FIELDS], 3);
      out.attributesToCrop = cropped.map((name) =>
        random.chance(0.4) ? `${name}:${random.int(0, 8)}` : name,
      );
      if (random.chance(0.7)) out.cropLength = random.int(0, 12);
      if (random.chance(0.3)) out.cropMarker = random.pick(['', '...', '[é]']);
    }
    if (random.chance(0.3)) Object.assign(out, { highlightPreTag: '<b>', highlightPostTag: '' });
    if (random.chance(0.5)) out.showMatchesPosition = true;
    return out;
  }

  #query(): string {
    const random = this.#random;
    const count = random.weighted({ one: 3, two: 5, three: 4, more: 2, many: 1 });
    const words = {
      ...{ one: 1, two: 2, three: 3, more: random.int(4, 7), many: random.int(7, 13) },
    }[count];
    let out = '';
    let quoted = false;
    for (let i = 0; i < words; i++) {
      if (i > 0) {
        const plain = random.chance(this.size === 'large' ? 0.95 : 0.85);
        out += plain ? this.#space() : random.pick(SEPARATORS);
      }
      if (random.chance(0.05)) out += '-';
      if (random.chance(0.06)) {
        out += '"';
        quoted = !quoted;
      }
      out += this.#queryWord(i === words - 1);
      if (quoted && random.chance(0.5)) {
        out += '"';
        quoted = false;
      }
    }
    if (random.chance(0.08)) {
      out += ` -${random.chance(0.5) ? this.#word() : `"${this.#word()} ${this.#word()}"`}`;
      if (random.chance(0.5)) out += ` ${this.#word()}`;
    }
    if (random.chance(0.2)) out += random.pick([' ', '!', '"', ' -', '.']);
    return out;
  }

  #queryWord(last: boolean): string {
    const random = this.#random;
    if (this.#phrases.length > 0 && random.chance(0.25)) return this.#ofPhrase();
    const word = this.#word();
    switch (
      random.weighted({
        ...{ same: 12, near: 3, part: this.settings.substringAttributes === undefined ? 0 : 5 },
        ...{ prefix: last ? 6 : 1, glued: 1, split: 1, other: 0.5 },
      })
    ) {
      case 'same':
        return word;
      case 'near':
        return this.#near(word);
      case 'prefix':
        return [...word].slice(0, random.int(1, word.length + 1)).join('');
      case 'part': {
        const chars = [...word];
        const from = random.int(0, chars.length);
        return chars.slice(from, from + random.int(2, 7)).join('');
      }
      case 'glued':
        return word + this.#word();
      case 'split': {
        const at = random.int(0, word.length);
        return `${word.slice(0, at)} ${word.slice(at)}`;
      }
      case 'other':
        return random.pick(['zzz', 'quux', ...STEMS]);
    }
  }

  #searchOn(): string[] {
    const random = this.#random;
    const listed = this.settings.searchableAttributes;
    if (listed === undefined) {
      return random.some(
        [...TEXT_FIELDS, 'info.*', 't*', '*e', '*a*', 'ghost', '*'],
        random.int(0, 4),
      );
    }
    return random.some(
      [...listed, '*', 't*', '*e', '*.*', '*.name'],
      random.int(0, listed.length + 2),
    );
  }

  #sort(): string[] {
    const random = this.#random;
    const field = (): string =>
      random.chance(0.15)
        ? // Off the points of documents, so that different points are never equally far.
          `_geoPoint(${random.int(-3, 4)}.17,${random.int(-3, 4)}.39)`
        : random.pick(VALUE_FIELDS);
    return Array.from(
      { length: random.int(1, 3) },
      () => `${field()}:${random.pick(['asc', 'desc'])}`,
    );
  }

  #filter(): unknown {
    const condition = (): string =>
      this.#often('elements', 0.35) ? this.#brackets() : this.#condition(this.#filtered());
    switch (this.#random.weighted({ one: 3, both: 1, either: 2, lists: 1 })) {
      case 'one':
        return condition();
      case 'both':
        return `${condition()} AND (${condition()} OR ${condition()})`;
      case 'either':
        return `${condition()} OR ${condition()}`;
      case 'lists':
        return [condition(), [condition(), condition()]];
    }
  }

  #filtered(): string {
    return this.#random.chance(0.1) ? DATE_FIELD : this.#random.pick(VALUE_FIELDS);
  }

  #condition(field: string): string {
    const random = this.#random;
    const value = (): string =>
      random.pick(['red', 'Blue', '"ete"', '10', '3', '-1', 'drama', '1992', '0.5', 'true']);
    const date = (): string =>
      random.pick(['2026-01-01', '"2025-12-31T23:00:00-01:00"', '1767225599', '"2024-02-29"']);
    const order = ['=', '!=', '>', '>=', '<', '<='];
    if (field === DATE_FIELD) {
      if (random.chance(0.2)) return `${field} ${date()} TO ${date()}`;
      if (random.chance(0.2)) return `${field} IN [${date()}, soon]`;
      return `${field} ${random.pick(order)} ${date()}`;
    }
    switch (random.weighted({ compare: 6, list: 2, range: 2, state: 2, text: 1, not: 1 })) {
      case 'compare':
        return `${field} ${random.pick(order)} ${value()}`;
      case 'list':
        return `${field} ${random.pick(['IN', 'NOT IN'])} [${value()}, ${value()}]`;
      case 'range':
        return `${field} ${random.int(-2, 5)} TO ${random.int(3, 2000)}`;
      case 'state':
        return `${field} ${random.pick(['EXISTS', 'NOT EXISTS', 'IS NULL', 'IS EMPTY', 'IS NOT NULL'])}`;
      case 'text': {
        const operator = random.pick(['CONTAINS', 'NOT CONTAINS', 'STARTS WITH']);
        return `${field} ${operator} ${random.pick(['e', 'R', 'ed', '1', '"t\u0301"'])}`;
      }
      case 'not':
        return `NOT ${field} = ${value()}`;
    }
  }

  /** A condition on one element of a field. */
  #brackets(): string {
    const random = this.#random;
    const items = (): string => random.pick(['items', 'orders.lines', 'items', 'items', 'ghost']);
    const not = random.chance(0.2) ? 'NOT ' : '';
    if (random.chance(0.7)) return `${not}${items()}[${this.#inBrackets()}]`;
    const lines = (): string => `${random.chance(0.2) ? 'NOT ' : ''}lines[${this.#inBrackets()}]`;
    const open = `open ${random.pick(['= true', '= false', 'EXISTS', 'NOT EXISTS'])}`;
    const inner = random.pick([open, lines(), `(${open} OR ${lines()})`]);
    return `${not}orders[${lines()} ${random.pick(['AND', 'OR'])} ${inner}]`;
  }

  #inBrackets(): string {
    const random = this.#random;
    const one = (): string => {
      if (random.chance(0.08)) return `_geoRadius(${random.int(-2, 3)}, 0.5, 200000)`;
      if (random.chance(0.05)) return `_geoBoundingBox([1, ${random.int(0, 3)}], [-1, -1])`;
      const fields = ['price', 'price', 'colour', 'colour', 'sizes', 'made.by', 'made.year'];
      return this.#condition(random.pick([...fields, DATE_FIELD, 'made', 'ghost']));
    };
    switch (random.weighted({ one: 2, both: 4, either: 1, mixed: 2, not: 1 })) {
      case 'one':
        return one();
      case 'both':
        return `${one()} AND ${one()}`;
      case 'either':
        return `${one()} OR ${one()}`;
      case 'mixed':
        return `${one()} AND (${one()} OR NOT ${one()})`;
      case 'not':
        return `NOT (${one()} AND ${one()})`;
    }
  }
}
