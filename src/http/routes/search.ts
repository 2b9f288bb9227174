import {
  FACET_SEARCH_RESPONSE,
  MULTI_SEARCH_RESPONSE,
  SEARCH_RESPONSE,
  SIMILAR_RESPONSE,
} from '../../contract/responses.ts';
import { defaultOf } from '../../contract/declare.ts';
import { ApiError, indexNotFound, type ErrorLocation } from '../../contract/errors.ts';
import type { Recorder } from '../../analytics/recorder.ts';
import { multiSearchLimitFault, tagFault } from '../../contract/limits.ts';
import { DOCUMENT_ID_RULE, isDocumentId } from '../../contract/formats.ts';
import { vectorFault, type VectorRequest } from '../../contract/search-kind.ts';
import { interleaveFault, multiSearchFault, searchGate } from '../../contract/multi-search.ts';
import { queryParser } from '../../contract/query.ts';
import {
  FACET_SEARCH,
  MULTI_SEARCH,
  SEARCH,
  SEARCH_QUERY,
  SIMILAR,
  SIMILAR_QUERY,
  withoutIgnored,
  type FacetSearchRequest,
  type IndexSearchRequest,
  type Interleave,
  type MultiSearchRequest,
  type SearchParameters,
  type SearchRequest,
  type SimilarParameters,
  type SimilarRequest,
} from '../../contract/search.ts';
import { isGiven } from '../../contract/settings/setting.ts';
import { joinedResults } from '../../search/response.ts';
import { checkAccess, type SearchCaller } from '../../search/caller.ts';
import type { Search } from '../../search/execute.ts';
import { hasForeign } from '../../search/foreign-filter.ts';
import type { ReadDependencies } from '../dependencies.ts';
import { asks } from '../connection.ts';
import { anyFilterCheck } from '../filter-check.ts';
import {
  bodyOf,
  bytes,
  route,
  type RouteResponse,
  type RequestContext,
  type ReadRoute,
} from '../route.ts';
import { recordingOf, seedOf } from '../search-recording.ts';
import type { ReadServices } from '../services.ts';
import { switchedOn } from './analytics.ts';

export function callerOf({
  requestId,
  startedAt,
  access,
  meter,
  connection,
}: Pick<
  RequestContext,
  'requestId' | 'startedAt' | 'access' | 'meter' | 'connection'
>): SearchCaller {
  return {
    arrivedAt: startedAt,
    access,
    meter,
    requestId,
    signal: connection,
    includeMetadata: asks(connection.headers.includeMetadata),
    proxied: asks(connection.headers.proxySearch),
    firstPage: countOf(connection.headers.firstPage),
  };
}

/** A server that sends no valid number is one that does not know the header. */
function countOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}

const SEARCHES: readonly ReadRoute[] = [
  route({
    method: 'POST',
    path: '/indexes/:index_uid/search',
    action: 'search',
    summary: 'Searches an index.',
    body: bodyOf(SEARCH, { kind: 'search' }),
    success: 200,
    response: SEARCH_RESPONSE,
    handle: searchByBody,
  }),
  route({
    method: 'GET',
    path: '/indexes/:index_uid/search',
    action: 'search',
    summary: 'Searches an index.',
    query: queryParser(SEARCH_QUERY),
    success: 200,
    response: SEARCH_RESPONSE,
    handle: searchByParameters,
  }),
  route({
    method: 'POST',
    path: '/multi-search',
    action: 'search',
    summary: 'Runs several searches, separately or merged into one list.',
    body: bodyOf(MULTI_SEARCH, { kind: 'search' }),
    success: 200,
    // An index that a foreign key names; for the index of a query the status is 400.
    errors: ['index_not_found'],
    response: MULTI_SEARCH_RESPONSE,
    handle: multiSearch,
  }),
  route({
    method: 'POST',
    path: '/indexes/:index_uid/facet-search',
    action: 'search',
    summary: 'Searches the values of a facet.',
    body: bodyOf(FACET_SEARCH, { kind: 'search' }),
    success: 200,
    response: FACET_SEARCH_RESPONSE,
    handle: facetSearch,
  }),
  route({
    method: 'POST',
    path: '/indexes/:index_uid/similar',
    action: 'search',
    summary: 'Finds documents that are similar to one.',
    body: bodyOf(SIMILAR, { kind: 'search' }),
    success: 200,
    response: SIMILAR_RESPONSE,
    handle: similarByBody,
  }),
  route({
    method: 'GET',
    path: '/indexes/:index_uid/similar',
    action: 'search',
    summary: 'Finds documents that are similar to one.',
    query: queryParser(SIMILAR_QUERY),
    success: 200,
    response: SIMILAR_RESPONSE,
    handle: similarByParameters,
  }),
];

/** Served by every HTTP thread. */
export const SEARCH_ROUTES: readonly ReadRoute[] = SEARCHES.map((one) => ({
  ...one,
  isSearch: true,
}));

function searchByBody(
  context: RequestContext<unknown, SearchRequest>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  return searchOne(context, context.body, server);
}

function searchByParameters(
  context: RequestContext<SearchParameters>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  return searchOne(context, fromParameters(context.query), server);
}

function similarByBody(
  context: RequestContext<unknown, SimilarRequest>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  return similarOf(context, context.body, server);
}

function similarByParameters(
  context: RequestContext<SimilarParameters>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const embedder = context.query.embedder ?? defaultOf(SIMILAR_QUERY.properties.embedder);
  return similarOf(context, { ...context.query, embedder }, server);
}

function recorderOf({ analytics }: ReadDependencies): Recorder | null {
  return analytics?.recorder ?? null;
}

function checkVectors(
  uid: string,
  request: VectorRequest,
  { indexes, features }: ReadServices,
  at: ErrorLocation = {},
): void {
  const fault = vectorFault(request, indexes.settings(uid)!, features.get());
  if (fault !== null) throw fault.locatedAt(at);
}

/**
 * Faults that are found before the engine is called. Without vectors this costs a look-up of the
 * index; the engine reports the faults of its filter.
 */
export async function checkSearch(
  uid: string,
  request: VectorRequest & { filter?: unknown },
  server: ReadDependencies,
): Promise<void> {
  const { indexes, features } = server.services;
  const known = indexes.get(uid) !== undefined;
  const vectors = hasVectorParameters(request);
  // Conditions on other indexes are checked when they are resolved.
  const isForeign = features.get().foreignKeys && hasForeign(request.filter);
  if ((!known || vectors) && !isForeign)
    await anyFilterCheck(server)(request.filter, 'invalid_search_filter');
  if (!known) throw indexNotFound(uid);
  if (vectors) checkVectors(uid, request, server.services);
}

/** The search of an index and of the one that it is interleaved with. */
function interleavedSearch(
  uid: string,
  { with: other, showIndex }: Interleave,
  params: SearchRequest,
  { access, connection }: RequestContext<unknown, unknown>,
  server: ReadDependencies,
): Extract<Search, { kind: 'interleaved' }> {
  switchedOn(server.analytics, 'Using `interleave`');
  const at = { path: 'interleave.with' };
  if (!access.mayAccess(other)) throw access.refusal(other);
  if (server.services.indexes.get(other) === undefined) {
    throw indexNotFound(other, 400).locatedAt(at);
  }
  if (hasVectorParameters(params)) checkVectors(other, params, server.services, at);
  const uids = [uid, other] as const;
  const draft = { seed: seedOf(connection, uids, params.q ?? ''), showsIndex: showIndex === true };
  return { kind: 'interleaved', uids, params, draft };
}

async function searchOne(
  context: RequestContext<unknown, unknown>,
  request: IndexSearchRequest,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { search, features } = server.services;
  const fault =
    tagFault(request, server.limits) ??
    interleaveFault(request) ??
    searchGate(request, features.get());
  if (fault !== null) throw fault;
  const uid = context.params.index_uid!;
  const { interleave, ...params } = request;
  await checkSearch(uid, params, server);
  const recorded = recordingOf(recorderOf(server), context, uid, request);
  const startedAt = recorded === null ? 0 : performance.now();
  const asked: Search = isGiven(interleave)
    ? interleavedSearch(uid, interleave, params, context, server)
    : { kind: 'search', uid, params };
  const [response] = await search.execute(asked, callerOf(context));
  recorded?.(response, performance.now() - startedAt);
  return bytes(response.bytes);
}

async function similarOf(
  context: RequestContext<unknown, unknown>,
  request: SimilarRequest,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { search, features, indexes } = server.services;
  const uid = context.params.index_uid!;
  const gate = searchGate(request, features.get());
  if (gate !== null) throw gate;
  const settings = indexes.settings(uid);
  if (settings === undefined) throw indexNotFound(uid);
  if (!Object.hasOwn(settings.embedders, request.embedder)) {
    throw new ApiError(
      'invalid_similar_embedder',
      `The index \`${uid}\` has no embedder \`${request.embedder}\` to compare documents with.`,
    );
  }
  await anyFilterCheck(server)(request.filter, 'invalid_similar_filter');
  const id = String(request.id);
  if (!isDocumentId(id)) {
    throw new ApiError(
      'invalid_similar_id',
      `Invalid value at \`.id\`: \`${id}\`; ${DOCUMENT_ID_RULE}.`,
    );
  }
  const asked = { kind: 'similar', uid, params: { ...request, id } } as const;
  const [response] = await search.execute(asked, callerOf(context));
  return bytes(response.bytes);
}

async function multiSearch(
  context: RequestContext<unknown, MultiSearchRequest>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { search, features, indexes } = server.services;
  const { limits, responseBuffers } = server;
  const recorder = recorderOf(server);
  const { access, body } = context;
  const excess = multiSearchLimitFault(body, limits);
  if (excess !== null) throw excess;
  // Checks access before anything else is reported about the indexes.
  checkAccess(
    body.queries.map(({ indexUid }) => indexUid),
    body.federation,
    access,
  );
  const fault = multiSearchFault(body, features.get(), server.network.get());
  if (fault !== null) throw fault;
  const { queries, federation } = body;
  const recorded =
    recorder === null
      ? []
      : queries.map((query) => recordingOf(recorder, context, query.indexUid, query));
  for (const [i, query] of body.queries.entries()) {
    const settings =
      hasVectorParameters(query) && !isGiven(query.federationOptions?.remote)
        ? indexes.settings(query.indexUid)
        : undefined;
    const vector = settings && vectorFault(query, settings, features.get());
    if (vector) throw vector.locatedAt({ query: i });
  }
  if (federation === null || federation === undefined) {
    const responses = await search.execute({ kind: 'separate', queries }, callerOf(context));
    for (const [n, record] of recorded.entries())
      record?.(responses[n]!, responses[n]!.durationMs!);
    return bytes(joinedResults(responses, limits, responseBuffers));
  }
  const startedAt = performance.now();
  const merged = { kind: 'federated', queries, federation } as const;
  const [response] = await search.execute(merged, callerOf(context));
  const ms = performance.now() - startedAt;
  for (const [n, record] of recorded.entries()) record?.(response, ms, n);
  return bytes(response.bytes);
}

async function facetSearch(
  context: RequestContext<unknown, FacetSearchRequest>,
  server: ReadDependencies,
): Promise<RouteResponse> {
  const { search, features, indexes } = server.services;
  const { params } = context;
  const body = withoutIgnored(context.body);
  const gate = searchGate(body, features.get());
  if (gate !== null) throw gate;
  const uid = params.index_uid!;
  if (indexes.get(uid) === undefined) throw indexNotFound(uid);
  if (hasVectorParameters(body)) checkVectors(uid, body, server.services);
  const asked = { kind: 'facet-search', uid, params: body } as const;
  const [response] = await search.execute(asked, callerOf(context));
  return bytes(response.bytes);
}

function hasVectorParameters({ vector, media, hybrid }: VectorRequest): boolean {
  return isGiven(vector) || isGiven(media) || isGiven(hybrid);
}

function fromParameters({ interleaveWith, ...parameters }: SearchParameters): IndexSearchRequest {
  const { hybridEmbedder, personalizeUserContext, diversityAttribute, diversityMax, ...others } =
    parameters;
  const { hybridSemanticRatio, hybridMinScore, hybridFusion, ...rest } = others;
  const { autoFacets, ...plain } = rest;
  const request: IndexSearchRequest = plain;
  if (interleaveWith !== undefined) request.interleave = { with: interleaveWith };
  if (autoFacets === true) {
    if (isGiven(request.facets)) {
      const message = 'The parameters `facets` and `autoFacets` cannot be combined.';
      throw new ApiError('invalid_search_facets', message);
    }
    request.facets = 'auto';
  }
  if (hybridEmbedder !== undefined) {
    request.hybrid = {
      embedder: hybridEmbedder,
      ...(hybridSemanticRatio === undefined ? {} : { semanticRatio: hybridSemanticRatio }),
      ...(hybridMinScore === undefined ? {} : { minScore: hybridMinScore }),
      ...(hybridFusion === undefined ? {} : { fusion: hybridFusion }),
    };
  } else {
    const given = Object.entries({ hybridSemanticRatio, hybridMinScore, hybridFusion });
    const name = given.find(([, value]) => value !== undefined)?.[0];
    if (name !== undefined) {
      throw new ApiError(
        'invalid_search_hybrid_query',
        `The parameter \`${name}\` needs \`hybridEmbedder\`.`,
      );
    }
  }
  if (diversityAttribute !== undefined) {
    request.diversity = {
      attribute: diversityAttribute,
      ...(diversityMax === undefined ? {} : { max: diversityMax }),
    };
  } else if (diversityMax !== undefined) {
    throw new ApiError(
      'invalid_search_diversity',
      'The parameter `diversityMax` needs `diversityAttribute`.',
    );
  }
  if (personalizeUserContext !== undefined) {
    request.personalize = { userContext: personalizeUserContext };
  }
  return request;
}
