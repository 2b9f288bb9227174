/**
 * The operators of the language. Rhai book, "Operators", "Integer/Float arithmetic", "Arrays",
 * "Strings", "Object Maps".
 */
import { fail } from './errors.ts';
import { chargeItems, chargeText } from './meter.ts';
import { charAt, charCount, charSlice, occurrences, offsetOf, replaced } from './text.ts';
import {
  boundedArray,
  boundedMap,
  Char,
  compare,
  copyOf,
  equal,
  int64,
  joined,
  ObjectMap,
  Range,
  toText,
  typeName,
  type Value,
} from './values.ts';

type Binary = (a: Value, b: Value) => Value;

export function truth(value: Value): boolean {
  return typeof value === 'boolean'
    ? value
    : fail(`A condition is a boolean, not ${typeName(value)}`);
}

function mismatch(op: string, a: Value, b: Value): never {
  return fail(`\`${op}\` is not defined for ${typeName(a)} and ${typeName(b)}`);
}

function isNumber(value: Value): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number';
}

function arithmetic(
  op: string,
  integers: (a: bigint, b: bigint) => bigint,
  floats: (a: number, b: number) => number,
): Binary {
  return (a, b) => {
    if (typeof a === 'bigint' && typeof b === 'bigint')
      return int64(integers(a, b), () => `${a} ${op} ${b}`);
    if (isNumber(a) && isNumber(b)) return floats(Number(a), Number(b));
    return mismatch(op, a, b);
  };
}

function divisor(b: bigint): bigint {
  return b === 0n ? fail('Division by zero') : b;
}

const plus = arithmetic(
  '+',
  (a, b) => a + b,
  (a, b) => a + b,
);

function add(a: Value, b: Value): Value {
  if (isNumber(a) && isNumber(b)) return plus(a, b);
  if (Array.isArray(a))
    return boundedArray(
      Array.isArray(b) ? [...a.map(copyOf), ...b.map(copyOf)] : [...a.map(copyOf), copyOf(b)],
    );
  if (a instanceof ObjectMap && b instanceof ObjectMap) {
    const sum = copyOf(a) as ObjectMap;
    for (const [key, value] of b) sum.set(key, copyOf(value));
    return boundedMap(sum);
  }
  const textual = (value: Value): boolean => typeof value === 'string' || value instanceof Char;
  if (typeof a === 'string' || typeof b === 'string' || (textual(a) && textual(b))) {
    return joined(toText(a), toText(b));
  }
  return mismatch('+', a, b);
}

const minus = arithmetic(
  '-',
  (a, b) => a - b,
  (a, b) => a - b,
);

function subtract(a: Value, b: Value): Value {
  // For a text, all occurrences of the other text are removed.
  if (typeof a === 'string' && (typeof b === 'string' || b instanceof Char)) {
    const text = toText(b);
    chargeText(a.length);
    if (text === '') return a;
    chargeItems(occurrences(a, text));
    return replaced(a, text, '');
  }
  return minus(a, b);
}

/** Maximum size of the result of a power in bits. A greater result overflows anyway. */
const POWER_BITS_MAX = 64n;

const power = arithmetic(
  '**',
  (a, b) => {
    if (b < 0n) return fail('The exponent of an integer is not negative');
    if (a === 0n || a === 1n) return b === 0n ? 1n : a;
    if (a === -1n) return b % 2n === 0n ? 1n : -1n;
    if (b > POWER_BITS_MAX) return fail(`Integer overflow: ${a} ** ${b}`);
    return a ** b;
  },
  (a, b) => a ** b,
);

function bits(
  op: string,
  integers: (a: bigint, b: bigint) => bigint,
  booleans: ((a: boolean, b: boolean) => boolean) | null,
): Binary {
  return (a, b) => {
    if (typeof a === 'bigint' && typeof b === 'bigint') return BigInt.asIntN(64, integers(a, b));
    if (booleans !== null && typeof a === 'boolean' && typeof b === 'boolean')
      return booleans(a, b);
    return mismatch(op, a, b);
  };
}

function shift(left: boolean): Binary {
  return bits(
    left ? '<<' : '>>',
    (a, b) => {
      const up = left ? b : -b;
      // A shift by 64 or more bits gives 0.
      if (up >= 64n) return 0n;
      if (up <= -64n) return a < 0n ? -1n : 0n;
      return up >= 0n ? a << up : a >> -up;
    },
    null,
  );
}

function ordered(test: (order: number) => boolean): Binary {
  return (a, b) => {
    const order = compare(a, b);
    // Values of different types have no order, so all comparisons are false.
    return order !== null && test(order);
  };
}

function range(inclusive: boolean): Binary {
  return (a, b) => {
    if (typeof a === 'bigint' && typeof b === 'bigint') return new Range(a, b, inclusive);
    return mismatch(inclusive ? '..=' : '..', a, b);
  };
}

/** Whether `value in container` is true. */
export function isIn(value: Value, container: Value): boolean {
  if (Array.isArray(container)) {
    chargeItems(container.length);
    return container.some((item) => equal(item, value));
  }
  if (container instanceof ObjectMap) return typeof value === 'string' && container.has(value);
  if (typeof container === 'string' && (typeof value === 'string' || value instanceof Char)) {
    chargeText(container.length);
    return container.includes(toText(value));
  }
  if (container instanceof Range) {
    return typeof value === 'bigint' && value >= container.start && value < container.afterEnd;
  }
  return mismatch('in', value, container);
}

const BINARY: Record<string, Binary> = {
  '+': add,
  '-': subtract,
  '*': arithmetic(
    '*',
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  '/': arithmetic(
    '/',
    (a, b) => a / divisor(b),
    (a, b) => a / b,
  ),
  '%': arithmetic(
    '%',
    (a, b) => a % divisor(b),
    (a, b) => a % b,
  ),
  '**': power,
  '<<': shift(true),
  '>>': shift(false),
  '&': bits(
    '&',
    (a, b) => a & b,
    (a, b) => a && b,
  ),
  '|': bits(
    '|',
    (a, b) => a | b,
    (a, b) => a || b,
  ),
  '^': bits(
    '^',
    (a, b) => a ^ b,
    (a, b) => a !== b,
  ),
  '==': equal,
  '!=': (a, b) => !equal(a, b),
  '<': ordered((order) => order < 0),
  '<=': ordered((order) => order <= 0),
  '>': ordered((order) => order > 0),
  '>=': ordered((order) => order >= 0),
  in: (a, b) => isIn(a, b),
  '..': range(false),
  '..=': range(true),
};

export function binaryOperation(op: string): Binary {
  return BINARY[op]!;
}

export function unaryOperation(op: string, value: Value): Value {
  if (op === '!')
    return typeof value === 'boolean'
      ? !value
      : fail(`\`!\` is not defined for ${typeName(value)}`);
  if (!isNumber(value)) return fail(`\`${op}\` is not defined for ${typeName(value)}`);
  if (op === '+') return value;
  return typeof value === 'bigint' ? int64(-value, () => `-(${value})`) : -value;
}

/**
 * The position that an index means in a list of `length` items. A negative index counts from the
 * end.
 * @returns -1 if there is no such position
 */
export function positionOf(index: bigint, length: number): number {
  const position = index < 0n ? BigInt(length) + index : index;
  return position >= 0n && position < BigInt(length) ? Number(position) : -1;
}

/** Evaluates `value[key]`. */
export function at(value: Value, key: Value): Value {
  if (value instanceof ObjectMap) {
    if (typeof key === 'string') chargeText(key.length);
    return typeof key === 'string'
      ? (value.get(key) ?? null)
      : fail(`The key of a map is a string, not ${typeName(key)}`);
  }
  if (Array.isArray(value)) {
    if (typeof key !== 'bigint')
      return fail(`The index of an array is an integer, not ${typeName(key)}`);
    const position = positionOf(key, value.length);
    return position < 0
      ? fail(`The index ${key} is outside of an array of ${value.length} items`)
      : value[position]!;
  }
  if (typeof value === 'string') {
    chargeText(value.length);
    const count = charCount(value);
    if (key instanceof Range) {
      return charSlice(value, clamp(key.start, count), clamp(key.afterEnd, count));
    }
    if (typeof key !== 'bigint')
      return fail(`The index of a string is an integer, not ${typeName(key)}`);
    const position = positionOf(key, count);
    return position < 0
      ? fail(`The index ${key} is outside of a string of ${count} characters`)
      : new Char(charAt(value, offsetOf(value, position)));
  }
  if (typeof value === 'bigint' && typeof key === 'bigint') {
    const position = positionOf(key, 64);
    return position < 0
      ? fail(`An integer has no bit ${key}`)
      : ((value >> BigInt(position)) & 1n) === 1n;
  }
  return fail(`${typeName(value)} has no index`);
}

export function clamp(value: bigint, max: number): number {
  return value < 0n ? 0 : value > BigInt(max) ? max : Number(value);
}
