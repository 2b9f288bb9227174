/** Document routes: bodies and parameters. */
import type { RawJson } from '../base/json.ts';
import { ATTRIBUTE_NAMES_MAX, SORT_CRITERIA_MAX, SORT_CRITERION, SORT_TEXT_MAX } from './search.ts';
import type { Schema } from './schema.ts';

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

const OFFSET: Schema = {
  type: 'integer',
  minimum: 0,
  default: 0,
  'x-code': 'invalid_document_offset',
};
const LIMIT: Schema = {
  type: 'integer',
  minimum: 0,
  default: 20,
  'x-code': 'invalid_document_limit',
};
const FIELDS: Schema = {
  type: ['array', 'null'],
  items: { type: 'string' },
  maxItems: ATTRIBUTE_NAMES_MAX,
  default: null,
  'x-code': 'invalid_document_fields',
};
const RETRIEVE_VECTORS: Schema = {
  type: 'boolean',
  default: false,
  'x-code': 'invalid_document_retrieve_vectors',
};
const FILTER: Schema = {
  type: ['string', 'array', 'null'],
  items: { type: ['string', 'array'], items: { type: 'string' } },
  default: null,
  'x-code': 'invalid_document_filter',
  'x-checked-later': true,
};

export interface FetchBody {
  offset?: number;
  limit?: number;
  fields?: string[] | null;
  filter?: unknown;
  retrieveVectors?: boolean;
  sort?: string[] | string | null;
  ids?: string[] | RawJson | null;
  useNetwork?: boolean | null;
}

export const FETCH_DOCUMENTS: Schema = {
  type: 'object',
  properties: {
    offset: OFFSET,
    limit: LIMIT,
    fields: FIELDS,
    filter: { ...FILTER, 'x-passed-on': true },
    retrieveVectors: RETRIEVE_VECTORS,
    sort: {
      type: ['array', 'string', 'null'],
      items: SORT_CRITERION,
      maxItems: SORT_CRITERIA_MAX,
      format: 'sort-criterion',
      maxLength: SORT_TEXT_MAX,
      default: null,
      'x-code': 'invalid_document_sort',
    },
    ids: {
      type: ['array', 'null'],
      items: { type: ['string', 'integer'], format: 'document-id' },
      default: null,
      'x-code': 'invalid_document_ids',
      'x-exact': true,
      'x-passed-on': true,
    },
    useNetwork: {
      type: ['boolean', 'null'],
      default: null,
      'x-code': 'invalid_document_use_network',
    },
  },
  additionalProperties: false,
};

export interface ListDocumentsQuery {
  offset?: number;
  limit?: number;
  fields?: string[];
  filter?: unknown;
  retrieveVectors?: boolean;
  sort?: string[];
  ids?: string[];
  useNetwork?: boolean;
}

const FIELD_LIST: Schema = {
  type: 'array',
  items: { type: 'string' },
  'x-query': 'comma-list',
  'x-code': 'invalid_document_fields',
};

const USE_NETWORK: Schema = { type: 'boolean', 'x-code': 'invalid_document_use_network' };

export const LIST_DOCUMENTS_QUERY: Schema = {
  type: 'object',
  properties: {
    offset: OFFSET,
    limit: LIMIT,
    fields: FIELD_LIST,
    retrieveVectors: RETRIEVE_VECTORS,
    ids: {
      type: 'array',
      items: { type: 'string', format: 'document-id' },
      'x-query': 'comma-list',
      'x-code': 'invalid_document_ids',
    },
    filter: { ...FILTER, 'x-query': 'json-or-text' },
    sort: {
      type: 'array',
      items: SORT_CRITERION,
      maxItems: SORT_CRITERIA_MAX,
      'x-query': 'sort-list',
      'x-code': 'invalid_document_sort',
    },
    useNetwork: USE_NETWORK,
  },
  additionalProperties: false,
};

export interface GetDocumentQuery {
  fields?: string[];
  retrieveVectors?: boolean;
  useNetwork?: boolean;
}

export const GET_DOCUMENT_QUERY: Schema = {
  type: 'object',
  properties: { fields: FIELD_LIST, retrieveVectors: RETRIEVE_VECTORS, useNetwork: USE_NETWORK },
  additionalProperties: false,
};

const CUSTOM_METADATA: Schema = { type: 'string', 'x-code': 'invalid_index_custom_metadata' };

export interface AddDocumentsQuery {
  primaryKey?: string;
  csvDelimiter?: string;
  customMetadata?: string;
  skipCreation?: boolean;
}

export const ADD_DOCUMENTS_QUERY: Schema = {
  type: 'object',
  properties: {
    primaryKey: { type: 'string', 'x-code': 'invalid_index_primary_key' },
    csvDelimiter: {
      type: 'string',
      default: ',',
      format: 'csv-delimiter',
      description: 'One ASCII character.',
      'x-code': 'invalid_document_csv_delimiter',
    },
    customMetadata: CUSTOM_METADATA,
    skipCreation: {
      type: 'boolean',
      default: false,
      'x-code': 'invalid_skip_creation',
      'x-ignore-case': true,
    },
  },
  additionalProperties: false,
};

export interface CustomMetadataQuery {
  customMetadata?: string;
}

export const CUSTOM_METADATA_QUERY: Schema = {
  type: 'object',
  properties: { customMetadata: CUSTOM_METADATA },
  additionalProperties: false,
};

export interface DeleteByFilterBody {
  filter: unknown;
}

export const DELETE_BY_FILTER: Schema = {
  type: 'object',
  properties: { filter: { ...FILTER, type: ['string', 'array'], minLength: 1, minItems: 1 } },
  required: ['filter'],
  additionalProperties: false,
};

/** Elements of any type; the text of each is an id. */
export const DELETE_BATCH: Schema = { type: 'array', items: {}, 'x-exact': true };

export interface EditDocumentsBody {
  filter?: unknown;
  context?: RawJson | null;
  function?: string;
}

/** Each edited document gets a copy of the context. */
const EDIT_CONTEXT_VALUES_MAX = 20_000;

const EDIT_PROPERTIES: Record<string, Schema> = {
  filter: FILTER,
  context: {
    type: ['object', 'null'],
    'x-values-max': EDIT_CONTEXT_VALUES_MAX,
    'x-lossless': true,
    'x-code': 'invalid_document_edition_context',
  },
  function: {
    type: 'string',
    'x-code': 'invalid_document_edition_function_filter',
    'x-missing-code': 'missing_document_edition_function',
  },
};

export const EDIT_DOCUMENTS: Schema = {
  type: 'object',
  properties: EDIT_PROPERTIES,
  additionalProperties: false,
};

/** The same parameters may stand in the query; the body wins. */
export const EDIT_DOCUMENTS_QUERY: Schema = {
  type: 'object',
  properties: {
    filter: { ...FILTER, 'x-query': 'json-or-text' },
    context: {
      type: 'object',
      'x-query': 'json-or-text',
      'x-lossless': true,
      'x-code': 'invalid_document_edition_context',
    },
    function: { type: 'string', 'x-code': 'invalid_document_edition_function_filter' },
    customMetadata: CUSTOM_METADATA,
  },
  additionalProperties: false,
};
