/**
 * The schema language for bodies and query strings.
 *
 * It is JSON Schema (2020-12, only the keywords of {@link Schema}), so that the same object is
 * published in the OpenAPI document. The `x-` keywords add what JSON Schema cannot express: the
 * error code of a fault, for example.
 */
import type { ErrorCode } from './errors.ts';
import type { FormatName } from './formats.ts';

export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object';

export interface Schema {
  type?: JsonType | JsonType[];
  /** The label of a control for the value, and what explains it. */
  title?: string;
  description?: string;
  default?: unknown;
  /** Only strings. */
  enum?: readonly string[];
  format?: FormatName;
  /** Characters (code points). */
  minLength?: number;
  maxLength?: number;
  /** Inclusive. */
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  /** In the order in which missing keys are reported. */
  required?: readonly string[];
  /**
   * false: unknown keys are faults. true: they are ignored. A schema: any key, checked by this
   * schema.
   */
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  /** Maximum number of members of an object. */
  maxProperties?: number;
  items?: Schema;
  /** Number of elements of an array, inclusive. */
  minItems?: number;
  maxItems?: number;
  /** At most one of these accepts the type of the value (string or object, say). */
  oneOf?: Schema[];
  /** `{}`: never accepted. */
  not?: Record<string, never>;
  /** Code of a fault of the value or inside it. Inherited. */
  'x-code'?: ErrorCode;
  /** Code of an unknown key, or of a missing one that has no code of its own. Inherited. */
  'x-key-code'?: ErrorCode;
  /** On a required property: code when it is missing. */
  'x-missing-code'?: ErrorCode;
  /** On a property: it exists but cannot be set here. */
  'x-immutable-code'?: ErrorCode;
  /** If both of these properties are present, the first must not be greater than the second. */
  'x-ascending'?: readonly [string, string];
  /**
   * Maximum number of values inside, including nested ones; each `CHARACTERS_OF_VALUE` characters
   * of a text count as one more.
   */
  'x-values-max'?: number;
  /** The value can be a credential: errors do not quote it. */
  'x-secret'?: boolean;
  /** The value is checked elsewhere, after all other fields; here anything is accepted. */
  'x-checked-later'?: boolean;
  /**
   * On a property: it is only passed on to the engine, and may stay text (`RawJson`) if it is long.
   */
  'x-passed-on'?: boolean;
  /**
   * On a property or at the top: ids. Numbers become the text that was sent, and so does anything
   * but a text in a list.
   */
  'x-exact'?: boolean;
  /**
   * On a property or at the top: an object or a list with the user's numbers, kept as JSON
   * (`RawJson`) with the original text of each number.
   */
  'x-lossless'?: boolean;
  /** The syntax of a query parameter; see `query.ts`. */
  'x-query'?:
    'comma-list' | 'star-list' | 'sort-list' | 'json-or-text' | 'date-after' | 'date-before';
  /** Enum values of a query parameter are compared case-insensitively. */
  'x-ignore-case'?: boolean;
  /** For a setting: where a form shows it. For the object of settings: all groups, in order. */
  'x-group'?: string;
  'x-groups'?: readonly string[];
  /** For a setting that `GET /settings` shows only where it differs: its default. */
  'x-initial'?: unknown;
  /** For a list of names, or for true and false: what each does, in words. */
  'x-words'?: Readonly<Record<string, string>>;
  /** On a setting: what a change of it regenerates from all documents. */
  'x-makes-anew'?: readonly string[];
}
