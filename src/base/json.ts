/**
 * JSON text to values, where `JSON.parse` alone loses something: the nesting limit, the position of a
 * fault, and how a number was written.
 */
import { isUtf8 } from 'node:buffer';
import { err, ok, type Result } from './result.ts';

/** Deepest nesting of arrays and objects. */
export const JSON_DEPTH_MAX = 128;

/**
 * A number that is not written as an integer of 64 bits although its value may be integral: `2.0`,
 * `1e3`, `18446744073709551616`. Integer fields refuse it, number fields take it.
 */
export class JsonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }

  toJSON(): number {
    return this.value;
  }
}

export interface ParsedJson {
  value: unknown;
  /** The same value with {@link JsonFloat} in the places of such numbers, for validation only. */
  marked: unknown;
}

/**
 * A text or member whose number `JSON.parse` would turn into an integer although it is not written as one.
 * Array elements are left out on purpose: vectors are long. Who checks an array of integers asks
 * {@link isInteger64} of its elements.
 */
const DISGUISED_INTEGER = /(?:^|:)\s*-?\d+(?:\.0+(?![0-9])|\.?\d*[eE]|(?<=\d{16}))/;

/** Parses a whole text. The error is the reason with line and column, without a final full stop. */
export function parseJson(bytes: Buffer): Result<ParsedJson, string> {
  if (!isUtf8(bytes)) return err('the text is not valid UTF-8');
  const text = bytes.toString('utf8');
  // A text too short for that many brackets cannot be too deep.
  if (text.length > 2 * JSON_DEPTH_MAX && depthOf(bytes) > JSON_DEPTH_MAX) {
    return err(`it is nested deeper than ${JSON_DEPTH_MAX} levels`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return err(reasonOf(error as Error, text));
  }
  const marked = DISGUISED_INTEGER.test(text) ? parseMarked(text) : value;
  return ok({ value, marked });
}

function depthOf(bytes: Buffer): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (inString) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === 0x5d || byte === 0x7d) depth--;
  }
  return deepest;
}

function reasonOf(error: Error, text: string): string {
  const position = /position (\d+)/.exec(error.message);
  const at = position === null ? faultAt(text) : Number(position[1]);
  const before = text.slice(0, at);
  const line = before.split('\n').length;
  const column = at - before.lastIndexOf('\n');
  const what =
    at >= text.length
      ? 'the text ends before the value is complete'
      : `unexpected character ${JSON.stringify(text[at])}`;
  return `${what} at line ${line}, column ${column}`;
}

/** Where a text stops being JSON, for the faults of which `JSON.parse` shows the surroundings only. */
function faultAt(text: string): number {
  try {
    parseMarked(text);
  } catch (error) {
    if (error instanceof Unexpected) return error.at;
  }
  return text.length;
}

class Unexpected extends Error {
  readonly at: number;

  constructor(at: number) {
    super();
    this.at = at;
  }
}

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Reads a text of JSON, marking the numbers. Throws where something else stands than may stand there. */
function parseMarked(text: string): unknown {
  let at = 0;

  function skip(): void {
    while (at < text.length && ' \n\r\t'.includes(text[at]!)) at++;
  }

  function expect(accepted: string): void {
    skip();
    if (!accepted.includes(text[at] ?? ' ')) throw new Unexpected(at);
  }

  function string(): string {
    const start = at++;
    while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
    if (at >= text.length) throw new Unexpected(text.length);
    at++;
    return JSON.parse(text.slice(start, at)) as string;
  }

  function value(): unknown {
    skip();
    const first = text[at]!;
    if (first === '"') return string();
    if (first === '{') {
      const members: [string, unknown][] = [];
      at++;
      expect('"}');
      while (text[at] !== '}') {
        if (members.length > 0) at++;
        expect('"');
        const name = string();
        expect(':');
        at++;
        members.push([name, value()]);
        expect(',}');
      }
      at++;
      return Object.fromEntries(members);
    }
    if (first === '[') {
      const elements: unknown[] = [];
      at++;
      skip();
      while (text[at] !== ']') {
        if (elements.length > 0) at++;
        elements.push(value());
        expect(',]');
      }
      at++;
      return elements;
    }
    const start = at;
    while (at < text.length && !',]} \n\r\t'.includes(text[at]!)) at++;
    const token = text.slice(start, at);
    if (!SCALAR.test(token)) throw new Unexpected(start);
    return scalar(token);
  }

  return value();
}

function scalar(token: string): unknown {
  if (token === 'true') return true;
  if (token === 'false') return false;
  if (token === 'null') return null;
  const number = Number(token);
  return isInteger64(token) ? number : new JsonFloat(number);
}

/** Whether the text of a JSON number is an integer from -2^63 to 2^64 - 1, without fraction or exponent. */
export function isInteger64(integer: string): boolean {
  if (/[.eE]/.test(integer)) return false;
  if (integer.length < 18) return true;
  const value = BigInt(integer);
  return value >= -(2n ** 63n) && value < 2n ** 64n;
}

/** The raw texts of the elements of an array. `text` is a valid JSON array. */
export function arrayElements(text: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = text.indexOf('[') + 1;
  for (let at = start; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') {
      for (at++; text[at] !== '"'; at++) if (text[at] === '\\') at++;
    } else if (char === '[' || char === '{') depth++;
    else if (char === ']' || char === '}') {
      if (depth-- === 0) {
        const last = text.slice(start, at).trim();
        if (last !== '' || elements.length > 0) elements.push(last);
        return elements;
      }
    } else if (char === ',' && depth === 0) {
      elements.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  return elements;
}

/**
 * The raw text of the value of a top-level member, the last one when the name occurs twice; undefined
 * when absent. `text` is a valid JSON object.
 */
export function memberText(text: string, name: string): string | undefined {
  const body = text.trim();
  // The members of an object are delimited like the elements of an array.
  let found: string | undefined;
  for (const member of arrayElements(`[${body.slice(1, -1)}]`)) {
    const close = endOfString(member);
    if (close > 0 && JSON.parse(member.slice(0, close)) === name) {
      found = member.slice(member.indexOf(':', close) + 1).trim();
    }
  }
  return found;
}

function endOfString(text: string): number {
  if (text[0] !== '"') return 0;
  let at = 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

/** Compact JSON for a message, cut when long. */
export function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= 100 ? text : `${text.slice(0, 97)}...`;
}

/** Code unit order of UTF-8 bytes equals code point order; JavaScript's `<` is not that beyond the BMP. */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) {
      const xHigh = x >= 0xd800 && x <= 0xdfff;
      const yHigh = y >= 0xd800 && y <= 0xdfff;
      // A surrogate stands for a code point above every other code unit.
      if (xHigh !== yHigh) return xHigh ? 1 : -1;
      return x - y;
    }
  }
  return a.length - b.length;
}
