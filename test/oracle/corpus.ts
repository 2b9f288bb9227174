/**
 * The documents as the oracle sees them: one flat list of word occurrences in document order.
 *
 * There is no index: a search reads all occurrences from the first to the last. The lists are typed
 * arrays only to make that reading quick.
 */
import { Analyzer, type AnalyzerSettings } from './analyzer.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Document = { [key: string]: Json };

/**
 * Word occurrences of all documents. Occurrence i belongs to document d when starts[d] <= i <
 * starts[d + 1].
 */
export interface Occurrences {
  words: string[];
  fields: string[];
  starts: Uint32Array;
  word: Uint32Array;
  field: Uint16Array;
  position: Uint16Array;
}

const GAP = 8;
const MAX_POSITION = 65535;
const MAX_WORD_BYTES = 250;

/**
 * Leaf values of a document in order, each with its dotted path. Items of one path are consecutive
 * values of it.
 */
export function eachLeaf(
  value: Json,
  path: string,
  visit: (path: string, leaf: null | boolean | number | string) => void,
): void {
  if (Array.isArray(value)) {
    if (value.length === 0) visit(path, null);
    for (const item of value) eachLeaf(item, path, visit);
  } else if (value !== null && typeof value === 'object') {
    for (const [key, child] of Object.entries(value)) {
      eachLeaf(child, path === '' ? key : `${path}.${key}`, visit);
    }
  } else visit(path, value);
}

export function coveredBy(field: string, names: readonly string[]): number {
  return names.findIndex((name) => field === name || field.startsWith(`${name}.`));
}

export function isReserved(field: string): boolean {
  return /^(_vectors|_geo|_geojson)(\.|$)/.test(field);
}

export class CorpusBuilder {
  #searchable: readonly string[] | null;
  #analyzer: Analyzer;
  #localesOf: (field: string) => readonly string[];
  #words: string[] = [];
  #ids = new Map<string, number>();
  #fields: string[] = [];
  #fieldIds = new Map<string, number>();
  #starts: number[] = [0];
  #length = 0;
  #word = new Uint32Array(1 << 16);
  #field = new Uint16Array(1 << 16);
  #position = new Uint16Array(1 << 16);

  /** @param searchable null for all fields */
  constructor(
    searchable: readonly string[] | null,
    settings: AnalyzerSettings,
    localesOf: (field: string) => readonly string[],
  ) {
    this.#searchable = searchable;
    this.#analyzer = new Analyzer(settings);
    this.#localesOf = localesOf;
  }

  add(document: Document): void {
    const next = new Map<string, number>();
    const found: [field: number, position: number, word: number][] = [];
    eachLeaf(document, '', (path, leaf) => {
      if (isReserved(path)) return;
      if (this.#searchable !== null && coveredBy(path, this.#searchable) < 0) return;
      const start = next.get(path) ?? 0;
      let last = -1;
      if (leaf !== null) {
        let position = start;
        let seen = false;
        let hard = false;
        for (const token of this.#analyzer.tokens(String(leaf), this.#localesOf(path))) {
          if (token.kind === 'hard') hard = true;
          if (token.kind === 'hard' || token.kind === 'soft' || token.lemma === '') continue;
          if (seen) position += hard ? GAP : 1;
          seen = true;
          hard = false;
          if (token.kind === 'stop' || position > MAX_POSITION) continue;
          if (Buffer.byteLength(token.lemma) > MAX_WORD_BYTES) continue;
          last = position;
          found.push([this.#fieldId(path), position, this.#wordId(token.lemma)]);
        }
      }
      next.set(path, last < 0 ? start + GAP : last + GAP);
    });
    found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [field, position, word] of found) this.#push(word, field, position);
    this.#starts.push(this.#length);
  }

  finish(): Occurrences {
    return {
      words: this.#words,
      fields: this.#fields,
      starts: Uint32Array.from(this.#starts),
      word: this.#word.slice(0, this.#length),
      field: this.#field.slice(0, this.#length),
      position: this.#position.slice(0, this.#length),
    };
  }

  #push(word: number, field: number, position: number): void {
    if (this.#length === this.#word.length) {
      const larger = this.#length * 2;
      const grow = <T extends Uint32Array | Uint16Array>(from: T, to: T): T => (to.set(from), to);
      this.#word = grow(this.#word, new Uint32Array(larger));
      this.#field = grow(this.#field, new Uint16Array(larger));
      this.#position = grow(this.#position, new Uint16Array(larger));
    }
    this.#word[this.#length] = word;
    this.#field[this.#length] = field;
    this.#position[this.#length] = position;
    this.#length++;
  }

  #wordId(word: string): number {
    let id = this.#ids.get(word);
    if (id === undefined) {
      id = this.#words.length;
      // A copy, so that the text it was cut from can be freed.
      const own = Buffer.from(word).toString();
      this.#words.push(own);
      this.#ids.set(own, id);
    }
    return id;
  }

  #fieldId(path: string): number {
    let id = this.#fieldIds.get(path);
    if (id === undefined) {
      id = this.#fields.length;
      this.#fields.push(path);
      this.#fieldIds.set(path, id);
    }
    return id;
  }
}
