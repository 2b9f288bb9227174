/**
 * Schemas of bodies and query strings, and what they compile to.
 *
 * A schema is JSON Schema (2020-12, the keywords of {@link Schema} only), so that the same object is
 * published in the OpenAPI document. The `x-` keywords add what JSON Schema has no word for: which error
 * code a fault has. The keys of an object are visited in the order of the payload and the first fault
 * ends the visit; required keys are looked for afterwards. General validators visit in the order of the
 * schema, which is why this file walks the schema itself. A test compares both on what is valid.
 */
import { CHARACTERS_OF_VALUE, countValues } from '../base/json-turns.ts';
import {
  exactText,
  JsonNumber,
  losslessText,
  parseJson,
  plainNumbers,
  RawJson,
  shortJson,
} from '../base/json.ts';
import { maskedUrl } from '../base/secrets.ts';
import { err, ok, type Result } from '../base/result.ts';
import { suggest } from '../base/suggest.ts';
import { ApiError, type ErrorCode } from './errors.ts';
import { FORMATS, type FormatName } from './formats.ts';

export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

export interface Schema {
  type?: JsonType | JsonType[];
  description?: string;
  default?: unknown;
  /** Only strings. */
  enum?: readonly string[];
  format?: FormatName;
  /** Characters (code points). */
  minLength?: number;
  maxLength?: number;
  /** Both included. */
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  /** In the order in which missing keys are reported. */
  required?: readonly string[];
  /** false: unknown keys are faults. true: they are ignored. A schema: any key, checked by it. */
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  /** Members of an object, at most. */
  maxProperties?: number;
  items?: Schema;
  /** Elements of an array, both included. */
  minItems?: number;
  maxItems?: number;
  /** At most one of these takes the kind of the value (string or object, say). */
  oneOf?: Schema[];
  /** `{}`: never accepted. */
  not?: Record<string, never>;
  /** Code of a fault of the value or inside it. Inherited. */
  'x-code'?: ErrorCode;
  /** Code of an unknown key, or of a missing one without a code of its own. Inherited. */
  'x-key-code'?: ErrorCode;
  /** On a required property: code when it is missing. */
  'x-missing-code'?: ErrorCode;
  /** On a property: it exists but cannot be given here. */
  'x-immutable-code'?: ErrorCode;
  /** The numbers of these two properties, where both are given, must not descend. */
  'x-ascending'?: readonly [string, string];
  /** Values inside it, with those inside these; so many characters (`CHARACTERS_OF_VALUE`) of a text count as one more. */
  'x-values-max'?: number;
  /** The value can be a credential: errors do not repeat it. */
  'x-secret'?: boolean;
  /** The value is checked elsewhere, after all other fields; here anything passes. */
  'x-checked-later'?: boolean;
  /** On a property: it is only passed on to the engine, and where it is long it may stay text (`RawJson`). */
  'x-passed-on'?: boolean;
  /** On a property or at the top: ids. A number becomes the text that was sent, and so does what is no text in a list. */
  'x-exact'?: boolean;
  /** On a property: an object with numbers of the user's, kept as its JSON (`RawJson`) with the text of each number. */
  'x-lossless'?: boolean;
  /** How a query parameter is written; see `query.ts`. */
  'x-query'?:
    'comma-list' | 'star-list' | 'sort-list' | 'json-or-text' | 'date-after' | 'date-before';
  /** Enum values of a query parameter compare without regard to letter case. */
  'x-ignore-case'?: boolean;
  /** Of a setting: what a change of it makes anew of all documents. */
  'x-makes-anew'?: readonly string[];
}

export const INDEX_UID_SCHEMA: Schema = {
  type: 'string',
  format: 'index-uid',
  'x-code': 'invalid_index_uid',
};

/** A fault on its way up: each level puts its own step before the path. */
export class Fault {
  readonly code: ErrorCode;
  path = '';
  /** @param at the location with a leading blank, such as " at `.limit`", or nothing at the top */
  readonly describe: (at: string) => string;

  constructor(code: ErrorCode, describe: (at: string) => string) {
    this.code = code;
    this.describe = describe;
  }

  under(step: string): this {
    this.path = step + this.path;
    return this;
  }

  toError(): ApiError {
    return new ApiError(this.code, this.describe(this.path === '' ? '' : ` at \`${this.path}\``));
  }
}

export type Check = (value: unknown) => Fault | null;

export interface Validator<T> {
  readonly schema: Schema;
  /** The value to check has been parsed with `exact`. */
  readonly exact: boolean;
  /** `value`: of `parseJson`. It is changed in place to plain values, once it is right. */
  validate(value: unknown): Result<T, ApiError>;
}

interface Codes {
  value: ErrorCode;
  key: ErrorCode;
}

/** Compiles once, at start. `T` is the type that the schema describes. */
export function validator<T>(schema: Schema): Validator<T> {
  const check = compile(schema);
  const whole = schema['x-exact'] === true;
  const named = (keyword: 'x-exact' | 'x-lossless'): string[] =>
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      property[keyword] === true ? [name] : [],
    );
  const members = named('x-exact');
  const lossless = named('x-lossless');
  const plain = (value: unknown): unknown => {
    if (whole) return exactTexts(value);
    const object = value as Record<string, unknown>;
    for (const name of members) {
      if (Object.hasOwn(object, name)) object[name] = exactTexts(object[name]);
    }
    for (const name of lossless) {
      if (typeof object[name] !== 'object' || object[name] === null) continue;
      object[name] = new RawJson(losslessText(object[name]));
    }
    return plainNumbers(value);
  };
  return {
    schema,
    exact: whole || members.length + lossless.length > 0,
    validate(value) {
      const fault = check(value);
      return fault === null ? ok(plain(value) as T) : err(fault.toError());
    },
  };
}

function exactTexts(value: unknown): unknown {
  if (value === null) return null;
  return Array.isArray(value) ? value.map(exactText) : exactText(value);
}

const validators = new WeakMap<Schema, Validator<unknown>>();

/** The value of a JSON body, or what is wrong with it: its absence, its text, its fields. */
export function checkedBody(body: Buffer, schema: Schema): Result<unknown, ApiError> {
  if (body.length === 0) {
    return err(new ApiError('missing_payload', 'The body is missing; a json payload is expected.'));
  }
  const known = validatorOf(schema);
  const parsed = parseJson(body, known);
  if (!parsed.ok) {
    return err(
      new ApiError('malformed_payload', `The json payload is malformed: ${parsed.error}.`),
    );
  }
  return known.validate(parsed.value);
}

function validatorOf(schema: Schema): Validator<unknown> {
  let known = validators.get(schema);
  if (known === undefined) {
    known = validator(schema);
    validators.set(schema, known);
  }
  return known;
}

export function compile(
  schema: Schema,
  inherited: Codes = { value: 'bad_request', key: 'bad_request' },
): Check {
  const codes: Codes = {
    value: schema['x-code'] ?? inherited.value,
    key: schema['x-key-code'] ?? inherited.key,
  };
  if (schema['x-checked-later'] === true) return boundedCheck(schema, codes, () => null);
  if (schema.oneOf !== undefined) return oneOf(schema.oneOf, codes);
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type;
  const inner = boundedCheck(schema, codes, checkOfKind(schema, codes));
  if (types === undefined) return inner;
  const accepts = acceptor(types);
  return (value) => (accepts(value) ? inner(value) : wrongKind(codes.value, types, value, schema));
}

function boundedCheck(schema: Schema, codes: Codes, inner: Check): Check {
  const most = schema['x-values-max'];
  if (most === undefined) return inner;
  return (value) => tooManyValues(value, most, codes.value) ?? inner(value);
}

/** What `x-values-max` says of a value. */
export function tooManyValues(value: unknown, most: number, code: ErrorCode): Fault | null {
  if (countValues(value, most + 1) <= most) return null;
  return new Fault(
    code,
    (at) =>
      `Invalid value${at}: it is too long; at most ${most} values are accepted, ` +
      `and every ${CHARACTERS_OF_VALUE} characters of a text count as one.`,
  );
}

function oneOf(options: Schema[], codes: Codes): Check {
  const alternatives = options.map((option) => {
    const types = typesOf(option);
    return { types, accepts: acceptor(types), check: compile(option, codes) };
  });
  const all = alternatives.flatMap(({ types }) => types);
  return (value) => {
    for (const { accepts, check } of alternatives) if (accepts(value)) return check(value);
    return wrongKind(codes.value, all, value, {});
  };
}

function typesOf(schema: Schema): JsonType[] {
  if (schema.type === undefined) throw new Error('a schema inside oneOf needs a type');
  return typeof schema.type === 'string' ? [schema.type] : schema.type;
}

function isInteger(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value);
}

function hasType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return isInteger(value) || (value instanceof JsonNumber && value.isInteger);
    case 'number':
      return typeof value === 'number' || value instanceof JsonNumber;
    case 'string':
      return typeof value === 'string';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return (
        typeof value === 'object' &&
        value !== null &&
        !Array.isArray(value) &&
        !(value instanceof JsonNumber)
      );
  }
}

function acceptor(types: JsonType[]): (value: unknown) => boolean {
  const [first, second] = types as [JsonType, JsonType?];
  if (types.length === 1) return (value) => hasType(value, first);
  if (types.length === 2) return (value) => hasType(value, first) || hasType(value, second!);
  return (value) => types.some((type) => hasType(value, type));
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof JsonNumber) {
    if (!value.isInteger) return 'a number';
    return value.value < 0 ? 'a negative integer' : 'a positive integer';
  }
  switch (typeof value) {
    case 'boolean':
      return 'a boolean';
    case 'number':
      if (!Number.isInteger(value)) return 'a number';
      return value < 0 ? 'a negative integer' : 'a positive integer';
    case 'string':
      return 'a string';
    default:
      return 'an object';
  }
}

const KIND_NAMES: Record<JsonType, string> = {
  null: 'null',
  boolean: 'a boolean',
  integer: 'an integer',
  number: 'a number',
  string: 'a string',
  array: 'an array',
  object: 'an object',
};

function wrongKind(code: ErrorCode, types: JsonType[], value: unknown, schema: Schema): Fault {
  const names = [...new Set(types)].map((type) => KIND_NAMES[type]);
  const expected =
    names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
  const shown = schema['x-secret'] === true ? '' : `: \`${shortJson(value)}\``;
  return new Fault(
    code,
    (at) => `Invalid value type${at}: expected ${expected}, but found ${kindOf(value)}${shown}.`,
  );
}

/** The part that depends on the kind of the value; the kind itself has been checked. */
function checkOfKind(schema: Schema, codes: Codes): Check {
  const text = textCheck(schema, codes.value);
  const number = rangeCheck(schema, codes.value);
  const array = schema.items === undefined ? null : arrayCheck(schema, codes);
  const object = hasObjectKeywords(schema) ? objectCheck(schema, codes) : null;
  if (text === null && number === null && array === null && object === null) return () => null;
  return (value) => {
    if (typeof value === 'string') return text === null ? null : text(value);
    if (typeof value === 'number') return number === null ? null : number(value);
    if (value instanceof JsonNumber) return number === null ? null : number(value.value);
    if (typeof value !== 'object' || value === null) return null;
    if (Array.isArray(value)) return array === null ? null : array(value);
    return object === null ? null : object(value as Record<string, unknown>);
  };
}

function textCheck(schema: Schema, code: ErrorCode): ((value: string) => Fault | null) | null {
  if (schema.enum !== undefined) {
    const accepted = new Set(schema.enum);
    const list = schema.enum;
    return (value) => (accepted.has(value) ? null : unknownEnumValue(code, value, list));
  }
  const tooLong = lengthCheck(schema, code);
  if (schema.format === undefined) return tooLong;
  const format = FORMATS[schema.format];
  return (value) => {
    const long = tooLong?.(value) ?? null;
    if (long !== null) return long;
    const rule = format(value);
    if (rule === null) return null;
    return new Fault(code, (at) => `Invalid value${at}: ${shownText(schema, value)}${rule}.`);
  };
}

function shownText(schema: Schema, value: string): string {
  if (schema.format === 'http-url') return `${shortJson(maskedUrl(value))}; `;
  return schema['x-secret'] === true ? '' : `${shortJson(value)}; `;
}

function lengthCheck(
  { minLength = 0, maxLength = Infinity }: Schema,
  code: ErrorCode,
): ((value: string) => Fault | null) | null {
  if (minLength === 0 && maxLength === Infinity) return null;
  return (value) => {
    if (value.length < minLength) {
      return new Fault(code, (at) => `Invalid value${at}: it is empty.`);
    }
    // A character has one or two units.
    return value.length <= maxLength ||
      (value.length <= 2 * maxLength && [...value].length <= maxLength)
      ? null
      : new Fault(code, (at) => `Invalid value${at}: it has more than ${maxLength} characters.`);
  };
}

export function unknownEnumValue(
  code: ErrorCode,
  value: string,
  accepted: readonly string[],
): Fault {
  const near = suggest(value, accepted);
  return new Fault(
    code,
    (at) =>
      `Unknown value \`${value}\`${at}${near === undefined ? '' : `, did you mean \`${near}\``}; ` +
      `expected one of ${nameList(accepted)}.`,
  );
}

function rangeCheck(schema: Schema, code: ErrorCode): ((value: number) => Fault | null) | null {
  const { minimum, maximum } = schema;
  if (minimum === undefined && maximum === undefined) return null;
  return (value) => {
    if (minimum !== undefined && value < minimum) {
      if (value === 0) {
        return new Fault(
          code,
          (at) => `Invalid value${at}: a zero was found, at least ${minimum} is required.`,
        );
      }
      return new Fault(
        code,
        (at) =>
          `Invalid value${at}: ${value} is too small, ` +
          (maximum === undefined
            ? `at least ${minimum} is required.`
            : `it must lie between ${minimum} and ${maximum}.`),
      );
    }
    if (maximum !== undefined && value > maximum) {
      return new Fault(
        code,
        (at) =>
          `Invalid value${at}: ${value} is too large, ` +
          (minimum === undefined
            ? `at most ${maximum} is accepted.`
            : `it must lie between ${minimum} and ${maximum}.`),
      );
    }
    return null;
  };
}

function arrayCheck(
  { items, minItems = 0, maxItems = Infinity }: Schema,
  codes: Codes,
): (value: unknown[]) => Fault | null {
  const item = compile(items!, codes);
  return (value) => {
    if (value.length < minItems) {
      return new Fault(
        codes.value,
        (at) =>
          `Invalid value${at}: it has ${value.length} elements, at least ${minItems} are required.`,
      );
    }
    if (value.length > maxItems) {
      return new Fault(
        codes.value,
        (at) =>
          `Invalid value${at}: it has ${value.length} elements, at most ${maxItems} are accepted.`,
      );
    }
    for (let i = 0; i < value.length; i++) {
      const fault = item(value[i]);
      if (fault !== null) return fault.under(`[${i}]`);
    }
    return null;
  };
}

function hasObjectKeywords(schema: Schema): boolean {
  return (
    schema.properties !== undefined ||
    schema.additionalProperties !== undefined ||
    schema.maxProperties !== undefined ||
    schema.required !== undefined
  );
}

interface Member {
  check: Check;
  immutable: ErrorCode | undefined;
}

function objectCheck(
  schema: Schema,
  codes: Codes,
): (value: Record<string, unknown>) => Fault | null {
  const properties = schema.properties ?? {};
  const members = new Map<string, Member>(
    Object.entries(properties).map(([name, property]) => [
      name,
      { check: compile(property, codes), immutable: property['x-immutable-code'] },
    ]),
  );
  const accepted = acceptedNames(schema);
  const extra = schema.additionalProperties;
  const checkName =
    schema.propertyNames === undefined ? null : compile(schema.propertyNames, codes);
  const checkExtra = typeof extra === 'object' ? compile(extra, codes) : null;
  const missingCodes = new Map(
    (schema.required ?? []).map((name) => [
      name,
      properties[name]?.['x-missing-code'] ?? codes.key,
    ]),
  );
  const { maxProperties = Infinity } = schema;
  return (value) => {
    let count = 0;
    for (const name in value) {
      if (++count > maxProperties) return tooManyMembers(codes.value, maxProperties);
      const member = members.get(name);
      let fault: Fault | null = null;
      if (member !== undefined) {
        if (member.immutable !== undefined) return immutableKey(member.immutable, name, accepted);
        fault = member.check(value[name]);
      } else if (extra === false) {
        return unknownKey(codes.key, name, accepted);
      } else if (checkExtra !== null) {
        fault = checkName === null ? null : checkName(name);
        if (fault === null) fault = checkExtra(value[name]);
      }
      if (fault !== null) return fault.under(`.${name}`);
    }
    for (const [name, code] of missingCodes) {
      if (!Object.hasOwn(value, name)) return missingKey(code, name);
    }
    return ascendingFault(schema, codes.value, value);
  };
}

/** What `x-ascending` of the schema says of a value; null too where the schema has none. */
export function ascendingFault(
  { 'x-ascending': names, properties }: Schema,
  code: ErrorCode,
  value: Record<string, unknown>,
): Fault | null {
  if (names === undefined) return null;
  const [lower, upper] = names;
  const [least, most] = [value[lower], value[upper]];
  if (typeof least !== 'number' || typeof most !== 'number' || least <= most) return null;
  const { minimum, maximum } = properties![lower]!;
  return new Fault(
    code,
    (at) =>
      `Invalid value${at}: both numbers must lie between ${minimum} and ${maximum}, and ` +
      `\`${lower}\` must not be greater than \`${upper}\`, but they are ${least} and ${most}.`,
  );
}

/** Names a client may give, in the order of the schema. */
export function acceptedNames(schema: Schema): string[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, property]) => property['x-immutable-code'] === undefined)
    .map(([name]) => name);
}

function nameList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function inside(at: string): string {
  return at.replace(' at ', ' inside ');
}

function unknownKey(code: ErrorCode, name: string, accepted: string[]): Fault {
  const near = suggest(name, accepted);
  return new Fault(
    code,
    (at) =>
      `Unknown field \`${name}\`${inside(at)}${near === undefined ? '' : `, did you mean \`${near}\``}; ` +
      (accepted.length === 0
        ? 'no field is accepted here.'
        : `accepted are ${nameList(accepted)}.`),
  );
}

export function unknownParameter(name: string, accepted: string[]): ApiError {
  const near = suggest(name, accepted);
  return new ApiError(
    'bad_request',
    `Unknown parameter \`${name}\`${near === undefined ? '' : `, did you mean \`${near}\``}; ` +
      (accepted.length === 0
        ? 'this route takes no parameters.'
        : `accepted are ${nameList(accepted)}.`),
  );
}

function tooManyMembers(code: ErrorCode, most: number): Fault {
  return new Fault(
    code,
    (at) => `Invalid value${at}: it has more than ${most} members, which are accepted at most.`,
  );
}

function immutableKey(code: ErrorCode, name: string, accepted: string[]): Fault {
  return new Fault(
    code,
    (at) =>
      `The field \`${name}\`${inside(at)} cannot be changed; accepted are ${nameList(accepted)}.`,
  );
}

function missingKey(code: ErrorCode, name: string): Fault {
  return new Fault(code, (at) => `Missing field \`${name}\`${inside(at)}.`);
}
