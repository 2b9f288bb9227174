/**
 * Declares schemas together with the types of the values that they accept: `Static<typeof SCHEMA>`
 * is the type. TypeBox derives it, and which members of an object are required.
 *
 * TypeBox's own builders are not used where they write JSON Schema that {@link Schema} has not:
 * null, lists of names, and maps are `anyOf` and `patternProperties` there, and messages of faults
 * name one `type`. Their checks are not used either: one fault is reported, with a code
 * (`schema-rules.ts`).
 */
import {
  Object as objectSchema,
  Optional,
  Unsafe,
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from '@sinclair/typebox';
import type { ErrorCode } from './errors.ts';
import type { JsonType, Schema } from './schema.ts';

export type { Static, TProperties };

/** The schema of `T`. */
export type Declared<T = unknown> = Schema & TUnsafe<T>;

/** The schema of an object, whose members can be used again. */
export type DeclaredObject<P extends TProperties> = Declared<Static<TObject<P>>> & {
  readonly properties: P;
};

/** Everything but what the builder itself says. */
type Options<Said extends keyof Schema = never> = Omit<Schema, 'type' | Said>;

/** A schema whose type TypeScript cannot derive: the keywords as they are. */
export function declared<T>(schema: Schema): Declared<T> {
  return Unsafe<T>(schema);
}

export function string(options: Options = {}): Declared<string> {
  return declared({ type: 'string', ...options });
}

export function integer(options: Options = {}): Declared<number> {
  return declared({ type: 'integer', ...options });
}

export function number(options: Options = {}): Declared<number> {
  return declared({ type: 'number', ...options });
}

export function boolean(options: Options = {}): Declared<boolean> {
  return declared({ type: 'boolean', ...options });
}

/** The uid of an index. */
export function indexUid(options: Options = {}): Declared<string> {
  return string({ format: 'index-uid', 'x-code': 'invalid_index_uid', ...options });
}

/** A list in a query string that `*` makes undefined: it restricts nothing. */
export function starList<S extends TSchema>(
  items: S,
  code: ErrorCode,
): Declared<Static<S>[] | undefined> {
  return declared({ type: 'array', items, 'x-query': 'star-list', 'x-code': code });
}

/** A moment in a query string, in milliseconds since 1970. `*` makes it undefined. */
export function date(
  kind: 'date-after' | 'date-before',
  options: Options<'x-query'> = {},
): Declared<number | undefined> {
  return declared({ type: 'string', 'x-query': kind, ...options });
}

/** One of these names. */
export function oneOf<const N extends string>(
  names: readonly N[],
  options: Options<'enum'> = {},
): Declared<N> {
  return declared({ type: 'string', enum: names, ...options });
}

export function list<S extends TSchema>(
  items: S,
  options: Options<'items'> = {},
): Declared<Static<S>[]> {
  return declared({ type: 'array', items, ...options });
}

/** An object with any names. */
export function map<S extends TSchema>(
  values: S,
  options: Options<'additionalProperties'> = {},
): Declared<Record<string, Static<S>>> {
  return declared({ type: 'object', additionalProperties: values, ...options });
}

/** An object with exactly these members, unless `additionalProperties` accepts others. */
export function object<P extends TProperties>(
  properties: P,
  options: Options<'properties' | 'required'> = {},
): DeclaredObject<P> {
  const { type, required } = objectSchema(properties) as Schema;
  return declared({
    type: type!,
    properties,
    ...(required && { required }),
    additionalProperties: false,
    ...options,
  }) as DeclaredObject<P>;
}

/** Accepts null too. */
export function nullable<S extends TSchema>(
  schema: S,
  options: Options = {},
): Declared<Static<S> | null> {
  const types = [schema.type].flat() as JsonType[];
  return declared({ ...schema, ...options, type: [...types, 'null'] });
}

export function optional<S extends TSchema>(schema: S): TOptional<S> {
  return Optional(schema) as TOptional<S>;
}

/** Members of an object that may all be absent. */
export function optionals<P extends TProperties>(
  properties: P,
): { [Name in keyof P]: TOptional<P[Name]> } {
  const members = Object.entries(properties).map(([name, schema]) => [name, Optional(schema)]);
  return Object.fromEntries(members) as { [Name in keyof P]: TOptional<P[Name]> };
}

/** Members with these names. */
export function each<N extends string, S>(
  names: readonly N[],
  schemaOf: (name: N) => S,
): Record<N, S> {
  return Object.fromEntries(names.map((name) => [name, schemaOf(name)])) as Record<N, S>;
}

/** What a value is when a request does not say so. */
export function defaultOf<T>(schema: Declared<T>): NonNullable<T> {
  return schema.default as NonNullable<T>;
}

export function defaultsOf<P extends TProperties, N extends keyof P & string>(
  properties: P,
  ...names: readonly N[]
): { [Name in N]: NonNullable<Static<P[Name]>> } {
  return each(names, (name) => defaultOf(properties[name] as Declared)) as never;
}

/** The values, or their defaults where they are absent or null. */
export function complete<D extends object>(
  given: { readonly [Name in keyof D]?: D[Name] | null | undefined },
  defaults: D,
): D {
  const values = { ...defaults };
  for (const name of Object.keys(defaults) as (keyof D)[])
    values[name] = given[name] ?? values[name];
  return values;
}

/** A member that exists but cannot be set. */
export function immutable(code: ErrorCode): TOptional<Declared<never>> {
  return Optional(declared<never>({ not: {}, 'x-immutable-code': code }));
}
