import type {
  FacetSearchRequest,
  Federation,
  FederationOptions,
  MultiSearchQuery,
  SearchRequest,
} from '../contract/search.ts';
import { segmentation } from './segmentation.ts';

/**
 * From the parameters of the API to what the engine is asked. Pure, and next to nothing is done: the
 * engine knows the defaults, so most parameters pass as they came.
 */

/** What the engine gets for one search: the parameters of the API, and what only this side knows. */
export interface EngineSearchRequest extends SearchRequest {
  /** See `segmentation`. */
  segmentation?: number[];
  /** The feature `containsFilter` is on. */
  containsFilter?: true;
  /** Ends the response. */
  requestUid?: string;
  /** Stands before everything else in the response, for one of several searches. */
  indexUid?: string;
  /** The response has `metadata`. */
  metadata?: SearchMetadata;
}

export interface SearchMetadata {
  queryUid: string;
  indexUid: string;
  primaryKey: string | null;
}

export interface EngineFederatedRequest {
  federation: Federation;
  queries: EngineFederatedQuery[];
  requestUid: string;
  metadata?: SearchMetadata[];
  /** Indexes that `facetsByIndex` names besides those of the queries; their handles follow those of the queries. */
  otherIndexes: string[];
  containsFilter?: true;
}

export interface EngineFederatedQuery extends EngineSearchRequest {
  indexUid: string;
  federationOptions?: FederationOptions | null;
}

export interface EngineFacetSearchRequest extends FacetSearchRequest {
  segmentation?: number[];
  /** Of `facetQuery`. */
  facetSegmentation?: number[];
  containsFilter?: true;
}

export interface PlanContext {
  containsFilter: boolean;
}

export function planSearch(
  params: SearchRequest,
  context: PlanContext,
  more: Pick<EngineSearchRequest, 'requestUid' | 'indexUid' | 'metadata'>,
): string {
  return JSON.stringify(engineSearch(params, context, more));
}

function engineSearch(
  params: SearchRequest,
  { containsFilter }: PlanContext,
  more: Pick<EngineSearchRequest, 'requestUid' | 'indexUid' | 'metadata'>,
): EngineSearchRequest {
  const request: EngineSearchRequest = { ...params, ...more };
  const words = typeof params.q === 'string' ? segmentation(params.q) : undefined;
  if (words !== undefined) request.segmentation = words;
  if (containsFilter) request.containsFilter = true;
  return request;
}

export function planFederated(
  federation: Federation,
  queries: readonly MultiSearchQuery[],
  context: PlanContext,
  more: Pick<EngineFederatedRequest, 'requestUid' | 'metadata' | 'otherIndexes'>,
): string {
  const request: EngineFederatedRequest = {
    federation,
    queries: queries.map((query) => ({
      ...engineSearch(query, context, {}),
      indexUid: query.indexUid,
      federationOptions: query.federationOptions ?? null,
    })),
    ...more,
  };
  if (context.containsFilter) request.containsFilter = true;
  return JSON.stringify(request);
}

export function planFacetSearch(params: FacetSearchRequest, context: PlanContext): string {
  const request: EngineFacetSearchRequest = { ...params };
  const words = typeof params.q === 'string' ? segmentation(params.q) : undefined;
  if (words !== undefined) request.segmentation = words;
  const facetWords =
    typeof params.facetQuery === 'string' ? segmentation(params.facetQuery) : undefined;
  if (facetWords !== undefined) request.facetSegmentation = facetWords;
  if (context.containsFilter) request.containsFilter = true;
  return JSON.stringify(request);
}
