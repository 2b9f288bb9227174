/**
 * Parses JSON without losing anything that a check or an id needs: the nesting limit, the position
 * of a fault, and how a number was written.
 */
import { isUtf8 } from 'node:buffer';
import { JsonCursor, type Making, UnexpectedCharacter } from './json-cursor.ts';
import { err, ok, type Result } from './result.ts';

/** Deepest nesting of arrays and objects. */
export const JSON_DEPTH_MAX = 128;

/** Values in one text: they take many times the memory of the text. */
export const JSON_VALUES_MAX = 2_000_000;

/**
 * The greatest double below 2^64. Greater 64-bit integers would be rounded up to 2^64, and a
 * response that repeats them would contain a number beyond 64 bits.
 */
export const INTEGER_DOUBLE_MAX = 18_446_744_073_709_549_568;

/** A number whose value does not show how it was written: `2.0`, `1e3`, `18446744073709551616`. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  get value(): number {
    return Math.min(Number(this.text), this.isInteger ? INTEGER_DOUBLE_MAX : Infinity);
  }

  /** Integer fields accept nothing else, number fields accept all. */
  get isInteger(): boolean {
    return isInteger64(this.text);
  }

  toJSON(): number {
    return this.value;
  }
}

/** A value that is only passed on, as JSON. For its storage see `long-values.ts`. */
export class RawJson {
  #bytes: Buffer | null;
  #text: string | null;

  /** @param json a text, or its UTF-8 */
  constructor(json: Buffer | string) {
    this.#bytes = typeof json === 'string' ? null : json;
    this.#text = typeof json === 'string' ? json : null;
  }

  /** UTF-8. */
  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.#text!));
  }

  get text(): string {
    return this.#text ?? this.#bytes!.toString();
  }

  toJSON(): unknown {
    return leavesOut() ? null : JSON.parse(this.text);
  }
}

/**
 * The JSON of a number in a field of fractions: whole numbers get a fraction too, which typed
 * clients rely on.
 */
export function floatText(value: number): string {
  const text = JSON.stringify(value === 0 ? 0 : value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

/**
 * A number of a field of fractions, in a value that leaves this process: `jsonString` writes it as
 * `floatText` does.
 */
export class JsonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  toJSON(): unknown {
    return leavesOut() ? null : this.value;
  }
}

/** Set while `jsonString` calls `JSON.stringify`: whether it has met a part with its own text. */
let writing: { hasParts: boolean } | null = null;

function leavesOut(): boolean {
  if (writing === null) return false;
  writing.hasParts = true;
  return true;
}

/**
 * Like `JSON.stringify`, but {@link RawJson} parts are inserted as they are, and {@link JsonFloat}s
 * are written as floats. REQUIRES: JSON can represent the value, and nothing that has such parts
 * has a `toJSON`
 */
export function jsonString(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (value instanceof JsonFloat) return floatText(value.value);
  const mine = { hasParts: false };
  writing = mine;
  let text: string;
  try {
    text = JSON.stringify(value);
  } finally {
    writing = null;
  }
  if (!mine.hasParts) return text;
  if (Array.isArray(value)) {
    return `[${value.map((one) => (one === undefined ? 'null' : jsonString(one))).join(',')}]`;
  }
  const members = Object.entries(value as object)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${JSON.stringify(name)}:${jsonString(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * Matches a text or member whose number `JSON.parse` would turn into an integer although it is not
 * written as one. Array elements are excluded on purpose: vectors are long. Callers that need them
 * exactly set `exact`.
 */
const DISGUISED_INTEGER = /(?:^|:)\s*-?\d+(?:\.0+(?![0-9])|\.?\d*[eE]|(?<=\d{16}))/;

export interface JsonOptions {
  /**
   * Every number whose value does not show how it was written is a {@link JsonNumber}, also in
   * arrays.
   */
  exact?: boolean;
}

/**
 * Parses a whole text. Numbers that are not written as 64-bit integers, though their value may be
 * integral, become {@link JsonNumber}s. The error is the reason with line and column, without a
 * final full stop.
 */
export function parseJson(
  bytes: Buffer,
  { exact = false }: JsonOptions = {},
): Result<unknown, string> {
  if (!isUtf8(bytes)) return err('the text is not valid UTF-8');
  if (!isSmall(bytes)) {
    const { depth, values } = shapeOf(bytes);
    if (depth > JSON_DEPTH_MAX) return err(`it is nested deeper than ${JSON_DEPTH_MAX} levels`);
    if (values > JSON_VALUES_MAX) return err(`it has more than ${JSON_VALUES_MAX} values`);
  }
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return err(reasonOf(error as Error, text));
  }
  const half = halfCharacterAt(text);
  if (half >= 0) return err(`half a character ${whereIs(text, half)}`);
  return ok(exact || DISGUISED_INTEGER.test(text) ? readLossless(text) : value);
}

/**
 * Objects and arrays in a text that is not a request: each takes up to thirty times the memory of
 * its two brackets.
 */
export const JSON_CONTAINERS_MAX = 2_000_000;

/**
 * Why a text must not be parsed: it would take many times its bytes, or is nested too deeply. Null:
 * it may be parsed.
 */
export function excessIn(bytes: Buffer): string | null {
  if (isSmall(bytes)) return null;
  const { depth, containers } = shapeOf(bytes);
  if (depth > JSON_DEPTH_MAX) return `it is nested deeper than ${JSON_DEPTH_MAX} levels`;
  if (containers > JSON_CONTAINERS_MAX) {
    return `it has more than ${JSON_CONTAINERS_MAX} objects and arrays`;
  }
  return null;
}

/** Another server has sent JSON that must not be parsed. */
export class ExcessiveJson extends Error {
  override readonly name = 'ExcessiveJson';
}

/** Shorter responses are parsed whatever they contain. */
const RESPONSE_BYTES_FREE = 1024 * 1024;

/** Parses the response of another server. Throws `ExcessiveJson` or a `SyntaxError`. */
export function parseResponse(bytes: Buffer): unknown {
  const excess = bytes.length > RESPONSE_BYTES_FREE ? excessIn(bytes) : null;
  if (excess !== null) throw new ExcessiveJson(excess);
  return JSON.parse(bytes.toString());
}

/**
 * Whether a text has too few bytes for more values than allowed, and too few opening brackets for
 * more levels. Other texts are read byte by byte, which takes as long as parsing them.
 */
function isSmall(bytes: Buffer): boolean {
  if (bytes.length > JSON_VALUES_MAX) return false;
  let opened = 0;
  for (const bracket of [0x5b, 0x7b]) {
    for (let at = bytes.indexOf(bracket); at >= 0; at = bytes.indexOf(bracket, at + 1)) {
      if (++opened > JSON_DEPTH_MAX) return false;
    }
  }
  return true;
}

/**
 * The deepest nesting, an upper bound of the number of values, and the number of objects and
 * arrays.
 */
function shapeOf(bytes: Buffer): { depth: number; values: number; containers: number } {
  let containers = 0;
  let depth = 0;
  let deepest = 0;
  let values = 1;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (inString) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x2c) values++;
    else if (byte === 0x5b || byte === 0x7b) {
      values++;
      containers++;
      if (++depth > deepest) deepest = depth;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return { depth: deepest, values, containers };
}

function reasonOf(error: Error, text: string): string {
  const position = /position (\d+)/.exec(error.message);
  const at = position === null ? faultAt(text) : Number(position[1]);
  const what =
    at >= text.length
      ? 'the text ends before the value is complete'
      : `unexpected character ${JSON.stringify(text[at])}`;
  return `${what} ${whereIs(text, at)}`;
}

function whereIs(text: string, at: number): string {
  let line = 1;
  let lineStart = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', lineStart)) {
    line++;
    lineStart = end + 1;
  }
  return `at line ${line}, column ${at - lineStart + 1}`;
}

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** An escape; of surrogates a pair, or the half of one in the group. */
const ESCAPE =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)/g;

/**
 * The position of an escape that is half of a surrogate pair, -1 if there is none. `JSON.parse`
 * accepts it, but no UTF-8 represents it. REQUIRES: `text` is JSON, made from UTF-8
 */
export function halfCharacterAt(text: string): number {
  if (!SURROGATE_ESCAPE.test(text)) return -1;
  for (const escape of text.matchAll(ESCAPE)) if (escape[1] !== undefined) return escape.index;
  return -1;
}

/**
 * The position at which a text stops being JSON, for faults where `JSON.parse` shows only the
 * context.
 */
function faultAt(text: string): number {
  try {
    readLossless(text);
  } catch (error) {
    if (error instanceof UnexpectedCharacter) return error.at;
  }
  return text.length;
}

/** Values and {@link JsonNumber}s. */
const LOSSLESS: Making<unknown> = {
  number: numberOf,
  object() {
    const object: Record<string, unknown> = {};
    return [
      object,
      (name, value) => {
        if (name !== '__proto__') object[name] = value;
        else {
          const own = { value, writable: true, enumerable: true, configurable: true };
          Object.defineProperty(object, name, own);
        }
      },
    ];
  },
};

/** Throws `UnexpectedCharacter` at a character that is not allowed there. */
function readLossless(text: string): unknown {
  const cursor = new JsonCursor(text);
  const value = cursor.value(LOSSLESS);
  cursor.end();
  return value;
}

function numberOf(token: string): unknown {
  const number = Number(token);
  // The value of a plain integer shows how it was written, and a fraction is no integer in any
  // form.
  if (/^-?\d{1,15}$/.test(token) || (token.includes('.') && !Number.isInteger(number)))
    return number;
  return new JsonNumber(token);
}

/** Replaces each `JsonNumber` by a plain number, in place. */
export function plainNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof JsonNumber) return value.value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const element: unknown = value[i];
      if (typeof element === 'object' && element !== null) value[i] = plainNumbers(element);
    }
    return value;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member instanceof JsonNumber) (value as Record<string, unknown>)[name] = member.value;
    else plainNumbers(member);
  }
  return value;
}

/**
 * The JSON of a value with numbers as they were written: for values from `parseJson` with `exact`.
 */
export function losslessText(value: unknown): string {
  if (value instanceof JsonNumber) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(losslessText).join(',')}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${JSON.stringify(name)}:${losslessText(member)}`);
  return `{${members.join(',')}}`;
}

/** The text of an id: a string as it is, anything else as its JSON text. */
export function exactText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof JsonNumber ? value.text : JSON.stringify(value);
}

/**
 * Whether the text of a JSON number is an integer from -2^63 to 2^64 - 1, without fraction or
 * exponent.
 */
export function isInteger64(integer: string): boolean {
  if (/[.eE]/.test(integer)) return false;
  if (integer.length < 18) return true;
  const value = BigInt(integer);
  return value >= -(2n ** 63n) && value < 2n ** 64n;
}

/** Compact JSON for a message, cut when long. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 100 ? text : `${text.slice(0, 97)}...`;
}

/** Compares in code point order, as UTF-8 bytes would; JavaScript's `<` differs beyond the BMP. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      const xHigh = x >= 0xd800 && x <= 0xdfff;
      const yHigh = y >= 0xd800 && y <= 0xdfff;
      // A surrogate represents a code point above every other code unit.
      if (xHigh !== yHigh) return xHigh ? 1 : -1;
      return x - y;
    }
  }
  return a.length - b.length;
}

/** Sorts texts by `compareUtf8`, in place. */
export function sortUtf8(texts: string[]): string[] {
  // Without surrogates this is JavaScript's own order, whose comparison is many times as fast.
  return texts.some((text) => /[\ud800-\uffff]/.test(text))
    ? texts.sort(compareUtf8)
    : // oxlint-disable-next-line unicorn/require-array-sort-compare -- the order of code units
      texts.sort();
}
