import { RawJson } from '../base/json.ts';
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
  /** A larger response is refused. */
  answerBytesMax?: number;
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
  answerBytesMax: number;
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
  answerBytesMax: number;
}

export interface PlanContext {
  containsFilter: boolean;
}

/** What a request gets besides the parameters of the client. */
type SearchExtras = Pick<
  EngineSearchRequest,
  'requestUid' | 'indexUid' | 'metadata' | 'answerBytesMax'
>;

export function planSearch(
  params: SearchRequest,
  context: PlanContext,
  more: SearchExtras,
): string {
  return engineText(engineSearch(params, context, more));
}

function engineSearch(
  params: SearchRequest,
  { containsFilter }: PlanContext,
  more: SearchExtras,
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
  more: Pick<EngineFederatedRequest, 'requestUid' | 'metadata' | 'otherIndexes' | 'answerBytesMax'>,
): string {
  const request: Omit<EngineFederatedRequest, 'queries'> = { federation, ...more };
  if (context.containsFilter) request.containsFilter = true;
  const texts = queries.map((query) => {
    const federated: EngineFederatedQuery = {
      ...engineSearch(query, context, {}),
      indexUid: query.indexUid,
      federationOptions: query.federationOptions ?? null,
    };
    return engineText(federated);
  });
  return withMember(request, 'queries', `[${texts.join(',')}]`);
}

export function planFacetSearch(
  params: FacetSearchRequest,
  context: PlanContext,
  more: Pick<EngineFacetSearchRequest, 'answerBytesMax'>,
): string {
  const request: EngineFacetSearchRequest = { ...params, ...more };
  const words = typeof params.q === 'string' ? segmentation(params.q) : undefined;
  if (words !== undefined) request.segmentation = words;
  const facetWords =
    typeof params.facetQuery === 'string' ? segmentation(params.facetQuery) : undefined;
  if (facetWords !== undefined) request.facetSegmentation = facetWords;
  if (context.containsFilter) request.containsFilter = true;
  return engineText(request);
}

/** JSON of a request whose filter may be text already. */
export function engineText(request: { filter?: unknown }): string {
  const { filter, ...others } = request;
  return filter instanceof RawJson
    ? withMember(others, 'filter', filter.text)
    : JSON.stringify(request);
}

/** JSON of an object with one more member, whose text is given. */
function withMember(object: object, name: string, text: string): string {
  const others = JSON.stringify(object).slice(1, -1);
  return `{${others}${others === '' ? '' : ','}${JSON.stringify(name)}:${text}}`;
}
