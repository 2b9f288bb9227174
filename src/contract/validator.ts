/**
 * Validates a value against a schema: finds its faults, and returns the plain value. The members of
 * an object are visited in the order of the payload, and the first fault ends the visit; required
 * members are checked afterwards. ajv decides (`schema-rules.ts`), and refused values get a message
 * (`schema-faults.ts`).
 */
import { exactText, losslessText, parseJson, plainNumbers, RawJson } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import type { Declared, Static } from './declare.ts';
import { ApiError } from './errors.ts';
import { type Fault, faultOf } from './schema-faults.ts';
import { compileRules } from './schema-rules.ts';
import type { Schema } from './schema.ts';

/** Returns what is wrong with a value; null: nothing. */
export type Check = (value: unknown) => Fault | null;

/** The type that a schema declares, if it does. */
type Described<S extends Schema> = S extends Declared ? Static<S> : unknown;

export interface Validator<T> {
  readonly schema: Schema;
  /** The value to check has been parsed with `exact`. */
  readonly exact: boolean;
  /** `value`: from `parseJson`. A valid value is changed in place to plain values. */
  validate(value: unknown): Result<T, ApiError>;
}

/** Compiles once, at start. */
export function validator<S extends Schema>(schema: S): Validator<Described<S>> {
  const check = compile(schema);
  const whole = schema['x-exact'] === true;
  const wholeLossless = schema['x-lossless'] === true;
  const named = (keyword: 'x-exact' | 'x-lossless'): string[] =>
    Object.entries<Schema>(schema.properties ?? {}).flatMap(([name, property]) =>
      property[keyword] === true ? [name] : [],
    );
  const members = named('x-exact');
  const lossless = named('x-lossless');
  const plain = (value: unknown): unknown => {
    if (whole) return exactTexts(value);
    if (wholeLossless) return new RawJson(losslessText(value));
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
    exact: whole || wholeLossless || members.length + lossless.length > 0,
    validate(value) {
      const fault = check(value);
      return fault === null ? ok(plain(value) as Described<S>) : err(fault.toError());
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
