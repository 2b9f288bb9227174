import type { CancelSignal } from '../base/cancel-signal.ts';
import { MalformedJson } from '../base/json-scanner.ts';
import { fromEngine } from './errors.ts';
import type {
  BestOfGroups,
  EngineResult,
  NativeAddon,
  ServerFacetHits,
  ServerGroups,
  ServerResponse,
} from './native.ts';
import { type PagedResult, withPage } from './page.ts';

export type { ServerFacetHits, ServerResponse } from './native.ts';

/** Parses the responses of servers of the network, and merges them into one. */
export class ResponseMerger {
  readonly #native: NativeAddon;

  constructor(native: NativeAddon) {
    this.#native = native;
  }

  /**
   * Parses the response to a federated search. Rejects with `MalformedJson` when it is something
   * else.
   */
  readonly read = (bytes: Buffer): Promise<ServerResponse> =>
    understood(this.#native.readResponse(bytes));

  /** The same for a facet search. */
  readonly readFacetHits = (bytes: Buffer): Promise<ServerFacetHits> =>
    understood(this.#native.readFacetHits(bytes));

  /** Consumes the responses. */
  async merge(
    request: object,
    responses: ServerResponse[],
    signal: CancelSignal,
  ): Promise<PagedResult & { queryUids?: readonly string[] }> {
    const merged = await understood(
      this.#native.mergeResponses(JSON.stringify(request), responses),
    );
    const result = withPage(this.#native, merged, signal);
    const { queryUids } = result.head;
    return queryUids === undefined ? result : { ...result, queryUids };
  }

  /** Merges the best hits of groups. Consumes the responses. */
  async mergeBest(request: object, responses: ServerResponse[]): Promise<BestOfGroups> {
    return understood(this.#native.mergeBest(JSON.stringify(request), responses));
  }

  /** The response with these groups. Consumes them, and the responses with their hits. */
  async mergeGroups(
    groups: ServerGroups,
    request: object,
    responses: ServerResponse[],
  ): Promise<EngineResult> {
    return understood(this.#native.mergeGroups(groups, JSON.stringify(request), responses));
  }

  async mergeFacetHits(request: object, responses: ServerFacetHits[]): Promise<EngineResult> {
    return understood(this.#native.mergeFacetHits(JSON.stringify(request), responses));
  }
}

async function understood<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    const { code, message } = error as Error & { code?: unknown };
    throw code === 'remote_bad_response' ? new MalformedJson(message) : fromEngine(error);
  }
}
