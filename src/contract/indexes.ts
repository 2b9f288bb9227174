import {
  boolean,
  immutable,
  indexUid,
  list,
  nullable,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type Static,
} from './declare.ts';
import { paginationQuery } from './pages.ts';

/** Characters: no attribute name is longer. */
const PRIMARY_KEY_MAX = 65_536;

const PRIMARY_KEY = nullable(
  string({
    title: 'Primary key',
    description: 'The field that identifies a document. Empty: found in the first documents.',
    maxLength: PRIMARY_KEY_MAX,
    'x-code': 'invalid_index_primary_key',
  }),
);

export const CREATE_INDEX = object({
  uid: indexUid({
    title: 'Uid',
    description: 'Letters, digits, - and _.',
    'x-missing-code': 'missing_index_uid',
  }),
  primaryKey: optional({ ...PRIMARY_KEY, default: null }),
});
export type CreateIndexRequest = Static<typeof CREATE_INDEX>;

export const UPDATE_INDEX = object({
  primaryKey: optional(PRIMARY_KEY),
  uid: optional(nullable(indexUid())),
  createdAt: immutable('immutable_index_created_at'),
  updatedAt: immutable('immutable_index_updated_at'),
});
export type UpdateIndexRequest = Static<typeof UPDATE_INDEX>;

/** Maximum number of pairs in one request. */
const SWAPS_MAX = 1_000;

export const SWAP_INDEXES = list(
  object({
    indexes: list(string({ format: 'index-uid' }), {
      minItems: 2,
      maxItems: 2,
      'x-code': 'invalid_swap_indexes',
      'x-missing-code': 'missing_swap_indexes',
    }),
    rename: optional(boolean({ default: false, 'x-code': 'invalid_swap_rename' })),
  }),
  { maxItems: SWAPS_MAX },
);
export type SwapElement = Static<typeof SWAP_INDEXES>[number];

export const LIST_INDEXES_QUERY = paginationQuery('invalid_index_offset', 'invalid_index_limit');

export const STATS_QUERY = object(
  optionals({
    showInternalDatabaseSizes: boolean({
      default: false,
      'x-code': 'invalid_stats_show_internal_database_sizes',
    }),
    sizeFormat: oneOf(['human', 'raw'], { default: 'raw', 'x-code': 'invalid_stats_size_format' }),
  }),
);
export type StatsQuery = Static<typeof STATS_QUERY>;
