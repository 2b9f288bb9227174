/**
 * What a schema of a body or of query strings may say.
 *
 * It is JSON Schema (2020-12, the keywords of {@link Schema} only), so that the same object is published in the OpenAPI
 * document. The `x-` keywords add what JSON Schema has no word for: which error code a fault has, for example.
 */
import type { ErrorCode } from './errors.ts';
import type { FormatName } from './formats.ts';

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
