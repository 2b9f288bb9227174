/**
 * One search from its parameters to its response. Its stages, each in its own file:
 *
 * 1. resolve: the tenant's rule becomes part of the filter (`caller.ts`), and conditions on other
 *    indexes become ids (`foreign-filter.ts`); groups get their defaults (`groups.ts`);
 * 2. pin: rules of the instance put documents at fixed positions (`rules-in-force.ts`);
 * 3. run: here (`run/local.ts`), on several servers (`run/network.ts`), or two indexes
 *    alternately (`run/interleaved.ts`). A run embeds its query
 *    (`query-embedding.ts`) once it turns out to need a vector, and the engine makes its groups;
 * 4. rerank: still within the run of one index, its first documents are ordered again
 *    (`reranked.ts`);
 * 5. attach: hits get the documents that they refer to (`foreign-documents.ts`);
 * 6. write: until here the engine holds a response that later stages change (`Page`). It shows the
 *    time of each stage (`stages.ts`); the log has slow searches (`report.ts`).
 *
 * Every search goes through here: so none evades the tenant's rule.
 */
import type {
  FacetSearchRequest,
  Federation,
  Groupable,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import { listed } from '../contract/fields.ts';
import { type SearchKind, searchKind, type VectorRequest } from '../contract/search-kind.ts';
import type { SettingsObject } from '../contract/settings.ts';
import { isGiven } from '../contract/settings/setting.ts';
import { bestHits, grouped, notDisplayed } from './groups.ts';
import type { SearchResponse } from './response.ts';
import { checkAccess, restricted, type SearchCaller } from './caller.ts';
import type { ForeignDocuments } from './foreign-documents.ts';
import { hasForeign } from './foreign-filter.ts';
import { asksOthers, type NetworkSearch } from './run/network.ts';
import { ofQuery } from './of-query.ts';
import type { Draft, InterleavedSearch } from './run/interleaved.ts';
import { type Shape, shapeOf } from './insights.ts';
import { askedOf, askedOfFacet, askedOfMany, type SearchReport } from './report.ts';
import type { Pin, RuledSearch } from './rules-in-force.ts';
import type { LocalSearch, SearchLoad } from './run/local.ts';

export interface SearchParts {
  local: LocalSearch;
  network: Pick<NetworkSearch, keyof NetworkSearch>;
  interleaved: Pick<InterleavedSearch, 'search'>;
  foreign: Pick<ForeignDocuments, 'filter' | 'needsHits' | 'hydrate'>;
  /** The pins of a search, by the rules in force; empty when there are none. */
  pins: (search: RuledSearch) => Pin[];
  report: SearchReport;
  settings: (indexUid: string) => Pick<SettingsObject, 'displayedAttributes'> | undefined;
}

/** What to search. */
export type Search =
  | {
      kind: 'search';
      uid: string;
      params: SearchRequest;
      /** Hits of a search of the whole network do not name the server they are from. */
      hidesOrigin?: boolean;
    }
  | { kind: 'facet-search'; uid: string; params: FacetSearchRequest }
  | { kind: 'similar'; uid: string; params: SimilarRequest }
  /** The hits of two indexes, drafted into one list. */
  | { kind: 'interleaved'; uids: readonly [string, string]; params: SearchRequest; draft: Draft }
  /** The queries of a multi-search, merged into one list. */
  | { kind: 'federated'; queries: readonly MultiSearchQuery[]; federation: Federation }
  /** The same, each with its own response. */
  | { kind: 'separate'; queries: readonly MultiSearchQuery[] };

type Of<K extends Search['kind']> = Extract<Search, { kind: K }>;
type OneResponse = Exclude<Search, Of<'separate'>>;

/** The part of a query that the stages use. */
interface Query extends Groupable {
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
  queries: readonly Asked<T>[];
  federation?: Federation;
  isPinned?: boolean;
  /** Its responses have hits that refer to documents of other indexes. */
  isHydrated?: boolean;
  /** Whether performance details are shown, by response. */
  shown?: readonly boolean[];
  /** @param keepsPage responses are changed before they are written */
  run: (
    queries: readonly T[],
    keepsPage: boolean,
    caller: SearchCaller,
  ) => Promise<SearchResponse[]>;
}

/** By descending cost. */
const ORDERS: readonly SearchKind[] = ['hybrid', 'semantic', 'words'];

export class SearchPipeline {
  readonly #parts: SearchParts;

  constructor(parts: SearchParts) {
    this.#parts = parts;
  }

  /** Each response with its metadata; the engine has written the bodies. */
  execute(search: OneResponse, caller: SearchCaller): Promise<[SearchResponse]>;
  execute(search: Search, caller: SearchCaller): Promise<SearchResponse[]>;
  async execute(search: Search, caller: SearchCaller): Promise<SearchResponse[]> {
    switch (search.kind) {
      case 'search':
        return this.#run(this.#ofIndex(search), caller);
      case 'interleaved':
        return this.#run(this.#interleaved(search), caller);
      case 'separate':
        return this.#run(this.#separate(search), caller);
      case 'federated':
        return this.#run(this.#federated(search, caller), caller);
      case 'facet-search':
        return this.#run(this.#ofFacet(search), caller);
      case 'similar':
        return this.#run(this.#similar(search), caller);
    }
  }

  load(): SearchLoad {
    return this.#parts.local.load();
  }

  /**
   * The search with the defaults of its groups, if it has any. Values of an attribute that is not
   * displayed would show which documents share one.
   */
  #grouped<T extends Groupable>(uids: readonly string[], given: T): ReturnType<typeof grouped<T>> {
    const search = grouped(given);
    if (isGiven(search.groupBy)) this.#checkDisplayed(uids, search.groupBy.attribute);
    return search;
  }

  #checkDisplayed(uids: readonly string[], attribute: string): void {
    for (const uid of uids) {
      const displayed = this.#parts.settings(uid)?.displayedAttributes ?? null;
      if (!listed(displayed, attribute)) throw notDisplayed(attribute);
    }
  }

  #run<T extends Query>(job: Job<T>, given: SearchCaller): Promise<SearchResponse[]> {
    const { report, foreign, local } = this.#parts;
    const { shown = [] } = job;
    const uids = job.queries.map(({ uid }) => uid);
    let queries = job.queries.map(({ params }) => params);
    const describe = (): object => job.describe(queries);
    const isShown = shown.includes(true);
    const asked = queries;
    const shape = (): Shape => shapeOf(job.kind, uids, asked);
    const kind = { kind: job.kind, order: orderOf(job), isShown };
    return report.watched(kind, given, describe, shape, async (caller) => {
      const { stages } = caller;
      queries = await this.#resolve(job, uids, caller);
      const isHydrated = job.isHydrated === true && foreign.needsHits(uids);
      const keepsPage = isHydrated || isShown;
      const responses = await job.run(queries, keepsPage, caller);
      if (responses.every(({ page }) => page === undefined)) return responses;
      try {
        if (isHydrated) {
          // A response per query, or one for all of them.
          const isSeparate = responses.length === uids.length && uids.length > 1;
          const indexes = isSeparate ? uids.map((uid) => [uid]) : [uids];
          stages?.begin('hydrate');
          await foreign.hydrate(responses, indexes, caller);
        }
        stages?.begin('write');
        const details = (n: number): string =>
          shown[n] === true && stages !== undefined ? stages.member(n) : '';
        return await local.written(responses, details);
      } finally {
        for (const { page } of responses) page?.drop();
      }
    });
  }

  /** The requests in the form in which they are run. */
  async #resolve<T extends Query>(
    { kind, queries, federation, isPinned = false }: Job<T>,
    uids: readonly string[],
    caller: SearchCaller,
  ): Promise<T[]> {
    const { foreign } = this.#parts;
    const isMulti = kind === 'multi-search';
    if (isMulti) checkAccess(uids, federation, caller.access);
    const resolved: T[] = [];
    for (const [n, { uid, params }] of queries.entries()) {
      try {
        const allowed = restricted(uid, this.#grouped([uid], params), caller.access);
        const plain = hasForeign(allowed.filter)
          ? { ...allowed, filter: await foreign.filter(uid, allowed.filter, caller) }
          : allowed;
        resolved.push(isPinned ? this.#pinned(uid, plain, allowed, caller) : plain);
      } catch (error) {
        // Errors contain the position of their query.
        throw isMulti ? ofQuery(error, n) : error;
      }
    }
    return resolved;
  }

  /**
   * Adds the pins of the rules in force to the parameters. With several servers, and in groups,
   * there are no fixed positions.
   */
  #pinned<T extends Query>(
    indexUid: string,
    query: T,
    { q, filter, useNetwork, groupBy }: Query,
    { proxied }: SearchCaller,
  ): T {
    if (useNetwork === true || proxied || isGiven(groupBy)) return query;
    const pins = this.#parts.pins({ indexUid, q, filter });
    return pins.length === 0 ? query : { ...query, pins };
  }

  #ofIndex({ uid, params, hidesOrigin = false }: Of<'search'>) {
    const { local, network } = this.#parts;
    return job<SearchRequest>({
      kind: 'search',
      describe: ([request]) => askedOf(uid, request!),
      queries: [{ uid, params }],
      isPinned: true,
      isHydrated: true,
      shown: [params.showPerformanceDetails === true],
      run: async ([query], keepsPage, caller) => [
        query!.useNetwork === true
          ? await network.search(uid, query!, caller, { hidesOrigin, keepsPage })
          : await local.search(uid, query!, caller, { keepsPage }),
      ],
    });
  }

  #interleaved({ uids, params, draft }: Of<'interleaved'>) {
    const { interleaved } = this.#parts;
    return job<SearchRequest>({
      kind: 'search',
      describe: ([request]) => ({ ...askedOf(uids[0], request!), interleavedWith: uids[1] }),
      queries: uids.map((uid) => ({ uid, params })),
      isPinned: true,
      isHydrated: true,
      shown: [params.showPerformanceDetails === true],
      run: async ([own, other], keepsPage, caller) => [
        await interleaved.search(
          [
            { uid: uids[0], params: own! },
            { uid: uids[1], params: other! },
          ],
          draft,
          caller,
          keepsPage,
        ),
      ],
    });
  }

  #separate({ queries }: Of<'separate'>) {
    const { local, network } = this.#parts;
    const isNetwork = queries.some(({ useNetwork }) => useNetwork === true);
    return job<MultiSearchQuery>({
      kind: 'multi-search',
      describe: () => askedOfMany(queries, false),
      queries: queries.map(askedQuery),
      isPinned: true,
      isHydrated: true,
      shown: queries.map(({ showPerformanceDetails }) => showPerformanceDetails === true),
      run: (resolved, keepsPage, caller) =>
        (isNetwork ? network : local).separate(resolved, caller, { keepsPage }),
    });
  }

  #federated({ queries, federation: given }: Of<'federated'>, caller: SearchCaller) {
    const { local, network } = this.#parts;
    const uids = queries.map(({ indexUid }) => indexUid);
    const { networkGroups } = given;
    if (isGiven(networkGroups)) this.#checkDisplayed(uids, networkGroups.attribute);
    const { groupBy, ...plain } = this.#grouped(uids, given);
    const isGrouped = isGiven(groupBy);
    const federation = isGrouped ? { ...plain, ...bestHits(groupBy), groupBy } : plain;
    const isNetwork = asksOthers(queries) || network.isAskedBy(caller);
    return job<MultiSearchQuery>({
      kind: 'multi-search',
      describe: () => askedOfMany(queries, true),
      federation,
      queries: queries.map(askedQuery),
      // Groups, and a list to be merged with those of other servers, have no fixed positions.
      isPinned: !isGrouped && !asksOthers(queries),
      isHydrated: !isGrouped,
      shown: [given.showPerformanceDetails === true],
      run: async (resolved, keepsPage, timed) => [
        await (isNetwork ? network : local).federated(resolved, federation, timed, { keepsPage }),
      ],
    });
  }

  #ofFacet({ uid, params }: Of<'facet-search'>) {
    const { local, network } = this.#parts;
    return job<FacetSearchRequest>({
      kind: 'facet-search',
      describe: ([request]) => askedOfFacet(uid, request!),
      queries: [{ uid, params }],
      run: async ([query], _keepsPage, caller) => [
        query!.useNetwork === true
          ? await network.facetSearch(uid, query!, caller)
          : await local.facetSearch(uid, query!, caller, {
              merged: network.isAskedBy(caller) ? 'elsewhere' : undefined,
            }),
      ],
    });
  }

  #similar({ uid, params }: Of<'similar'>) {
    const { local, network } = this.#parts;
    return job<SimilarRequest>({
      kind: 'similar',
      describe: ([{ filter } = {}]: readonly Query[]) => ({
        index: uid,
        limit: params.limit,
        filtered: (filter ?? null) !== null,
      }),
      queries: [{ uid, params }],
      shown: [params.showPerformanceDetails === true],
      run: async ([query], keepsPage, caller) => [
        await (query!.useNetwork === true ? network : local).similar(uid, query!, caller, {
          keepsPage,
        }),
      ],
    });
  }
}

/** That of the costliest query. */
function orderOf({ kind, queries }: Pick<Job<Query>, 'kind' | 'queries'>): SearchKind {
  if (kind === 'similar') return 'semantic';
  const orders = queries.map(({ params }) => searchKind(params as VectorRequest));
  return ORDERS.find((order) => orders.includes(order)) ?? 'words';
}

/** Checks the type of a literal. */
const job = <T extends Query>(of: Job<T>): Job<T> => of;

function askedQuery(query: MultiSearchQuery): Asked<MultiSearchQuery> {
  return { uid: query.indexUid, params: query };
}
