/** Search, multi-search, facet search, similar documents: parameters as types and schemas. */
import { DIMENSIONS_MAX } from './embedders/fields.ts';
import { LOCALES } from './locales.ts';
import { MATCHING_STRATEGIES, type MatchingStrategy } from './matching-strategies.ts';
import { INDEX_UID_SCHEMA, type Schema } from './schema.ts';

/**
 * Maximum sort criteria of one search or listing: ties are broken by nested rules (docs/limits.md).
 */
export const SORT_CRITERIA_MAX = 256;

/** Maximum characters of one criterion, and of a whole `sort` given as one text. */
const SORT_CRITERION_MAX = 65_536;
export const SORT_TEXT_MAX = 1_000_000;

/** An element of a list of sort criteria. */
export const SORT_CRITERION: Schema = {
  type: 'string',
  format: 'sort-criterion',
  maxLength: SORT_CRITERION_MAX,
};

/** Maximum indexes whose facets one federated search may request. */
const FACETED_INDEXES_MAX = 1_000;

/** A string, or an array of strings and arrays of strings; the engine parses it. */
export type Filter = unknown;

const FUSIONS = ['score', 'rrf'] as const;
export type Fusion = (typeof FUSIONS)[number];

export interface HybridQuery {
  embedder: string;
  semanticRatio?: number;
  /** Documents found only by vectors are omitted below this score. */
  minScore?: number | null;
  /** How both lists become one: by their scores, or by their ranks. Default: by the strategy. */
  fusion?: Fusion | null;
}

/** Parameters as given; null and absent both mean the default. */
export interface SearchRequest {
  q?: string | null;
  vector?: number[] | null;
  media?: unknown;
  hybrid?: HybridQuery | null;
  offset?: number | null;
  limit?: number | null;
  page?: number | null;
  hitsPerPage?: number | null;
  attributesToRetrieve?: string[] | null;
  retrieveVectors?: boolean;
  attributesToCrop?: string[] | null;
  cropLength?: number;
  attributesToHighlight?: string[] | null;
  showMatchesPosition?: boolean;
  showRankingScore?: boolean;
  showRankingScoreDetails?: boolean;
  showPerformanceDetails?: boolean | null;
  useNetwork?: boolean | null;
  filter?: Filter;
  sort?: string[] | null;
  distinct?: string | null;
  facets?: string[] | null;
  highlightPreTag?: string;
  highlightPostTag?: string;
  cropMarker?: string;
  matchingStrategy?: MatchingStrategy;
  attributesToSearchOn?: string[] | null;
  rankingScoreThreshold?: number | null;
  locales?: string[] | null;
  personalize?: { userContext: string } | null;
  rerank?: Rerank | null;
  groupBy?: GroupBy | null;
  facetsPer?: 'document' | 'group' | null;
}

/** A list of hits that may be returned in groups. */
export interface Groupable {
  groupBy?: GroupBy | null;
  facetsPer?: 'document' | 'group' | null;
  limit?: number | null;
  offset?: number | null;
  page?: number | null;
  hitsPerPage?: number | null;
  distinct?: string | null;
  personalize?: { userContext: string } | null;
  rerank?: Rerank | null;
  showPerformanceDetails?: boolean | null;
}

/** See docs/behaviour/reranking.md. */
export interface Rerank {
  model: string;
  documents?: number | null;
}

export const RERANKED_DEFAULT = 50;
const RERANKED_MAX = 200;

/** See docs/behaviour/groups.md. */
export interface GroupBy {
  attribute: string;
  hits?: number | null;
  limit?: number | null;
  page?: number | null;
}

/** Each group of a page is a search of its own. */
const GROUPS_MAX = 100;
const GROUP_HITS_MAX = 100;
const GROUP_PAGES_MAX = 1_000_000;
/** Queries of one multi-search that are grouped. */
export const GROUPED_QUERIES_MAX = 10;

/** Maximum locales in one request: more than exist. */
const LOCALES_MAX = 256;

const strings: Schema = { type: 'string' };

/** Maximum attribute names in one list of a request: more than any documents have. */
export const ATTRIBUTE_NAMES_MAX = 65_536;

/** Enough for a text of 10 MB. */
const MEDIA_VALUES_MAX = 100_000;

/** Maximum characters of an attribute name in a request: more than any document has. */
const ATTRIBUTE_NAME_MAX = 65_536;

function stringList(code: NonNullable<Schema['x-code']>): Schema {
  return {
    type: ['array', 'null'],
    items: strings,
    maxItems: ATTRIBUTE_NAMES_MAX,
    default: null,
    'x-code': code,
  };
}

function count(code: NonNullable<Schema['x-code']>, initial: number | null): Schema {
  return {
    type: initial === null ? ['integer', 'null'] : 'integer',
    minimum: 0,
    default: initial,
    'x-code': code,
  };
}

function flag(code: NonNullable<Schema['x-code']>): Schema {
  return { type: 'boolean', default: false, 'x-code': code };
}

function text(code: NonNullable<Schema['x-code']>, initial: string): Schema {
  return { type: 'string', default: initial, 'x-code': code };
}

function filter(code: NonNullable<Schema['x-code']>): Schema {
  return {
    type: ['string', 'array', 'null'],
    items: { type: ['string', 'array'], items: strings },
    default: null,
    description: 'Outer array elements are joined by AND, inner ones by OR.',
    'x-code': code,
    'x-checked-later': true,
    'x-passed-on': true,
  };
}

const HYBRID: Schema = {
  type: ['object', 'null'],
  properties: {
    embedder: { type: 'string', 'x-code': 'invalid_search_embedder' },
    semanticRatio: {
      type: 'number',
      minimum: 0,
      maximum: 1,
      default: 0.5,
      'x-code': 'invalid_search_semantic_ratio',
    },
    minScore: {
      type: ['number', 'null'],
      minimum: 0,
      maximum: 1,
      default: null,
      description: 'Leaves out documents that only vectors have found below this score.',
      'x-code': 'invalid_search_hybrid_query',
    },
    fusion: {
      type: ['string', 'null'],
      enum: FUSIONS,
      description:
        'Merges the hits of words and of vectors by their scores, or by their ranks (reciprocal rank fusion). Default: `rrf` with the matching strategy `natural`, `score` with others.',
      'x-code': 'invalid_search_hybrid_query',
    },
  },
  required: ['embedder'],
  additionalProperties: false,
  'x-code': 'invalid_search_hybrid_query',
  'x-key-code': 'invalid_search_hybrid_query',
};

const THRESHOLD: Schema = {
  type: ['number', 'null'],
  minimum: 0,
  maximum: 1,
  default: null,
  'x-code': 'invalid_search_ranking_score_threshold',
};

const PERSONALIZE: Schema = {
  type: ['object', 'null'],
  properties: {
    userContext: { type: 'string', 'x-code': 'invalid_search_personalize_user_context' },
  },
  required: ['userContext'],
  additionalProperties: false,
  'x-code': 'invalid_search_personalize',
  'x-key-code': 'invalid_search_personalize',
};

const RERANK: Schema = {
  type: ['object', 'null'],
  properties: {
    model: { type: 'string', maxLength: ATTRIBUTE_NAME_MAX, 'x-code': 'invalid_search_rerank' },
    documents: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: RERANKED_MAX,
      default: RERANKED_DEFAULT,
      'x-code': 'invalid_search_rerank',
    },
  },
  required: ['model'],
  additionalProperties: false,
  default: null,
  description: 'A reranker of the index orders the first documents again.',
  'x-code': 'invalid_search_rerank',
  'x-key-code': 'invalid_search_rerank',
};

const VECTOR: Schema = {
  type: ['array', 'null'],
  items: { type: 'number' },
  maxItems: DIMENSIONS_MAX,
  default: null,
  'x-code': 'invalid_search_vector',
};

const MATCHING_STRATEGY: Schema = {
  type: 'string',
  enum: MATCHING_STRATEGIES,
  description: 'Default: the setting `defaultMatchingStrategy` of the index.',
  'x-code': 'invalid_search_matching_strategy',
};

const LOCALE_LIST: Schema = {
  type: ['array', 'null'],
  items: { type: 'string', enum: LOCALES },
  maxItems: LOCALES_MAX,
  default: null,
  'x-code': 'invalid_search_locales',
};

const USE_NETWORK: Schema = {
  type: ['boolean', 'null'],
  default: null,
  'x-code': 'invalid_search_use_network',
};

/** In the order in which a message lists them. */
const SEARCH_PROPERTIES: Record<string, Schema> = {
  q: { type: ['string', 'null'], default: '', 'x-code': 'invalid_search_q' },
  vector: VECTOR,
  media: {
    description: 'Any JSON; needs the feature `multimodal`.',
    'x-values-max': MEDIA_VALUES_MAX,
    'x-code': 'invalid_search_media',
    'x-checked-later': true,
  },
  hybrid: HYBRID,
  offset: count('invalid_search_offset', 0),
  limit: count('invalid_search_limit', 20),
  page: count('invalid_search_page', null),
  hitsPerPage: count('invalid_search_hits_per_page', null),
  attributesToRetrieve: stringList('invalid_search_attributes_to_retrieve'),
  retrieveVectors: flag('invalid_search_retrieve_vectors'),
  attributesToCrop: stringList('invalid_search_attributes_to_crop'),
  cropLength: count('invalid_search_crop_length', 10),
  attributesToHighlight: stringList('invalid_search_attributes_to_highlight'),
  showMatchesPosition: flag('invalid_search_show_matches_position'),
  filter: filter('invalid_search_filter'),
  sort: {
    ...stringList('invalid_search_sort'),
    items: SORT_CRITERION,
    maxItems: SORT_CRITERIA_MAX,
  },
  distinct: {
    type: ['string', 'null'],
    maxLength: ATTRIBUTE_NAME_MAX,
    default: null,
    'x-code': 'invalid_search_distinct',
  },
  facets: stringList('invalid_search_facets'),
  highlightPreTag: text('invalid_search_highlight_pre_tag', '<em>'),
  highlightPostTag: text('invalid_search_highlight_post_tag', '</em>'),
  cropMarker: text('invalid_search_crop_marker', '…'),
  matchingStrategy: MATCHING_STRATEGY,
  attributesToSearchOn: stringList('invalid_search_attributes_to_search_on'),
  showRankingScore: flag('invalid_search_show_ranking_score'),
  showRankingScoreDetails: flag('invalid_search_show_ranking_score_details'),
  rankingScoreThreshold: THRESHOLD,
  locales: LOCALE_LIST,
  showPerformanceDetails: flag('invalid_search_show_performance_details'),
  useNetwork: USE_NETWORK,
  personalize: PERSONALIZE,
  rerank: RERANK,
};

function groupCount(initial: number, maximum: number): Schema {
  const code = 'invalid_search_group_by';
  return { type: ['integer', 'null'], minimum: 1, maximum, default: initial, 'x-code': code };
}

/** Parameters of a search by POST. */
const GROUPING: Record<string, Schema> = {
  groupBy: {
    type: ['object', 'null'],
    properties: {
      attribute: {
        type: 'string',
        maxLength: ATTRIBUTE_NAME_MAX,
        'x-code': 'invalid_search_group_by',
      },
      hits: groupCount(3, GROUP_HITS_MAX),
      limit: groupCount(20, GROUPS_MAX),
      page: groupCount(1, GROUP_PAGES_MAX),
    },
    required: ['attribute'],
    additionalProperties: false,
    default: null,
    description: 'The response has `groups` of hits with the same value of the attribute.',
    'x-code': 'invalid_search_group_by',
    'x-key-code': 'invalid_search_group_by',
  },
  facetsPer: {
    type: ['string', 'null'],
    enum: ['document', 'group'],
    default: null,
    description: 'Whether facets of a search with `groupBy` count documents or groups.',
    'x-code': 'invalid_search_facets_per',
  },
};

export const SEARCH: Schema = {
  type: 'object',
  properties: { ...SEARCH_PROPERTIES, ...GROUPING },
  additionalProperties: false,
};

/** A parameter of a GET search: never null; lists are written with commas. */
function asParameter(schema: Schema): Schema {
  const type = Array.isArray(schema.type)
    ? schema.type.find((name) => name !== 'null')!
    : schema.type;
  const parameter: Schema = { ...schema, ...(type === undefined ? {} : { type }) };
  if (type === 'array') parameter['x-query'] = 'comma-list';
  return parameter;
}

const FILTER_PARAMETER = { 'x-query': 'json-or-text' } as const;
const SORT_PARAMETER = { 'x-query': 'sort-list' } as const;

function searchParameters(): Record<string, Schema> {
  const parameters: Record<string, Schema> = {};
  for (const [name, schema] of Object.entries(SEARCH_PROPERTIES)) {
    if (name === 'media' || name === 'rerank') continue;
    if (name === 'hybrid') {
      parameters.hybridEmbedder = { type: 'string', 'x-code': 'invalid_search_embedder' };
      parameters.hybridSemanticRatio = asParameter(HYBRID.properties!.semanticRatio!);
      parameters.hybridMinScore = asParameter(HYBRID.properties!.minScore!);
      parameters.hybridFusion = asParameter(HYBRID.properties!.fusion!);
    } else if (name === 'personalize') {
      parameters.personalizeUserContext = {
        type: 'string',
        'x-code': 'invalid_search_personalize_user_context',
      };
    } else if (name === 'filter') parameters.filter = { ...schema, ...FILTER_PARAMETER };
    else if (name === 'sort') parameters.sort = { ...asParameter(schema), ...SORT_PARAMETER };
    else parameters[name] = asParameter(schema);
  }
  return parameters;
}

export const SEARCH_QUERY: Schema = {
  type: 'object',
  properties: searchParameters(),
  additionalProperties: false,
};

export interface SearchParameters extends Omit<
  SearchRequest,
  'hybrid' | 'personalize' | 'media' | 'rerank'
> {
  hybridEmbedder?: string;
  hybridSemanticRatio?: number;
  hybridMinScore?: number;
  hybridFusion?: Fusion;
  personalizeUserContext?: string;
}

export interface FederationOptions {
  weight?: number;
  remote?: string | null;
  queryPosition?: number | null;
}

export interface MultiSearchQuery extends SearchRequest {
  indexUid: string;
  federationOptions?: FederationOptions | null;
}

export interface Federation {
  limit?: number;
  offset?: number;
  page?: number | null;
  hitsPerPage?: number | null;
  facetsByIndex?: Record<string, string[] | null>;
  mergeFacets?: { maxValuesPerFacet?: number | null } | null;
  distinct?: string | null;
  showPerformanceDetails?: boolean | null;
  personalize?: { userContext: string } | null;
  groupBy?: GroupBy | null;
  facetsPer?: 'document' | 'group' | null;
}

export interface MultiSearchRequest {
  queries: MultiSearchQuery[];
  federation?: Federation | null;
}

const MULTI_SEARCH_QUERY: Schema = {
  type: 'object',
  properties: {
    indexUid: { ...INDEX_UID_SCHEMA, 'x-missing-code': 'missing_index_uid' },
    ...SEARCH_PROPERTIES,
    ...GROUPING,
    offset: count('invalid_search_offset', null),
    limit: count('invalid_search_limit', null),
    showPerformanceDetails: {
      type: ['boolean', 'null'],
      default: null,
      'x-code': 'invalid_search_show_performance_details',
    },
    federationOptions: {
      type: ['object', 'null'],
      properties: {
        weight: {
          type: 'number',
          minimum: 0,
          default: 1,
          'x-code': 'invalid_multi_search_weight',
        },
        remote: {
          type: ['string', 'null'],
          default: null,
          'x-code': 'invalid_multi_search_remote',
        },
        queryPosition: {
          type: ['integer', 'null'],
          minimum: 0,
          default: null,
          'x-code': 'invalid_multi_search_query_position',
        },
      },
      additionalProperties: false,
      default: null,
    },
  },
  required: ['indexUid'],
  additionalProperties: false,
};

export const MULTI_SEARCH: Schema = {
  type: 'object',
  properties: {
    federation: {
      type: ['object', 'null'],
      properties: {
        limit: count('invalid_search_limit', 20),
        offset: count('invalid_search_offset', 0),
        page: count('invalid_search_page', null),
        hitsPerPage: count('invalid_search_hits_per_page', null),
        facetsByIndex: {
          type: 'object',
          propertyNames: { type: 'string', format: 'index-uid' },
          maxProperties: FACETED_INDEXES_MAX,
          additionalProperties: {
            type: ['array', 'null'],
            items: strings,
            maxItems: ATTRIBUTE_NAMES_MAX,
          },
          'x-code': 'invalid_multi_search_facets_by_index',
        },
        mergeFacets: {
          type: ['object', 'null'],
          properties: {
            maxValuesPerFacet: {
              type: ['integer', 'null'],
              minimum: 0,
              'x-code': 'invalid_multi_search_max_values_per_facet',
            },
          },
          additionalProperties: false,
          'x-code': 'invalid_multi_search_merge_facets',
          'x-key-code': 'invalid_multi_search_merge_facets',
        },
        distinct: SEARCH_PROPERTIES.distinct!,
        showPerformanceDetails: {
          ...flag('invalid_search_show_performance_details'),
          type: ['boolean', 'null'],
        },
        personalize: PERSONALIZE,
        ...GROUPING,
      },
      additionalProperties: false,
      default: null,
    },
    queries: { type: 'array', items: MULTI_SEARCH_QUERY },
  },
  required: ['queries'],
  additionalProperties: false,
};

/** Maximum of `mostFrequent`. */
const MOST_FREQUENT_MAX = 1000;

export interface FacetSearchRequest extends Pick<
  SearchRequest,
  | 'q'
  | 'vector'
  | 'media'
  | 'hybrid'
  | 'filter'
  | 'matchingStrategy'
  | 'attributesToSearchOn'
  | 'rankingScoreThreshold'
  | 'locales'
  | 'useNetwork'
> {
  facetName: string;
  facetQuery?: string | null;
  mostFrequent?: number | null;
  exhaustiveFacetCount?: boolean | null;
}

/** Other keys of a search body are accepted and ignored. */
export const FACET_SEARCH: Schema = {
  type: 'object',
  properties: {
    facetQuery: { type: ['string', 'null'], 'x-code': 'invalid_facet_search_query' },
    facetName: {
      type: 'string',
      maxLength: ATTRIBUTE_NAME_MAX,
      'x-code': 'invalid_facet_search_facet_name',
      'x-missing-code': 'missing_facet_search_facet_name',
    },
    q: SEARCH_PROPERTIES.q!,
    vector: VECTOR,
    media: SEARCH_PROPERTIES.media!,
    hybrid: HYBRID,
    filter: SEARCH_PROPERTIES.filter!,
    matchingStrategy: MATCHING_STRATEGY,
    attributesToSearchOn: SEARCH_PROPERTIES.attributesToSearchOn!,
    rankingScoreThreshold: THRESHOLD,
    locales: LOCALE_LIST,
    mostFrequent: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: MOST_FREQUENT_MAX,
      default: null,
      description: 'Returns this number of the most frequent values, whatever the settings say.',
      'x-code': 'invalid_facet_search_most_frequent',
    },
    exhaustiveFacetCount: {
      type: ['boolean', 'null'],
      default: null,
      'x-code': 'invalid_facet_search_exhaustive_facet_count',
    },
    useNetwork: USE_NETWORK,
  },
  required: ['facetName'],
  additionalProperties: true,
};

/** Removes the ignored keys: later stages would interpret them. */
export function withoutIgnored(request: FacetSearchRequest): FacetSearchRequest {
  const known = Object.entries(request).filter(([name]) =>
    Object.hasOwn(FACET_SEARCH.properties!, name),
  );
  return Object.fromEntries(known) as unknown as FacetSearchRequest;
}

export interface SimilarRequest {
  /** As sent, or the text of an integer. */
  id: string;
  embedder: string;
  offset?: number;
  limit?: number;
  filter?: Filter;
  attributesToRetrieve?: string[] | null;
  retrieveVectors?: boolean;
  showRankingScore?: boolean;
  showRankingScoreDetails?: boolean;
  showPerformanceDetails?: boolean;
  useNetwork?: boolean | null;
  rankingScoreThreshold?: number | null;
}

const SIMILAR_PROPERTIES: Record<string, Schema> = {
  id: { type: ['string', 'integer'], 'x-code': 'invalid_similar_id', 'x-exact': true },
  embedder: { type: 'string', 'x-code': 'invalid_similar_embedder' },
  offset: count('invalid_similar_offset', 0),
  limit: count('invalid_similar_limit', 20),
  filter: filter('invalid_similar_filter'),
  attributesToRetrieve: stringList('invalid_similar_attributes_to_retrieve'),
  retrieveVectors: flag('invalid_similar_retrieve_vectors'),
  showRankingScore: flag('invalid_similar_show_ranking_score'),
  showRankingScoreDetails: flag('invalid_similar_show_ranking_score_details'),
  showPerformanceDetails: flag('invalid_similar_show_performance_details'),
  useNetwork: USE_NETWORK,
  rankingScoreThreshold: { ...THRESHOLD, 'x-code': 'invalid_similar_ranking_score_threshold' },
};

export const SIMILAR: Schema = {
  type: 'object',
  properties: SIMILAR_PROPERTIES,
  required: ['id', 'embedder'],
  additionalProperties: false,
};

export const SIMILAR_QUERY: Schema = {
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(SIMILAR_PROPERTIES).map(([name, schema]) => {
      if (name === 'id') return [name, { type: 'string', 'x-code': 'invalid_similar_id' }];
      if (name === 'embedder') return [name, { ...schema, default: 'default' }];
      if (name === 'filter') return [name, { ...schema, ...FILTER_PARAMETER }];
      return [name, asParameter(schema)];
    }),
  ),
  required: ['id'],
  additionalProperties: false,
};
