/** Schemas of responses: published in the description, and used to find their floats. */
import { ACTIONS } from './actions.ts';
import { EMBEDDING_MODES } from './embedders/fields.ts';
import { FEATURES } from './features.ts';
import { floatsOf } from './floats.ts';
import type { JsonType, Schema } from './schema.ts';
import { TASK_STATUSES } from './tasks.ts';
import { TASK_TYPES } from './task-types.ts';

const TEXT: Schema = { type: 'string' };
const NUMBER: Schema = { type: 'number' };
const COUNT: Schema = { type: 'integer', minimum: 0 };
const FLAG: Schema = { type: 'boolean' };
const OBJECT: Schema = { type: 'object' };
/** Content of the user or of another server. */
const ANY: Schema = {};

function orNull(schema: Schema): Schema {
  return { ...schema, type: [...([schema.type].flat() as JsonType[]), 'null'] };
}

function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

function mapOf(additionalProperties: Schema): Schema {
  return { type: 'object', additionalProperties };
}

/** Exactly these members; `optional` ones may be absent. */
function object(required: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

function pageOf(results: Schema): Schema {
  return object({ results: listOf(results), offset: COUNT, limit: COUNT, total: COUNT });
}

// --- Searches ------------------------------------------------------------------------------------

const QUERY_VECTOR = listOf(NUMBER);
/** By index of the query. */
const QUERY_VECTORS = mapOf(QUERY_VECTOR);
const FACET_STATS = mapOf(object({ min: NUMBER, max: NUMBER }));
const FACET_DISTRIBUTION = mapOf(mapOf(COUNT));
/** `_federation` of a hit. */
const FEDERATION_OF_HIT = object(
  { indexUid: TEXT, queriesPosition: COUNT, weightedRankingScore: NUMBER },
  { remote: orNull(TEXT), weightedScoreValues: ANY, documentKey: ANY, distinctKeys: ANY },
);

/** A document with what the search adds to it; the document determines its other fields. */
const HIT: Schema = {
  type: 'object',
  properties: {
    _formatted: OBJECT,
    _matchesPosition: OBJECT,
    _rankingScore: NUMBER,
    _rankingScoreDetails: OBJECT,
    _federation: FEDERATION_OF_HIT,
  },
  additionalProperties: true,
};

const PAGE_OF_HITS: Record<string, Schema> = {
  limit: COUNT,
  offset: COUNT,
  estimatedTotalHits: COUNT,
  hitsPerPage: COUNT,
  page: COUNT,
  totalPages: COUNT,
  totalHits: COUNT,
};

/** What a response had to do without. */
const DEGRADED = listOf({ ...TEXT, enum: ['embedding', 'rerank'] });

const OTHER_MEMBERS: Record<string, Schema> = {
  semanticHitCount: COUNT,
  degraded: DEGRADED,
  facetDistribution: FACET_DISTRIBUTION,
  facetStats: FACET_STATS,
  requestUid: TEXT,
  metadata: ANY,
  performanceDetails: OBJECT,
  remoteErrors: OBJECT,
};

const GROUPS: Record<string, Schema> = {
  groups: listOf(object({ value: ANY, totalHits: COUNT, hits: listOf(HIT) })),
  totalGroups: COUNT,
};

export const SEARCH_RESPONSE = object(
  { hits: listOf(HIT), query: TEXT, processingTimeMs: COUNT },
  {
    indexUid: TEXT,
    queryVector: QUERY_VECTOR,
    ...PAGE_OF_HITS,
    ...OTHER_MEMBERS,
    ...GROUPS,
  },
);

const FEDERATED_RESPONSE = object(
  { hits: listOf(HIT), processingTimeMs: COUNT },
  {
    ...PAGE_OF_HITS,
    ...OTHER_MEMBERS,
    ...GROUPS,
    queryVectors: QUERY_VECTORS,
    facetsByIndex: mapOf(object({ distribution: FACET_DISTRIBUTION, stats: FACET_STATS })),
  },
);

export const MULTI_SEARCH_RESPONSE: Schema = {
  type: 'object',
  properties: {
    ...FEDERATED_RESPONSE.properties,
    results: listOf(SEARCH_RESPONSE),
  },
  additionalProperties: false,
};

export const SIMILAR_RESPONSE = object(
  { hits: listOf(HIT), id: TEXT, processingTimeMs: COUNT },
  { ...PAGE_OF_HITS, ...OTHER_MEMBERS },
);

export const FACET_SEARCH_RESPONSE = object(
  {
    facetHits: listOf(object({ value: TEXT, count: COUNT })),
    facetQuery: orNull(TEXT),
    processingTimeMs: COUNT,
  },
  { remoteErrors: OBJECT, degraded: DEGRADED },
);

export const SUGGEST_RESPONSE = object({
  suggestions: listOf(
    object(
      { text: TEXT, source: { type: 'string', enum: ['searches', 'attribute'] }, count: COUNT },
      { attribute: TEXT },
    ),
  ),
  query: TEXT,
  processingTimeMs: COUNT,
});

export const EMBEDDER_STATUS = object({
  indexUid: TEXT,
  name: TEXT,
  source: TEXT,
  mode: orNull({ type: 'string', enum: EMBEDDING_MODES }),
  done: COUNT,
  waiting: COUNT,
  failed: COUNT,
  failures: listOf(object({ documentId: TEXT, reason: TEXT })),
  problem: orNull(object({ reason: TEXT, retryAt: TEXT })),
});

// --- Documents, indexes --------------------------------------------------------------------------

export const DOCUMENT: Schema = OBJECT;

export const DOCUMENTS: Schema = object(
  { results: listOf(DOCUMENT), offset: COUNT, limit: COUNT, total: COUNT },
  { remoteErrors: OBJECT },
);

export const INDEX = object({
  uid: TEXT,
  createdAt: TEXT,
  updatedAt: TEXT,
  primaryKey: orNull(TEXT),
});

export const INDEXES = pageOf(INDEX);

/** A number of bytes, or its text. */
const SIZE: Schema = { type: ['integer', 'string'] };

export const INDEX_STATS = object(
  {
    numberOfDocuments: COUNT,
    rawDocumentDbSize: SIZE,
    avgDocumentSize: SIZE,
    indexSize: SIZE,
    usedIndexSize: SIZE,
    isIndexing: FLAG,
    numberOfEmbeddings: COUNT,
    numberOfEmbeddedDocuments: COUNT,
    fieldDistribution: mapOf(COUNT),
  },
  { internalDatabaseSizes: mapOf(SIZE) },
);

export const STATS = object({
  databaseSize: SIZE,
  usedDatabaseSize: SIZE,
  lastUpdate: orNull(TEXT),
  indexes: mapOf(INDEX_STATS),
});

export const FIELDS_RESPONSE = pageOf(OBJECT);

// --- Tasks ---------------------------------------------------------------------------------------

const TYPE: Schema = { type: 'string', enum: TASK_TYPES };
const STATUS: Schema = { type: 'string', enum: TASK_STATUSES };

export const TASK_SUMMARY = object(
  {
    taskUid: COUNT,
    indexUid: orNull(TEXT),
    status: STATUS,
    type: TYPE,
    enqueuedAt: TEXT,
  },
  { customMetadata: TEXT },
);

export const TASK = object(
  {
    uid: COUNT,
    batchUid: orNull(COUNT),
    indexUid: orNull(TEXT),
    status: STATUS,
    type: TYPE,
    canceledBy: orNull(COUNT),
    details: orNull(OBJECT),
    error: orNull(OBJECT),
    duration: orNull(TEXT),
    enqueuedAt: TEXT,
    startedAt: orNull(TEXT),
    finishedAt: orNull(TEXT),
  },
  { network: OBJECT, customMetadata: TEXT },
);

export const BATCH = object({
  uid: COUNT,
  progress: orNull(
    object({
      steps: listOf(object({ currentStep: TEXT, finished: COUNT, total: COUNT })),
      percentage: NUMBER,
    }),
  ),
  details: OBJECT,
  stats: object(
    {
      totalNbTasks: COUNT,
      status: mapOf(COUNT),
      types: mapOf(COUNT),
      indexUids: mapOf(COUNT),
    },
    {
      progressTrace: mapOf(TEXT),
      internalDatabaseSizes: mapOf(TEXT),
      embedderRequests: object({ total: COUNT, failed: COUNT }, { lastError: TEXT }),
    },
  ),
  duration: orNull(TEXT),
  startedAt: TEXT,
  finishedAt: orNull(TEXT),
  batchStrategy: TEXT,
});

function uidPageOf(results: Schema): Schema {
  return object({
    results: listOf(results),
    total: COUNT,
    limit: COUNT,
    from: orNull(COUNT),
    next: orNull(COUNT),
  });
}

export const TASKS = uidPageOf(TASK);
export const BATCHES = uidPageOf(BATCH);
export const COMPACTION = object({ preSize: TEXT, postSize: TEXT, status: TEXT });

// --- The server ----------------------------------------------------------------------------------

export const CLUSTER = object({
  leader: orNull(TEXT),
  epoch: orNull(COUNT),
  head: COUNT,
  applied: COUNT,
  fault: orNull(TEXT),
  damagedObjects: listOf(TEXT),
  nodes: listOf(
    object({
      name: TEXT,
      url: TEXT,
      role: TEXT,
      applied: COUNT,
      bytesToFetch: COUNT,
      storeFault: orNull(TEXT),
      lagSeconds: NUMBER,
    }),
  ),
});
export const HEALTH = object({ status: TEXT });
export const VERSION: Schema = {
  type: 'object',
  properties: { commitSha: TEXT, commitDate: TEXT, pkgVersion: TEXT },
  required: ['commitSha', 'commitDate', 'pkgVersion'],
  additionalProperties: TEXT,
};
export const FEATURES_RESPONSE = object(Object.fromEntries(FEATURES.map((name) => [name, FLAG])));

export const ACCESS = object({
  hasMasterKey: FLAG,
  actions: listOf({ type: 'string', enum: ACTIONS }),
  indexes: listOf(TEXT),
});

export const KEY = object(
  {
    name: orNull(TEXT),
    description: orNull(TEXT),
    key: TEXT,
    uid: TEXT,
    actions: listOf({ type: 'string', enum: ACTIONS }),
    indexes: listOf(TEXT),
    expiresAt: orNull(TEXT),
    createdAt: TEXT,
    updatedAt: TEXT,
  },
  {
    rateLimit: object({ requestsPerSecond: orNull(COUNT), concurrentSearches: orNull(COUNT) }),
    previousExpiresAt: TEXT,
  },
);
export const KEYS = pageOf(KEY);

export const WEBHOOK = object({ uuid: TEXT, isEditable: FLAG, url: TEXT, headers: mapOf(TEXT) });
export const WEBHOOKS = object({ results: listOf(WEBHOOK) });

export const NETWORK = object({
  self: orNull(TEXT),
  remotes: mapOf(object({ url: TEXT, searchApiKey: orNull(TEXT), writeApiKey: orNull(TEXT) })),
  sharding: FLAG,
});

const MOMENTS = object({}, { start: TEXT, end: TEXT });
export const SEARCH_RULE = object(
  {
    uid: TEXT,
    lastUpdatedAt: TEXT,
    active: FLAG,
    conditions: object(
      {},
      { time: MOMENTS, query: object({}, { isEmpty: FLAG, words: TEXT }), filter: OBJECT },
    ),
    actions: listOf(
      object({
        selector: object({ id: TEXT }, { indexUid: TEXT }),
        action: object({ type: TEXT, position: COUNT }),
      }),
    ),
  },
  { description: TEXT, precedence: COUNT },
);
export const SEARCH_RULES = pageOf(SEARCH_RULE);

export const DUMPS = pageOf(object({ uid: TEXT, createdAt: TEXT, size: COUNT }));

export const ALIAS = object({ alias: TEXT, indexUid: TEXT, createdAt: TEXT, updatedAt: TEXT });
export const ALIASES = pageOf(ALIAS);

export const RENDERED: Schema = {
  type: 'object',
  properties: { template: ANY, rendered: ANY },
  required: ['template', 'rendered'],
  additionalProperties: false,
};

export const WORKSPACE = object({ uid: TEXT });
export const WORKSPACES = pageOf(WORKSPACE);
export const WORKSPACE_SETTINGS = object({
  source: TEXT,
  orgId: orNull(TEXT),
  projectId: orNull(TEXT),
  apiVersion: orNull(TEXT),
  deploymentId: orNull(TEXT),
  baseUrl: orNull(TEXT),
  apiKey: orNull(TEXT),
  prompts: mapOf(TEXT),
});

const RATE = orNull(NUMBER);
const REPORT_ROW = object(
  { searches: COUNT },
  {
    indexUid: TEXT,
    day: TEXT,
    query: TEXT,
    filter: orNull(TEXT),
    searchesWithoutResults: COUNT,
    meanHits: RATE,
    clickedSearches: COUNT,
    clicks: COUNT,
    conversions: COUNT,
    clickThroughRate: RATE,
    conversionRate: RATE,
    meanClickPosition: RATE,
    latencyMs: object({ p50: RATE, p90: RATE, p95: RATE, p99: RATE }),
  },
);
/** A report on searches and events, as JSON. */
export const REPORT = object(
  { results: listOf(REPORT_ROW) },
  { offset: COUNT, limit: COUNT, total: COUNT, missingNodes: listOf(TEXT) },
);
export const reportFloats = floatsOf(REPORT);
