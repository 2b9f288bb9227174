/**
 * Schemas of bodies and query strings, and the check that they compile to.
 *
 * A schema is JSON Schema (2020-12, the keywords of {@link Schema} only), so that the same object is
 * published in the OpenAPI document. The `x-` keywords add what JSON Schema has no word for: which error
 * code a fault has. The keys of an object are visited in the order of the payload and the first fault
 * ends the visit; required keys are looked for afterwards. ajv decides (`schema-rules.ts`), and what it
 * refuses gets a message (`schema-faults.ts`).
 */
import { exactText, losslessText, parseJson, plainNumbers, RawJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import { ApiError, type ErrorCode } from './errors.ts';
import type { FormatName } from './formats.ts';
import { type Fault, faultOf } from './schema-faults.ts';
import { compileRules } from './schema-rules.ts';

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

/** What is wrong with a value; null: nothing. */
export type Check = (value: unknown) => Fault | null;

export interface Validator<T> {
  readonly schema: Schema;
  /** The value to check has been parsed with `exact`. */
  readonly exact: boolean;
  /** `value`: of `parseJson`. It is changed in place to plain values, once it is right. */
  validate(value: unknown): Result<T, ApiError>;
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

export function compile(schema: Schema): Check {
  const rules = compileRules(schema, { value: 'bad_request', key: 'bad_request' });
  return (value) => {
    const refusal = rules(value);
    return refusal === null ? null : faultOf(refusal, value);
  };
}
