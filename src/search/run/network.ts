/**
 * Searches that involve other servers of the network (docs/behaviour/network.md): queries that name
 * a remote, queries of the whole network, and those that another server sends on.
 */
import { ApiError } from '../../contract/errors.ts';
import type { RequestLimits } from '../../contract/limits.ts';
import { pageOf } from '../../contract/pages.ts';
import {
  hitsPageOf,
  SEARCH_DEFAULTS,
  type FacetSearchRequest,
  type Federation,
  type HitsPage,
  type MultiSearchQuery,
  type SearchRequest,
  type SimilarRequest,
} from '../../contract/search.ts';
import { searchKind } from '../../contract/search-kind.ts';
import type { SettingsObject } from '../../contract/settings.ts';
import { isGiven } from '../../contract/settings/setting.ts';
import type { EngineResult } from '../../engine/native.ts';
import type { ResponseMerger, ServerResponse } from '../../engine/response-merger.ts';
import type { Asker, FanOut, RemoteQuestion } from '../../network/fan-out.ts';
import { bestHits, type Grouping } from '../groups.ts';
import type { SearchResponse } from '../response.ts';
import type { EngineFacetMergeRequest, EngineMergeRequest, Faceting } from '../merge-request.ts';
import type { NetworkDocuments } from '../network-documents.ts';
import { ofQuery } from '../of-query.ts';
import type { SearchCaller } from '../caller.ts';
import { metered } from '../search-meter.ts';
import type { LocalSearch, RunOptions } from './local.ts';
import { severally } from './severally.ts';

/** A caller, and the memory for responses to it. */
type Holding = SearchCaller & Asker;

export interface NetworkServices {
  fanOut: FanOut;
  documents: Pick<NetworkDocuments, 'embeddings'>;
  /** undefined: the index is not here. */
  settings(uid: string): SettingsObject | undefined;
  limits: RequestLimits;
  merger: ResponseMerger;
}

interface WholeOptions {
  /** Written at the start of the response. */
  shownUid?: string;
  /** Hits do not name the server they are from. */
  hidesOrigin?: boolean;
  /** The response is changed before it is written. */
  keepsPage?: boolean | undefined;
}

/** A query with its position in the request. */
interface PositionedQuery {
  query: MultiSearchQuery;
  position: number;
}

/** The responses of the servers of the network. */
interface RemoteParts {
  /** If hits are equal, those of an earlier response come first. */
  responses: ServerResponse[];
  /** What the merge needs to know about the servers. */
  about: Pick<
    EngineMergeRequest,
    'servers' | 'remoteErrors' | 'responseBytesMax' | 'countsFirstPage'
  >;
}

/** Concurrency of separate searches. */
const AT_ONCE = 4;

export class NetworkSearch {
  readonly #search: LocalSearch;
  readonly #services: NetworkServices;

  constructor(search: LocalSearch, services: NetworkServices) {
    this.#search = search;
    this.#services = services;
  }

  /** Whether another server of the network, which merges several responses, sends the request. */
  isAskedBy({ proxied }: SearchCaller): boolean {
    return proxied && this.#services.fanOut.isOn;
  }

  async search(
    uid: string,
    params: SearchRequest,
    caller: SearchCaller,
    shown: WholeOptions,
  ): Promise<SearchResponse> {
    const { useNetwork: _, ...plain } = params;
    try {
      return await this.#list(uid, plain, caller, shown);
    } catch (error) {
      throw ofWhole(error);
    }
  }

  #holding<T>(caller: SearchCaller, run: (caller: Holding) => Promise<T>): Promise<T> {
    return this.#services.fanOut.holding((held) => run({ ...caller, held }));
  }

  facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: SearchCaller,
  ): Promise<EngineResult> {
    const { useNetwork: _, ...plain } = params;
    return this.#holding(caller, (holding) => this.#facetHits(uid, plain, holding));
  }

  /** Values of a facet of the whole network. */
  async #facetHits(
    uid: string,
    params: FacetSearchRequest,
    caller: Holding,
  ): Promise<EngineResult> {
    const { fanOut, merger, limits } = this.#services;
    const begun = performance.now();
    caller.stages?.begin('embed');
    const request = await this.#search.embedded(uid, params);
    caller.stages?.begin('network');
    const elsewhere = fanOut.isMember ? 0 : 1;
    const { here, responses, errors } = await metered(caller.meter, elsewhere, () =>
      fanOut.askConcurrently(
        fanOut.isMember
          ? () =>
              this.#search
                .facetSearch(uid, request, caller, { merged: 'here' })
                .then(({ bytes }) => merger.readFacetHits(bytes))
                .finally(() => caller.stages?.begin('network'))
          : null,
        this.#toAll(`/indexes/${uid}/facet-search`, request),
        merger.readFacetHits,
        caller,
      ),
    );
    caller.stages?.begin('merge');
    const { facetName, facetQuery = null, mostFrequent = null } = params;
    const faceting: Faceting =
      mostFrequent === null
        ? this.#facetingOf(uid)
        : { maxValuesPerFacet: mostFrequent, sortFacetValuesBy: { '*': 'count' } };
    const merging: EngineFacetMergeRequest = {
      facetName,
      facetQuery,
      faceting,
      processingTimeMs: Math.floor(performance.now() - begun),
      remoteErrors: errors,
      responseBytesMax: limits.responseBytes,
    };
    return merger.mergeFacetHits(merging, [
      ...(here === null ? [] : [here]),
      ...responses.values(),
    ]);
  }

  /** The same request to all other servers. */
  #toAll(path: string, request: object): Map<string, RemoteQuestion> {
    const question: RemoteQuestion = {
      method: 'POST',
      path,
      body: bodyText(request),
      isOptional: true,
      key: ({ searchApiKey }) => searchApiKey,
      headers: { 'Meili-Proxy-Search': 'true' },
    };
    return new Map(this.#services.fanOut.others.map((name) => [name, question]));
  }

  similar(
    uid: string,
    params: SimilarRequest,
    caller: SearchCaller,
    options: RunOptions,
  ): Promise<SearchResponse> {
    const { useNetwork: _, ...plain } = params;
    return this.#holding(caller, (holding) => this.#similar(uid, plain, holding, options));
  }

  async #similar(
    uid: string,
    params: Omit<SimilarRequest, 'useNetwork'>,
    caller: Holding,
    { keepsPage }: RunOptions,
  ): Promise<SearchResponse> {
    const { id, embedder, offset: _, limit: _limit, ...shown } = params;
    const { offset, limit } = pageOf(params);
    const begun = performance.now();
    const vectors = await this.#services.documents.embeddings(
      uid,
      id,
      embedder,
      caller.access.tenantFilter(uid),
      caller,
    );
    if (vectors === undefined) {
      throw new ApiError(
        'not_found_similar_id',
        `No server of the network has a document \`${id}\` to compare others with.`,
      );
    }
    // The document itself is found as well, and removed.
    const window = { offset: 0, limit: limit === 0 ? 0 : offset + limit + 1 };
    const queries = (vectors.length === 0 ? [null] : vectors).map((vector): MultiSearchQuery => ({
      ...shown,
      indexUid: uid,
      useNetwork: true,
      ...(vector === null ? {} : { vector, hybrid: { embedder, semanticRatio: 1 } }),
    }));
    const { about, responses } = await this.#ask(queries, window, caller).catch(
      (error: unknown) => {
        throw ofSimilar(error);
      },
    );
    const totalMax = this.#totalMaxOf(uid);
    const merging: EngineMergeRequest = {
      ...about,
      shape: 'similar',
      window,
      target: { id, offset, limit, hasEmbeddings: vectors.length > 0, totalMax },
      processingTimeMs: Math.floor(performance.now() - begun),
      keepsPage,
    };
    return this.#services.merger.merge(merging, responses, caller.signal);
  }

  async federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: SearchCaller,
    options: RunOptions,
  ): Promise<SearchResponse> {
    const { groupBy } = federation;
    if (asksOthers(queries)) {
      return isGiven(groupBy)
        ? this.#holding(caller, (holding) =>
            this.#federatedGroups(queries, federation, groupBy as Grouping, holding),
          )
        : this.#holding(caller, (holding) =>
            this.#federated(queries, federation, holding, options.keepsPage),
          );
    }
    const positioned = queries.map((query, n) => ({
      query,
      position: query.federationOptions?.queryPosition ?? n,
    }));
    const { firstPage } = caller;
    return this.#scored(positioned, federation, caller, {
      ...options,
      firstPage,
      merged: 'elsewhere',
    });
  }

  /** A federated search with some queries for other servers. */
  async #federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: Holding,
    keepsPage = false,
  ): Promise<SearchResponse> {
    const { about, responses } = await this.#ask(queries, federation, caller);
    const { facetsByIndex, mergeFacets, distinct } = federation;
    const uids = Object.keys(facetsByIndex ?? {});
    const merging: EngineMergeRequest = {
      ...about,
      shape: 'federated',
      window: hitsPageOf(federation),
      distinctAcrossQueries: (distinct ?? null) !== null,
      showsMetadata: caller.includeMetadata,
      faceting: Object.fromEntries(uids.map((uid) => [uid, this.#facetingOf(uid)])),
      mergeFacets,
      keepsPage,
    };
    return this.#services.merger.merge(merging, responses, caller.signal);
  }

  /** The groups of a federated search with some queries for other servers. */
  #federatedGroups(
    queries: readonly MultiSearchQuery[],
    { facetsByIndex, mergeFacets }: Federation,
    grouping: Grouping,
    caller: Holding,
  ): Promise<SearchResponse> {
    const uids = Object.keys(facetsByIndex ?? {});
    const merging = {
      faceting: Object.fromEntries(uids.map((uid) => [uid, this.#facetingOf(uid)])),
      mergeFacets,
    };
    const facets = isGiven(facetsByIndex) ? { facetsByIndex } : {};
    return this.#groups(queries, facets, grouping, merging, caller);
  }

  /**
   * The groups of a merged list: one search of each server for their best hits, then one for the
   * hits of all of them.
   * @param facets of the federation
   */
  async #groups(
    queries: readonly MultiSearchQuery[],
    facets: Pick<Federation, 'facetsByIndex'>,
    grouping: Grouping,
    merging: Partial<EngineMergeRequest>,
    caller: Holding,
  ): Promise<SearchResponse> {
    const { merger } = this.#services;
    const { attribute, hits, facetsPer } = grouping;
    const window = bestHits(grouping);
    const of = { attribute, hits };
    const first = await this.#ask(
      queries,
      { ...window, ...(facetsPer === 'group' && facets), networkGroups: of },
      caller,
    );
    const about = {
      shape: 'groups' as const,
      ...merging,
      window,
      distinctAcrossQueries: true,
      grouping,
    };
    const best = await merger.mergeBest({ ...first.about, ...about }, first.responses);
    const values = JSON.parse(best.values) as string[][];
    const counted = facetsPer === 'document' ? facets : {};
    const isComplete =
      values.every(({ length }) => length === 0) && !isGiven(counted.facetsByIndex);
    const rest: RemoteParts = isComplete
      ? { responses: [], about: { ...first.about, servers: [], remoteErrors: {} } }
      : await this.#ask(
          queries,
          { ...window, ...counted, networkGroups: { ...of, values } },
          caller,
        );
    const remoteErrors = { ...rest.about.remoteErrors, ...first.about.remoteErrors };
    return merger.mergeGroups(
      best.groups,
      { ...rest.about, ...about, remoteErrors },
      rest.responses,
    );
  }

  /**
   * Searches of which some are of the whole network; few run concurrently. Reports the first
   * failure in order.
   */
  async separate(
    queries: readonly MultiSearchQuery[],
    caller: SearchCaller,
    options: RunOptions,
  ): Promise<SearchResponse[]> {
    const hasGroups = queries.some(({ useNetwork, groupBy }) => useNetwork && isGiven(groupBy));
    const atOnce = hasGroups ? 1 : AT_ONCE;
    return severally(
      queries.length,
      atOnce,
      this.#services.limits,
      caller,
      async (position, _, one) => {
        try {
          return await this.#one(queries[position]!, one, options);
        } catch (error) {
          throw ofQuery(error, position);
        }
      },
    );
  }

  /** A result of separate searches. */
  async #one(
    query: MultiSearchQuery,
    caller: SearchCaller,
    options: RunOptions,
  ): Promise<SearchResponse> {
    const { useNetwork, federationOptions: _, indexUid, ...params } = query;
    if (useNetwork === true) {
      const begun = performance.now();
      const response = await this.#list(indexUid, params, caller, {
        shownUid: indexUid,
        keepsPage: options.keepsPage,
      });
      return { ...response, durationMs: performance.now() - begun };
    }
    const [response] = await this.#search.separate([{ ...params, indexUid }], caller, options);
    return response!;
  }

  /** One search of the whole network, with the response of a search of one index. */
  #list(
    uid: string,
    { groupBy, ...params }: SearchRequest,
    caller: SearchCaller,
    shown: WholeOptions,
  ): Promise<SearchResponse> {
    return this.#holding(caller, (holding) => {
      const grouping = isGiven(groupBy) ? (groupBy as Grouping) : null;
      return this.#whole(uid, params, grouping, holding, shown);
    });
  }

  async #whole(
    uid: string,
    params: SearchRequest,
    grouping: Grouping | null,
    caller: Holding,
    { shownUid, hidesOrigin = false, keepsPage }: WholeOptions,
  ): Promise<SearchResponse> {
    // Pins are for one index; a merged list has none.
    const { pins: _, ...unpinned } = params as SearchRequest & { pins?: unknown };
    caller.stages?.begin('embed');
    const made =
      grouping === null
        ? await this.#search.embedded(uid, unpinned)
        : await this.#search.embeddedOrWords(uid, unpinned);
    const { offset: _o, limit: _l, page: _p, hitsPerPage: _h, facets, ...query } = made;
    const hasFacets = (facets ?? []).length > 0;
    const faceted: Federation = hasFacets ? { facetsByIndex: { [uid]: facets! } } : {};
    const queries = [{ ...query, indexUid: uid, useNetwork: true }];
    const merging = {
      totalMax: this.#totalMaxOf(uid),
      indexUid: shownUid,
      query: query.q ?? '',
      ...(hasFacets ? { facetsOf: uid, faceting: { [uid]: this.#facetingOf(uid) } } : {}),
      halves: halvesOf(query),
      showsMetadata: caller.includeMetadata,
      showsOrigin: !hidesOrigin,
      keepsPage,
    };
    if (grouping !== null) return this.#groups(queries, faceted, grouping, merging, caller);
    const window = hitsPageOf(made);
    const { about, responses } = await this.#ask(queries, { ...window, ...faceted }, caller);
    return this.#services.merger.merge(
      { ...about, shape: 'search', window, ...merging },
      responses,
      caller.signal,
    );
  }

  /** Queries this server and others concurrently. */
  async #ask(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: Holding,
  ): Promise<RemoteParts> {
    caller.stages?.begin('network');
    const { fanOut, merger, limits } = this.#services;
    const { here, elsewhere, whole } = partition(queries, fanOut);
    const { facetsByIndex, distinct, networkGroups } = federation;
    const window = hitsPageOf(federation);
    const inner: Federation = {
      ...wholeList(window),
      ...(facetsByIndex === undefined ? {} : { facetsByIndex }),
      ...(distinct === undefined ? {} : { distinct }),
      ...(networkGroups === undefined ? {} : { networkGroups }),
    };
    const isHybrid = queries.some((query) => searchKind(query) === 'hybrid');
    const firstPage = isHybrid ? firstPageOf(window) : undefined;
    const questions = new Map(
      [...elsewhere].map(([name, positioned]): [string, RemoteQuestion] => [
        name,
        {
          method: 'POST',
          path: '/multi-search',
          body: remoteBody(positioned, inner),
          key: ({ searchApiKey }) => searchApiKey,
          headers: {
            'Meili-Proxy-Search': 'true',
            ...(firstPage === undefined ? {} : { 'Gannet-First-Page': String(firstPage) }),
            ...(caller.includeMetadata ? { 'Meili-Include-Metadata': 'true' } : {}),
          },
          isOptional: whole.has(name),
        },
      ]),
    );
    // The queries of this server are counted as they run.
    const { here: own, ...others } = await metered(caller.meter, queries.length - here.length, () =>
      fanOut.askConcurrently(
        here.length === 0
          ? null
          : () =>
              this.#scored(here, inner, caller, { firstPage, merged: 'here' })
                .then(({ page }) => page!.forMerging())
                .finally(() => caller.stages?.begin('network')),
        questions,
        merger.read,
        caller,
      ),
    );
    caller.stages?.begin('merge');
    const responses = [...others.responses.values()];
    const servers: EngineMergeRequest['servers'] = [...others.responses.keys()].map((name) => ({
      name,
      isHere: false,
      positions: positionsOf(elsewhere.get(name)!),
    }));
    if (own !== null) {
      responses.unshift(own);
      const { self: name } = fanOut.network;
      servers.unshift({ name, isHere: true, positions: positionsOf(here) });
    }
    const responseBytesMax = limits.responseBytes;
    const about = {
      servers,
      remoteErrors: others.errors,
      responseBytesMax,
      countsFirstPage: isHybrid,
    };
    return { responses, about };
  }

  /** The response of this server to some queries of a request, with what merging needs. */
  async #scored(
    positioned: readonly PositionedQuery[],
    federation: Federation,
    caller: SearchCaller,
    options: RunOptions,
  ): Promise<SearchResponse> {
    const queries = positioned.map(({ query, position }) => {
      const { useNetwork: _, federationOptions, ...plain } = query;
      const { remote: _remote, ...options } = federationOptions ?? {};
      return { ...plain, federationOptions: { ...options, queryPosition: position } };
    });
    try {
      return await this.#search.federated(queries, federation, caller, options);
    } catch (error) {
      throw atPosition(error, positioned);
    }
  }

  /** null: the index is not here. */
  #facetingOf(uid: string): Faceting {
    return this.#services.settings(uid)?.faceting ?? null;
  }

  #totalMaxOf(uid: string): number | undefined {
    return this.#services.settings(uid)?.pagination.maxTotalHits;
  }
}

/**
 * The part requested of each server: its list up to the end of the window.
 * @param max its hits at most
 */
export function wholeList(window: HitsPage, max = Number.MAX_SAFE_INTEGER): HitsPage {
  if ('page' in window) {
    return { page: 1, hitsPerPage: Math.min(window.page * window.hitsPerPage, max) };
  }
  const { offset, limit } = window;
  return { offset: 0, limit: limit === 0 ? 0 : Math.min(offset + limit, max) };
}

/** The number of hits on the first page. Undefined: the request asks for that page. */
export function firstPageOf(window: HitsPage): number | undefined {
  if ('page' in window) return window.page <= 1 ? undefined : window.hitsPerPage;
  return window.offset === 0 ? undefined : window.limit;
}

function positionsOf(positioned: readonly PositionedQuery[]): number[] {
  return positioned.map(({ position }) => position);
}

/** Whether a query names a remote, or is of the whole network. */
export function asksOthers(queries: readonly MultiSearchQuery[]): boolean {
  return queries.some(
    ({ useNetwork, federationOptions }) =>
      useNetwork === true || (federationOptions?.remote ?? null) !== null,
  );
}

/**
 * Distributes the queries to servers. `whole`: remotes that no query names, included because a
 * query is of the whole network.
 */
function partition(
  queries: readonly MultiSearchQuery[],
  { network: { self }, others, isMember }: FanOut,
): { here: PositionedQuery[]; elsewhere: Map<string, PositionedQuery[]>; whole: Set<string> } {
  const here: PositionedQuery[] = [];
  const elsewhere = new Map<string, PositionedQuery[]>();
  const whole = new Set<string>();
  const add = (name: string, positioned: PositionedQuery): void => {
    const queriesOf = elsewhere.get(name);
    if (queriesOf === undefined) elsewhere.set(name, [positioned]);
    else queriesOf.push(positioned);
  };
  for (const [position, query] of queries.entries()) {
    const positioned = { query, position };
    const remote = query.federationOptions?.remote ?? null;
    if (query.useNetwork === true) {
      if (isMember) here.push(positioned);
      for (const name of others) {
        if (!elsewhere.has(name)) whole.add(name);
        add(name, positioned);
      }
    } else if (remote === null || remote === self) here.push(positioned);
    else {
      whole.delete(remote);
      add(remote, positioned);
    }
  }
  return { here, elsewhere, whole };
}

function remoteBody(positioned: readonly PositionedQuery[], federation: Federation): string {
  const queries = positioned.map(({ query, position }) => {
    const { useNetwork: _, federationOptions, ...plain } = query;
    const weight = federationOptions?.weight;
    return {
      ...plain,
      federationOptions: { ...(weight === undefined ? {} : { weight }), queryPosition: position },
    };
  });
  return bodyText({ queries, federation });
}

/** Absent parameters stay absent. Filters that are text already are written as they are. */
function bodyText(request: object): string {
  return JSON.stringify(request, (_, value: unknown) => (value === null ? undefined : value));
}

/**
 * The error with the position of its query in the request instead of that in the part for this
 * server.
 */
function atPosition(error: unknown, positioned: readonly PositionedQuery[]): unknown {
  if (!(error instanceof ApiError) || error.at.query === undefined) return error;
  return error.locatedAt({ query: positioned[error.at.query]?.position ?? error.at.query });
}

/** Sizes of the two halves of a hybrid search. */
export function halvesOf(query: SearchRequest): EngineMergeRequest['halves'] {
  if (searchKind(query) !== 'hybrid') return undefined;
  const vectors = query.hybrid?.semanticRatio ?? SEARCH_DEFAULTS.hybrid.semanticRatio;
  return { words: 1 - vectors, vectors };
}

/** Faults of the filter have separate codes in searches for similar documents. */
function ofSimilar(error: unknown): unknown {
  const plain = ofWhole(error);
  if (!(plain instanceof ApiError) || plain.code !== 'invalid_search_filter') return plain;
  return new ApiError('invalid_similar_filter', plain.message);
}

/** The error of the only query of a request. */
export function ofWhole(error: unknown): unknown {
  return error instanceof ApiError ? error.ofWhole() : error;
}
