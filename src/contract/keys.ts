/** API keys: stored records, shown objects, bodies. */
import { ACTIONS } from './actions.ts';
import {
  immutable,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type Declared,
  type Static,
} from './declare.ts';
import type { ErrorCode } from './errors.ts';
import { paginationQuery } from './pages.ts';
import { RATE_LIMIT } from './rate-limits.ts';
import type { KeyView } from './responses.ts';

/** The stored part of a key. Its secret value is derived from the master key and the uid. */
export interface KeyRecord extends Omit<KeyView, 'key' | 'previousExpiresAt'> {
  /** Absent: the value was never rotated. */
  rotation?: KeyRotation;
}

/** Maximum number of values of a key that are accepted at once. */
export const KEY_VALUES_MAX = 10;

/**
 * How often the value of a key was rotated, and until when earlier values are accepted: those that
 * had not ended at the last rotation, by their `count`.
 */
export const KEY_ROTATION = object({
  count: integer({ minimum: 1 }),
  earlier: list(object({ count: integer({ minimum: 0 }), until: string({ format: 'key-date' }) }), {
    maxItems: KEY_VALUES_MAX,
  }),
});
export type KeyRotation = Static<typeof KEY_ROTATION>;

/** Maximum characters of a text of a key, and names in its lists: many keys are listed at once. */
const KEY_TEXT_MAX = 10_000;
const KEY_NAMES_MAX = 10_000;

function shownText(code: ErrorCode): Declared<string | null> {
  return nullable(string({ maxLength: KEY_TEXT_MAX, default: null, 'x-code': code }));
}

/** How many turns of searches a key gets where one without a weight gets one. null: 1. */
export const KEY_WEIGHT = nullable(
  integer({ minimum: 1, maximum: 100, default: null, 'x-code': 'invalid_api_key_weight' }),
);

const CHANGEABLE = optionals({
  description: shownText('invalid_api_key_description'),
  name: shownText('invalid_api_key_name'),
});
const BOUNDS = optionals({ rateLimit: RATE_LIMIT, weight: KEY_WEIGHT });

export const CREATE_KEY = object({
  ...CHANGEABLE,
  uid: optional(string({ format: 'uuid', 'x-code': 'invalid_api_key_uid' })),
  actions: list(oneOf(ACTIONS), {
    maxItems: KEY_NAMES_MAX,
    'x-code': 'invalid_api_key_actions',
    'x-missing-code': 'missing_api_key_actions',
  }),
  indexes: list(string({ format: 'index-pattern' }), {
    maxItems: KEY_NAMES_MAX,
    'x-code': 'invalid_api_key_indexes',
    'x-missing-code': 'missing_api_key_indexes',
  }),
  expiresAt: nullable(
    string({
      format: 'key-date',
      'x-code': 'invalid_api_key_expires_at',
      'x-missing-code': 'missing_api_key_expires_at',
    }),
  ),
  ...BOUNDS,
});
export type CreateKeyRequest = Static<typeof CREATE_KEY>;

export const PATCH_KEY = object({
  ...CHANGEABLE,
  ...BOUNDS,
  uid: immutable('immutable_api_key_uid'),
  actions: immutable('immutable_api_key_actions'),
  indexes: immutable('immutable_api_key_indexes'),
  expiresAt: immutable('immutable_api_key_expires_at'),
  createdAt: immutable('immutable_api_key_created_at'),
  updatedAt: immutable('immutable_api_key_updated_at'),
});
export type PatchKeyRequest = Static<typeof PATCH_KEY>;

/** null: a day after the rotation. */
export const ROTATE_KEY = object({
  previousExpiresAt: optional(
    nullable(string({ format: 'key-date', 'x-code': 'invalid_api_key_expires_at' })),
  ),
});
export type RotateKeyRequest = Static<typeof ROTATE_KEY>;

export const LIST_KEYS_QUERY = paginationQuery('invalid_api_key_offset', 'invalid_api_key_limit');
