/**
 * Reports searches: to the metrics each of them, to the log the slow ones. An entry of the log has
 * the index, the total time and the time in the engine, and the request with its query cut short;
 * it shows only whether there are filters, as they may contain rules of tenants. For a failed
 * search only the code is logged: its message may contain anything.
 */
import type { Logger } from '../base/logger.ts';
import { activeSpan, within } from '../base/tracing.ts';
import { toApiError } from '../contract/errors.ts';
import type { SearchKind } from '../contract/search-kind.ts';
import type { FacetSearchRequest, MultiSearchQuery, SearchRequest } from '../contract/search.ts';
import type { SearchResponse } from './response.ts';
import type { SearchCaller } from './caller.ts';

/** Characters of a query that are logged. */
const QUERY_LENGTH_MAX = 200;

/** What the metrics count of searches. Times are measured from the arrival of the search. */
export interface SearchObserver {
  ended(kind: string, order: SearchKind, ms: number): void;
  /** A request got its first permit. */
  permitted(waitedMs: number): void;
}

export class SearchReport {
  readonly #thresholdMs: number;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #observer: Pick<SearchObserver, 'ended'>;

  /** @param thresholdMs null: nothing is logged */
  constructor(
    thresholdMs: number | null,
    log: Pick<Logger, 'warn'>,
    observer: Pick<SearchObserver, 'ended'>,
  ) {
    this.#thresholdMs = thresholdMs ?? Infinity;
    this.#log = log;
    this.#observer = observer;
  }

  /** @param describe returns the request for the log */
  async watched(
    { kind, order }: { kind: string; order: SearchKind },
    { requestId }: SearchCaller,
    describe: () => object,
    search: () => Promise<SearchResponse[]>,
  ): Promise<SearchResponse[]> {
    const from = performance.now();
    const tell = (outcome: () => object): void => {
      const ms = performance.now() - from;
      // Searches of the server itself have no id.
      if (requestId === '') return;
      this.#observer.ended(kind, order, ms);
      if (ms < this.#thresholdMs) return;
      const durationMs = Math.round(ms * 10) / 10;
      this.#log.warn({ kind, durationMs, ...outcome(), requestId }, 'slow search');
    };
    const span = activeSpan()?.child(kind, 'internal', { 'gannet.order': order });
    try {
      const responses = await within(span, search);
      span?.end({ 'gannet.engine_ms': engineMsOf(responses) });
      tell(() => ({ engineMs: engineMsOf(responses), ...describe() }));
      return responses;
    } catch (error) {
      span?.end({ 'error.type': toApiError(error).code }, true);
      tell(() => ({ error: toApiError(error).code }));
      throw error;
    }
  }
}

/** Time in the engine of all searches together. */
function engineMsOf(responses: readonly SearchResponse[]): number {
  return responses.reduce((sum, { head }) => sum + head.processingTimeMs, 0);
}

export function askedOfMany(queries: readonly MultiSearchQuery[], federated: boolean): object {
  return {
    queries: queries.length,
    indexes: [...new Set(queries.map(({ indexUid }) => indexUid))].slice(0, 10),
    federated,
  };
}

export function askedOf(indexUid: string, params: SearchRequest): object {
  const { q, limit, offset, page, hitsPerPage, filter, sort, facets, hybrid } = params;
  return {
    index: indexUid,
    q: cut(q),
    limit,
    offset,
    page,
    hitsPerPage,
    filtered: (filter ?? null) !== null,
    sort: sort?.length,
    facets: facets?.length,
    hybrid: (hybrid ?? null) !== null,
  };
}

export function askedOfFacet(indexUid: string, params: FacetSearchRequest): object {
  return {
    index: indexUid,
    facetQuery: cut(params.facetQuery),
    q: cut(params.q),
    filtered: (params.filter ?? null) !== null,
  };
}

function cut(text: string | null | undefined): string | undefined {
  if (text === null || text === undefined) return undefined;
  return text.length <= QUERY_LENGTH_MAX ? text : `${text.slice(0, QUERY_LENGTH_MAX)}…`;
}
