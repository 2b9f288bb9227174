/**
 * The values of scripts. Rhai book, "Values and Types".
 *
 * `()` is null, a boolean is itself, a 64-bit integer is a bigint, a float is a number, a string is
 * itself. Arrays and maps have value semantics in the language but are references here: code that
 * stores one that is also stored elsewhere copies it first ({@link copyOf}).
 */
import { fail } from './errors.ts';
import { charge, chargeItems, chargeText } from './meter.ts';

export type Value =
  null | boolean | bigint | number | string | Char | Value[] | ObjectMap | Range | FnPtr;

/** One Unicode code point. */
export class Char {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A map. Keys are in insertion order; scripts see them in the order of their code units. */
export class ObjectMap extends Map<string, Value> {
  sortedKeys(): string[] {
    chargeItems(this.size);
    return [...this.keys()].sort();
  }
}

export class Range {
  readonly start: bigint;
  readonly end: bigint;
  readonly inclusive: boolean;
  constructor(start: bigint, end: bigint, inclusive: boolean) {
    this.start = start;
    this.end = end;
    this.inclusive = inclusive;
  }

  /** The first integer after the range. */
  get afterEnd(): bigint {
    return this.inclusive ? this.end + 1n : this.end;
  }
}

/** A variable, shared by closures and the block that declared it. */
export interface Cell {
  v: Value;
}

/**
 * A function by name, or a closure with its captured variables. `curried` values precede the
 * arguments of a call.
 */
export class FnPtr {
  readonly name: string;
  readonly curried: readonly Value[];
  /** The compiled function and the captured variables of a closure; null: a function by name. */
  readonly closure: { readonly fn: unknown; readonly captured: readonly Cell[] } | null;
  constructor(name: string, curried: readonly Value[], closure: FnPtr['closure']) {
    this.name = name;
    this.curried = curried;
    this.closure = closure;
  }
}

/** The limits of a run; spec of `documents/edit`, see `docs/behaviour/edit-functions.md`. */
export const LIMITS = {
  callDepth: 1000,
  variables: 1000,
  functions: 30,
  exprDepthInFunctions: 100,
  exprDepthGlobal: 1000,
  /** Maximum code units of a string that a script makes. Strings of a document may be longer. */
  stringLength: 16 * 1024 * 1024,
  arrayLength: 10_000,
  jsonDepth: 128,
  mapSize: 10_000,
} as const;

export function copyOf(value: Value): Value {
  if (Array.isArray(value)) {
    charge(1);
    chargeItems(value.length);
    return value.map(copyOf);
  }
  if (value instanceof ObjectMap) {
    charge(1);
    chargeItems(value.size);
    const copy = new ObjectMap();
    for (const [key, item] of value) copy.set(key, copyOf(item));
    return copy;
  }
  return value;
}

/** The kinds of values, with their names in the language. */
const TYPE_NAMES = {
  unit: '()',
  bool: 'bool',
  int: 'i64',
  float: 'f64',
  string: 'string',
  char: 'char',
  array: 'array',
  map: 'map',
  range: 'range',
  fn: 'Fn',
} as const;
export type Kind = keyof typeof TYPE_NAMES;

export function kindOf(value: Value): Kind {
  if (value === null) return 'unit';
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return 'int';
    case 'number':
      return 'float';
    case 'string':
      return 'string';
    default:
  }
  if (Array.isArray(value)) return 'array';
  if (value instanceof ObjectMap) return 'map';
  if (value instanceof Char) return 'char';
  return value instanceof Range ? 'range' : 'fn';
}

export function typeName(value: Value): string {
  return value instanceof Range && value.inclusive ? 'range=' : TYPE_NAMES[kindOf(value)];
}

/** Equality as in `==`: numbers by value, everything else only within a type. */
export function equal(a: Value, b: Value): boolean {
  if (typeof a === 'string') {
    if (typeof b !== 'string' || a.length !== b.length) return false;
    chargeText(a.length);
    return a === b;
  }
  if (a === b) return true;
  // A bigint and a number are compared by value.
  if (typeof a === 'bigint' || typeof a === 'number') {
    // oxlint-disable-next-line eqeqeq
    return (typeof b === 'bigint' || typeof b === 'number') && a == b;
  }
  if (a instanceof Char) return b instanceof Char && a.text === b.text;
  chargeItems(sizeOf(a));
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, n) => equal(item, b[n]!));
  }
  if (a instanceof ObjectMap) {
    if (!(b instanceof ObjectMap) || a.size !== b.size) return false;
    for (const [key, item] of a) {
      const other = b.get(key);
      if (other === undefined || !equal(item, other)) return false;
    }
    return true;
  }
  if (a instanceof Range) {
    return (
      b instanceof Range && a.start === b.start && a.end === b.end && a.inclusive === b.inclusive
    );
  }
  return a instanceof FnPtr && b instanceof FnPtr && a.name === b.name;
}

/** Compares two values. @returns negative, 0 or positive; null if the types have no order */
export function compare(a: Value, b: Value): number | null {
  const numbers =
    (typeof a === 'bigint' || typeof a === 'number') &&
    (typeof b === 'bigint' || typeof b === 'number');
  if (numbers) return a < b ? -1 : a > b ? 1 : a == b ? 0 : NaN; // oxlint-disable-line eqeqeq
  const left = a instanceof Char ? a.text : a;
  const right = b instanceof Char ? b.text : b;
  if (typeof left === 'string' && typeof right === 'string') {
    // The comparison visits one unit at a time, so it is charged per unit, not as by `chargeText`.
    chargeItems(Math.min(left.length, right.length));
    return compareText(left, right);
  }
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return null;
}

/** Compares texts by code point. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let n = 0; n < length; n++) {
    const left = a.charCodeAt(n);
    const right = b.charCodeAt(n);
    if (left === right) continue;
    // Surrogates belong to code points above all others.
    const high = (unit: number): number =>
      unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
    return high(left) - high(right);
  }
  return a.length - b.length;
}

export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/** The text of a value in `print`, `to_string` and `${...}`. */
export function toText(value: Value): string {
  if (typeof value === 'string') return value;
  if (value instanceof Char) return value.text;
  if (value === null) return '';
  return toDebug(value);
}

/** The text of a value inside an array or map, where strings are in quotes. */
export function toDebug(value: Value): string {
  const text = new BoundedText();
  writeDebug(value, text);
  return text.toString();
}

function writeDebug(value: Value, text: BoundedText): void {
  if (Array.isArray(value)) {
    text.list('[', value, ']', ', ', (item) => writeDebug(item, text));
  } else if (value instanceof ObjectMap) {
    text.list('#{', value.sortedKeys(), '}', ', ', (key) => {
      text.add(JSON.stringify(key), ': ');
      writeDebug(value.get(key)!, text);
    });
  } else text.add(plainDebug(value));
}

function plainDebug(value: Exclude<Value, Value[] | ObjectMap>): string {
  if (value === null) return '()';
  switch (typeof value) {
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'number':
      return floatText(value);
    case 'string':
      return JSON.stringify(value);
    default:
  }
  if (value instanceof Char) return `'${value.text}'`;
  if (value instanceof Range) return `${value.start}${value.inclusive ? '..=' : '..'}${value.end}`;
  return `Fn(${value.name})`;
}

/** The number of items of an array or map, or of code units of a string; else 0. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return value instanceof ObjectMap ? value.size : 0;
}

/** A text built from pieces, with a maximum length. */
export class BoundedText {
  readonly #pieces: string[] = [];
  readonly #lengthMax: number;
  #length = 0;

  constructor(lengthMax: number = LIMITS.stringLength) {
    this.#lengthMax = lengthMax;
  }

  add(...pieces: readonly string[]): void {
    for (const piece of pieces) {
      this.#length += piece.length;
      if (this.#length > this.#lengthMax) failTooLong(this.#lengthMax);
      chargeText(piece.length);
      this.#pieces.push(piece);
    }
  }

  list<T>(
    begin: string,
    items: Iterable<T>,
    end: string,
    separator: string,
    write: (item: T) => void,
  ): void {
    this.add(begin);
    let isFirst = true;
    for (const item of items) {
      if (!isFirst) this.add(separator);
      isFirst = false;
      charge(1);
      write(item);
    }
    this.add(end);
  }

  toString(): string {
    return this.#pieces.join('');
  }
}

function failTooLong(lengthMax: number): never {
  return fail(`The length of a string is beyond the limit of ${lengthMax} characters`);
}

/** Throws if a string of this length would be too long. */
export function boundedLength(length: number): void {
  if (length > LIMITS.stringLength) failTooLong(LIMITS.stringLength);
}

export function bounded(text: string): string {
  boundedLength(text.length);
  return text;
}

/**
 * Concatenates two strings. V8 copies at most the shorter one now and joins them when the text is
 * read.
 */
export function joined(a: string, b: string): string {
  boundedLength(a.length + b.length);
  chargeText(Math.min(a.length, b.length));
  return a + b;
}

export function boundedArray(array: Value[]): Value[] {
  if (array.length > LIMITS.arrayLength) {
    fail(`An array has more than ${LIMITS.arrayLength} items`);
  }
  return array;
}

export function boundedMap(map: ObjectMap): ObjectMap {
  if (map.size > LIMITS.mapSize) fail(`A map has more than ${LIMITS.mapSize} entries`);
  return map;
}

/** Returns a 64-bit integer, or fails with an overflow. */
export function int64(value: bigint, what: () => string): bigint {
  if (BigInt.asIntN(64, value) !== value) fail(`Integer overflow: ${what()}`);
  return value;
}
