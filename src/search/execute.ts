/**
 * One search from its parameters to its response. Its stages, each in its own file:
 *
 * 1. resolve: the tenant's rule becomes part of the filter (`caller.ts`), and conditions on other
 *    indexes become ids (`foreign-filter.ts`);
 * 2. pin: rules of the instance put documents at fixed positions (`rules-in-force.ts`);
 * 3. run: here (`run/local.ts`) or on several servers (`run/network.ts`). A run embeds its query
 *    (`query-embedding.ts`) once it turns out to need a vector;
 * 4. hydrate: hits get the documents that they refer to (`hydration.ts`);
 * 5. report: the response shows the time of each stage (`performance-details.ts`), the log slow
 *    searches (`report.ts`).
 *
 * Every search goes through here: so none evades the tenant's rule.
 */
import type {
  FacetSearchRequest,
  Federation,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import { listed } from '../contract/fields.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type { RequestLimits } from '../contract/limits.ts';
import { isGiven } from '../contract/settings/setting.ts';
import {
  among,
  bestHits,
  groupedSearch,
  type GroupedLists,
  groupingOf,
  notDisplayed,
  searchesOf,
  showing,
  ungrouped,
} from './groups.ts';
import type { SearchResponse } from './response.ts';
import { checkAccess, restricted, type SearchCaller } from './caller.ts';
import type { ForeignDocuments } from './foreign-documents.ts';
import { hasForeign } from './foreign-filter.ts';
import { asksOthers, type NetworkSearch } from './run/network.ts';
import { ofQuery } from './of-query.ts';
import { Steps } from './performance-details.ts';
import { askedOf, askedOfFacet, askedOfMany, type SlowSearches } from './report.ts';
import type { Pin, RuledSearch } from './rules-in-force.ts';
import type { LocalSearch, SearchLoad } from './run/local.ts';
import { severally } from './run/severally.ts';

/** Searches of one grouped list that run concurrently, if several servers or queries are asked. */
const GROUPS_AT_ONCE = 4;

export interface SearchParts {
  local: LocalSearch;
  network: Pick<NetworkSearch, keyof NetworkSearch>;
  foreign: Pick<ForeignDocuments, 'filter' | 'needsHits' | 'hydrate'>;
  /** The pins of a search, by the rules in force; empty when there are none. */
  pins: (search: RuledSearch) => Pin[];
  report: SlowSearches;
  settings: (indexUid: string) => Pick<SettingsObject, 'displayedAttributes'> | undefined;
  limits: RequestLimits;
}

/** The part of a query that the stages use. */
interface Query {
  q?: string | null;
  filter?: unknown;
  useNetwork?: boolean | null;
}

interface Asked<T> {
  uid: string;
  params: T;
}

/** A search in progress. */
interface Job<T extends Query> {
  kind: 'search' | 'multi-search' | 'facet-search' | 'similar';
  /** Describes its requests for the log. */
  describe: (requests: readonly T[]) => object;
  caller: SearchCaller;
  queries: readonly Asked<T>[];
  /** Errors contain the position of their query. */
  isMulti?: boolean;
  federation?: Federation;
  isPinned?: boolean;
  /** Its responses have hits that refer to documents of other indexes. */
  isHydrated?: boolean;
  /** Whether performance details are shown, by response. */
  shown: readonly boolean[];
  /** @param hitSpans heads include the positions of the hits */
  run: (queries: readonly T[], hitSpans: boolean) => Promise<SearchResponse[]>;
}

export class SearchPipeline {
  readonly #parts: SearchParts;

  constructor(parts: SearchParts) {
    this.#parts = parts;
  }

  /**
   * @param hidesOrigin hits of a search of the whole network do not name the server they are from
   */
  search(
    uid: string,
    given: SearchRequest,
    caller: SearchCaller,
    hidesOrigin = false,
  ): Promise<SearchResponse> {
    const { local, network } = this.#parts;
    if (isGiven(given.groupBy)) return this.#grouped(uid, given, caller, { hidesOrigin });
    const { showPerformanceDetails, groupBy: _, facetsPer: _per, ...params } = given;
    return this.#one({
      ...{ kind: 'search', describe: ([request]) => askedOf(uid, request!), caller },
      ...{ queries: [{ uid, params }], isPinned: true, isHydrated: true },
      shown: [showPerformanceDetails === true],
      run: async ([query], hitSpans) => [
        query!.useNetwork === true
          ? await network.search(uid, query!, caller, hidesOrigin)
          : await local.search(uid, query!, caller, { hitSpans }),
      ],
    });
  }

  /**
   * A search with `groupBy`. Rules of the instance do not apply.
   * @param shownUid written at the start of the response
   */
  async #grouped(
    uid: string,
    given: SearchRequest,
    caller: SearchCaller,
    { shownUid, hidesOrigin }: { shownUid?: string; hidesOrigin?: boolean },
  ): Promise<SearchResponse> {
    const { local, network, limits } = this.#parts;
    const grouping = groupingOf(given);
    const plain: SearchRequest = ungrouped(given);
    this.#checkShown([uid], grouping.attribute);
    const job = {
      ...({ kind: 'search', caller, shown: [] } as const),
      describe: ([request]: readonly SearchRequest[]) => askedOf(uid, request!),
    };
    if (plain.useNetwork !== true) {
      return this.#one<SearchRequest>({
        ...{ ...job, queries: [{ uid, params: { ...plain, groupBy: grouping } }] },
        run: async ([query]) => [await local.search(uid, query!, caller, { indexUid: shownUid })],
      });
    }
    const base = await local.embeddedOrWords(uid, plain);
    const lists: GroupedLists = {
      hasFacets: (base.facets ?? []).length > 0,
      best: (withFacets) => {
        const facets = withFacets ? base.facets! : null;
        const params = { ...showing(base, grouping.attribute), ...bestHits(grouping), facets };
        return this.#one<SearchRequest>({
          ...{ ...job, queries: [{ uid, params }] },
          run: async ([query]) => [await network.search(uid, query!, caller, hidesOrigin)],
        });
      },
      rest: (conditions, withFacets) => {
        const searches = searchesOf(base, conditions, grouping.hits, withFacets);
        return this.#execute<SearchRequest>({
          ...{ ...job, queries: searches.map((params) => ({ uid, params })) },
          run: (resolved) =>
            severally(resolved.length, GROUPS_AT_ONCE, limits, caller, (n) =>
              network.search(uid, resolved[n]!, caller, hidesOrigin),
            ),
        });
      },
      start: [
        ...(shownUid === undefined ? [] : [`"indexUid":${JSON.stringify(shownUid)}`]),
        `"hits":[],"query":${JSON.stringify(base.q ?? '')}`,
      ],
      facetMembers: ['facetDistribution', 'facetStats'],
    };
    return groupedSearch(grouping, lists, limits);
  }

  /** One list of several queries, in groups. */
  async #federatedGroups(
    queries: readonly MultiSearchQuery[],
    given: Federation,
    caller: SearchCaller,
  ): Promise<SearchResponse> {
    const { limits } = this.#parts;
    const grouping = groupingOf(given);
    const { facetsByIndex, mergeFacets, ...window } = ungrouped(given) as Federation;
    const uids = queries.map(({ indexUid }) => indexUid);
    this.#checkShown(uids, grouping.attribute);
    const facets = {
      ...(facetsByIndex !== undefined && { facetsByIndex }),
      ...(mergeFacets !== undefined && { mergeFacets }),
    };
    const run = (some: readonly MultiSearchQuery[], federation: Federation) =>
      this.#merged(some, { ...window, ...federation }, caller, { isPinned: false, hitSpans: true });
    const lists: GroupedLists = {
      hasFacets: Object.keys(facetsByIndex ?? {}).length > 0,
      best: (withFacets) =>
        run(
          queries.map((query) => showing(query, grouping.attribute)),
          { ...bestHits(grouping), ...(withFacets && facets) },
        ),
      rest: (conditions, withFacets) =>
        severally(
          conditions.length + (withFacets ? 1 : 0),
          GROUPS_AT_ONCE,
          limits,
          caller,
          (position) => {
            const condition = conditions[position];
            return condition === undefined
              ? run(queries, { page: 1, hitsPerPage: 0, ...facets })
              : run(
                  queries.map((query) => among(query, condition)),
                  { page: 1, hitsPerPage: grouping.hits },
                );
          },
        ),
      start: ['"hits":[]'],
      facetMembers: ['facetsByIndex', 'facetDistribution', 'facetStats'],
    };
    return groupedSearch(grouping, lists, limits);
  }

  /** Values of an attribute that is not displayed would show which documents share one. */
  #checkShown(uids: readonly string[], attribute: string): void {
    for (const uid of uids) {
      const displayed = this.#parts.settings(uid)?.displayedAttributes ?? null;
      if (!listed(displayed, attribute)) throw notDisplayed(attribute);
    }
  }

  /** The queries of a multi-search, each with its own response. */
  separate(queries: readonly MultiSearchQuery[], caller: SearchCaller): Promise<SearchResponse[]> {
    const { local, network } = this.#parts;
    if (queries.some(({ groupBy }) => isGiven(groupBy))) return this.#oneByOne(queries, caller);
    const isNetwork = queries.some(({ useNetwork }) => useNetwork === true);
    return this.#execute({
      ...{ kind: 'multi-search', describe: () => askedOfMany(queries, false), caller },
      ...{ queries: queries.map(askedQuery), isMulti: true, isPinned: true, isHydrated: true },
      shown: queries.map(({ showPerformanceDetails }) => showPerformanceDetails === true),
      run: (resolved, hitSpans) =>
        isNetwork
          ? network.separate(resolved, caller, { hitSpans })
          : local.separate(resolved, caller, { hitSpans }),
    });
  }

  /** The queries of a multi-search of which some are grouped. */
  #oneByOne(queries: readonly MultiSearchQuery[], caller: SearchCaller): Promise<SearchResponse[]> {
    return severally(queries.length, 1, this.#parts.limits, caller, async (position) => {
      const query = queries[position]!;
      const { indexUid, federationOptions: _, ...params } = query;
      const begun = performance.now();
      try {
        if (!isGiven(query.groupBy)) return (await this.separate([query], caller))[0]!;
        const shown = { shownUid: indexUid };
        const response = await this.#grouped(indexUid, params, caller, shown);
        return { ...response, durationMs: performance.now() - begun };
      } catch (error) {
        throw ofQuery(error, position);
      }
    });
  }

  /** The queries of a multi-search, merged into one list. */
  federated(
    queries: readonly MultiSearchQuery[],
    given: Federation,
    caller: SearchCaller,
  ): Promise<SearchResponse> {
    if (isGiven(given.groupBy)) return this.#federatedGroups(queries, given, caller);
    // A list to be merged with those of other servers has no fixed positions.
    return this.#merged(queries, given, caller, { isPinned: !asksOthers(queries) });
  }

  #merged(
    queries: readonly MultiSearchQuery[],
    given: Federation,
    caller: SearchCaller,
    options: { isPinned: boolean; hitSpans?: boolean },
  ): Promise<SearchResponse> {
    const { local, network } = this.#parts;
    const { showPerformanceDetails, groupBy: _, facetsPer: _per, ...federation } = given;
    const isNetwork = asksOthers(queries) || network.isAskedBy(caller);
    return this.#one({
      ...{ kind: 'multi-search', describe: () => askedOfMany(queries, true), caller, federation },
      ...{ queries: queries.map(askedQuery), isMulti: true },
      // Groups have hits that are not hydrated.
      ...{ isPinned: options.isPinned, isHydrated: options.hitSpans !== true },
      shown: [showPerformanceDetails === true],
      run: async (resolved, isHydrated) => {
        const more = { hitSpans: isHydrated || options.hitSpans === true };
        return [
          isNetwork
            ? await network.federated(resolved, federation, caller, more)
            : await local.federated(resolved, federation, caller, more),
        ];
      },
    });
  }

  facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: SearchCaller,
  ): Promise<SearchResponse> {
    const { local, network } = this.#parts;
    return this.#one<FacetSearchRequest>({
      ...{ kind: 'facet-search', describe: ([request]) => askedOfFacet(uid, request!), caller },
      ...{ queries: [{ uid, params }], shown: [false] },
      run: async ([query]) => [
        query!.useNetwork === true
          ? await network.facetSearch(uid, query!, caller)
          : await local.facetSearch(uid, query!, caller, {
              forMerging: network.isAskedBy(caller),
            }),
      ],
    });
  }

  similar(uid: string, given: SimilarRequest, caller: SearchCaller): Promise<SearchResponse> {
    const { local, network } = this.#parts;
    const { showPerformanceDetails, ...params } = given;
    const describe = ([request]: readonly Query[]): object => ({
      ...{ index: uid, limit: params.limit },
      filtered: (request!.filter ?? null) !== null,
    });
    return this.#one({
      ...{ kind: 'similar', describe, caller, queries: [{ uid, params }] },
      shown: [showPerformanceDetails === true],
      run: async ([query]) => [
        query!.useNetwork === true
          ? await network.similar(uid, query!, caller)
          : await local.similar(uid, query!, caller),
      ],
    });
  }

  load(): SearchLoad {
    return this.#parts.local.load();
  }

  async #one<T extends Query>(job: Job<T>): Promise<SearchResponse> {
    const [response] = await this.#execute(job);
    return response!;
  }

  #execute<T extends Query>(job: Job<T>): Promise<SearchResponse[]> {
    const { report } = this.#parts;
    const uids = job.queries.map(({ uid }) => uid);
    let queries = job.queries.map(({ params }) => params);
    const describe = (): object => job.describe(queries);
    return report.watched(job.kind, job.caller, describe, async () => {
      const steps = new Steps(job.shown.includes(true));
      queries = await steps.time('resolve', () => this.#resolve(job, uids));
      const isHydrated = job.isHydrated === true && this.#parts.foreign.needsHits(uids);
      const responses = await steps.time('run', () => job.run(queries, isHydrated));
      const whole = await steps.time('hydrate', () =>
        isHydrated ? this.#hydrate(job, uids, responses) : Promise.resolve(responses),
      );
      return whole.map((response, n) => (job.shown[n] === true ? steps.added(response) : response));
    });
  }

  /** The requests in the form in which they are run. */
  async #resolve<T extends Query>(
    { caller, queries, federation, isMulti = false, isPinned = false }: Job<T>,
    uids: readonly string[],
  ): Promise<T[]> {
    const { foreign } = this.#parts;
    if (isMulti) checkAccess(uids, federation, caller.access);
    const resolved: T[] = [];
    for (const [n, { uid, params }] of queries.entries()) {
      const allowed = restricted(uid, params, caller.access);
      try {
        const plain = hasForeign(allowed.filter)
          ? { ...allowed, filter: await foreign.filter(uid, allowed.filter, caller) }
          : allowed;
        resolved.push(isPinned ? this.#pinned(uid, plain, allowed, caller) : plain);
      } catch (error) {
        throw isMulti ? ofQuery(error, n) : error;
      }
    }
    return resolved;
  }

  /**
   * Adds the pins of the rules in force to the parameters. With several servers there are no fixed
   * positions.
   */
  #pinned<T extends Query>(
    indexUid: string,
    query: T,
    { q, filter, useNetwork }: Query,
    { proxied }: SearchCaller,
  ): T {
    if (useNetwork === true || proxied) return query;
    const pins = this.#parts.pins({ indexUid, q, filter });
    return pins.length === 0 ? query : { ...query, pins };
  }

  /** A response per query, or one for all of them. */
  #hydrate<T extends Query>(
    { caller, queries }: Job<T>,
    uids: readonly string[],
    responses: readonly SearchResponse[],
  ): Promise<SearchResponse[]> {
    const isSeparate = responses.length === queries.length && queries.length > 1;
    return this.#parts.foreign.hydrate(
      responses,
      isSeparate ? uids.map((uid) => [uid]) : [uids],
      caller,
    );
  }
}

function askedQuery(query: MultiSearchQuery): Asked<MultiSearchQuery> {
  const { showPerformanceDetails: _, groupBy: _groups, facetsPer: _per, ...params } = query;
  return { uid: query.indexUid, params };
}
