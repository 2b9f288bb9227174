import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';

export interface IndexInfo {
  uid: string;
  /** RFC 3339. */
  createdAt: string;
  updatedAt: string;
  primaryKey: string | null;
}

/** Keys in this order in responses. */
export interface IndexStats {
  numberOfDocuments: number;
  /** Bytes. */
  rawDocumentDbSize: number;
  avgDocumentSize: number;
  /** Bytes on disk, and of the part that holds live data. */
  indexSize: number;
  usedIndexSize: number;
  isIndexing: boolean;
  internalDatabaseSizes?: Record<string, number>;
  numberOfEmbeddings: number;
  numberOfEmbeddedDocuments: number;
  fieldDistribution: Record<string, number>;
}

export interface InstanceStats {
  /** Bytes on disk of all indexes and stores, and of the part that holds live data. */
  databaseSize: number;
  usedDatabaseSize: number;
  /** Ascending uid. */
  indexes: Record<string, IndexStats>;
}

/** Characters: no attribute name is longer. */
const PRIMARY_KEY_MAX = 65_536;

const PRIMARY_KEY: Schema = {
  type: ['string', 'null'],
  maxLength: PRIMARY_KEY_MAX,
  'x-code': 'invalid_index_primary_key',
};

export interface CreateIndexRequest {
  uid: string;
  primaryKey?: string | null;
}

export const CREATE_INDEX: Schema = {
  type: 'object',
  properties: {
    uid: { ...INDEX_UID_SCHEMA, 'x-missing-code': 'missing_index_uid' },
    primaryKey: { ...PRIMARY_KEY, default: null },
  },
  required: ['uid'],
  additionalProperties: false,
};

export interface UpdateIndexRequest {
  primaryKey?: string | null;
  uid?: string | null;
}

export const UPDATE_INDEX: Schema = {
  type: 'object',
  properties: {
    primaryKey: PRIMARY_KEY,
    uid: { ...INDEX_UID_SCHEMA, type: ['string', 'null'] },
    createdAt: { not: {}, 'x-immutable-code': 'immutable_index_created_at' },
    updatedAt: { not: {}, 'x-immutable-code': 'immutable_index_updated_at' },
  },
  additionalProperties: false,
};

export interface SwapElement {
  indexes: string[];
  rename?: boolean;
}

/** Maximum number of pairs in one request. */
const SWAPS_MAX = 1_000;

export const SWAP_INDEXES: Schema = {
  type: 'array',
  maxItems: SWAPS_MAX,
  items: {
    type: 'object',
    properties: {
      indexes: {
        type: 'array',
        items: { type: 'string', format: 'index-uid' },
        minItems: 2,
        maxItems: 2,
        'x-code': 'invalid_swap_indexes',
        'x-missing-code': 'missing_swap_indexes',
      },
      rename: { type: 'boolean', default: false, 'x-code': 'invalid_swap_rename' },
    },
    required: ['indexes'],
    additionalProperties: false,
  },
};

/** `offset` and `limit` of the list routes. */
export function paginationQuery(
  offsetCode: NonNullable<Schema['x-code']>,
  limitCode: NonNullable<Schema['x-code']>,
): Schema {
  return {
    type: 'object',
    properties: {
      offset: { type: 'integer', minimum: 0, default: 0, 'x-code': offsetCode },
      limit: { type: 'integer', minimum: 0, default: 20, 'x-code': limitCode },
    },
    additionalProperties: false,
  };
}

export interface Pagination {
  offset?: number;
  limit?: number;
}

export const LIST_INDEXES_QUERY = paginationQuery('invalid_index_offset', 'invalid_index_limit');

export interface StatsQuery {
  showInternalDatabaseSizes?: boolean;
  sizeFormat?: 'human' | 'raw';
}

export const STATS_QUERY: Schema = {
  type: 'object',
  properties: {
    showInternalDatabaseSizes: {
      type: 'boolean',
      default: false,
      'x-code': 'invalid_stats_show_internal_database_sizes',
    },
    sizeFormat: {
      type: 'string',
      enum: ['human', 'raw'],
      default: 'raw',
      'x-code': 'invalid_stats_size_format',
    },
  },
  additionalProperties: false,
};
