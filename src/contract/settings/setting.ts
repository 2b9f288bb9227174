/**
 * What a setting of an index is: one entry of the registry. Routes, validation, GET, reset, details of tasks, the
 * published description and the form of the page follow from it.
 */
import { sortUtf8 } from '../../base/json.ts';
import type { Result } from '../../base/result.ts';
import type { ApiError, ErrorCode } from '../errors.ts';
import type { Feature, FeatureSet } from '../features.ts';
import type { Schema } from '../schema.ts';

/**
 * What an index holds that is made from its documents under its settings: `text` (words, postings, forward records),
 * `columns` (values of faceted fields), `vectors` (embeddings). Making the text anew makes the columns anew as well.
 */
type Derived = 'text' | 'columns' | 'vectors';

/**
 * @typeParam Name key in the object of settings
 * @typeParam Value what is stored: complete, secrets in clear
 */
export interface Setting<Name extends string = string, Value = unknown> {
  readonly name: Name;
  /** What it does, for those who set it. Published. */
  readonly explanation: string;
  /** Of the child route, whose path is the name in kebab case. PUT replaces the value, PATCH merges fields. */
  readonly methods: readonly ('PUT' | 'PATCH')[];
  /** Of what a request gives. Every schema takes null, which resets the setting. */
  readonly schema: Schema;
  /** Of every fault inside the value. */
  readonly code: ErrorCode;
  /** What must be made anew when the value changes. Empty: the value is read when a request is answered. */
  readonly touches: readonly Derived[];
  /**
   * The value may be very long, and nothing of this process but the engine looks into it: where it is long it is kept as
   * its JSON (`RawJson`), in requests, tasks and what is stored. Others have at most `SETTING_VALUES_MAX` values.
   */
  readonly mayBeLong?: boolean;
  /** The default, in its stored form. A new object each time. */
  initial(): Value;

  /** Experimental feature without which the setting can be given no value and is not shown. */
  readonly feature?: Feature;
  /** DELETE /settings leaves the setting out of its details while the feature is off. */
  readonly resetOnlyWithFeature?: boolean;
  /** Schema of the body of the child route where it takes more than the bare value, and the value in such a body. */
  readonly childSchema?: Schema;
  fromChildBody?(body: unknown): unknown;
  /** What details of tasks show for null. Default: null. */
  resetForm?(): unknown;
  /** The canonical form of what was sent, not null: what details show and `merge` gets. Default: as sent. */
  canonical?(sent: unknown): unknown;
  /** What can be refused before the stored value is known. `given` is canonical, not null. */
  check?(given: unknown, features: FeatureSet): ApiError | null;
  /** The value to store. Refuses what only the stored value shows to be wrong. Default: `change` replaces `current`. */
  merge?(current: Value, change: unknown): Result<Value, ApiError>;
  /** The value as the routes of settings show it, without secrets. Default: as it is. */
  render?(value: unknown): unknown;
  /** What was sent as details of tasks show it. Default: `render`. */
  report?(sent: unknown): unknown;
}

/** Keeps the literal name and infers the type of the value. */
export function setting<const Name extends string, Value>(
  entry: Setting<Name, Value>,
): Setting<Name, Value> {
  return entry;
}

/** Path segment of the child route. */
export function segmentOf({ name }: Setting): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

// --- Schemas that several settings use ----------------------------------------------------------------

export const TEXTS: Schema = { type: ['array', 'null'], items: { type: 'string' } };
export const PATTERNS: Schema = { type: 'array', items: { type: 'string' } };
export const FLAG: Schema = { type: ['boolean', 'null'] };

// --- Forms --------------------------------------------------------------------------------------------

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

/** Field by field: absent keeps the current value, null restores the initial one, a value replaces it. */
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
