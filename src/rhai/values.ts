/**
 * The values of scripts. Rhai book, "Values and Types".
 *
 * `()` is null, a boolean is itself, an integer of 64 bits is a bigint, a float is a number, a string is itself. Arrays
 * and maps have value semantics in the language and are references here: whoever stores one that something else still
 * holds copies it first ({@link copyOf}).
 */
import { fail } from './errors.ts';

export type Value =
  null | boolean | bigint | number | string | Char | Value[] | ObjectMap | Range | FnPtr;

/** One Unicode code point. */
export class Char {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Keys in the order in which they were set; scripts see them in the order of their code units. */
export class ObjectMap extends Map<string, Value> {
  sortedKeys(): string[] {
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

  /** The first integer behind the range. */
  get behind(): bigint {
    return this.inclusive ? this.end + 1n : this.end;
  }
}

/** A variable. Closures and the block that declared a variable share it. */
export interface Cell {
  v: Value;
}

/** A function by name, or a closure with what it captured; `curried` come before the arguments of a call. */
export class FnPtr {
  readonly name: string;
  readonly curried: readonly Value[];
  /** Of a closure: its compiled function and the captured variables. */
  readonly closure: { readonly fn: unknown; readonly captured: readonly Cell[] } | null;
  constructor(name: string, curried: readonly Value[], closure: FnPtr['closure']) {
    this.name = name;
    this.curried = curried;
    this.closure = closure;
  }
}

/** The limits of a run; spec of `documents/edit`, see `docs/behaviour/edit-functions.md`. */
export const LIMITS = {
  operations: 1_000_000,
  callDepth: 1000,
  variables: 1000,
  functions: 30,
  exprDepthInFunctions: 100,
  exprDepthGlobal: 1000,
  /** Code units. The platform allows no longer strings. */
  stringLength: 2 ** 29 - 24,
  arrayLength: 10_000,
  mapSize: 10_000,
} as const;

export function copyOf(value: Value): Value {
  if (Array.isArray(value)) return value.map(copyOf);
  if (value instanceof ObjectMap) {
    const copy = new ObjectMap();
    for (const [key, item] of value) copy.set(key, copyOf(item));
    return copy;
  }
  return value;
}

/** Kinds of values, and the name that the language has for each. */
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

/** Equality as `==` has it: integers and floats by number, everything else of one type only. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  // A bigint and a number compare by number.
  if (typeof a === 'bigint' || typeof a === 'number') {
    // oxlint-disable-next-line eqeqeq
    return (typeof b === 'bigint' || typeof b === 'number') && a == b;
  }
  if (a instanceof Char) return b instanceof Char && a.text === b.text;
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

/** Negative, 0 or positive; null when the types have no order among them. */
export function compare(a: Value, b: Value): number | null {
  const numbers =
    (typeof a === 'bigint' || typeof a === 'number') &&
    (typeof b === 'bigint' || typeof b === 'number');
  if (numbers) return a < b ? -1 : a > b ? 1 : a == b ? 0 : NaN; // oxlint-disable-line eqeqeq
  const left = a instanceof Char ? a.text : a;
  const right = b instanceof Char ? b.text : b;
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  return null;
}

/** By code points. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let n = 0; n < length; n++) {
    const left = a.charCodeAt(n);
    const right = b.charCodeAt(n);
    if (left === right) continue;
    // Surrogates stand for code points above all others.
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

/** What `print`, `to_string` and `${...}` show. */
export function toText(value: Value): string {
  if (typeof value === 'string') return value;
  if (value instanceof Char) return value.text;
  if (value === null) return '';
  return toDebug(value);
}

/** What arrays and maps show of their items: texts in quotes. */
export function toDebug(value: Value): string {
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
  if (Array.isArray(value)) return bounded(`[${value.map(toDebug).join(', ')}]`);
  if (value instanceof ObjectMap) {
    const items = value
      .sortedKeys()
      .map((key) => `${JSON.stringify(key)}: ${toDebug(value.get(key)!)}`);
    return bounded(`#{${items.join(', ')}}`);
  }
  if (value instanceof Char) return `'${value.text}'`;
  if (value instanceof Range) return `${value.start}${value.inclusive ? '..=' : '..'}${value.end}`;
  return `Fn(${value.name})`;
}

export function bounded(text: string): string {
  if (text.length > LIMITS.stringLength) fail('The length of a string is beyond the limit');
  return text;
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

/** An integer of 64 bits, or the error of an overflow. */
export function int64(value: bigint, what: () => string): bigint {
  if (BigInt.asIntN(64, value) !== value) fail(`Integer overflow: ${what()}`);
  return value;
}
