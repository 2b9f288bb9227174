/**
 * Finds the one fault to report for a refused value: its code, its location, and what was expected.
 */
import { CHARACTERS_OF_VALUE, countValues } from '../base/json-slices.ts';
import { JsonNumber, shortJson } from '../base/json.ts';
import { maskedUrl } from '../base/secrets.ts';
import { suggest } from '../base/suggest.ts';
import { ApiError, type ErrorCode } from './errors.ts';
import { FORMATS } from './formats.ts';
import { typesOf, type Rule, type RuleFault } from './schema-rules.ts';
import type { JsonType, Schema } from './schema.ts';

/**
 * The message of a fault. `at`: its location with a leading space, such as " at `.limit`", or empty
 * at the top.
 */
type Describe = (at: string) => string;

/** A fault that is being propagated: each level prepends its own step to the path. */
export class Fault {
  readonly code: ErrorCode;
  path = '';
  readonly describe: Describe;

  constructor(code: ErrorCode, describe: Describe) {
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

/** @param whole the refused value, which contains the fault */
export function faultOf(refusal: RuleFault, whole: unknown): Fault {
  const { keyword, data, instancePath, propertyName } = refusal;
  const { declared, codes } = refusal.parentSchema as Rule;
  const fault =
    keyword === 'properties'
      ? memberFault(refusal)
      : new Fault(codes.value, describeValue(keyword, declared, data));
  if (propertyName !== undefined) fault.under(`.${propertyName}`);
  return fault.under(pathIn(whole, instancePath));
}

/** A JSON pointer in the syntax of messages: `.tags[1]`. */
function pathIn(whole: unknown, pointer: string): string {
  let path = '';
  let value = whole;
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    path += Array.isArray(value) ? `[${name}]` : `.${name}`;
    value = (value as Record<string, unknown>)[name];
  }
  return path;
}

/** The message of a keyword about a value that it refuses. */
function describeValue(keyword: string, declared: Schema, value: unknown): Describe {
  switch (keyword) {
    case 'kind':
      return wrongKind(typesOf(declared), value, declared['x-secret'] === true);
    case 'oneOf':
      return wrongKind(declared.oneOf!.flatMap(typesOf), value, false);
    case 'x-values-max':
      return tooLong(declared['x-values-max']!);
    case 'enum':
      return unknownName(value as string, declared.enum!);
    case 'minLength':
      return (at) => `Invalid value${at}: it is empty.`;
    case 'maxLength':
      return (at) => `Invalid value${at}: it has more than ${declared.maxLength} characters.`;
    case 'format':
      return (at) =>
        `Invalid value${at}: ${shownText(declared, value as string)}${FORMATS[declared.format!](value as string)}.`;
    case 'minimum':
    case 'maximum':
      return outOfRange(declared, value instanceof JsonNumber ? value.value : (value as number));
    case 'x-ascending':
      return descends(declared, value as Record<string, number>);
    default:
      return wrongCount(declared, (value as unknown[]).length);
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  const number = value instanceof JsonNumber ? value.value : value;
  switch (typeof number) {
    case 'boolean':
      return 'a boolean';
    case 'number':
      if (value instanceof JsonNumber ? !value.isInteger : !Number.isInteger(value))
        return 'a number';
      return number < 0 ? 'a negative integer' : 'a positive integer';
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

function wrongKind(types: readonly JsonType[], value: unknown, secret: boolean): Describe {
  const names = [...new Set(types)].map((type) => KIND_NAMES[type]);
  const expected =
    names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
  const shown = secret ? '' : `: \`${shortJson(value)}\``;
  return (at) =>
    `Invalid value type${at}: expected ${expected}, but found ${kindOf(value)}${shown}.`;
}

/** The message of `x-values-max`. */
export function tooManyValues(value: unknown, max: number, code: ErrorCode): Fault | null {
  return countValues(value, max + 1) <= max ? null : new Fault(code, tooLong(max));
}

function tooLong(max: number): Describe {
  return (at) =>
    `Invalid value${at}: it is too long; at most ${max} values are accepted, ` +
    `and every ${CHARACTERS_OF_VALUE} characters of a text count as one.`;
}

function shownText(declared: Schema, value: string): string {
  if (declared.format === 'http-url') return `${shortJson(maskedUrl(value))}; `;
  return declared['x-secret'] === true ? '' : `${shortJson(value)}; `;
}

export function unknownEnumValue(
  code: ErrorCode,
  value: string,
  accepted: readonly string[],
): Fault {
  return new Fault(code, unknownName(value, accepted));
}

function unknownName(value: string, accepted: readonly string[]): Describe {
  return (at) =>
    `Unknown value \`${value}\`${at}${guess(value, accepted)}; expected one of ${nameList(accepted)}.`;
}

function outOfRange({ minimum, maximum }: Schema, value: number): Describe {
  const isSmall = minimum !== undefined && value < minimum;
  const between = `it must lie between ${minimum} and ${maximum}`;
  if (isSmall && value === 0) {
    return (at) => `Invalid value${at}: a zero was found, at least ${minimum} is required.`;
  }
  if (isSmall) {
    const rule = maximum === undefined ? `at least ${minimum} is required` : between;
    return (at) => `Invalid value${at}: ${value} is too small, ${rule}.`;
  }
  const rule = minimum === undefined ? `at most ${maximum} is accepted` : between;
  return (at) => `Invalid value${at}: ${value} is too large, ${rule}.`;
}

function wrongCount({ minItems = 0, maxItems }: Schema, count: number): Describe {
  const rule =
    count < minItems ? `at least ${minItems} are required` : `at most ${maxItems} are accepted`;
  return (at) => `Invalid value${at}: it has ${count} elements, ${rule}.`;
}

function descends(declared: Schema, value: Record<string, number>): Describe {
  const [lower, upper] = declared['x-ascending']!;
  const { minimum, maximum } = declared.properties![lower]!;
  return (at) =>
    `Invalid value${at}: both numbers must lie between ${minimum} and ${maximum}, and ` +
    `\`${lower}\` must not be greater than \`${upper}\`, but they are ${value[lower]} and ${value[upper]}.`;
}

// --- Members -------------------------------------------------------------------------------------

/** Names that a client may give, in the order of the schema. */
export function acceptedNames(schema: Schema): string[] {
  return Object.entries(schema.properties ?? {})
    .filter(([, property]) => property['x-immutable-code'] === undefined)
    .map(([name]) => name);
}

function memberFault({ params, parentSchema, data }: RuleFault): Fault {
  const { fault, name, inside: refusal } = params;
  const { declared, codes } = parentSchema as Rule;
  const property = declared.properties?.[name];
  const accepted = acceptedNames(declared);
  switch (fault) {
    case 'inside':
      return faultOf(refusal!, (data as Record<string, unknown>)[name]).under(`.${name}`);
    case 'missing':
      return new Fault(
        property?.['x-missing-code'] ?? codes.key,
        (at) => `Missing field \`${name}\`${inside(at)}.`,
      );
    case 'immutable':
      return new Fault(
        property!['x-immutable-code']!,
        (at) =>
          `The field \`${name}\`${inside(at)} cannot be changed; accepted are ${nameList(accepted)}.`,
      );
    case 'excess':
      return new Fault(
        codes.value,
        (at) =>
          `Invalid value${at}: it has more than ${declared.maxProperties} members, which are accepted at most.`,
      );
    case 'unknown':
      return new Fault(
        codes.key,
        (at) =>
          `Unknown field \`${name}\`${inside(at)}${guess(name, accepted)}; ` +
          (accepted.length === 0
            ? 'no field is accepted here.'
            : `accepted are ${nameList(accepted)}.`),
      );
  }
}

export function unknownParameter(name: string, accepted: string[]): ApiError {
  return new ApiError(
    'bad_request',
    `Unknown parameter \`${name}\`${guess(name, accepted)}; ` +
      (accepted.length === 0
        ? 'this route takes no parameters.'
        : `accepted are ${nameList(accepted)}.`),
  );
}

function guess(name: string, accepted: readonly string[]): string {
  const near = suggest(name, accepted);
  return near === undefined ? '' : `, did you mean \`${near}\``;
}

function nameList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function inside(at: string): string {
  return at.replace(' at ', ' inside ');
}
