/**
 * The log of slow searches. What is told of one: where, how long, how long of that in the engine, and what it asked for; the
 * query cut short, and of filters only that there are some, as rules of tenants stand in them. Of one that failed only its code
 * is told: what stands in it may be anything.
 */
import type { Logger } from '../base/logger.ts';
import { toApiError } from '../contract/errors.ts';
import type {
  FacetSearchRequest,
  Federation,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import type { EnrichedCaller, EnrichedSearch } from './enriched-search.ts';
import type { EngineAnswer } from '../engine/native.ts';
import type { Answer } from './answer.ts';

/** Characters of a query that are told. */
const QUERY_LENGTH_MAX = 200;

export interface IdentifiedCaller extends EnrichedCaller {
  /** Empty: the server's own search, which nobody is told of. */
  requestId: string;
}

/** Hands every search on, and tells of those that took long, from their arrival on. */
export class SlowSearches {
  readonly #search: EnrichedSearch;
  readonly #thresholdMs: number;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(search: EnrichedSearch, thresholdMs: number, log: Pick<Logger, 'warn'>) {
    this.#search = search;
    this.#thresholdMs = thresholdMs;
    this.#log = log;
  }

  search(uid: string, params: SearchRequest, caller: IdentifiedCaller): Promise<Answer> {
    return this.#watched(
      'search',
      caller,
      () => ({ index: uid, ...asked(params) }),
      () => this.#search.search(uid, params, caller),
    );
  }

  separate(queries: readonly MultiSearchQuery[], caller: IdentifiedCaller): Promise<Answer[]> {
    return this.#watched(
      'multi-search',
      caller,
      () => askedOf(queries, false),
      () => this.#search.separate(queries, caller),
    );
  }

  federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: IdentifiedCaller,
  ): Promise<Answer> {
    return this.#watched(
      'multi-search',
      caller,
      () => askedOf(queries, true),
      () => this.#search.federated(queries, federation, caller),
    );
  }

  facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: IdentifiedCaller,
  ): Promise<EngineAnswer> {
    const told = (): object => ({
      index: uid,
      facetQuery: cut(params.facetQuery),
      q: cut(params.q),
      filtered: (params.filter ?? null) !== null,
    });
    return this.#watched('facet-search', caller, told, () =>
      this.#search.facetSearch(uid, params, caller),
    );
  }

  similar(uid: string, params: SimilarRequest, caller: IdentifiedCaller): Promise<EngineAnswer> {
    const told = (): object => ({
      index: uid,
      limit: params.limit,
      filtered: (params.filter ?? null) !== null,
    });
    return this.#watched('similar', caller, told, () => this.#search.similar(uid, params, caller));
  }

  load(): ReturnType<EnrichedSearch['load']> {
    return this.#search.load();
  }

  async #watched<T extends EngineAnswer | EngineAnswer[]>(
    kind: string,
    { requestId }: IdentifiedCaller,
    told: () => object,
    search: () => Promise<T>,
  ): Promise<T> {
    const from = performance.now();
    const tell = (outcome: object): void => {
      const ms = performance.now() - from;
      if (ms < this.#thresholdMs || requestId === '') return;
      const durationMs = Math.round(ms * 10) / 10;
      this.#log.warn({ kind, durationMs, ...outcome, requestId }, 'slow search');
    };
    try {
      const answer = await search();
      tell({ engineMs: engineMsOf(answer), ...told() });
      return answer;
    } catch (error) {
      tell({ error: toApiError(error).code });
      throw error;
    }
  }
}

/** Of several searches, of all together. */
function engineMsOf(answer: EngineAnswer | EngineAnswer[]): number {
  return [answer].flat().reduce((sum, { head }) => sum + head.processingTimeMs, 0);
}

function askedOf(queries: readonly MultiSearchQuery[], federated: boolean): object {
  return {
    queries: queries.length,
    indexes: [...new Set(queries.map(({ indexUid }) => indexUid))].slice(0, 10),
    federated,
  };
}

function asked(params: SearchRequest): object {
  const { q, limit, offset, page, hitsPerPage, filter, sort, facets, hybrid } = params;
  return {
    q: cut(q),
    ...{ limit, offset, page, hitsPerPage },
    filtered: (filter ?? null) !== null,
    sort: sort?.length,
    facets: facets?.length,
    hybrid: (hybrid ?? null) !== null,
  };
}

function cut(text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined;
  return text.length <= QUERY_LENGTH_MAX ? text : `${text.slice(0, QUERY_LENGTH_MAX)}…`;
}
