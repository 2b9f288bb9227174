/**
 * Filters, checked document by document (docs/behaviour/filters.md).
 */
import type { Document } from './corpus.ts';
import { elementsOf, facetForm, valuesOf, type FieldValues } from './values.ts';
import { compareBytes } from './words.ts';

export type Predicate = (document: Document) => boolean;

export class FilterError extends Error {}

interface Token {
  text: string;
  quoted: boolean;
}

const KEYWORDS = new Set(
  'AND OR NOT IN TO EXISTS IS NULL EMPTY CONTAINS STARTS WITH _geoRadius _geoBoundingBox _geoPolygon'.split(
    ' ',
  ),
);
const EARTH_RADIUS = 6_371_000;

function lex(text: string): Token[] {
  const out: Token[] = [];
  const pattern =
    /\s*(?:(!=|>=|<=|[=<>()[\],])|("(?:[^"\\]|\\.)*")|('(?:[^'\\]|\\.)*')|([\p{L}\p{N}_.-]+))/uy;
  let at = 0;
  while (at < text.trimEnd().length) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) throw new FilterError(`unexpected character at ${at}`);
    const quoted = match[2] ?? match[3];
    out.push(
      quoted === undefined
        ? { text: (match[1] ?? match[4])!, quoted: false }
        : { text: quoted.slice(1, -1).replace(/\\(.)/g, '$1'), quoted: true },
    );
    at = pattern.lastIndex;
  }
  return out;
}

class Parser {
  #tokens: Token[];
  #at = 0;
  #fields: FilterFields;
  /** Where names begin: `items.` in the brackets of `items`. */
  #parent = '';
  #geo: () => boolean;

  constructor(text: string, fields: FilterFields) {
    this.#tokens = lex(text);
    this.#fields = fields;
    this.#geo = () => this.#parent !== '' || fields.filterable('_geo');
  }

  whole(): Predicate {
    const out = this.#or();
    if (this.#at < this.#tokens.length) throw new FilterError('text after the end');
    return out;
  }

  #is(text: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token !== undefined && !token.quoted && token.text === text;
  }

  #take(...texts: string[]): boolean {
    if (!texts.every((text, i) => this.#is(text, i))) return false;
    this.#at += texts.length;
    return true;
  }

  #need(text: string): void {
    if (!this.#take(text)) throw new FilterError(`expected ${text}`);
  }

  #value(): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new FilterError('expected a value');
    if (!token.quoted && (KEYWORDS.has(token.text) || /^[=<>()[\],!]/.test(token.text))) {
      throw new FilterError(`unexpected ${token.text}`);
    }
    return token.text;
  }

  #or(): Predicate {
    let left = this.#and();
    while (this.#take('OR')) {
      const [a, b] = [left, this.#and()];
      left = (d) => a(d) || b(d);
    }
    return left;
  }

  #and(): Predicate {
    let left = this.#not();
    while (this.#take('AND')) {
      const [a, b] = [left, this.#not()];
      left = (d) => a(d) && b(d);
    }
    return left;
  }

  #not(): Predicate {
    if (this.#take('NOT')) {
      const inner = this.#not();
      return (d) => !inner(d);
    }
    if (this.#take('(')) {
      const inner = this.#or();
      this.#need(')');
      return inner;
    }
    if (this.#take('_geoRadius', '(')) return this.#radius();
    if (this.#take('_geoBoundingBox', '(')) return this.#box();
    if (this.#is('_geoPolygon')) throw new FilterError('shapes are not in the oracle');
    return this.#condition();
  }

  #condition(): Predicate {
    const field = this.#value();
    if (this.#take('[')) return this.#elements(field);
    const path = this.#parent + field;
    if (this.#parent === '' && !this.#fields.filterable(path)) {
      throw new FilterError(`${path} is not filterable`);
    }
    const known = this.#fields.known(path);
    const on =
      (test: (values: FieldValues) => boolean): Predicate =>
      (d) =>
        known && test(valuesOf(d, field));
    const not =
      (p: Predicate): Predicate =>
      (d) =>
        !p(d);
    const dated = this.#fields.dated?.(path) ?? false;
    const equals = (value: string): Predicate =>
      on((values) => hasValue(values, value) || (dated && hasMoment(values, value)));
    const list = (): Predicate => {
      const values: string[] = [];
      this.#need('[');
      while (!this.#take(']')) {
        values.push(this.#value());
        if (!this.#take(',') && !this.#is(']')) throw new FilterError('expected , or ]');
      }
      const tests = values.map(equals);
      return (d) => tests.some((test) => test(d));
    };
    const compare = (bounds: Bound[]): Predicate => {
      if (!dated) return on((v) => within(v, bounds));
      if (bounds.some(([, text]) => moment(text) === null)) throw new FilterError('not a date');
      return on((v) => momentsOf(v).some((at) => bounds.every((bound) => meets(at, bound))));
    };
    if (this.#take('=')) return equals(this.#value());
    if (this.#take('!=')) {
      const equal = equals(this.#value());
      return (d) => known && !equal(d);
    }
    for (const operator of ['>=', '<=', '>', '<'] as const) {
      if (this.#take(operator)) {
        const value = this.#value();
        return compare([[operator, value]]);
      }
    }
    if (this.#take('NOT', 'IN')) return not(list());
    if (this.#take('IN')) return list();
    if (this.#take('NOT', 'EXISTS')) return not(on((v) => v.exists));
    if (this.#take('EXISTS')) return on((v) => v.exists);
    if (this.#take('IS', 'NOT', 'NULL')) return not(on((v) => v.isNull));
    if (this.#take('IS', 'NULL')) return on((v) => v.isNull);
    if (this.#take('IS', 'NOT', 'EMPTY')) return not(on((v) => v.isEmpty));
    if (this.#take('IS', 'EMPTY')) return on((v) => v.isEmpty);
    const text = (test: (value: string, part: string) => boolean): Predicate => {
      const part = facetForm(this.#value());
      return on((v) => v.strings.some((value) => test(facetForm(value), part)));
    };
    if (this.#take('NOT', 'CONTAINS')) return not(text((v, p) => v.includes(p)));
    if (this.#take('CONTAINS')) return text((v, p) => v.includes(p));
    if (this.#take('NOT', 'STARTS', 'WITH')) return not(text((v, p) => v.startsWith(p)));
    if (this.#take('STARTS', 'WITH')) return text((v, p) => v.startsWith(p));
    const from = this.#value();
    this.#need('TO');
    const to = this.#value();
    return compare([
      ['>=', from],
      ['<=', to],
    ]);
  }

  /** One element passes the whole expression in the brackets. */
  #elements(field: string): Predicate {
    const outer = this.#parent;
    if (outer === '' && this.#fields.elements?.(field) !== true) {
      throw new FilterError(`${field}[...] needs the feature`);
    }
    this.#parent += `${field}.`;
    const passes = this.#or();
    this.#need(']');
    this.#parent = outer;
    return (d) => elementsOf(d, field).some(passes);
  }

  #numbers(): number[] {
    const out: number[] = [];
    let depth = 1;
    while (depth > 0) {
      if (this.#take('[')) depth++;
      else if (this.#take(']') || this.#take(')')) depth--;
      else if (!this.#take(',')) out.push(number(this.#value()));
      if (out.some(Number.isNaN)) throw new FilterError('not a number');
    }
    return out;
  }

  #radius(): Predicate {
    if (!this.#geo()) throw new FilterError('_geo is not filterable');
    const [lat, lng, metres, resolution, ...more] = this.#numbers();
    if (metres === undefined || more.length > 0)
      throw new FilterError('_geoRadius takes three or four numbers');
    if (resolution !== undefined && (Math.trunc(resolution) < 3 || Math.trunc(resolution) > 1000)) {
      throw new FilterError('resolution');
    }
    checkPoint(lat!, lng!);
    return (d) => {
      const point = pointOf(d);
      return point !== null && distance(point, { lat: lat!, lng: lng! }) <= metres;
    };
  }

  #box(): Predicate {
    if (!this.#geo()) throw new FilterError('_geo is not filterable');
    const [top, right, bottom, left, ...more] = this.#numbers();
    if (left === undefined || more.length > 0)
      throw new FilterError('_geoBoundingBox takes two points');
    checkPoint(top!, right!);
    checkPoint(bottom!, left);
    if (top! < bottom!) throw new FilterError('top below bottom');
    return (d) => {
      const point = pointOf(d);
      if (point === null || point.lat > top! || point.lat < bottom!) return false;
      const { lng } = point;
      return left <= right! ? lng >= left && lng <= right! : lng >= left || lng <= right!;
    };
  }
}

function checkPoint(lat: number, lng: number): void {
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180))
    throw new FilterError('not a point of the Earth');
}

export interface Point {
  lat: number;
  lng: number;
}

export function pointOf(document: Document): Point | null {
  const geo = document._geo as { lat?: unknown; lng?: unknown } | null | undefined;
  if (geo === null || geo === undefined) return null;
  const point = { lat: Number(geo.lat), lng: Number(geo.lng) };
  return Number.isFinite(point.lat) && Number.isFinite(point.lng) ? point : null;
}

/** Haversine, metres. */
export function distance(a: Point, b: Point): number {
  const rad = Math.PI / 180;
  const h =
    Math.sin(((b.lat - a.lat) * rad) / 2) ** 2 +
    Math.cos(a.lat * rad) * Math.cos(b.lat * rad) * Math.sin(((b.lng - a.lng) * rad) / 2) ** 2;
  return 2 * EARTH_RADIUS * Math.asin(Math.sqrt(h));
}

function number(text: string): number {
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? Number(text) : NaN;
}

export function hasValue(values: FieldValues, wanted: string): boolean {
  const n = number(wanted);
  return (
    values.numbers.includes(n) || values.strings.some((s) => facetForm(s) === facetForm(wanted))
  );
}

type Bound = readonly ['>' | '>=' | '<' | '<=', string];

function within(values: FieldValues, bounds: readonly Bound[]): boolean {
  const passes = (order: number, operator: Bound[0]): boolean =>
    operator === '>'
      ? order > 0
      : operator === '>='
        ? order >= 0
        : operator === '<'
          ? order < 0
          : order <= 0;
  const asNumbers = bounds.map(([, text]) => number(text));
  if (asNumbers.every(Number.isFinite)) {
    if (values.numbers.some((v) => bounds.every(([op], i) => passes(v - asNumbers[i]!, op))))
      return true;
  }
  return values.strings.some((v) =>
    bounds.every(([op, text]) => passes(compareBytes(facetForm(v), facetForm(text)), op)),
  );
}

// --- Dates ---

/** Milliseconds since 1970 of a date of RFC 3339, or of its day. */
function dateOf(text: string): number | null {
  const form = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d))?$/i;
  if (!form.test(text)) return null;
  const day = Date.parse(text.slice(0, 10));
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(day) || new Date(day).getUTCDate() !== Number(text.slice(8, 10))) return null;
  const at = Date.parse(text.toUpperCase().replace(' ', 'T'));
  return Number.isNaN(at) ? null : at;
}

function moment(text: string): number | null {
  const seconds = number(text.trim());
  return dateOf(text.trim()) ?? (Number.isFinite(seconds) ? seconds * 1000 : null);
}

function momentsOf(values: FieldValues): number[] {
  const dates = values.strings.map((text) => dateOf(text.trim())).filter((at) => at !== null);
  return [...values.numbers.map((seconds) => seconds * 1000), ...dates];
}

function hasMoment(values: FieldValues, wanted: string): boolean {
  const at = moment(wanted);
  return at !== null && momentsOf(values).includes(at);
}

function meets(at: number, [operator, text]: Bound): boolean {
  const bound = moment(text)!;
  if (operator === '>') return at > bound;
  if (operator === '>=') return at >= bound;
  return operator === '<' ? at < bound : at <= bound;
}

/** Whether one of its dates is before `until`, in seconds since 1970, or then. */
export function expiresBy(document: Document, field: string, until: number): boolean {
  return momentsOf(valuesOf(document, field)).some((at) => at <= until * 1000);
}

/** The conditions of a filter on the fields that it names. */
export interface FilterFields {
  filterable(field: string): boolean;
  /** Whether its values are compared as dates. */
  dated?(field: string): boolean;
  /** Whether brackets may test its elements. */
  elements?(field: string): boolean;
  /**
   * Whether any document has ever had it: a condition on any other field matches none, even with
   * `!=`.
   */
  known(field: string): boolean;
}

/** @returns null when there is no condition */
export function parseFilter(filter: unknown, fields: FilterFields): Predicate | null {
  if (filter === null || filter === undefined) return null;
  if (typeof filter === 'string') {
    return filter.trim() === '' ? null : new Parser(filter, fields).whole();
  }
  if (!Array.isArray(filter)) throw new FilterError('neither text nor array');
  const parts: Predicate[] = [];
  for (const item of filter) {
    if (typeof item === 'string') {
      const part = parseFilter(item, fields);
      if (part !== null) parts.push(part);
    } else if (Array.isArray(item)) {
      const choices = item.map((choice) => {
        if (typeof choice !== 'string') throw new FilterError('nested too deep');
        return parseFilter(choice, fields);
      });
      const real = choices.filter((choice) => choice !== null);
      if (real.length > 0) parts.push((d) => real.some((choice) => choice(d)));
    } else throw new FilterError('neither text nor array');
  }
  return parts.length === 0 ? null : (d) => parts.every((part) => part(d));
}
