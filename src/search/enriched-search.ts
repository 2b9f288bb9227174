/**
 * What a search is besides its engine: foreign keys before and after, rules of the instance, and how long the steps took.
 * Everything else is handed on to {@link NetworkSearch}.
 */
import type {
  FacetSearchRequest,
  MultiSearchRequest,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import type { ForeignCaller, ForeignSearch } from './foreign-search.ts';
import type { Pin, RuledSearch } from './rules-in-force.ts';
import { Steps } from './performance-details.ts';
import { asksOthers, type NetworkCaller, type NetworkSearch } from './network-search.ts';
import type { SearchLoad } from './search-service.ts';

export type EnrichedCaller = NetworkCaller & ForeignCaller;

export class EnrichedSearch {
  readonly #search: NetworkSearch;
  readonly #foreign: ForeignSearch;

  /** `pins`: of a search, by the rules in force; empty when there are none. */
  readonly #pins: (search: RuledSearch) => Pin[];

  constructor(search: NetworkSearch, foreign: ForeignSearch, pins: (search: RuledSearch) => Pin[]) {
    this.#search = search;
    this.#foreign = foreign;
    this.#pins = pins;
  }

  /** A parameter of the engine, by the rules in force. Where several servers are asked there are no places to pin to. */
  #pinsOf(
    indexUid: string,
    { q, filter, useNetwork }: SearchRequest,
    { isProxied }: EnrichedCaller,
  ): { pins?: Pin[] } {
    if (useNetwork === true || isProxied) return {};
    const pins = this.#pins({ indexUid, q, filter });
    return pins.length === 0 ? {} : { pins };
  }

  async search(uid: string, params: SearchRequest, caller: EnrichedCaller): Promise<Buffer> {
    const { showPerformanceDetails, ...plain } = params;
    const steps = new Steps(showPerformanceDetails === true);
    const filter = await steps.time('resolve filter', () =>
      this.#foreign.filter(uid, plain.filter, caller),
    );
    const request = { ...plain, filter, ...this.#pinsOf(uid, plain, caller) };
    const answer = await steps.time('engine', () => this.#search.search(uid, request, caller));
    const whole = await steps.time('hydrate', () =>
      this.#foreign.hydrate(answer, uid, [uid], caller),
    );
    return steps.added(whole);
  }

  async multiSearch(params: MultiSearchRequest, caller: EnrichedCaller): Promise<Buffer> {
    const request = await this.#foreign.queries(params, caller);
    const uids = request.queries.map(({ indexUid }) => indexUid);
    const { federation } = request;
    if (federation === null || federation === undefined) {
      const shown = request.queries.map(
        ({ showPerformanceDetails }) => showPerformanceDetails === true,
      );
      const queries = request.queries.map((query, n) => ({
        ...withoutDetails(query),
        ...this.#pinsOf(query.indexUid, params.queries[n]!, caller),
      }));
      const steps = new Steps(shown.includes(true));
      const answer = await steps.time('engine', () =>
        this.#search.multiSearch({ ...request, queries }, caller),
      );
      return steps.addedToResults(await this.#foreign.hydrate(answer, null, uids, caller), shown);
    }
    const { showPerformanceDetails, ...plain } = federation;
    const steps = new Steps(showPerformanceDetails === true);
    const queries = asksOthers(request)
      ? request.queries
      : request.queries.map((query, n) => ({
          ...query,
          ...this.#pinsOf(query.indexUid, params.queries[n]!, caller),
        }));
    const merged = { ...request, queries, federation: plain };
    const answer = await steps.time('engine', () => this.#search.multiSearch(merged, caller));
    const whole = await steps.time('hydrate', () =>
      this.#foreign.hydrate(answer, null, uids, caller),
    );
    return steps.added(whole);
  }

  async facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: EnrichedCaller,
  ): Promise<Buffer> {
    const filter = await this.#foreign.filter(uid, params.filter, caller);
    const request = filter === params.filter ? params : { ...params, filter };
    return this.#search.facetSearch(uid, request, caller);
  }

  async similar(uid: string, params: SimilarRequest, caller: EnrichedCaller): Promise<Buffer> {
    const { showPerformanceDetails, ...plain } = params;
    const steps = new Steps(showPerformanceDetails === true);
    const filter = await this.#foreign.filter(uid, plain.filter, caller);
    const request = filter === plain.filter ? plain : { ...plain, filter };
    return steps.added(
      await steps.time('engine', () => this.#search.similar(uid, request, caller)),
    );
  }

  load(): SearchLoad {
    return this.#search.load();
  }
}

function withoutDetails<T extends { showPerformanceDetails?: unknown }>(query: T): T {
  const plain = { ...query };
  delete plain.showPerformanceDetails;
  return plain;
}
