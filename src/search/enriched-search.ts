/**
 * What a search is besides its engine: foreign keys before and after, rules of the instance, and how long the steps took.
 * Everything else is handed on to {@link NetworkSearch}.
 */
import type {
  FacetSearchRequest,
  Federation,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import type { EngineAnswer } from '../engine/native.ts';
import type { Answer } from './answer.ts';
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

  async search(uid: string, params: SearchRequest, caller: EnrichedCaller): Promise<Answer> {
    const { showPerformanceDetails, ...plain } = params;
    const steps = new Steps(showPerformanceDetails === true);
    const filter = await steps.time('resolve filter', () =>
      this.#foreign.filter(uid, plain.filter, caller),
    );
    const request = { ...plain, filter, ...this.#pinsOf(uid, plain, caller) };
    const hitSpans = this.#foreign.needsHits([uid]);
    const answer = await steps.time('engine', () =>
      this.#search.search(uid, request, { ...caller, hitSpans }),
    );
    const [whole] = await steps.time('hydrate', () =>
      this.#hydrated([answer], hitSpans, [[uid]], caller),
    );
    return steps.added(whole!);
  }

  #hydrated(
    answers: Answer[],
    hasSpans: boolean,
    uids: readonly string[][],
    caller: EnrichedCaller,
  ): Promise<Answer[]> {
    return hasSpans ? this.#foreign.hydrate(answers, uids, caller) : Promise.resolve(answers);
  }

  /** Each query by itself. */
  async separate(given: readonly MultiSearchQuery[], caller: EnrichedCaller): Promise<Answer[]> {
    const resolved = await this.#foreign.queries(given, caller);
    const shown = resolved.map(({ showPerformanceDetails }) => showPerformanceDetails === true);
    const queries = resolved.map((query, n) => ({
      ...withoutDetails(query),
      ...this.#pinsOf(query.indexUid, given[n]!, caller),
    }));
    const uids = queries.map(({ indexUid }) => [indexUid]);
    const hitSpans = this.#foreign.needsHits(uids.flat());
    const steps = new Steps(shown.includes(true));
    const answers = await steps.time('engine', () =>
      this.#search.separate(queries, { ...caller, hitSpans }),
    );
    const whole = await this.#hydrated(answers, hitSpans, uids, caller);
    return whole.map((answer, n) => (shown[n] === true ? steps.added(answer) : answer));
  }

  /** Queries merged into one list. */
  async federated(
    given: readonly MultiSearchQuery[],
    federation: Federation,
    caller: EnrichedCaller,
  ): Promise<Answer> {
    const resolved = await this.#foreign.queries(given, caller);
    const uids = resolved.map(({ indexUid }) => indexUid);
    const { showPerformanceDetails, ...plain } = federation;
    const steps = new Steps(showPerformanceDetails === true);
    const queries = asksOthers(resolved)
      ? resolved
      : resolved.map((query, n) => ({
          ...query,
          ...this.#pinsOf(query.indexUid, given[n]!, caller),
        }));
    const hitSpans = this.#foreign.needsHits(uids);
    const answer = await steps.time('engine', () =>
      this.#search.federated(queries, plain, { ...caller, hitSpans }),
    );
    const [whole] = await steps.time('hydrate', () =>
      this.#hydrated([answer], hitSpans, [uids], caller),
    );
    return steps.added(whole!);
  }

  async facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: EnrichedCaller,
  ): Promise<EngineAnswer> {
    const filter = await this.#foreign.filter(uid, params.filter, caller);
    const request = filter === params.filter ? params : { ...params, filter };
    return this.#search.facetSearch(uid, request, caller);
  }

  async similar(
    uid: string,
    params: SimilarRequest,
    caller: EnrichedCaller,
  ): Promise<EngineAnswer> {
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
