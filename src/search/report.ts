/**
 * Reports searches: to the metrics each of them, to the log the slow ones. An entry of the log has
 * the index, the times of the search and of its stages, and the request with its query cut short;
 * it shows only whether there are filters, as they may contain rules of tenants. For a failed
 * search only the code is logged: its message may contain anything.
 */
import { Canceling } from '../base/cancel-signal.ts';
import type { Logger } from '../base/logger.ts';
import { activeSpan, type Span, within } from '../base/tracing.ts';
import { ApiError, type ErrorCode, toApiError } from '../contract/errors.ts';
import type { SearchKind } from '../contract/search-kind.ts';
import type { FacetSearchRequest, MultiSearchQuery, SearchRequest } from '../contract/search.ts';
import type { SearchResponse } from './response.ts';
import type { SearchCaller } from './caller.ts';
import type { Insights, Shape } from './insights.ts';
import { Stages } from './stages.ts';

/** Characters of a query that are logged. */
const QUERY_LENGTH_MAX = 200;

/** Errors of searches whose shapes would have names of indexes that the server does not know. */
const UNKNOWN_TARGET = new Set<ErrorCode>(['index_not_found', 'invalid_api_key']);

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
  readonly #insights: Insights;

  /** @param thresholdMs null: nothing is logged */
  constructor(
    thresholdMs: number | null,
    log: Pick<Logger, 'warn'>,
    observer: Pick<SearchObserver, 'ended'>,
    insights: Insights,
  ) {
    this.#insights = insights;
    this.#thresholdMs = thresholdMs ?? Infinity;
    this.#log = log;
    this.#observer = observer;
  }

  /**
   * @param isShown the response shows its stages
   * @param describe returns the request for the log
   * @param shape for the insights
   * @param search gets the caller, with stages if anybody asks for them
   */
  async watched(
    { kind, order, isShown }: { kind: string; order: SearchKind; isShown: boolean },
    caller: SearchCaller,
    describe: () => object,
    shape: () => Shape,
    search: (caller: SearchCaller) => Promise<SearchResponse[]>,
  ): Promise<SearchResponse[]> {
    const { requestId, arrivedAt } = caller;
    const from = performance.now();
    const span = activeSpan()?.child(kind, 'internal', { 'gannet.order': order });
    const signal = new Canceling(caller.signal);
    // Searches of the server itself have no id.
    const begun =
      requestId === ''
        ? undefined
        : this.#insights.began(shape(), requestId, () => signal.cancel());
    const isTimed =
      isShown ||
      this.#thresholdMs < Infinity ||
      span?.isRecorded === true ||
      begun?.isTimed === true;
    const stages = isTimed ? new Stages('parse', arrivedAt ?? from) : undefined;
    stages?.begin('resolve');
    const ended = (cpuMs: number, fault: ErrorCode | null, outcome: () => object): void => {
      const ms = performance.now() - from;
      const list = stages?.list ?? null;
      if (span?.isRecorded) traceStages(span, stages);
      if (begun === undefined) return;
      const isKnown = fault === null || !UNKNOWN_TARGET.has(fault);
      const failed = fault !== null;
      this.#insights.ended(begun.id, isKnown ? { ms, cpuMs, failed, stages: list } : null);
      this.#observer.ended(kind, order, ms);
      if (ms < this.#thresholdMs) return;
      const stageMs = Object.fromEntries(
        (list ?? []).map(({ name, ms: of }) => [name, tenths(of)]),
      );
      this.#log.warn(
        { kind, durationMs: tenths(ms), ...outcome(), stageMs, requestId },
        'slow search',
      );
    };
    try {
      const responses = await within(span, () =>
        search({ ...caller, signal, ...(stages && { stages }) }),
      );
      if (signal.isCanceled) throw canceled();
      ended(cpuMsOf(responses), null, () => ({
        engineMs: engineMsOf(responses),
        ...describe(),
      }));
      span?.end({ 'gannet.engine_ms': engineMsOf(responses) });
      return responses;
    } catch (thrown) {
      const error = signal.isCanceled ? canceled() : thrown;
      const { code } = toApiError(error);
      ended(0, code, () => ({ error: code }));
      span?.end({ 'error.type': code }, true);
      throw error;
    }
  }
}

function canceled(): ApiError {
  return new ApiError('search_canceled', 'The search was canceled by an administrator.');
}

/** Processor time of the engine's threads. */
function cpuMsOf(responses: readonly SearchResponse[]): number {
  return responses.reduce((sum, { head }) => sum + (head.cpuMs ?? 0), 0);
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/**
 * Records the stages as parts of the span, one after the other: a stage that was under way several
 * times is drawn once, with the sum of its times.
 */
function traceStages(span: Span, stages: Stages | undefined): void {
  for (const { startedAt, list } of stages?.tracks ?? []) {
    let start = performance.timeOrigin + startedAt;
    for (const { name, ms, cpuMs, unit, size } of list) {
      const end = start + ms;
      span.part(
        name,
        { start, end },
        {
          ...(cpuMs !== undefined && { 'gannet.cpu_ms': cpuMs }),
          ...(unit !== undefined && { [`gannet.${unit}`]: size ?? 0 }),
        },
      );
      start = end;
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
