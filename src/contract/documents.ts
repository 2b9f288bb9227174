/** Document routes: bodies and parameters. */
import type { RawJson } from '../base/json.ts';
import { ATTRIBUTE_NAMES_MAX, SORT_CRITERIA_MAX, SORT_CRITERION, SORT_TEXT_MAX } from './search.ts';
import {
  boolean,
  declared,
  list,
  nullable,
  object,
  optionals,
  string,
  type Declared,
  type Static,
} from './declare.ts';
import { pageMembers } from './pages.ts';

export type PayloadFormatName = 'json' | 'ndjson' | 'csv';

/** All fields present; the form passed to the engine. */
export interface FetchRequest {
  offset: number;
  limit: number;
  /** null: all. */
  fields: string[] | null;
  filter: unknown;
  sort: string[] | null;
  /** null: no restriction. */
  ids: string[] | RawJson | null;
  retrieveVectors: boolean;
}

const PAGE = pageMembers('invalid_document_offset', 'invalid_document_limit');
const RETRIEVE_VECTORS = boolean({
  default: false,
  'x-code': 'invalid_document_retrieve_vectors',
});
const USE_NETWORK = boolean({ 'x-code': 'invalid_document_use_network' });
/** The engine reads its elements. */
const FILTER = declared<unknown>({
  type: ['string', 'array', 'null'],
  items: { type: ['string', 'array'], items: { type: 'string' } },
  default: null,
  'x-code': 'invalid_document_filter',
  'x-checked-later': true,
});
const FILTER_PARAMETER: Declared = { ...FILTER, 'x-query': 'json-or-text' };

export const FETCH_DOCUMENTS = object(
  optionals({
    ...PAGE,
    fields: nullable(
      list(string(), {
        maxItems: ATTRIBUTE_NAMES_MAX,
        default: null,
        'x-code': 'invalid_document_fields',
      }),
    ),
    filter: { ...FILTER, 'x-passed-on': true },
    retrieveVectors: RETRIEVE_VECTORS,
    sort: declared<string[] | string | null>({
      type: ['array', 'string', 'null'],
      items: SORT_CRITERION,
      maxItems: SORT_CRITERIA_MAX,
      format: 'sort-criterion',
      maxLength: SORT_TEXT_MAX,
      default: null,
      'x-code': 'invalid_document_sort',
    }),
    ids: declared<string[] | RawJson | null>({
      type: ['array', 'null'],
      items: { type: ['string', 'integer'], format: 'document-id' },
      default: null,
      'x-code': 'invalid_document_ids',
      'x-exact': true,
      'x-passed-on': true,
    }),
    useNetwork: nullable(USE_NETWORK, { default: null }),
  }),
);
export type FetchBody = Static<typeof FETCH_DOCUMENTS>;

const FIELD_LIST = list(string(), {
  'x-query': 'comma-list',
  'x-code': 'invalid_document_fields',
});

export const LIST_DOCUMENTS_QUERY = object(
  optionals({
    ...PAGE,
    fields: FIELD_LIST,
    retrieveVectors: RETRIEVE_VECTORS,
    ids: list(string({ format: 'document-id' }), {
      'x-query': 'comma-list',
      'x-code': 'invalid_document_ids',
    }),
    filter: FILTER_PARAMETER,
    sort: list(SORT_CRITERION, {
      maxItems: SORT_CRITERIA_MAX,
      'x-query': 'sort-list',
      'x-code': 'invalid_document_sort',
    }),
    useNetwork: USE_NETWORK,
  }),
);
export type ListDocumentsQuery = Static<typeof LIST_DOCUMENTS_QUERY>;

export const GET_DOCUMENT_QUERY = object(
  optionals({ fields: FIELD_LIST, retrieveVectors: RETRIEVE_VECTORS, useNetwork: USE_NETWORK }),
);
export type GetDocumentQuery = Static<typeof GET_DOCUMENT_QUERY>;

const CUSTOM_METADATA = string({ 'x-code': 'invalid_index_custom_metadata' });

export const ADD_DOCUMENTS_QUERY = object(
  optionals({
    primaryKey: string({ 'x-code': 'invalid_index_primary_key' }),
    csvDelimiter: string({
      default: ',',
      format: 'csv-delimiter',
      description: 'One ASCII character.',
      'x-code': 'invalid_document_csv_delimiter',
    }),
    customMetadata: CUSTOM_METADATA,
    skipCreation: boolean({
      default: false,
      'x-code': 'invalid_skip_creation',
      'x-ignore-case': true,
    }),
  }),
);
export type AddDocumentsQuery = Static<typeof ADD_DOCUMENTS_QUERY>;

export const CUSTOM_METADATA_QUERY = object(optionals({ customMetadata: CUSTOM_METADATA }));
export type CustomMetadataQuery = Static<typeof CUSTOM_METADATA_QUERY>;

export const DELETE_BY_FILTER = object({
  filter: declared<unknown>({ ...FILTER, type: ['string', 'array'], minLength: 1, minItems: 1 }),
});
export type DeleteByFilterBody = Static<typeof DELETE_BY_FILTER>;

/** Elements of any type; the text of each is an id. */
export const DELETE_BATCH = declared<string[]>({ type: 'array', items: {}, 'x-exact': true });

/** Each edited document gets a copy of the context. */
const EDIT_CONTEXT_VALUES_MAX = 20_000;

const CONTEXT_CODE = 'invalid_document_edition_context';
const FUNCTION = string({ 'x-code': 'invalid_document_edition_function_filter' });

export const EDIT_DOCUMENTS = object(
  optionals({
    filter: FILTER,
    context: declared<RawJson | null>({
      type: ['object', 'null'],
      'x-values-max': EDIT_CONTEXT_VALUES_MAX,
      'x-lossless': true,
      'x-code': CONTEXT_CODE,
    }),
    function: { ...FUNCTION, 'x-missing-code': 'missing_document_edition_function' },
  }),
);
export type EditDocumentsBody = Static<typeof EDIT_DOCUMENTS>;

/** The same parameters may stand in the query; the body wins. */
export const EDIT_DOCUMENTS_QUERY = object(
  optionals({
    filter: FILTER_PARAMETER,
    context: declared<RawJson>({
      type: 'object',
      'x-query': 'json-or-text',
      'x-lossless': true,
      'x-code': CONTEXT_CODE,
    }),
    function: FUNCTION,
    customMetadata: CUSTOM_METADATA,
  }),
);
