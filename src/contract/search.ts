/** Search, multi-search, facet search, similar documents: their parameters. */
import {
  boolean,
  complete,
  declared,
  defaultOf,
  defaultsOf,
  indexUid,
  integer,
  list,
  map,
  nullable,
  number,
  object,
  oneOf,
  optional,
  optionals,
  string,
  type Declared,
  type Static,
} from './declare.ts';
import { DIMENSIONS_MAX } from './embedders/fields.ts';
import type { ErrorCode } from './errors.ts';
import { LOCALES } from './locales.ts';
import { MATCHING_STRATEGIES } from './matching-strategies.ts';
import { pageMembers } from './pages.ts';

/**
 * Maximum sort criteria of one search or listing: ties are broken by nested rules (docs/limits.md).
 */
export const SORT_CRITERIA_MAX = 256;

/** Maximum characters of one criterion, and of a whole `sort` given as one text. */
const SORT_CRITERION_MAX = 65_536;
export const SORT_TEXT_MAX = 1_000_000;

/** An element of a list of sort criteria. */
export const SORT_CRITERION = string({ format: 'sort-criterion', maxLength: SORT_CRITERION_MAX });

/** Maximum indexes whose facets one federated search may request. */
const FACETED_INDEXES_MAX = 1_000;

/** A string, or an array of strings and arrays of strings; the engine parses it. */
export type Filter = unknown;

const RERANKED_MAX = 200;

/** Maximum of `showPassages`. */
const PASSAGES_MAX = 10;

/** What `facetStats` measures of numbers. */
const MEASURED_FACETS_MAX = 20;
const PERCENTILES_MAX = 20;
const BUCKETS_MAX = 100;

/** Each group of a page is a search of its own. */
const GROUPS_MAX = 100;
const GROUP_HITS_MAX = 100;
const GROUP_PAGES_MAX = 1_000_000;
/** Queries of one multi-search that are grouped. */
export const GROUPED_QUERIES_MAX = 10;

/** Maximum locales in one request: more than exist. */
const LOCALES_MAX = 256;

/** Maximum attribute names in one list of a request: more than any documents have. */
export const ATTRIBUTE_NAMES_MAX = 65_536;

/** Enough for a text of 10 MB. */
const MEDIA_VALUES_MAX = 100_000;

/** Maximum characters of an attribute name in a request: more than any document has. */
const ATTRIBUTE_NAME_MAX = 65_536;

/** Maximum of `mostFrequent`. */
const MOST_FREQUENT_MAX = 1000;

function stringList(code: ErrorCode, items = string()): Declared<string[] | null> {
  return nullable(list(items, { maxItems: ATTRIBUTE_NAMES_MAX, default: null, 'x-code': code }));
}

/** A list of facets, or `auto`. */
function facetList(options: { 'x-code'?: ErrorCode }): Declared<string[] | 'auto' | null> {
  return declared({
    type: ['array', 'string', 'null'],
    items: string(),
    maxItems: ATTRIBUTE_NAMES_MAX,
    format: 'auto',
    default: null,
    description: '`auto`: attributes whose values divide the hits.',
    ...options,
  });
}

function count(code: ErrorCode, initial: number): Declared<number> {
  return integer({ minimum: 0, default: initial, 'x-code': code });
}

/** A number without default: null and absent both mean none. */
function countOrNone(code: ErrorCode): Declared<number | null> {
  return nullable(integer({ minimum: 0, default: null, 'x-code': code }));
}

function flag(code: ErrorCode): Declared<boolean> {
  return boolean({ default: false, 'x-code': code });
}

function filter(code: ErrorCode): Declared<Filter> {
  return declared({
    type: ['string', 'array', 'null'],
    items: { type: ['string', 'array'], items: string() },
    default: null,
    description: 'Outer array elements are joined by AND, inner ones by OR.',
    'x-code': code,
    'x-checked-later': true,
    'x-passed-on': true,
  });
}

/** The codes of an object and of what is inside of it. */
function coded(code: ErrorCode) {
  return { 'x-code': code, 'x-key-code': code } as const;
}

function attribute(code: ErrorCode): Declared<string> {
  return string({ maxLength: ATTRIBUTE_NAME_MAX, 'x-code': code });
}

const HYBRID_CODE = 'invalid_search_hybrid_query';

const HYBRID_OPTIONS = {
  semanticRatio: number({
    minimum: 0,
    maximum: 1,
    default: 0.5,
    'x-code': 'invalid_search_semantic_ratio',
  }),
  minScore: nullable(
    number({
      minimum: 0,
      maximum: 1,
      default: null,
      description: 'Leaves out documents that only vectors have found below this score.',
      'x-code': HYBRID_CODE,
    }),
  ),
  fusion: nullable(
    oneOf(['score', 'rrf'], {
      description:
        'Merges the hits of words and of vectors by their scores, or by their ranks (reciprocal rank fusion). Default: `rrf` with the matching strategy `natural`, `score` with others.',
      'x-code': HYBRID_CODE,
    }),
  ),
};

const EMBEDDER = string({ 'x-code': 'invalid_search_embedder' });

const HYBRID = nullable(
  object({ embedder: EMBEDDER, ...optionals(HYBRID_OPTIONS) }, coded(HYBRID_CODE)),
);
export type HybridQuery = NonNullable<Static<typeof HYBRID>>;

const THRESHOLD = nullable(
  number({
    minimum: 0,
    maximum: 1,
    default: null,
    'x-code': 'invalid_search_ranking_score_threshold',
  }),
);

const USER_CONTEXT = string({ 'x-code': 'invalid_search_personalize_user_context' });

const PERSONALIZE = nullable(
  object({ userContext: USER_CONTEXT }, coded('invalid_search_personalize')),
);

const RERANKED = nullable(
  integer({
    minimum: 1,
    maximum: RERANKED_MAX,
    default: 50,
    'x-code': 'invalid_search_rerank',
  }),
);

/** See docs/behaviour/reranking.md. */
const RERANK = nullable(
  object(
    {
      model: attribute('invalid_search_rerank'),
      documents: optional(RERANKED),
    },
    {
      default: null,
      description: 'A reranker of the index orders the first documents again.',
      ...coded('invalid_search_rerank'),
    },
  ),
);

const DIVERSITY_CODE = 'invalid_search_diversity';

const DIVERSITY_MAX = integer({ minimum: 1, default: 2, 'x-code': DIVERSITY_CODE });

/** See docs/behaviour/results.md. */
const DIVERSITY = nullable(
  object(
    { attribute: attribute(DIVERSITY_CODE), max: optional(nullable(DIVERSITY_MAX)) },
    {
      default: null,
      description:
        'Each page has at most `max` hits with one value of the attribute. Others move to later pages.',
      ...coded(DIVERSITY_CODE),
    },
  ),
);

const FACET_STATS_CODE = 'invalid_search_facet_stats';

/** See docs/behaviour/facets.md. */
const FACET_STATS = nullable(
  map(
    object(
      optionals({
        percentiles: nullable(
          list(number({ minimum: 0, maximum: 100 }), {
            maxItems: PERCENTILES_MAX,
            ...coded(FACET_STATS_CODE),
          }),
        ),
        histogram: nullable(
          object(
            { buckets: integer({ minimum: 1, maximum: BUCKETS_MAX, 'x-code': FACET_STATS_CODE }) },
            coded(FACET_STATS_CODE),
          ),
        ),
      }),
      coded(FACET_STATS_CODE),
    ),
    {
      maxProperties: MEASURED_FACETS_MAX,
      default: null,
      description: 'Percentiles and a histogram of the numbers of facets, by attribute.',
      'x-code': FACET_STATS_CODE,
    },
  ),
);

function passages(code: ErrorCode): Declared<number | null> {
  return nullable(
    integer({
      minimum: 0,
      maximum: PASSAGES_MAX,
      default: 0,
      description:
        'Maximum number of passages that each hit names: those with the nearest embeddings.',
      'x-code': code,
    }),
  );
}

/** In the order in which a message lists them. */
const SEARCH_PROPERTIES = {
  q: nullable(string({ default: '', 'x-code': 'invalid_search_q' })),
  vector: nullable(
    list(number(), { maxItems: DIMENSIONS_MAX, default: null, 'x-code': 'invalid_search_vector' }),
  ),
  media: declared<unknown>({
    description: 'Any JSON; needs the feature `multimodal`.',
    'x-values-max': MEDIA_VALUES_MAX,
    'x-code': 'invalid_search_media',
    'x-checked-later': true,
  }),
  hybrid: HYBRID,
  ...pageMembers('invalid_search_offset', 'invalid_search_limit'),
  page: countOrNone('invalid_search_page'),
  hitsPerPage: countOrNone('invalid_search_hits_per_page'),
  attributesToRetrieve: stringList('invalid_search_attributes_to_retrieve'),
  retrieveVectors: flag('invalid_search_retrieve_vectors'),
  attributesToCrop: stringList('invalid_search_attributes_to_crop'),
  cropLength: count('invalid_search_crop_length', 10),
  attributesToHighlight: stringList('invalid_search_attributes_to_highlight'),
  showMatchesPosition: flag('invalid_search_show_matches_position'),
  showPassages: passages('invalid_search_show_passages'),
  filter: filter('invalid_search_filter'),
  sort: {
    ...stringList('invalid_search_sort', SORT_CRITERION),
    maxItems: SORT_CRITERIA_MAX,
  },
  distinct: nullable(attribute('invalid_search_distinct'), { default: null }),
  diversity: DIVERSITY,
  facets: facetList({ 'x-code': 'invalid_search_facets' }),
  facetStats: FACET_STATS,
  highlightPreTag: string({ default: '<em>', 'x-code': 'invalid_search_highlight_pre_tag' }),
  highlightPostTag: string({ default: '</em>', 'x-code': 'invalid_search_highlight_post_tag' }),
  cropMarker: string({ default: '…', 'x-code': 'invalid_search_crop_marker' }),
  matchingStrategy: oneOf(MATCHING_STRATEGIES, {
    description: 'Default: the setting `defaultMatchingStrategy` of the index.',
    'x-code': 'invalid_search_matching_strategy',
  }),
  attributesToSearchOn: stringList('invalid_search_attributes_to_search_on'),
  showRankingScore: flag('invalid_search_show_ranking_score'),
  showRankingScoreDetails: flag('invalid_search_show_ranking_score_details'),
  rankingScoreThreshold: THRESHOLD,
  locales: nullable(
    list(oneOf(LOCALES), {
      maxItems: LOCALES_MAX,
      default: null,
      'x-code': 'invalid_search_locales',
    }),
  ),
  showPerformanceDetails: flag('invalid_search_show_performance_details'),
  useNetwork: nullable(boolean({ default: null, 'x-code': 'invalid_search_use_network' })),
  personalize: PERSONALIZE,
  rerank: RERANK,
};

function groupCount(initial: number, maximum: number): Declared<number | null> {
  const code = 'invalid_search_group_by';
  return nullable(integer({ minimum: 1, maximum, default: initial, 'x-code': code }));
}

const GROUP_COUNTS = {
  hits: groupCount(3, GROUP_HITS_MAX),
  limit: groupCount(20, GROUPS_MAX),
  page: groupCount(1, GROUP_PAGES_MAX),
};

/** See docs/behaviour/groups.md. */
const GROUP_BY = nullable(
  object(
    {
      attribute: attribute('invalid_search_group_by'),
      ...optionals(GROUP_COUNTS),
    },
    {
      default: null,
      description: 'The response has `groups` of hits with the same value of the attribute.',
      ...coded('invalid_search_group_by'),
    },
  ),
);
export type GroupBy = NonNullable<Static<typeof GROUP_BY>>;

/** Parameters of a search by POST. */
const GROUPING = optionals({
  groupBy: GROUP_BY,
  facetsPer: nullable(
    oneOf(['document', 'group'], {
      default: null,
      description: 'Whether facets of a search with `groupBy` count documents or groups.',
      'x-code': 'invalid_search_facets_per',
    }),
  ),
});

const INTERLEAVE_WITH = indexUid({ 'x-code': 'invalid_search_interleave' });

/** See docs/behaviour/interleaving.md. A parameter of a search by POST. */
const INTERLEAVE = nullable(
  object(
    {
      with: INTERLEAVE_WITH,
      ...optionals({ showIndex: nullable(flag('invalid_search_interleave')) }),
    },
    {
      default: null,
      description: 'Takes hits alternately from this index and another, to compare them by clicks.',
      ...coded('invalid_search_interleave'),
    },
  ),
);

const SEARCH_MEMBERS = optionals(SEARCH_PROPERTIES);

/** Parameters as given; null and absent both mean the default. */
export const SEARCH = object({
  ...SEARCH_MEMBERS,
  ...GROUPING,
  ...optionals({ interleave: INTERLEAVE }),
});
export type Interleave = NonNullable<Static<typeof INTERLEAVE>>;

const QUERY_MEMBERS = {
  ...SEARCH_MEMBERS,
  ...GROUPING,
  ...optionals({
    offset: countOrNone('invalid_search_offset'),
    limit: countOrNone('invalid_search_limit'),
    showPerformanceDetails: nullable(
      boolean({ default: null, 'x-code': 'invalid_search_show_performance_details' }),
    ),
  }),
};
const QUERY = object(QUERY_MEMBERS);
/** Parameters of a search, or of a query of a multi-search, where null stands for more defaults. */
export type SearchRequest = Static<typeof QUERY>;
/** Parameters of a search of one index. */
export type IndexSearchRequest = SearchRequest & { interleave?: Interleave | null };

/** A list of hits that may be returned in groups. */
export type Groupable = Pick<
  SearchRequest,
  | 'groupBy'
  | 'facetsPer'
  | 'limit'
  | 'offset'
  | 'page'
  | 'hitsPerPage'
  | 'distinct'
  | 'diversity'
  | 'personalize'
  | 'rerank'
  | 'showPerformanceDetails'
>;

// What absent parameters are. The requests of the engine are complete.

export const SEARCH_DEFAULTS = {
  hybrid: defaultsOf(HYBRID_OPTIONS, 'semanticRatio'),
  reranked: defaultOf(RERANKED),
  diversity: { max: defaultOf(DIVERSITY_MAX) },
};
const PAGE_DEFAULTS = defaultsOf(SEARCH_PROPERTIES, 'offset', 'limit');
const { limit: _, ...PARAMETER_DEFAULTS }: Record<string, unknown> = Object.fromEntries(
  Object.entries<Declared>(SEARCH_PROPERTIES)
    .filter(([, schema]) => Boolean(schema.default))
    .map(([name, schema]) => [name, schema.default]),
);
const GROUP_DEFAULTS = defaultsOf(GROUP_COUNTS, 'hits', 'limit', 'page');

/** A page of a list of hits: by offset and limit, or by number. */
export type HitsPage = { offset: number; limit: number } | { page: number; hitsPerPage: number };

type PageParameters = Pick<SearchRequest, 'offset' | 'limit' | 'page' | 'hitsPerPage'>;

/** The page that a request selects. */
export function hitsPageOf({ offset, limit, page, hitsPerPage }: PageParameters): HitsPage {
  return (page ?? hitsPerPage ?? null) === null
    ? complete({ offset, limit }, PAGE_DEFAULTS)
    : complete({ page, hitsPerPage }, { page: 1, hitsPerPage: PAGE_DEFAULTS.limit });
}

/** The parameters that have a default other than nothing, but those of the page. */
export function parametersOf(request: SearchRequest): Record<string, unknown> {
  return complete(request as Record<string, unknown>, PARAMETER_DEFAULTS);
}

export function completeGroupBy({ attribute, ...counts }: GroupBy) {
  return { attribute, ...complete(counts, GROUP_DEFAULTS) };
}

// --- Searches by GET -----------------------------------------------------------------------------

type AsParameters<P extends Record<string, Declared>> = {
  [Name in keyof P]: Declared<NonNullable<Static<P[Name]>>>;
};

/** A member of a body as a parameter: never null; lists are written with commas. */
function asParameter<T>(schema: Declared<T>): Declared<NonNullable<T>> {
  const type = [schema.type].flat().find((name) => name !== 'null')!;
  return declared({ ...schema, type, ...(type === 'array' && { 'x-query': 'comma-list' }) });
}

function asFilter(schema: Declared<Filter>): Declared<Filter> {
  return { ...schema, 'x-query': 'json-or-text' };
}

/** The members of a body that parameters express in another way, or not at all. */
const REPLACED = {
  media: {},
  hybrid: {
    hybridEmbedder: EMBEDDER,
    hybridSemanticRatio: asParameter(HYBRID_OPTIONS.semanticRatio),
    hybridMinScore: asParameter(HYBRID_OPTIONS.minScore),
    hybridFusion: asParameter(HYBRID_OPTIONS.fusion),
  },
  filter: { filter: asFilter(SEARCH_PROPERTIES.filter) },
  sort: {
    sort: declared<string[]>({ ...asParameter(SEARCH_PROPERTIES.sort), 'x-query': 'sort-list' }),
  },
  diversity: {
    diversityAttribute: attribute(DIVERSITY_CODE),
    diversityMax: DIVERSITY_MAX,
  },
  facets: {
    facets: asParameter(stringList('invalid_search_facets')),
    autoFacets: flag('invalid_search_facets'),
  },
  facetStats: {},
  personalize: { personalizeUserContext: USER_CONTEXT },
  rerank: {},
};
type Replaced = typeof REPLACED;

/** In the order of the members of a body. */
function searchParameters() {
  const replaced: Readonly<Record<string, object>> = REPLACED;
  const parameters = Object.entries(SEARCH_PROPERTIES).map(
    ([name, schema]) => replaced[name] ?? { [name]: asParameter<unknown>(schema) },
  );
  return Object.assign({}, ...parameters) as AsParameters<
    Omit<typeof SEARCH_PROPERTIES, keyof Replaced>
  > &
    Replaced['hybrid'] &
    Replaced['filter'] &
    Replaced['sort'] &
    Replaced['diversity'] &
    Replaced['facets'] &
    Replaced['personalize'];
}

export const SEARCH_QUERY = object(
  optionals({ ...searchParameters(), interleaveWith: INTERLEAVE_WITH }),
);
export type SearchParameters = Static<typeof SEARCH_QUERY>;

// --- Multi-search --------------------------------------------------------------------------------

const FEDERATION_OPTIONS_MEMBERS = {
  weight: number({ minimum: 0, default: 1, 'x-code': 'invalid_multi_search_weight' }),
  remote: nullable(string({ default: null, 'x-code': 'invalid_multi_search_remote' })),
  queryPosition: nullable(
    integer({ minimum: 0, default: null, 'x-code': 'invalid_multi_search_query_position' }),
  ),
};

const FEDERATION_OPTIONS = nullable(
  object(optionals(FEDERATION_OPTIONS_MEMBERS), { default: null }),
);
export type FederationOptions = NonNullable<Static<typeof FEDERATION_OPTIONS>>;

const MULTI_SEARCH_QUERY = object({
  indexUid: indexUid({ 'x-missing-code': 'missing_index_uid' }),
  ...QUERY_MEMBERS,
  federationOptions: optional(FEDERATION_OPTIONS),
});
export type MultiSearchQuery = Static<typeof MULTI_SEARCH_QUERY>;

export function completeOptions(options: FederationOptions | null | undefined) {
  return { ...options, weight: options?.weight ?? defaultOf(FEDERATION_OPTIONS_MEMBERS.weight) };
}

/** What another server of the network asks for groups: see docs/behaviour/network.md. */
const NETWORK_GROUPS = nullable(
  object(
    {
      attribute: attribute('invalid_search_group_by'),
      ...optionals({
        hits: GROUP_COUNTS.hits,
        values: nullable(
          list(list(string()), {
            maxItems: GROUPS_MAX,
            default: null,
            description: 'Absent: hits have the values of their groups.',
            ...coded('invalid_search_group_by'),
          }),
        ),
      }),
    },
    { default: null, ...coded('invalid_search_group_by') },
  ),
);

const FEDERATION = nullable(
  object(
    {
      ...optionals({
        limit: SEARCH_PROPERTIES.limit,
        offset: SEARCH_PROPERTIES.offset,
        page: countOrNone('invalid_search_page'),
        hitsPerPage: countOrNone('invalid_search_hits_per_page'),
        facetsByIndex: map(facetList({}), {
          propertyNames: string({ format: 'index-uid' }),
          maxProperties: FACETED_INDEXES_MAX,
          'x-code': 'invalid_multi_search_facets_by_index',
        }),
        mergeFacets: nullable(
          object(
            optionals({
              maxValuesPerFacet: nullable(
                integer({ minimum: 0, 'x-code': 'invalid_multi_search_max_values_per_facet' }),
              ),
            }),
            coded('invalid_multi_search_merge_facets'),
          ),
        ),
        facetStats: FACET_STATS,
        distinct: SEARCH_PROPERTIES.distinct,
        showPerformanceDetails: nullable(flag('invalid_search_show_performance_details')),
        personalize: PERSONALIZE,
      }),
      ...GROUPING,
      networkGroups: optional(NETWORK_GROUPS),
    },
    { default: null },
  ),
);
export type Federation = NonNullable<Static<typeof FEDERATION>>;

export function completeNetworkGroups(groups: NonNullable<Federation['networkGroups']>) {
  return { ...groups, ...complete({ hits: groups.hits }, { hits: GROUP_DEFAULTS.hits }) };
}

export const MULTI_SEARCH = object({
  federation: optional(FEDERATION),
  queries: list(MULTI_SEARCH_QUERY),
});
export type MultiSearchRequest = Static<typeof MULTI_SEARCH>;

// --- Values of facets, similar documents ---------------------------------------------------------

/** Other keys of a search body are accepted and ignored. */
export const FACET_SEARCH = object(
  {
    facetQuery: optional(nullable(string({ 'x-code': 'invalid_facet_search_query' }))),
    facetName: {
      ...attribute('invalid_facet_search_facet_name'),
      'x-missing-code': 'missing_facet_search_facet_name',
    },
    q: SEARCH_MEMBERS.q,
    vector: SEARCH_MEMBERS.vector,
    media: SEARCH_MEMBERS.media,
    hybrid: SEARCH_MEMBERS.hybrid,
    filter: SEARCH_MEMBERS.filter,
    matchingStrategy: SEARCH_MEMBERS.matchingStrategy,
    attributesToSearchOn: SEARCH_MEMBERS.attributesToSearchOn,
    rankingScoreThreshold: SEARCH_MEMBERS.rankingScoreThreshold,
    locales: SEARCH_MEMBERS.locales,
    mostFrequent: optional(
      nullable(
        integer({
          minimum: 1,
          maximum: MOST_FREQUENT_MAX,
          default: null,
          description:
            'Returns this number of the most frequent values, whatever the settings say.',
          'x-code': 'invalid_facet_search_most_frequent',
        }),
      ),
    ),
    exhaustiveFacetCount: optional(
      nullable(boolean({ default: null, 'x-code': 'invalid_facet_search_exhaustive_facet_count' })),
    ),
    useNetwork: SEARCH_MEMBERS.useNetwork,
  },
  { additionalProperties: true },
);
export type FacetSearchRequest = Static<typeof FACET_SEARCH>;

/** Removes the ignored keys: later stages would interpret them. */
export function withoutIgnored(request: FacetSearchRequest): FacetSearchRequest {
  const known = Object.entries(request).filter(([name]) =>
    Object.hasOwn(FACET_SEARCH.properties, name),
  );
  return Object.fromEntries(known) as unknown as FacetSearchRequest;
}

const SIMILAR_EMBEDDER = string({ 'x-code': 'invalid_similar_embedder' });

const SIMILAR_PROPERTIES = {
  ...pageMembers('invalid_similar_offset', 'invalid_similar_limit'),
  filter: filter('invalid_similar_filter'),
  attributesToRetrieve: stringList('invalid_similar_attributes_to_retrieve'),
  retrieveVectors: flag('invalid_similar_retrieve_vectors'),
  showPassages: passages('invalid_similar_show_passages'),
  showRankingScore: flag('invalid_similar_show_ranking_score'),
  showRankingScoreDetails: flag('invalid_similar_show_ranking_score_details'),
  showPerformanceDetails: flag('invalid_similar_show_performance_details'),
  useNetwork: SEARCH_PROPERTIES.useNetwork,
  rankingScoreThreshold: { ...THRESHOLD, 'x-code': 'invalid_similar_ranking_score_threshold' },
} as const;

export const SIMILAR = object({
  // As sent, or the text of an integer.
  id: declared<string>({
    type: ['string', 'integer'],
    'x-code': 'invalid_similar_id',
    'x-exact': true,
  }),
  embedder: SIMILAR_EMBEDDER,
  ...optionals(SIMILAR_PROPERTIES),
});
export type SimilarRequest = Static<typeof SIMILAR>;

export const SIMILAR_QUERY = object({
  id: string({ 'x-code': 'invalid_similar_id' }),
  ...optionals({
    embedder: { ...SIMILAR_EMBEDDER, default: 'default' },
    offset: SIMILAR_PROPERTIES.offset,
    limit: SIMILAR_PROPERTIES.limit,
    filter: asFilter(SIMILAR_PROPERTIES.filter),
    attributesToRetrieve: asParameter(SIMILAR_PROPERTIES.attributesToRetrieve),
    retrieveVectors: SIMILAR_PROPERTIES.retrieveVectors,
    showPassages: asParameter(SIMILAR_PROPERTIES.showPassages),
    showRankingScore: SIMILAR_PROPERTIES.showRankingScore,
    showRankingScoreDetails: SIMILAR_PROPERTIES.showRankingScoreDetails,
    showPerformanceDetails: SIMILAR_PROPERTIES.showPerformanceDetails,
    useNetwork: asParameter(SIMILAR_PROPERTIES.useNetwork),
    rankingScoreThreshold: asParameter<number | null>(SIMILAR_PROPERTIES.rankingScoreThreshold),
  }),
});
export type SimilarParameters = Static<typeof SIMILAR_QUERY>;
