import { jsonText } from '../base/json-slices.ts';
import type { FeatureSet } from '../contract/features.ts';
import { complete } from '../contract/declare.ts';
import { pageOf } from '../contract/pages.ts';
import {
  completeNetworkGroups,
  completeOptions,
  hitsPageOf,
  parametersOf,
  SEARCH_DEFAULTS,
  type FacetSearchRequest,
  type Federation,
  type FederationOptions,
  type HybridQuery,
  type MultiSearchQuery,
  type SearchRequest,
  type SimilarRequest,
} from '../contract/search.ts';
import { searchKind, type VectorRequest } from '../contract/search-kind.ts';
import { isGiven } from '../contract/settings/setting.ts';
import type { EngineText } from '../engine/native.ts';
import { segmentation } from './segmentation.ts';

/**
 * Translates the parameters of the API to requests of the engine. Pure, and does little: adds the
 * defaults, which the engine does not know, and passes most parameters unchanged.
 */

/**
 * The vector of a query that came without one: from an embedder, `none` when the embedder could not
 * make one, or undefined when it has not been asked.
 */
export type QueryVector = Float32Array | 'none' | undefined;

/** The server that merges a response with those of others: this one, or the one that asks. */
export type Merged = 'here' | 'elsewhere';

/** How a search uses vectors. All absent: it does not. */
interface EngineVectors {
  /** `semanticRatio` is 1 when only vectors count. */
  hybrid?: HybridQuery;
  /** Numbers in single precision, little endian, in base64. */
  vector?: string;
  /** There is no vector: words have to suffice. */
  withoutVector?: true;
}

type WithEngineVectors<T extends VectorRequest> = Omit<T, 'hybrid' | 'vector' | 'media'> &
  EngineVectors;

/** Features that change how the engine reads a filter. */
interface EngineFeatures {
  containsFilter?: true;
  multimodal?: true;
}

/** The engine's request of one search: the parameters of the API, and what only this side knows. */
export interface EngineSearchRequest extends WithEngineVectors<SearchRequest>, EngineFeatures {
  /** See `segmentation`. */
  segmentation?: number[];
  /** Written at the end of the response. */
  requestUid?: string;
  /** Written at the start of the response, for one of several searches. */
  indexUid?: string;
  /** The response has `metadata`. */
  metadata?: SearchMetadata | undefined;
  /** The search fails if the response would be larger. */
  responseBytesMax?: number;
  /** The response is changed before it is written. */
  keepsPage?: boolean | undefined;
  /** This number of documents will be put into another order: the head includes them. */
  reranked?: number;
}

export interface SearchMetadata {
  /** Absent when the search has none. */
  query?: string;
  queryUid: string;
  indexUid: string;
  /** Absent when unknown. */
  primaryKey?: string;
}

export interface EngineFederatedRequest {
  federation: Federation;
  queries: EngineFederatedQuery[];
  requestUid: string;
  responseBytesMax: number;
  metadata?: SearchMetadata[] | undefined;
  /** Indexes in `facetsByIndex` without a query; their handles follow those of the queries. */
  otherIndexes: string[];
  keepsPage?: boolean | undefined;
  /** The hits of the first page, which decides whether words are enough; default: the limit. */
  firstPage?: number | undefined;
  /**
   * Hits include the values for comparing them, and for recognizing equal ones, among hits of other
   * servers. `here`: the response becomes a `Page` that the engine merges itself.
   */
  merged?: Merged | undefined;
}

export interface EngineFederatedQuery extends EngineSearchRequest {
  indexUid: string;
  federationOptions: FederationOptions;
}

export interface EngineFacetSearchRequest
  extends WithEngineVectors<FacetSearchRequest>, EngineFeatures {
  segmentation?: number[];
  /** Segmentation of `facetQuery`. */
  facetSegmentation?: number[];
  responseBytesMax: number;
  /**
   * When values are sorted by count more of them are returned, to be added to those of other
   * servers.
   */
  merged?: Merged | undefined;
}

export interface EngineSimilarRequest extends SimilarRequest, EngineFeatures {
  /** The filter of the caller's tenant token; the document compared with passes it too. */
  tenantFilter?: unknown;
  responseBytesMax: number;
  keepsPage?: boolean | undefined;
}

type PlanContext = Pick<FeatureSet, 'containsFilter' | 'multimodal'>;

/** Parts of a request beyond the parameters of the client. */
type SearchExtras = Pick<
  EngineSearchRequest,
  'requestUid' | 'indexUid' | 'metadata' | 'responseBytesMax' | 'keepsPage' | 'reranked'
>;

export function planSearch(
  params: SearchRequest,
  context: PlanContext,
  more: SearchExtras,
  vector?: QueryVector,
): EngineSearchRequest {
  const request: EngineSearchRequest = planned(params, context, more, vector);
  // The page of groups is part of `groupBy`.
  return Object.assign(
    request,
    parametersOf(params),
    !isGiven(params.groupBy) && hitsPageOf(params),
    isGiven(params.diversity) && {
      diversity: { ...params.diversity, ...complete(params.diversity, SEARCH_DEFAULTS.diversity) },
    },
  );
}

/** Common to all requests with a query. */
function planned<T extends VectorRequest, M>(
  params: T,
  context: PlanContext,
  more: M,
  vector: QueryVector,
): WithEngineVectors<T> & M & EngineFeatures & { segmentation?: number[] } {
  const words = segmentation(params.q);
  return Object.assign(
    withVectors(params, vector),
    more,
    featuresOf(context),
    words && { segmentation: words },
  );
}

function featuresOf({ containsFilter, multimodal }: PlanContext): EngineFeatures {
  return {
    ...(containsFilter ? { containsFilter } : {}),
    ...(multimodal ? { multimodal } : {}),
  };
}

function withVectors<T extends VectorRequest>(params: T, made: QueryVector): WithEngineVectors<T> {
  const kind = searchKind(params);
  const { hybrid, vector, media: _, ...rest } = params;
  if (kind === 'words') return rest;
  const request: WithEngineVectors<T> = {
    ...rest,
    hybrid: {
      ...hybrid!,
      ...complete(hybrid!, SEARCH_DEFAULTS.hybrid),
      ...(kind === 'semantic' && { semanticRatio: 1 }),
    },
  };
  const known = isGiven(vector) ? new Float32Array(vector) : made;
  if (known === 'none') request.withoutVector = true;
  else if (known !== undefined) request.vector = base64Of(known);
  return request;
}

function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** @param vectors by query; see {@link QueryVector} */
export function planFederated(
  federation: Federation,
  queries: readonly MultiSearchQuery[],
  context: PlanContext,
  more: Omit<EngineFederatedRequest, 'federation' | 'queries'>,
  vectors: readonly QueryVector[] = [],
): EngineFederatedRequest {
  const federated = queries.map((query, n): EngineFederatedQuery => ({
    ...planned(query, context, parametersOf(query), vectors[n]),
    federationOptions: completeOptions(query.federationOptions),
  }));
  const { networkGroups } = federation;
  const completed = {
    ...federation,
    ...hitsPageOf(federation),
    ...(isGiven(networkGroups) && { networkGroups: completeNetworkGroups(networkGroups) }),
  };
  return { federation: completed, ...more, queries: federated };
}

export function planFacetSearch(
  params: FacetSearchRequest,
  context: PlanContext,
  more: Pick<EngineFacetSearchRequest, 'responseBytesMax' | 'merged'>,
  vector?: QueryVector,
): EngineFacetSearchRequest {
  const request: EngineFacetSearchRequest = planned(params, context, more, vector);
  const facetWords = segmentation(params.facetQuery);
  if (facetWords !== undefined) request.facetSegmentation = facetWords;
  return request;
}

export function planSimilar(
  params: SimilarRequest,
  context: PlanContext,
  tenantFilter: unknown,
  more: Pick<EngineSimilarRequest, 'responseBytesMax' | 'keepsPage'>,
): EngineSimilarRequest {
  const request: EngineSimilarRequest = {
    ...params,
    ...pageOf(params),
    ...more,
    ...featuresOf(context),
  };
  if (tenantFilter !== null) request.tenantFilter = tenantFilter;
  return request;
}

/**
 * Serializes a request, a long one in slices, and passes the text to the engine. Values of the
 * request may already be JSON text.
 */
export function withEngineText<T>(
  request: object,
  ask: (text: EngineText) => Promise<T>,
): Promise<T> {
  const text = jsonText(request);
  return text instanceof Promise ? text.then(ask) : ask(text);
}
