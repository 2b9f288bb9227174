/**
 * One search from its parameters to its response. Its stages, each in its own file:
 *
 * 1. resolve: the tenant's rule becomes part of the filter (`caller.ts`), and conditions on other
 *    indexes become ids (`foreign-filter.ts`); groups get their defaults (`groups.ts`);
 * 2. pin: rules of the instance put documents at fixed positions (`rules-in-force.ts`);
 * 3. run: here (`run/local.ts`) or on several servers (`run/network.ts`). A run embeds its query
 *    (`query-embedding.ts`) once it turns out to need a vector;
 *    The reranker orders its first documents again (`reranked.ts`);
 * 4. hydrate: hits get the documents that they refer to (`foreign-documents.ts`);
 * 5. write: until here the engine holds a response that later stages change (`Page`). It shows the
 *    time of each stage (`performance-details.ts`); the log has slow searches (`report.ts`).
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
import { Steps } from './performance-details.ts';
import { askedOf, askedOfFacet, askedOfMany, type SearchReport } from './report.ts';
import type { Pin, RuledSearch } from './rules-in-force.ts';
import type { LocalSearch, SearchLoad } from './run/local.ts';

export interface SearchParts {
  local: LocalSearch;
  network: Pick<NetworkSearch, keyof NetworkSearch>;
  foreign: Pick<ForeignDocuments, 'filter' | 'needsHits' | 'hydrate'>;
  /** The pins of a search, by the rules in force; empty when there are none. */
  pins: (search: RuledSearch) => Pin[];
  report: SearchReport;
  settings: (indexUid: string) => Pick<SettingsObject, 'displayedAttributes'> | undefined;
}

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
  /** @param keepsPage responses are changed before they are written */
  run: (queries: readonly T[], keepsPage: boolean) => Promise<SearchResponse[]>;
}

/** By descending cost. */
const ORDERS: readonly SearchKind[] = ['hybrid', 'semantic', 'words'];

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
    return this.#one({
      ...{ kind: 'search', describe: ([request]) => askedOf(uid, request!), caller },
      ...{ queries: [{ uid, params: given }], isPinned: true, isHydrated: true },
      shown: [given.showPerformanceDetails === true],
      run: async ([query], keepsPage) => [
        query!.useNetwork === true
          ? await network.search(uid, query!, caller, { hidesOrigin, keepsPage })
          : await local.search(uid, query!, caller, { keepsPage }),
      ],
    });
  }

  /** The queries of a multi-search, each with its own response. */
  separate(queries: readonly MultiSearchQuery[], caller: SearchCaller): Promise<SearchResponse[]> {
    const { local, network } = this.#parts;
    const isNetwork = queries.some(({ useNetwork }) => useNetwork === true);
    return this.#execute({
      ...{ kind: 'multi-search', describe: () => askedOfMany(queries, false), caller },
      ...{ queries: queries.map(askedQuery), isMulti: true, isPinned: true, isHydrated: true },
      shown: queries.map(({ showPerformanceDetails }) => showPerformanceDetails === true),
      run: (resolved, keepsPage) =>
        (isNetwork ? network : local).separate(resolved, caller, { keepsPage }),
    });
  }

  /** The queries of a multi-search, merged into one list. */
  async federated(
    queries: readonly MultiSearchQuery[],
    given: Federation,
    caller: SearchCaller,
  ): Promise<SearchResponse> {
    const { local, network } = this.#parts;
    const uids = queries.map(({ indexUid }) => indexUid);
    const { networkGroups } = given;
    if (isGiven(networkGroups)) this.#checkDisplayed(uids, networkGroups.attribute);
    const { groupBy, ...plain } = this.#grouped(uids, given);
    const isGrouped = isGiven(groupBy);
    const federation = isGrouped ? { ...plain, ...bestHits(groupBy), groupBy } : plain;
    const isNetwork = asksOthers(queries) || network.isAskedBy(caller);
    return this.#one({
      ...{ kind: 'multi-search', describe: () => askedOfMany(queries, true), caller, federation },
      ...{ queries: queries.map(askedQuery), isMulti: true },
      // Groups, and a list to be merged with those of other servers, have no fixed positions.
      ...{ isPinned: !isGrouped && !asksOthers(queries), isHydrated: !isGrouped },
      shown: [given.showPerformanceDetails === true],
      run: async (resolved, keepsPage) => [
        await (isNetwork ? network : local).federated(resolved, federation, caller, { keepsPage }),
      ],
    });
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
    const describe = ([request]: readonly Query[]): object => ({
      ...{ index: uid, limit: given.limit },
      filtered: (request!.filter ?? null) !== null,
    });
    return this.#one({
      ...{ kind: 'similar', describe, caller, queries: [{ uid, params: given }] },
      shown: [given.showPerformanceDetails === true],
      run: async ([query], keepsPage) => [
        await (query!.useNetwork === true ? network : local).similar(uid, query!, caller, {
          keepsPage,
        }),
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
    const kind = { kind: job.kind, order: orderOf(job) };
    return report.watched(kind, job.caller, describe, async () => {
      const steps = new Steps(job.shown.includes(true));
      queries = await steps.time('resolve', () => this.#resolve(job, uids));
      const isHydrated = job.isHydrated === true && this.#parts.foreign.needsHits(uids);
      const keepsPage = isHydrated || job.shown.includes(true);
      const responses = await steps.time('run', () => job.run(queries, keepsPage));
      if (responses.every(({ page }) => page === undefined)) return responses;
      try {
        await steps.time('hydrate', () =>
          isHydrated ? this.#hydrate(job, uids, responses) : Promise.resolve(),
        );
        const details = (n: number): string => (job.shown[n] === true ? steps.member : '');
        return await this.#parts.local.written(responses, details);
      } finally {
        for (const { page } of responses) page?.drop();
      }
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
      try {
        const allowed = restricted(uid, this.#grouped([uid], params), caller.access);
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

  /** A response per query, or one for all of them. */
  #hydrate<T extends Query>(
    { caller, queries }: Job<T>,
    uids: readonly string[],
    responses: readonly SearchResponse[],
  ): Promise<void> {
    const isSeparate = responses.length === queries.length && queries.length > 1;
    return this.#parts.foreign.hydrate(
      responses,
      isSeparate ? uids.map((uid) => [uid]) : [uids],
      caller,
    );
  }
}

/** That of the costliest query. */
function orderOf({ kind, queries }: Pick<Job<Query>, 'kind' | 'queries'>): SearchKind {
  if (kind === 'similar') return 'semantic';
  const orders = queries.map(({ params }) => searchKind(params as VectorRequest));
  return ORDERS.find((order) => orders.includes(order)) ?? 'words';
}

function askedQuery(query: MultiSearchQuery): Asked<MultiSearchQuery> {
  return { uid: query.indexUid, params: query };
}
