/**
 * The declaration of an index setting: one entry of the registry. Routes, validation, GET, reset,
 * details of tasks, the published description and the form of the page follow from it.
 */
import { sortUtf8 } from '../../base/json.ts';
import type { Result } from '../../base/result.ts';
import { boolean, list, nullable, string } from '../declare.ts';
import type { ApiError, ErrorCode } from '../errors.ts';
import type { Feature, FeatureSet } from '../features.ts';
import type { Schema } from '../schema.ts';

/**
 * Data that an index derives from its documents and settings: `text` (words, postings, forward
 * records), `columns` (values of faceted fields), `vectors` (embeddings). Regenerating the text
 * regenerates the columns as well.
 */
type Derived = 'text' | 'columns' | 'vectors';

/** Where the form of the page shows a setting; in this order. */
export const SETTING_GROUPS = [
  'Fields',
  'Ranking',
  'Words',
  'Characters',
  'Meaning',
  'Limits',
] as const;

/**
 * @typeParam Name key in the object of settings
 * @typeParam Value the stored value: complete, secrets in clear
 */
export interface Setting<Name extends string = string, Value = unknown> {
  readonly name: Name;
  /** Published. */
  readonly group: (typeof SETTING_GROUPS)[number];
  /** What it does, for users. Published. */
  readonly explanation: string;
  /**
   * Methods of the child route, whose path is the name in kebab case. PUT replaces the value, PATCH
   * merges fields.
   */
  readonly methods: readonly ('PUT' | 'PATCH')[];
  /** Schema of the value in a request. Every schema accepts null, which resets the setting. */
  readonly schema: Schema;
  /** Code of every fault inside the value. */
  readonly code: ErrorCode;
  /**
   * Data that must be regenerated when the value changes. Empty: the value is read by each request.
   */
  readonly touches: readonly Derived[];
  /**
   * The value may be very long, and only the engine reads its content: if it is long it is kept as
   * JSON (`RawJson`), in requests, tasks and the store. Other settings have at most
   * `SETTING_VALUES_MAX` values.
   */
  readonly mayBeLong?: boolean;
  /** The default, in stored form. A new object each time. */
  initial(): Value;

  /** Experimental feature that must be on to set the setting and to show it. */
  readonly feature?: Feature;
  /**
   * An addition to the API: `GET /settings`, and details that reset several settings, have it only
   * where it is not the default.
   */
  readonly addition?: boolean;
  /** DELETE /settings omits the setting from its details while the feature is off. */
  readonly resetOnlyWithFeature?: boolean;
  /**
   * Schema of the body of the child route, if it accepts more than the bare value, and the value in
   * such a body.
   */
  readonly childSchema?: Schema;
  fromChildBody?(body: unknown): unknown;
  /** What details of tasks show for null. Default: null. */
  resetForm?(): unknown;
  /**
   * The canonical form of a sent value other than null: details show it and `merge` gets it.
   * Default: as sent.
   */
  canonical?(sent: unknown): unknown;
  /** Checks that do not need the stored value. `given` is canonical, not null. */
  check?(given: unknown, features: FeatureSet): ApiError | null;
  /**
   * The value to store. Refuses values that conflict with the stored one. Default: `change`
   * replaces `current`.
   */
  merge?(current: Value, change: unknown): Result<Value, ApiError>;
  /** The value as the routes of settings show it, without secrets. Default: as it is. */
  render?(value: unknown): unknown;
  /** A sent value as details of tasks show it. Default: `render`. */
  report?(sent: unknown): unknown;
}

/** Preserves the literal name and infers the type of the value. */
export function setting<const Name extends string, Value>(
  entry: Setting<Name, Value>,
): Setting<Name, Value> {
  return entry;
}

/** Path segment of the child route. */
export function segmentOf({ name }: Setting): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

// --- Schemas that several settings use -----------------------------------------------------------

export const PATTERNS = list(string());
export const TEXTS = nullable(PATTERNS);
export const FLAG = nullable(boolean());

/** The stored value of a setting whose request may be null or lack members. */
export type Complete<Sent> = Sent extends readonly unknown[]
  ? Sent
  : Sent extends object
    ? { [Name in keyof Sent]-?: Complete<NonNullable<Sent[Name]>> }
    : Sent;

// --- Forms ---------------------------------------------------------------------------------------

export function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Ascending, each once. */
export function sortedSet(values: readonly string[]): string[] {
  return sortUtf8([...new Set(values)]);
}

export function sortedKeys<T>(map: Record<string, T>): Record<string, T> {
  return Object.fromEntries(sortUtf8(Object.keys(map)).map((name) => [name, map[name]!]));
}

/** The members of `value` that `order` names, in that order. */
export function inOrder(
  value: Record<string, unknown>,
  order: readonly string[],
): Record<string, unknown> {
  const ordered: Record<string, unknown> = {};
  for (const key of order) if (Object.hasOwn(value, key)) ordered[key] = value[key];
  return ordered;
}

/** Names of the fields of an object schema, in the order in which they are shown. */
export function fieldsOf(schema: Schema): string[] {
  return Object.keys(schema.properties ?? {});
}

/**
 * Field by field: absent keeps the current value, null restores the initial one, a value replaces
 * it.
 */
export function mergeFields<T extends object>(current: T, change: object, initial: T): T {
  const changes = change as Record<string, unknown>;
  const kept = current as Record<string, unknown>;
  const fresh = initial as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys(initial).map((name) => [
      name,
      changes[name] === undefined ? kept[name] : (changes[name] ?? fresh[name]),
    ]),
  ) as T;
}
