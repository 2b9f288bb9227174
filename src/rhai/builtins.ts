/**
 * The functions of the language: those that the Rhai book lists for strings, characters, numbers,
 * arrays, maps, ranges and function pointers. A method call and a function call reach the same
 * function: the object of a method call is the first argument.
 */
import { fail } from './errors.ts';
import { charge, chargeItems, chargeText } from './meter.ts';
import { at, binaryOperation, clamp, isIn, positionOf } from './operators.ts';
import {
  charAt,
  charCount,
  charsIn,
  charSlice,
  occurrences,
  offsetBefore,
  offsetOf,
  replaced,
} from './text.ts';
import {
  bounded,
  BoundedText,
  boundedLength,
  boundedArray,
  boundedMap,
  type Cell,
  Char,
  compare,
  copyOf,
  equal,
  floatText,
  FnPtr,
  int64,
  joined,
  type Kind,
  kindOf,
  LIMITS,
  ObjectMap,
  Range,
  sizeOf,
  toDebug,
  toText,
  typeName,
  type Value,
} from './values.ts';

/**
 * @param args the arguments of the call, in any number
 * @returns the value; `self` is the new value of the first argument, undefined if it is unchanged.
 * Arrays and maps are changed in position.
 */
/** The run that a function of the language is called in. */
export interface Caller {
  /** Calls a function pointer. `self`: the value of `this`, or null. */
  callPointer(pointer: Value, args: Value[], self?: Cell | null): Value;
  /** Functions of the script, as `name/parameters`. */
  readonly script: { readonly functions: { has(name: string): boolean } };
}

export type Builtin = (args: Value[], run: Caller) => { value: Value; self: Value | undefined };

type Pure = (args: Value[], run: Caller) => Value;
type Variants = Partial<Record<Kind | 'any', Pure | Builtin>>;

const TABLE = new Map<string, Builtin>();

export function builtinOf(name: string): Builtin | undefined {
  return TABLE.get(name);
}

/**
 * Defines functions; `variants` are chosen by the type of the first argument. A call is charged by
 * the sizes of its arguments.
 * @param untouched kinds of first arguments whose size does not affect the time
 */
function define(names: string, variants: Variants, untouched: readonly Kind[] = []): void {
  for (const name of names.split(' ')) {
    TABLE.set(name, (args, run) => {
      args.forEach((arg, n) => {
        if (n === 0 && untouched.includes(kindOf(arg))) return;
        if (typeof arg === 'string') chargeText(arg.length);
        else chargeItems(sizeOf(arg));
      });
      const variant =
        args.length === 0 ? variants.any : (variants[kindOf(args[0]!)] ?? variants.any);
      if (variant === undefined) {
        return fail(
          args.length === 0
            ? `The function \`${name}\` takes arguments`
            : `There is no function \`${name}\` of ${typeName(args[0]!)}`,
        );
      }
      const result = variant(args, run);
      return result instanceof Changed ? result : { value: result as Value, self: undefined };
    });
  }
}

/** The result of a function that changes a string or another value that is replaced as a whole. */
class Changed {
  readonly value: Value;
  readonly self: Value;
  constructor(self: Value, value: Value = null) {
    this.self = self;
    this.value = value;
  }
}

function changed(self: Value, value: Value = null): { value: Value; self: Value } {
  return new Changed(self, value);
}

// Arguments.

function int(args: Value[], n: number, fallback?: bigint): bigint {
  const value = args[n];
  if (value === undefined && fallback !== undefined) return fallback;
  return typeof value === 'bigint'
    ? value
    : fail(`An integer is expected as argument ${n}, not ${shown(value)}`);
}

function text(args: Value[], n: number): string {
  const value = args[n];
  if (typeof value === 'string') return value;
  return value instanceof Char
    ? value.text
    : fail(`A string is expected as argument ${n}, not ${shown(value)}`);
}

function number(args: Value[], n: number): number {
  const value = args[n];
  return typeof value === 'bigint' || typeof value === 'number'
    ? Number(value)
    : fail(`A number is expected as argument ${n}, not ${shown(value)}`);
}

function fn(args: Value[], n: number): Value {
  const value = args[n];
  if (typeof value === 'string') return new FnPtr(value, [], null);
  return value instanceof FnPtr
    ? value
    : fail(`A function is expected as argument ${n}, not ${shown(value)}`);
}

function array(args: Value[], n = 0): Value[] {
  const value = args[n];
  return Array.isArray(value)
    ? value
    : fail(`An array is expected as argument ${n}, not ${shown(value)}`);
}

function map(args: Value[], n = 0): ObjectMap {
  const value = args[n];
  return value instanceof ObjectMap
    ? value
    : fail(`A map is expected as argument ${n}, not ${shown(value)}`);
}

function shown(value: Value | undefined): string {
  return value === undefined ? 'nothing' : typeName(value);
}

export function* charsOf(value: string): Generator<Char> {
  for (const letter of charsIn(value)) yield new Char(letter);
}

/** The offset at which a list of `size` items is cut. A negative index counts from the end. */
function cutIndex(index: bigint, size: number): number {
  return clamp(index < 0n ? BigInt(size) + index : index, size);
}

/** Resolves `start` and `length`, or a range, within `size` items to `[begin, end)`. */
function span(args: Value[], n: number, size: number): [number, number] {
  const first = args[n];
  if (first instanceof Range) return [clamp(first.start, size), clamp(first.afterEnd, size)];
  const begin = cutIndex(int(args, n), size);
  const length = int(args, n + 1, BigInt(size));
  return [begin, Math.max(begin, clamp(BigInt(begin) + length, size))];
}

// All types.

define('type_of', { any: ([value]) => typeName(value!) });
define('to_string', { any: ([value]) => (value === null ? '' : toText(value!)) });
define('to_debug', { any: ([value]) => toDebug(value!) });
define('print debug', { any: () => null });
define('is_shared', { any: () => false });
define('is_def_fn', {
  string: ([name, count], run) => run.script.functions.has(`${name as string}/${String(count)}`),
});
for (const op of ['+', '-', '*', '/', '%', '**', '==', '!=', '<', '<=', '>', '>=']) {
  define(op, { any: (args) => binaryOperation(op)(args[0]!, args[1]!) });
}

// Numbers.

const INT_MAX = 2n ** 63n - 1n;

function floatFunction(name: string, work: (value: number) => number): void {
  define(name, {
    int: ([value]) => work(Number(value)),
    float: ([value]) => work(value as number),
  });
}
floatFunction('sin', Math.sin);
floatFunction('cos', Math.cos);
floatFunction('tan', Math.tan);
floatFunction('sinh', Math.sinh);
floatFunction('cosh', Math.cosh);
floatFunction('tanh', Math.tanh);
floatFunction('asin', Math.asin);
floatFunction('acos', Math.acos);
floatFunction('asinh', Math.asinh);
floatFunction('acosh', Math.acosh);
floatFunction('atanh', Math.atanh);
floatFunction('sqrt', Math.sqrt);
floatFunction('exp', Math.exp);
floatFunction('ln', Math.log);
floatFunction('to_degrees', (value) => (value * 180) / Math.PI);
floatFunction('to_radians', (value) => (value * Math.PI) / 180);
floatFunction('to_float', (value) => value);
define('atan', {
  int: (args) =>
    args.length > 1 ? Math.atan2(number(args, 0), number(args, 1)) : Math.atan(number(args, 0)),
  float: (args) =>
    args.length > 1 ? Math.atan2(number(args, 0), number(args, 1)) : Math.atan(number(args, 0)),
});
define('hypot', { any: (args) => Math.hypot(number(args, 0), number(args, 1)) });
define('log', {
  any: (args) =>
    args.length > 1
      ? Math.log(number(args, 0)) / Math.log(number(args, 1))
      : Math.log10(number(args, 0)),
});
define('PI', { any: () => Math.PI });
define('E', { any: () => Math.E });
define('abs', {
  int: ([value]) =>
    int64(
      (value as bigint) < 0n ? -(value as bigint) : (value as bigint),
      () => `abs(${String(value)})`,
    ),
  float: ([value]) => Math.abs(value as number),
});
define('sign', {
  int: ([value]) => ((value as bigint) > 0n ? 1n : (value as bigint) < 0n ? -1n : 0n),
  float: ([value]) => BigInt(Math.sign(value as number) || 0),
});
define('is_zero', { int: ([value]) => value === 0n, float: ([value]) => value === 0 });
define('is_odd', { int: ([value]) => (value as bigint) % 2n !== 0n });
define('is_even', { int: ([value]) => (value as bigint) % 2n === 0n });
define('is_nan', { float: ([value]) => Number.isNaN(value) });
define('is_finite', { float: ([value]) => Number.isFinite(value) });
define('is_infinite', { float: ([value]) => Math.abs(value as number) === Infinity });
const same: Pure = ([value]) => value!;
define('floor', { int: same, float: ([value]) => Math.floor(value as number) });
define('ceiling', { int: same, float: ([value]) => Math.ceil(value as number) });
define('int', { int: same, float: ([value]) => Math.trunc(value as number) });
define('fraction', {
  int: () => 0n,
  float: ([value]) => (value as number) - Math.trunc(value as number),
});
define('round', {
  int: same,
  float: (args) => {
    const value = number(args, 0);
    const digits = args.length > 1 ? Number(int(args, 1)) : 0;
    if (digits < 0) return fail('The number of digits is not negative');
    if (digits > 20) return value;
    const factor = 10 ** digits;
    // Halves are rounded away from zero.
    return (Math.sign(value) * Math.round(Math.abs(value) * factor)) / factor;
  },
});
define('to_int', {
  int: same,
  char: ([value]) => BigInt((value as Char).text.codePointAt(0)!),
  float: ([value]) => {
    const whole = Math.trunc(value as number);
    if (!Number.isFinite(whole)) return fail(`${floatText(value as number)} is not an integer`);
    return int64(BigInt(whole), () => floatText(value as number));
  },
});
function inBase(base: number): Pure {
  return ([value]) => BigInt.asUintN(64, value as bigint).toString(base);
}
define('to_hex', { int: inBase(16) });
define('to_octal', { int: inBase(8) });
define('to_binary', { int: inBase(2) });
function best(want: (order: number) => boolean): Pure {
  return ([a, b]) => {
    const order = compare(a!, b ?? null);
    if (order === null) return fail(`${typeName(a!)} and ${shown(b)} cannot be compared`);
    return want(order) ? a! : b!;
  };
}
define('min', { any: best((order) => order <= 0) });
define('max', { any: best((order) => order >= 0) });

define('parse_int', {
  string: (args) => {
    const radix = int(args, 1, 10n);
    if (radix < 2n || radix > 36n) return fail(`${radix} is not a base of numbers`);
    const given = text(args, 0).trim();
    const match = /^([+-]?)([0-9a-z]+)$/i.exec(given);
    let value = 0n;
    for (const digit of (match?.[2] ?? '!').toLowerCase()) {
      const position = '0123456789abcdefghijklmnopqrstuvwxyz'.indexOf(digit);
      if (position < 0 || BigInt(position) >= radix || value > INT_MAX) {
        return fail(`${quoted(given)} is not an integer`);
      }
      value = value * radix + BigInt(position);
    }
    return int64(match![1] === '-' ? -value : value, () => given);
  },
});
/** Longer texts are not parsed as numbers. */
const NUMBER_LENGTH_MAX = 1000;

define('parse_float', {
  string: (args) => {
    const given = text(args, 0).trim();
    const isValid =
      given.length <= NUMBER_LENGTH_MAX &&
      /^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|inf|infinity|nan)$/i.test(given);
    if (!isValid) return fail(`${quoted(given)} is not a number`);
    const word = given.toLowerCase().replace(/^[+-]/, '');
    const plain = word === 'nan' ? NaN : word.startsWith('inf') ? Infinity : Number(word);
    return given.startsWith('-') ? -plain : plain;
  },
});

const QUOTED_LENGTH = 100;

function quoted(given: string): string {
  const isLong = given.length > QUOTED_LENGTH;
  return JSON.stringify(isLong ? `${given.slice(0, QUOTED_LENGTH)}...` : given);
}

// Strings and characters.

/** The number of characters of the first argument. */
function size(args: Value[]): number {
  return charCount(text(args, 0));
}

function charOf(value: string): Char {
  return new Char(charAt(value, 0));
}

define(
  'len',
  {
    string: (args) => BigInt(size(args)),
    array: (args) => BigInt(array(args).length),
    map: (args) => BigInt(map(args).size),
    range: ([value]) => lengthOf(value as Range),
  },
  ['array', 'map'],
);
TABLE.set('get$len', TABLE.get('len')!);
define('bytes', { string: (args) => BigInt(Buffer.byteLength(text(args, 0))) });
TABLE.set('get$bytes', TABLE.get('bytes')!);
define(
  'is_empty',
  {
    string: (args) => text(args, 0) === '',
    array: (args) => array(args).length === 0,
    map: (args) => map(args).size === 0,
    range: ([value]) => lengthOf(value as Range) === 0n,
  },
  ['string', 'array', 'map'],
);
TABLE.set('get$is_empty', TABLE.get('is_empty')!);
define('to_upper', {
  string: (args) => bounded(text(args, 0).toUpperCase()),
  char: (args) => charOf(text(args, 0).toUpperCase()),
});
define('to_lower', {
  string: (args) => bounded(text(args, 0).toLowerCase()),
  char: (args) => charOf(text(args, 0).toLowerCase()),
});
define('make_upper', {
  string: (args) => changed(bounded(text(args, 0).toUpperCase())),
  char: (args) => changed(charOf(text(args, 0).toUpperCase())),
});
define('make_lower', {
  string: (args) => changed(bounded(text(args, 0).toLowerCase())),
  char: (args) => changed(charOf(text(args, 0).toLowerCase())),
});
define('trim', { string: (args) => changed(text(args, 0).trim()) });
define(
  'contains',
  {
    string: (args) => isIn(args[1]!, args[0]!),
    array: (args) =>
      args[1] instanceof FnPtr ? array(args).includes(args[1]) : isIn(args[1]!, args[0]!),
    map: (args) => isIn(args[1]!, args[0]!),
    range: (args) => isIn(args[1]!, args[0]!),
  },
  ['map'],
);
define('starts_with', { string: (args) => text(args, 0).startsWith(text(args, 1)) }, ['string']);
define('ends_with', { string: (args) => text(args, 0).endsWith(text(args, 1)) }, ['string']);
define('index_of', {
  string: (args) => {
    const whole = text(args, 0);
    const start = clamp(int(args, 2, 0n), size(args));
    const found = whole.indexOf(text(args, 1), offsetOf(whole, start));
    return found < 0 ? -1n : BigInt(charCount(whole.slice(0, found)));
  },
  array: (args, run) => {
    const items = array(args);
    const start = clamp(int(args, 2, 0n), items.length);
    const found = items.findIndex((item, n) => n >= start && isWanted(run, args[1]!, item, n));
    return BigInt(found);
  },
});
define('sub_string', {
  string: (args) => {
    const [begin, end] = span(args, 1, size(args));
    return charSlice(text(args, 0), begin, end);
  },
});
define('crop', {
  string: (args) => {
    const [begin, end] = span(args, 1, size(args));
    return changed(charSlice(text(args, 0), begin, end));
  },
});
define('replace', {
  string: (args) => {
    const [whole, from, to] = [text(args, 0), text(args, 1), text(args, 2)];
    return changed(replacedIn(whole, from, to));
  },
});

/** Replaces occurrences. The length of the result is checked before it is built. */
function replacedIn(whole: string, from: string, to: string): string {
  const count = from === '' ? charCount(whole) + 1 : occurrences(whole, from);
  if (count === 0) return whole;
  boundedLength(whole.length + count * (to.length - from.length));
  chargeItems(count);
  return replaced(whole, from, to);
}

define('split', {
  string: (args) => {
    const whole = text(args, 0);
    if (args.length === 1) {
      // One part more than the limit of an array is enough to fail.
      const parts = whole.trim().split(/\s+/, LIMITS.arrayLength + 1);
      return boundedArray(parts.filter((part) => part !== ''));
    }
    if (typeof args[1] === 'bigint') {
      const position = offsetOf(whole, cutIndex(int(args, 1), size(args)));
      return [whole.slice(0, position), whole.slice(position)];
    }
    return partsOf(whole, text(args, 1), partsMax(args));
  },
  array: (args) => {
    const items = array(args);
    return items.splice(cutIndex(int(args, 1), items.length));
  },
});
define('split_rev', {
  string: (args) => partsFromEnd(text(args, 0), text(args, 1), partsMax(args)),
});

/** The maximum number of parts that the script requests. */
function partsMax(args: Value[]): number {
  return args.length > 2 ? clamp(int(args, 2), LIMITS.arrayLength + 1) : LIMITS.arrayLength + 1;
}

/** @param limit maximum number of parts; the last one holds the rest of the text */
function partsOf(whole: string, separator: string, limit: number): Value[] {
  const parts: Value[] = [];
  if (limit === 0) return parts;
  // With an empty separator there is an empty part before the first and after the last character.
  let begin = 0;
  let end = separator === '' ? 0 : whole.indexOf(separator);
  while (end >= 0 && parts.length < limit - 1) {
    boundedArray(parts).push(whole.slice(begin, end));
    begin = end + separator.length;
    if (separator !== '') end = whole.indexOf(separator, begin);
    else end = begin < whole.length ? begin + charAt(whole, begin).length : -1;
  }
  parts.push(whole.slice(begin));
  return boundedArray(parts);
}

/** Like `partsOf`, but from the end of the text, with the last part first. */
function partsFromEnd(whole: string, separator: string, limit: number): Value[] {
  const parts: Value[] = [];
  if (limit === 0) return parts;
  const before = (end: number): number => {
    if (separator !== '')
      return end < separator.length ? -1 : whole.lastIndexOf(separator, end - separator.length);
    return end === 0 ? -1 : offsetBefore(whole, end);
  };
  let end = whole.length;
  let begin = separator === '' ? end : before(end);
  while (begin >= 0 && parts.length < limit - 1) {
    boundedArray(parts).push(whole.slice(begin + separator.length, end));
    end = begin;
    begin = before(end);
  }
  parts.push(whole.slice(0, end));
  return boundedArray(parts);
}

define('chars to_chars', {
  string: (args) => {
    const [begin, end] = args.length === 1 ? [0, Infinity] : span(args, 1, size(args));
    const chars: Value[] = [];
    let n = 0;
    for (const char of charsOf(text(args, 0))) {
      if (n >= end) break;
      if (n++ >= begin) boundedArray(chars).push(char);
    }
    return boundedArray(chars);
  },
});
define(
  'append',
  {
    string: (args) => changed(joined(text(args, 0), toText(args[1]!))),
    array: (args) => {
      array(args).push(...array(args, 1));
      boundedArray(array(args));
      return null;
    },
  },
  ['string', 'array'],
);

// Functions of arrays and maps, and those that strings share with them.

define(
  'get',
  {
    string: (args) => itemOrUnit(args),
    array: (args) => itemOrUnit(args),
    map: (args) => map(args).get(text(args, 1)) ?? null,
    int: (args) => at(args[0]!, args[1]!),
  },
  ['array', 'map'],
);

function itemOrUnit(args: Value[]): Value {
  const count = Array.isArray(args[0]) ? args[0].length : size(args);
  return positionOf(int(args, 1), count) < 0 ? null : at(args[0]!, args[1]!);
}

/** Replaces the character at a position by another text. */
function withChar(whole: string, position: number, other: string): string {
  const offset = offsetOf(whole, position);
  const end = offset + charAt(whole, offset).length;
  return bounded(whole.slice(0, offset) + other + whole.slice(end));
}

define(
  'set',
  {
    string: (args) => {
      const position = positionOf(int(args, 1), size(args));
      return changed(
        position < 0 ? text(args, 0) : withChar(text(args, 0), position, text(args, 2)),
      );
    },
    array: (args) => {
      const position = positionOf(int(args, 1), array(args).length);
      if (position >= 0) array(args)[position] = copyOf(args[2]!);
      return null;
    },
    map: (args) => {
      map(args).set(text(args, 1), copyOf(args[2]!));
      boundedMap(map(args));
      return null;
    },
  },
  ['array', 'map'],
);
define(
  'set$index',
  {
    string: (args) => {
      const position = positionOf(int(args, 1), size(args));
      if (position < 0) return fail(`The index ${int(args, 1)} is outside of the string`);
      return changed(withChar(text(args, 0), position, text(args, 2)));
    },
    array: (args) => {
      const position = positionOf(int(args, 1), array(args).length);
      if (position < 0)
        return fail(
          `The index ${int(args, 1)} is outside of an array of ${array(args).length} items`,
        );
      array(args)[position] = args[2]!;
      return null;
    },
    int: (args) => {
      const position = positionOf(int(args, 1), 64);
      if (position < 0) return fail(`An integer has no bit ${int(args, 1)}`);
      const mask = 1n << BigInt(position);
      return changed(
        BigInt.asIntN(64, args[2] === true ? int(args, 0) | mask : int(args, 0) & ~mask),
      );
    },
    any: ([value]) => fail(`Nothing can be set by index in ${typeName(value!)}`),
  },
  ['array'],
);
define(
  'push',
  {
    string: (args) => changed(joined(text(args, 0), toText(args[1]!))),
    array: (args) => {
      array(args).push(args[1] === undefined ? fail('`push` takes a value') : copyOf(args[1]));
      boundedArray(array(args));
      return null;
    },
  },
  ['string', 'array'],
);
define(
  'insert',
  {
    array: (args) => {
      const items = array(args);
      items.splice(cutIndex(int(args, 1), items.length), 0, copyOf(args[2]!));
      boundedArray(items);
      return null;
    },
  },
  ['array'],
);
define(
  'pop',
  {
    string: (args) => {
      const whole = text(args, 0);
      if (args.length > 1) {
        const count = size(args);
        const cut = offsetOf(whole, count - clamp(int(args, 1), count));
        return changed(whole.slice(0, cut), whole.slice(cut));
      }
      if (whole === '') return changed('');
      const cut = offsetOf(whole, size(args) - 1);
      return changed(whole.slice(0, cut), new Char(whole.slice(cut)));
    },
    array: (args) => array(args).pop() ?? null,
  },
  ['array'],
);
define('shift', { array: (args) => array(args).shift() ?? null }, ['array']);
define(
  'remove',
  {
    string: (args) =>
      changed(text(args, 1) === '' ? text(args, 0) : replacedIn(text(args, 0), text(args, 1), '')),
    array: (args) => {
      const position = positionOf(int(args, 1), array(args).length);
      return position < 0 ? null : array(args).splice(position, 1)[0]!;
    },
    map: (args) => {
      const value = map(args).get(text(args, 1)) ?? null;
      map(args).delete(text(args, 1));
      return value;
    },
  },
  ['array', 'map'],
);
define(
  'clear',
  {
    string: () => changed(''),
    array: (args) => {
      array(args).length = 0;
      return null;
    },
    map: (args) => {
      map(args).clear();
      return null;
    },
  },
  ['string', 'array', 'map'],
);
define(
  'truncate',
  {
    string: (args) =>
      changed(charSlice(text(args, 0), 0, clamp(int(args, 1), text(args, 0).length))),
    array: (args) => {
      array(args).length = clamp(int(args, 1), array(args).length);
      return null;
    },
  },
  ['array'],
);
define('chop', {
  array: (args) => {
    const items = array(args);
    items.splice(0, items.length - clamp(int(args, 1), items.length));
    return null;
  },
});
define('pad', {
  string: (args) => {
    const whole = text(args, 0);
    const filler = text(args, 2);
    const count = size(args);
    const wanted = int(args, 1);
    if (filler === '' || wanted <= BigInt(count)) return changed(whole);
    // A character has at least one code unit.
    boundedLength(Number(wanted));
    const missing = Number(wanted) - count;
    const fillers = Math.ceil(missing / charCount(filler));
    chargeText(fillers * filler.length);
    boundedLength(whole.length + (fillers - 1) * filler.length);
    return changed(bounded(whole + charSlice(filler.repeat(fillers), 0, missing)));
  },
  array: (args) => {
    const length = int(args, 1);
    if (length > BigInt(LIMITS.arrayLength))
      return fail(`An array has at most ${LIMITS.arrayLength} items`);
    chargeItems(Math.max(0, Number(length) - array(args).length));
    while (array(args).length < Number(length)) array(args).push(copyOf(args[2]!));
    return null;
  },
});
define('reverse', {
  array: (args) => {
    array(args).reverse();
    return null;
  },
});
define('extract', {
  array: (args) => {
    const [begin, end] = span(args, 1, array(args).length);
    return array(args).slice(begin, end).map(copyOf);
  },
});
define('splice', {
  array: (args) => {
    const [begin, end] = span(args, 1, array(args).length);
    const items = args[1] instanceof Range ? array(args, 2) : array(args, 3);
    array(args).splice(begin, end - begin, ...items.map(copyOf));
    boundedArray(array(args));
    return null;
  },
});
define('zip', {
  array: (args, run) => {
    const other = array(args, 1);
    const pairs = array(args).slice(0, other.length);
    return pairs.map((item, n) => run.callPointer(fn(args, 2), [copyOf(item), copyOf(other[n]!)]));
  },
});

// Arrays with functions.

/**
 * Calls a function for an item: with the item's index if the function takes two arguments, and with
 * the item as `this` if it takes none.
 */
function callFor(run: Caller, pointer: Value, item: Value, n: number): Value {
  const closure = pointer instanceof FnPtr ? pointer.closure : null;
  const own = closure === null && pointer instanceof FnPtr ? paramsOf(run, pointer) : null;
  const params = (closure?.fn as { params: number } | undefined)?.params ?? own ?? 1;
  const curried = pointer instanceof FnPtr ? pointer.curried.length : 0;
  const free = params - curried;
  if (free <= 0) return run.callPointer(pointer, [], { v: copyOf(item) });
  return run.callPointer(pointer, free >= 2 ? [copyOf(item), BigInt(n)] : [copyOf(item)]);
}

function paramsOf(run: Caller, pointer: FnPtr): number | null {
  for (const params of [1, 2, 0])
    if (run.script.functions.has(`${pointer.name}/${params}`)) return params;
  return null;
}

function isWanted(run: Caller, wanted: Value, item: Value, n: number): boolean {
  if (wanted instanceof FnPtr) return callFor(run, wanted, item, n) === true;
  return equal(item, wanted);
}

define('map', {
  array: (args, run) => array(args).map((item, n) => callFor(run, fn(args, 1), item, n)),
});
define('filter', {
  array: (args, run) =>
    array(args)
      .filter((item, n) => callFor(run, fn(args, 1), item, n) === true)
      .map(copyOf),
  map: (args, run) => {
    const kept = new ObjectMap();
    for (const [key, value] of map(args)) {
      if (run.callPointer(fn(args, 1), [key, copyOf(value)]) === true) kept.set(key, copyOf(value));
    }
    return kept;
  },
});
define('for_each', {
  array: (args, run) => {
    const items = array(args);
    const pointer = fn(args, 1);
    for (let n = 0; n < items.length; n++) {
      const cell = { v: items[n]! };
      const takesIndex =
        pointer instanceof FnPtr &&
        pointer.closure !== null &&
        (pointer.closure.fn as { params: number }).params > 0;
      run.callPointer(pointer, takesIndex ? [BigInt(n)] : [], cell);
      items[n] = cell.v;
    }
    return null;
  },
});
define('find', {
  array: (args, run) =>
    copyOf(array(args).find((item, n) => callFor(run, fn(args, 1), item, n) === true) ?? null),
});
define('find_map', {
  array: (args, run) => {
    for (const [n, item] of array(args).entries()) {
      const value = callFor(run, fn(args, 1), item, n);
      if (value !== null) return value;
    }
    return null;
  },
});
define('some', {
  array: (args, run) => array(args).some((item, n) => callFor(run, fn(args, 1), item, n) === true),
});
define('all', {
  array: (args, run) => array(args).every((item, n) => callFor(run, fn(args, 1), item, n) === true),
});
function reduction(backwards: boolean): Pure {
  return (args, run) => {
    const items = backwards ? array(args).toReversed() : array(args);
    let value: Value =
      args[2] === undefined
        ? null
        : args[2] instanceof FnPtr
          ? run.callPointer(args[2], [])
          : args[2];
    for (const item of items) value = run.callPointer(fn(args, 1), [value, copyOf(item)]);
    return value;
  };
}
define('reduce', { array: reduction(false) });
define('reduce_rev', { array: reduction(true) });
define('drain', {
  array: (args, run) => {
    const items = array(args);
    if (!(args[1] instanceof FnPtr)) {
      const [begin, end] = span(args, 1, items.length);
      return items.splice(begin, end - begin);
    }
    return divided(items, (item, n) => callFor(run, fn(args, 1), item, n) === true);
  },
  map: (args, run) =>
    dividedMap(
      map(args),
      (key, value) => run.callPointer(fn(args, 1), [key, copyOf(value)]) === true,
    ),
});
define('retain', {
  array: (args, run) => {
    const items = array(args);
    if (!(args[1] instanceof FnPtr)) {
      const [begin, end] = span(args, 1, items.length);
      const kept = items.slice(begin, end);
      const removed = [...items.slice(0, begin), ...items.slice(end)];
      items.splice(0, items.length, ...kept);
      return removed;
    }
    return divided(items, (item, n) => callFor(run, fn(args, 1), item, n) !== true);
  },
  map: (args, run) =>
    dividedMap(
      map(args),
      (key, value) => run.callPointer(fn(args, 1), [key, copyOf(value)]) !== true,
    ),
});

/** Removes the items for which `leaves` is true from `items` and returns them. */
function divided(items: Value[], leaves: (item: Value, n: number) => boolean): Value[] {
  const removed: Value[] = [];
  const kept: Value[] = [];
  items.forEach((item, n) => (leaves(item, n) ? removed : kept).push(item));
  items.splice(0, items.length, ...kept);
  return removed;
}

function dividedMap(whole: ObjectMap, leaves: (key: string, value: Value) => boolean): ObjectMap {
  const removed = new ObjectMap();
  for (const [key, value] of [...whole]) {
    if (!leaves(key, value)) continue;
    removed.set(key, value);
    whole.delete(key);
  }
  return removed;
}

define('dedup', {
  array: (args, run) => {
    const items = array(args);
    const alike = (a: Value, b: Value): boolean =>
      args[1] === undefined
        ? equal(a, b)
        : run.callPointer(fn(args, 1), [copyOf(a), copyOf(b)]) === true;
    const kept = items.filter((item, n) => n === 0 || !alike(items[n - 1]!, item));
    items.splice(0, items.length, ...kept);
    return null;
  },
});

/** Charges for the comparisons of a sort, beyond one for each item. */
function chargeSort(items: readonly Value[]): void {
  chargeItems(items.length * Math.ceil(Math.log2(items.length + 1)));
}

function natural(a: Value, b: Value): number {
  const order = compare(a, b);
  return order === null ? fail('Only an array of values of one type can be sorted') : order || 0;
}

function byFunction(run: Caller, pointer: Value): (a: Value, b: Value) => number {
  return (a, b) => {
    const order = run.callPointer(pointer, [copyOf(a), copyOf(b)]);
    if (typeof order === 'boolean') return order ? -1 : 1;
    return typeof order === 'bigint' || typeof order === 'number' ? Number(order) : 0;
  };
}

define('sort', {
  array: (args, run) => {
    chargeSort(array(args));
    array(args).sort(args[1] === undefined ? natural : byFunction(run, fn(args, 1)));
    return null;
  },
});
define('sort_desc', {
  array: (args) => {
    chargeSort(array(args));
    array(args).sort((a, b) => natural(b, a));
    return null;
  },
});
define('order', {
  array: (args) => {
    chargeSort(array(args));
    return array(args).map(copyOf).sort(natural);
  },
});
define('order_desc', {
  array: (args) => {
    chargeSort(array(args));
    return array(args)
      .map(copyOf)
      .sort((a, b) => natural(b, a));
  },
});

// Maps.

define('keys', { map: (args) => boundedArray(map(args).sortedKeys()) });
define('values', {
  map: (args) =>
    boundedArray(
      map(args)
        .sortedKeys()
        .map((key) => copyOf(map(args).get(key)!)),
    ),
});
define('mixin', {
  map: (args) => {
    for (const [key, value] of map(args, 1)) map(args).set(key, copyOf(value));
    boundedMap(map(args));
    return null;
  },
});
define('fill_with', {
  map: (args) => {
    for (const [key, value] of map(args, 1))
      if (!map(args).has(key)) map(args).set(key, copyOf(value));
    boundedMap(map(args));
    return null;
  },
});
define('to_json', { map: ([value]) => jsonText(value!) });
define('parse_json', {
  string: (args) => {
    const given = text(args, 0);
    boundedLength(given.length);
    chargeItems(given.length);
    return fromJson(parsed(given), 0);
  },
});

function parsed(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return fail('The text is not JSON');
  }
}

function fromJson(value: unknown, depth: number): Value {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value !== 'object' || value === null) return value as Value;
  if (depth === LIMITS.jsonDepth) fail(`JSON is nested deeper than ${LIMITS.jsonDepth} levels`);
  charge(1);
  if (Array.isArray(value)) return boundedArray(value).map((item) => fromJson(item, depth + 1));
  const result = new ObjectMap();
  for (const key in value) {
    result.set(key, fromJson((value as Record<string, unknown>)[key], depth + 1));
    boundedMap(result);
  }
  return result;
}

/**
 * The JSON text of a value. A float without a fraction is written with one. Functions and ranges
 * are written as `null`.
 * @param lengthMax maximum length of the text; a longer one fails
 */
export function jsonText(value: Value, lengthMax?: number): string {
  const text = new BoundedText(lengthMax);
  writeJson(value, text);
  return text.toString();
}

function writeJson(value: Value, text: BoundedText): void {
  if (Array.isArray(value)) {
    text.list('[', value, ']', ',', (item) => writeJson(item, text));
  } else if (value instanceof ObjectMap) {
    text.list('{', value, '}', ',', ([key, item]) => {
      text.add(JSON.stringify(key), ':');
      writeJson(item, text);
    });
  } else text.add(plainJson(value));
}

function plainJson(value: Exclude<Value, Value[] | ObjectMap>): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'number':
      return Number.isFinite(value) ? floatText(value) : 'null';
    case 'string':
      return JSON.stringify(value);
    default:
  }
  return value instanceof Char ? JSON.stringify(value.text) : 'null';
}

// Ranges and function pointers.

function lengthOf(value: Range): bigint {
  return value.afterEnd > value.start ? value.afterEnd - value.start : 0n;
}

define('range', {
  int: (args) => {
    if (args.length <= 2) return new Range(int(args, 0), int(args, 1), false);
    const [start, end, step] = [int(args, 0), int(args, 1), int(args, 2)];
    if (step === 0n) return fail('The step of a range is not zero');
    const items: Value[] = [];
    for (let n = start; step > 0n ? n < end : n > end; n += step) boundedArray(items).push(n);
    return items;
  },
});
define('start get$start', { range: ([value]) => (value as Range).start });
define('end get$end', { range: ([value]) => (value as Range).end });
define('is_inclusive get$is_inclusive', { range: ([value]) => (value as Range).inclusive });
define('is_exclusive get$is_exclusive', { range: ([value]) => !(value as Range).inclusive });
define('name get$name', { fn: ([value]) => (value as FnPtr).name });
define('is_anonymous get$is_anonymous', { fn: ([value]) => (value as FnPtr).closure !== null });
define('call', { fn: ([pointer, ...rest], run) => run.callPointer(pointer!, rest) });
define('curry', {
  fn: ([pointer, ...rest]) => {
    const { name, curried, closure } = pointer as FnPtr;
    chargeItems(curried.length);
    boundedArray([...curried, ...rest]);
    return new FnPtr(name, [...curried, ...rest], closure);
  },
});
