/**
 * Schemas of responses, and the types of what they describe: published in the description, and used
 * to find their floats. Values that are shown as they are stored are declared here too.
 */
import type { JsonFloat } from '../base/json.ts';
import { ACTIONS } from './actions.ts';
import {
  boolean,
  declared,
  each,
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
import { EMBEDDING_MODES } from './embedders/fields.ts';
import type { ErrorBody } from './errors.ts';
import { FEATURES } from './features.ts';
import { floatsOf } from './floats.ts';
import { SEARCH_RULE } from './search-rules.ts';
import { TASK_STATUSES, type TaskDetails, type TaskNetwork, type TaskStatus } from './tasks.ts';
import { TASK_TYPES, type TaskType } from './task-types.ts';

const TEXT = string();
const TEXT_OR_NULL = nullable(TEXT);
const NUMBER = number();
const COUNT = integer({ minimum: 0 });
const COUNT_OR_NULL = nullable(COUNT);
const FLAG = boolean();
const OBJECT = declared<Record<string, unknown>>({ type: 'object' });
/** Content of the user or of another server. */
const ANY = declared<unknown>({});
/** RFC 3339. */
const DATE = TEXT;

function pageOf<T>(results: Declared<T>) {
  return object({ results: list(results), offset: COUNT, limit: COUNT, total: COUNT });
}

// --- Searches ------------------------------------------------------------------------------------

const QUERY_VECTOR = list(NUMBER);
/** By index of the query. */
const QUERY_VECTORS = map(QUERY_VECTOR);
const FACET_STATS = map(
  object({
    min: NUMBER,
    max: NUMBER,
    ...optionals({
      percentiles: map(NUMBER),
      histogram: list(object({ from: NUMBER, to: NUMBER, count: COUNT })),
    }),
  }),
);
const FACET_DISTRIBUTION = map(map(COUNT));
/** `_federation` of a hit. */
const FEDERATION_OF_HIT = object({
  indexUid: TEXT,
  queriesPosition: COUNT,
  weightedRankingScore: NUMBER,
  ...optionals({
    remote: TEXT_OR_NULL,
    weightedScoreValues: ANY,
    documentKey: ANY,
    distinctKeys: ANY,
    // With `federation.networkGroups`: the position of its group, or the group's value.
    group: ANY,
  }),
});

/** Where a passage is, in bytes of its attribute as in `_matchesPosition`. */
const PASSAGE = { attribute: TEXT, start: COUNT, length: COUNT, text: TEXT };

/** A document with what the search adds to it; the document determines its other fields. */
const HIT = object(
  optionals({
    _formatted: OBJECT,
    _matchesPosition: OBJECT,
    _passages: list(object({ ...PASSAGE, score: NUMBER })),
    _rankingScore: NUMBER,
    _rankingScoreDetails: OBJECT,
    _federation: FEDERATION_OF_HIT,
  }),
  { additionalProperties: true },
);

const PAGE_OF_HITS = optionals({
  limit: COUNT,
  offset: COUNT,
  estimatedTotalHits: COUNT,
  hitsPerPage: COUNT,
  page: COUNT,
  totalPages: COUNT,
  totalHits: COUNT,
});

/** What a response had to do without. */
const DEGRADED = list(oneOf(['embedding', 'rerank']));

const OTHER_MEMBERS = optionals({
  semanticHitCount: COUNT,
  degraded: DEGRADED,
  facetDistribution: FACET_DISTRIBUTION,
  facetStats: FACET_STATS,
  requestUid: TEXT,
  metadata: ANY,
  performanceDetails: OBJECT,
  remoteErrors: OBJECT,
});

const GROUPS = optionals({
  groups: list(object({ value: ANY, totalHits: COUNT, hits: list(HIT) })),
  totalGroups: COUNT,
});

export const FOUND_PASSAGES = object({
  passages: list(
    object({
      id: ANY,
      indices: optional(list(COUNT)),
      ...PASSAGE,
      tokens: COUNT,
      score: optional(NUMBER),
    }),
  ),
  tokens: COUNT,
  processingTimeMs: COUNT,
  degraded: optional(DEGRADED),
  remoteErrors: optional(OBJECT),
});

export const SEARCH_RESPONSE = object({
  hits: list(HIT),
  query: TEXT,
  processingTimeMs: COUNT,
  ...optionals({ indexUid: TEXT, queryVector: QUERY_VECTOR }),
  ...PAGE_OF_HITS,
  ...OTHER_MEMBERS,
  ...GROUPS,
});

export const MULTI_SEARCH_RESPONSE = object(
  optionals({
    hits: list(HIT),
    processingTimeMs: COUNT,
    ...PAGE_OF_HITS,
    ...OTHER_MEMBERS,
    ...GROUPS,
    // The hits of each group in `federation.networkGroups`.
    groupTotals: list(COUNT),
    queryVectors: QUERY_VECTORS,
    facetsByIndex: map(object({ distribution: FACET_DISTRIBUTION, stats: FACET_STATS })),
    results: list(SEARCH_RESPONSE),
  }),
);

export const SIMILAR_RESPONSE = object({
  hits: list(HIT),
  id: TEXT,
  processingTimeMs: COUNT,
  ...PAGE_OF_HITS,
  ...OTHER_MEMBERS,
});

export const FACET_SEARCH_RESPONSE = object({
  facetHits: list(object({ value: TEXT, count: COUNT })),
  facetQuery: TEXT_OR_NULL,
  processingTimeMs: COUNT,
  ...optionals({ remoteErrors: OBJECT, degraded: DEGRADED }),
});
export type FacetSearchResponse = Static<typeof FACET_SEARCH_RESPONSE>;

const SUGGESTION = object({
  text: TEXT,
  /** `searches`: recorded ones. `attribute`: a value of a document. */
  source: oneOf(['searches', 'attribute']),
  /** The number of users that have searched for it, or of documents that have the value. */
  count: COUNT,
  /** The attribute that has the value. */
  attribute: optional(TEXT),
});
export type Suggestion = Static<typeof SUGGESTION>;

export const SUGGEST_RESPONSE = object({
  suggestions: list(SUGGESTION),
  query: TEXT,
  processingTimeMs: COUNT,
});

/** What is known of the embeddings of one embedder of an index. */
export const EMBEDDER_STATUS = object({
  indexUid: TEXT,
  name: TEXT,
  source: TEXT,
  /** null: embeddings come with the documents. */
  mode: nullable(oneOf(EMBEDDING_MODES)),
  /** Documents with embeddings, without them yet, and those that the provider refuses. */
  done: COUNT,
  waiting: COUNT,
  failed: COUNT,
  failures: list(object({ documentId: TEXT, reason: TEXT })),
  /** Why nothing is made at the moment, and when it is tried again; null: nothing is wrong. */
  problem: nullable(object({ reason: TEXT, retryAt: DATE })),
});
export type EmbedderStatus = Static<typeof EMBEDDER_STATUS>;

// --- Documents, indexes --------------------------------------------------------------------------

export const DOCUMENT = OBJECT;

export const DOCUMENTS = object({
  results: list(DOCUMENT),
  offset: COUNT,
  limit: COUNT,
  total: COUNT,
  remoteErrors: optional(OBJECT),
});
export type DocumentPage = Static<typeof DOCUMENTS>;

export const INDEX = object({
  uid: TEXT,
  createdAt: DATE,
  updatedAt: DATE,
  primaryKey: TEXT_OR_NULL,
});
export type IndexInfo = Static<typeof INDEX>;

export const INDEXES = pageOf(INDEX);

/** A number of bytes. Its text replaces it if the request asks for that. */
const SIZE = declared<number>({ type: ['integer', 'string'] });

/** Keys in this order in responses. */
export const INDEX_STATS = object({
  numberOfDocuments: COUNT,
  rawDocumentDbSize: SIZE,
  avgDocumentSize: SIZE,
  /** On disk, and of the part that holds live data. */
  indexSize: SIZE,
  usedIndexSize: SIZE,
  isIndexing: FLAG,
  numberOfEmbeddings: COUNT,
  numberOfEmbeddedDocuments: COUNT,
  fieldDistribution: map(COUNT),
  internalDatabaseSizes: optional(map(SIZE)),
});
export type IndexStats = Static<typeof INDEX_STATS>;

export const STATS = object({
  /** On disk, of all indexes and stores, and of the part that holds live data. */
  databaseSize: SIZE,
  usedDatabaseSize: SIZE,
  lastUpdate: nullable(DATE),
  /** Ascending uid. */
  indexes: map(INDEX_STATS),
});
export type Stats = Static<typeof STATS>;
/** Statistics of all indexes, before those that a caller may not see are left out. */
export type InstanceStats = Omit<Stats, 'lastUpdate'>;

export const FIELDS_RESPONSE = pageOf(OBJECT);

// --- Tasks ---------------------------------------------------------------------------------------

const TYPE = oneOf(TASK_TYPES);
const STATUS = oneOf(TASK_STATUSES);
/** ISO 8601, see `isoDuration`. */
const DURATION = TEXT_OR_NULL;

/** The body of a 202. Keys in this order. */
export const TASK_SUMMARY = object({
  taskUid: COUNT,
  indexUid: TEXT_OR_NULL,
  status: STATUS,
  type: TYPE,
  enqueuedAt: DATE,
  customMetadata: optional(TEXT),
});
export type TaskSummary = Static<typeof TASK_SUMMARY>;

/** A task as the API shows it. Keys in this order; dates are RFC 3339 in UTC. */
export const TASK = object({
  uid: COUNT,
  batchUid: COUNT_OR_NULL,
  indexUid: TEXT_OR_NULL,
  status: STATUS,
  type: TYPE,
  canceledBy: COUNT_OR_NULL,
  /** null only for types without details. */
  details: declared<TaskDetails | null>(nullable(OBJECT)),
  error: declared<ErrorBody | null>(nullable(OBJECT)),
  duration: DURATION,
  enqueuedAt: DATE,
  startedAt: nullable(DATE),
  finishedAt: nullable(DATE),
  network: optional(declared<TaskNetwork>(OBJECT)),
  customMetadata: optional(TEXT),
});
export type TaskView = Static<typeof TASK>;

const PROGRESS = object({
  steps: list(object({ currentStep: TEXT, finished: COUNT, total: COUNT })),
  percentage: declared<JsonFloat>(NUMBER),
});
export type ProgressView = Static<typeof PROGRESS>;

const BATCH_STATS = object({
  totalNbTasks: COUNT,
  status: declared<Partial<Record<TaskStatus, number>>>(map(COUNT)),
  types: declared<Partial<Record<TaskType, number>>>(map(COUNT)),
  indexUids: map(COUNT),
  ...optionals({
    progressTrace: map(TEXT),
    internalDatabaseSizes: map(TEXT),
    embedderRequests: object({ total: COUNT, failed: COUNT, lastError: optional(TEXT) }),
  }),
});
export type BatchStats = Static<typeof BATCH_STATS>;

/** A batch as the API shows it. Keys in this order. */
export const BATCH = object({
  uid: COUNT,
  progress: nullable(PROGRESS),
  details: OBJECT,
  stats: BATCH_STATS,
  duration: DURATION,
  startedAt: DATE,
  finishedAt: nullable(DATE),
  batchStrategy: TEXT,
});
export type BatchView = Static<typeof BATCH>;

function uidPageOf<T>(results: Declared<T>) {
  return object({
    results: list(results),
    total: COUNT,
    limit: COUNT,
    from: COUNT_OR_NULL,
    next: COUNT_OR_NULL,
  });
}

export const TASKS = uidPageOf(TASK);
export const BATCHES = uidPageOf(BATCH);
export type TaskPage<T> = Omit<Static<typeof TASKS>, 'results'> & { results: T[] };
export const COMPACTION = object({ preSize: TEXT, postSize: TEXT, status: TEXT });

// --- The server ----------------------------------------------------------------------------------

/** A server without a cluster shows one without nodes. */
export const CLUSTER = object({
  leader: TEXT_OR_NULL,
  epoch: COUNT_OR_NULL,
  /** The number of the last record in the log, and of the last one that this node has applied. */
  head: COUNT,
  applied: COUNT,
  fault: TEXT_OR_NULL,
  damagedObjects: list(TEXT),
  nodes: list(
    object({
      name: TEXT,
      url: TEXT,
      role: TEXT,
      applied: COUNT,
      bytesToFetch: COUNT,
      storeFault: TEXT_OR_NULL,
      lagSeconds: NUMBER,
    }),
  ),
});
export type Cluster = Static<typeof CLUSTER>;

export const HEALTH = object({ status: TEXT });
export const VERSION = object(
  { commitSha: TEXT, commitDate: TEXT, pkgVersion: TEXT },
  { additionalProperties: TEXT },
);
export type Version = Static<typeof VERSION> & { serverVersion: string };
export const FEATURES_RESPONSE = object(each(FEATURES, () => FLAG));

/** What a key may do. */
export const ACCESS = object({
  hasMasterKey: FLAG,
  actions: list(oneOf(ACTIONS)),
  indexes: list(TEXT),
});
export type Access = Static<typeof ACCESS>;

const RATE_LIMIT_VIEW = object({
  requestsPerSecond: COUNT_OR_NULL,
  concurrentSearches: COUNT_OR_NULL,
});
/** Limits of a key; null: unlimited. */
export type RateLimit = Static<typeof RATE_LIMIT_VIEW>;

/** Keys in this order. */
export const KEY = object({
  name: TEXT_OR_NULL,
  description: TEXT_OR_NULL,
  key: TEXT,
  /** Hyphenated lower case. */
  uid: TEXT,
  /** As sent, in that order. */
  actions: list(declared<string>(oneOf(ACTIONS))),
  indexes: list(TEXT),
  /** null: never. */
  expiresAt: nullable(DATE),
  createdAt: DATE,
  updatedAt: DATE,
  /** Absent: the limit for all keys. */
  rateLimit: optional(RATE_LIMIT_VIEW),
  /** Absent: 1. */
  weight: optional(COUNT),
  /** Present while an earlier value is accepted: until when. */
  previousExpiresAt: optional(DATE),
});
export type KeyView = Static<typeof KEY>;
export const KEYS = pageOf(KEY);

export const WEBHOOK = object({ uuid: TEXT, isEditable: FLAG, url: TEXT, headers: map(TEXT) });
export type WebhookView = Static<typeof WEBHOOK>;
export const WEBHOOKS = object({ results: list(WEBHOOK) });

const REMOTE = object({
  /** Absolute, `http` or `https`. */
  url: TEXT,
  searchApiKey: TEXT_OR_NULL,
  writeApiKey: TEXT_OR_NULL,
});
export type Remote = Static<typeof REMOTE>;

/** Keys in the order of GET. */
export const NETWORK = object({
  /** Name of this instance. */
  self: TEXT_OR_NULL,
  /** By name, including this instance. */
  remotes: map(REMOTE),
  sharding: FLAG,
});
export type Network = Static<typeof NETWORK>;

export const SEARCH_RULES = pageOf(SEARCH_RULE);
export type SearchRulePage = Static<typeof SEARCH_RULES>;

export const DUMPS = pageOf(object({ uid: TEXT, createdAt: DATE, size: COUNT }));

export const ALIAS = object({
  /** Has the form of an index uid, and is the uid of no index. */
  alias: TEXT,
  /** The index that it stands for. It may have been deleted since. */
  indexUid: TEXT,
  createdAt: DATE,
  /** When it was last pointed at an index. */
  updatedAt: DATE,
});
export type Alias = Static<typeof ALIAS>;
export const ALIASES = pageOf(ALIAS);

/** Which index another is a branch of. */
export const BRANCH = object({
  uid: TEXT,
  /** Uid of the origin. null: it was deleted. */
  origin: TEXT_OR_NULL,
  /** Writes of documents to the origin are repeated here. */
  follow: FLAG,
  createdAt: DATE,
});
export type Branch = Static<typeof BRANCH>;
export const BRANCHES = pageOf(BRANCH);

/** Settings that differ, each with the value of the origin and that of the branch. */
export const BRANCH_DIFFERENCES = object({
  uid: TEXT,
  origin: TEXT,
  settings: map(object({ origin: ANY, branch: ANY })),
});

export const RENDERED = object({ template: ANY, rendered: ANY });

export const WORKSPACE = object({ uid: TEXT });
export const WORKSPACES = pageOf(WORKSPACE);
const RATE = nullable(NUMBER);
const REPORT_ROW = object({
  searches: COUNT,
  ...optionals({
    indexUid: TEXT,
    day: TEXT,
    query: TEXT,
    filter: TEXT_OR_NULL,
    objectId: TEXT,
    searchesWithoutResults: COUNT,
    meanHits: RATE,
    clickedSearches: COUNT,
    clicks: COUNT,
    conversions: COUNT,
    clickThroughRate: RATE,
    conversionRate: RATE,
    meanClickPosition: RATE,
    latencyMs: object({ p50: RATE, p90: RATE, p95: RATE, p99: RATE }),
    with: TEXT,
    wins: COUNT,
    losses: COUNT,
    ties: COUNT,
    preference: RATE,
    preferenceLow: RATE,
    preferenceHigh: RATE,
    pValue: NUMBER,
  }),
});
export type ReportRow = Static<typeof REPORT_ROW>;
/** A report on searches and events, as JSON. */
export const REPORT = object({
  results: list(REPORT_ROW),
  ...optionals({ offset: COUNT, limit: COUNT, total: COUNT, missingNodes: list(TEXT) }),
});
export const reportFloats = floatsOf(REPORT);
