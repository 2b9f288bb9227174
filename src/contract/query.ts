/**
 * Query strings: the same schemas as bodies, with texts converted to the declared types.
 *
 * The syntax of a parameter follows from its type (integer, number, boolean, string) or from
 * `x-query`:
 * - `comma-list`: split at commas, empty pieces dropped, pieces not trimmed
 * - `star-list`: the same, and a piece `*` removes the restriction; the other pieces are still
 *   checked
 * - `sort-list`: split at commas outside parentheses, pieces trimmed, one pair of double quotes
 *   removed
 * - `json-or-text`: the text parsed as JSON, or the text itself when it is not JSON
 * - `date-after`, `date-before`: a moment in milliseconds; `*` removes the restriction
 */
import { excessIn, halfCharacterAt, INTEGER_DOUBLE_MAX, RawJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import type { Declared, Static } from './declare.ts';
import { ApiError } from './errors.ts';
import { parsePlainDate, parseRfc3339 } from './formats.ts';
import { acceptedNames, Fault, unknownEnumValue, unknownParameter } from './schema-faults.ts';
import type { Schema } from './schema.ts';
import { compile, type Check } from './validator.ts';

export interface QueryParser<T> {
  readonly schema: Schema;
  /** @param raw the text after `?`, still encoded */
  parse(raw: string): Result<T, ApiError>;
}

type Read = (text: string) => { value: unknown } | Fault;

const DAY_MS = 86_400_000;

export function queryParser<S extends Declared>(schema: S): QueryParser<Static<S>> {
  const accepted = acceptedNames(schema);
  const readers = new Map<string, Read>(
    Object.entries<Schema>(schema.properties ?? {}).map(([name, property]) => [
      name,
      reader(property),
    ]),
  );
  return {
    schema,
    parse(raw) {
      const result: Record<string, unknown> = {};
      if (raw !== '') {
        // The last value of a repeated parameter counts; only that one is parsed.
        for (const [name, text] of new Map(formPairs(raw))) {
          const read = readers.get(name);
          if (read === undefined) return err(unknownParameter(name, accepted));
          const outcome = read(text);
          if (outcome instanceof Fault) {
            outcome.path = name + outcome.path;
            return err(outcome.toError());
          }
          result[name] = outcome.value;
        }
      }
      for (const name of schema.required ?? []) {
        if (!Object.hasOwn(result, name)) {
          const code = schema.properties?.[name]?.['x-missing-code'] ?? 'bad_request';
          return err(new ApiError(code, `Missing parameter \`${name}\`.`));
        }
      }
      return ok(result as Static<S>);
    },
  };
}

/** Decoded name and value pairs of `application/x-www-form-urlencoded` text, in order. */
export function formPairs(raw: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (const piece of raw.split('&')) {
    if (piece === '') continue;
    const equals = piece.indexOf('=');
    pairs.push(
      equals < 0
        ? [formDecode(piece), '']
        : [formDecode(piece.slice(0, equals)), formDecode(piece.slice(equals + 1))],
    );
  }
  return pairs;
}

function formDecode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  return percentDecode(spaced);
}

/** Percent-decodes; invalid sequences become replacement characters or stay as they are. */
export function percentDecode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    const bytes: number[] = [];
    const source = Buffer.from(text);
    for (let i = 0; i < source.length; i++) {
      const pair = source.toString('latin1', i + 1, i + 3);
      if (source[i] === 0x25 && /^[0-9a-fA-F]{2}$/.test(pair)) {
        bytes.push(Number.parseInt(pair, 16));
        i += 2;
      } else bytes.push(source[i]!);
    }
    return Buffer.from(bytes).toString('utf8');
  }
}

function reader(schema: Schema): Read {
  const code = schema['x-code'] ?? 'bad_request';
  const items = schema.items;
  switch (schema['x-query']) {
    case 'comma-list':
      return listReader(schema, reader({ ...items, 'x-code': code }), false);
    case 'star-list':
      return listReader(schema, reader({ ...items, 'x-code': code }), true);
    case 'sort-list':
      return sortReader(schema);
    case 'json-or-text':
      return schema['x-lossless'] === true ? losslessReader : jsonReader;
    case 'date-after':
      return dateReader(code, DAY_MS);
    case 'date-before':
      return dateReader(code, 0);
    default:
      return scalarReader(schema, code);
  }
}

/**
 * A value nested too deeply, or with half a character, stays a text: as JSON it could not be
 * written again, for instance in a message.
 */
function jsonReader(text: string): { value: unknown } {
  if (excessIn(Buffer.from(text)) !== null) return { value: text };
  try {
    const value = JSON.parse(text) as unknown;
    return { value: halfCharacterAt(text) < 0 ? value : text };
  } catch {
    return { value: text };
  }
}

function losslessReader(text: string): { value: unknown } {
  const { value } = jsonReader(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return { value: isObject ? new RawJson(text.trim()) : value };
}

function listReader(schema: Schema, readItem: Read, starred: boolean): Read {
  const check = compile(schema);
  return (text) => {
    const pieces = text.split(',').filter((piece) => piece !== '');
    const values: unknown[] = [];
    let everything = false;
    for (const [i, piece] of pieces.entries()) {
      if (starred && piece === '*') {
        everything = true;
        continue;
      }
      const outcome = readItem(piece);
      if (outcome instanceof Fault) {
        return pieces.length > 1 ? outcome.under(`[${i}]`) : outcome;
      }
      values.push(outcome.value);
    }
    return (starred ? null : check(values)) ?? { value: everything ? undefined : values };
  };
}

function sortReader(schema: Schema): Read {
  const check = compile(schema);
  return (text) => {
    const value = splitSort(text);
    return check(value) ?? { value };
  };
}

/** The elements of a `sort-list`. */
export function splitSort(text: string): string[] {
  const bare =
    text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  const elements: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i <= bare.length; i++) {
    const char = bare[i];
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === undefined || (char === ',' && depth <= 0)) {
      // An empty element stays: it is a syntax error, not the absence of a sort.
      elements.push(bare.slice(start, i).trim());
      start = i + 1;
    }
  }
  return elements;
}

function scalarReader(schema: Schema, code: NonNullable<Schema['x-code']>): Read {
  const check = compile(schema);
  const checked = (value: unknown): { value: unknown } | Fault => check(value) ?? { value };
  switch (schema.type) {
    case 'integer':
      return (text) =>
        /^\+?\d+$/.test(text) && BigInt(text) < 2n ** 64n
          ? checked(Math.min(Number(text), INTEGER_DOUBLE_MAX))
          : expected(code, text, 'a non-negative integer');
    case 'number':
      return (text) =>
        /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))
          ? checked(Number(text))
          : expected(code, text, 'a number');
    case 'boolean':
      return (text) => {
        const word = schema['x-ignore-case'] === true ? text.toLowerCase() : text;
        if (word === 'true' || word === 'false') return { value: word === 'true' };
        return expected(code, text, '`true` or `false`');
      };
    default:
      return schema.enum !== undefined && schema['x-ignore-case'] === true
        ? ignoringCase(schema.enum, code)
        : textReader(check);
  }
}

function textReader(check: Check): Read {
  return (text) => check(text) ?? { value: text };
}

function ignoringCase(names: readonly string[], code: NonNullable<Schema['x-code']>): Read {
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]));
  return (text) => {
    const name = byLowerCase.get(text.toLowerCase());
    return name === undefined ? unknownEnumValue(code, text, names) : { value: name };
  };
}

function dateReader(code: NonNullable<Schema['x-code']>, plainShiftMs: number): Read {
  return (text) => {
    if (text === '*') return { value: undefined };
    const day = parsePlainDate(text);
    if (day !== undefined) return { value: day + plainShiftMs };
    const moment = parseRfc3339(text);
    if (moment !== undefined) return { value: moment };
    return expected(code, text, 'a date as RFC 3339 (`2042-05-23T12:00:00Z`) or as `YYYY-MM-DD`');
  };
}

function expected(code: NonNullable<Schema['x-code']>, text: string, what: string): Fault {
  return new Fault(
    code,
    (at) =>
      `Invalid value${at.replace(' at ', ' in parameter ')}: expected ${what}, but found \`${text}\`.`,
  );
}
