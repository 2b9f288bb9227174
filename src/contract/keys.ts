/** API keys: stored records, shown objects, bodies. */
import { ACTIONS } from './actions.ts';
import { paginationQuery } from './indexes.ts';
import { RATE_LIMIT, type RateLimit } from './rate-limits.ts';
import type { Schema } from './schema.ts';

/** The stored part of a key. Its secret value is derived from the master key and the uid. */
export interface KeyRecord {
  /** Hyphenated lower case. */
  uid: string;
  name: string | null;
  description: string | null;
  /** As sent, in that order. */
  actions: string[];
  indexes: string[];
  /** RFC 3339; null: never. */
  expiresAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** Absent: the limit for all keys. */
  rateLimit?: RateLimit;
}

/** Keys in this order. */
export interface KeyView {
  name: string | null;
  description: string | null;
  key: string;
  uid: string;
  actions: string[];
  indexes: string[];
  expiresAt: string | null;
  createdAt: string;
  updatedAt: string;
  /** Present when the key has a limit of its own. */
  rateLimit?: RateLimit;
}

export interface CreateKeyRequest {
  description?: string | null;
  name?: string | null;
  uid?: string;
  actions: string[];
  indexes: string[];
  expiresAt: string | null;
  rateLimit?: Partial<RateLimit> | null;
}

/** Maximum characters of a text of a key, and names in its lists: many keys are listed at once. */
const KEY_TEXT_MAX = 10_000;
const KEY_NAMES_MAX = 10_000;

const DESCRIPTION: Schema = {
  type: ['string', 'null'],
  maxLength: KEY_TEXT_MAX,
  default: null,
  'x-code': 'invalid_api_key_description',
};
const NAME: Schema = {
  type: ['string', 'null'],
  maxLength: KEY_TEXT_MAX,
  default: null,
  'x-code': 'invalid_api_key_name',
};

export const CREATE_KEY: Schema = {
  type: 'object',
  properties: {
    description: DESCRIPTION,
    name: NAME,
    uid: { type: 'string', format: 'uuid', 'x-code': 'invalid_api_key_uid' },
    actions: {
      type: 'array',
      items: { type: 'string', enum: ACTIONS },
      maxItems: KEY_NAMES_MAX,
      'x-code': 'invalid_api_key_actions',
      'x-missing-code': 'missing_api_key_actions',
    },
    indexes: {
      type: 'array',
      items: { type: 'string', format: 'index-pattern' },
      maxItems: KEY_NAMES_MAX,
      'x-code': 'invalid_api_key_indexes',
      'x-missing-code': 'missing_api_key_indexes',
    },
    expiresAt: {
      type: ['string', 'null'],
      format: 'key-date',
      'x-code': 'invalid_api_key_expires_at',
      'x-missing-code': 'missing_api_key_expires_at',
    },
    rateLimit: RATE_LIMIT,
  },
  required: ['actions', 'indexes', 'expiresAt'],
  additionalProperties: false,
};

export interface PatchKeyRequest {
  description?: string | null;
  name?: string | null;
  rateLimit?: Partial<RateLimit> | null;
}

export const PATCH_KEY: Schema = {
  type: 'object',
  properties: {
    description: DESCRIPTION,
    name: NAME,
    rateLimit: RATE_LIMIT,
    uid: { not: {}, 'x-immutable-code': 'immutable_api_key_uid' },
    actions: { not: {}, 'x-immutable-code': 'immutable_api_key_actions' },
    indexes: { not: {}, 'x-immutable-code': 'immutable_api_key_indexes' },
    expiresAt: { not: {}, 'x-immutable-code': 'immutable_api_key_expires_at' },
    createdAt: { not: {}, 'x-immutable-code': 'immutable_api_key_created_at' },
    updatedAt: { not: {}, 'x-immutable-code': 'immutable_api_key_updated_at' },
  },
  additionalProperties: false,
};

export const LIST_KEYS_QUERY = paginationQuery('invalid_api_key_offset', 'invalid_api_key_limit');
