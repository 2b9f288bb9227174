/**
 * A search of two indexes at once, whose hits are drafted into one list: each index is searched as
 * a server of a network would be, and the engine merges the two responses by a draft
 * (docs/behaviour/interleaving.md).
 */
import { ApiError } from '../../contract/errors.ts';
import type { RequestLimits } from '../../contract/limits.ts';
import { hitsPageOf, type Federation, type SearchRequest } from '../../contract/search.ts';
import { searchKind } from '../../contract/search-kind.ts';
import type { SettingsObject } from '../../contract/settings.ts';
import type { ResponseMerger, ServerResponse } from '../../engine/response-merger.ts';
import type { SearchCaller } from '../caller.ts';
import type { EngineMergeRequest } from '../merge-request.ts';
import type { SearchResponse } from '../response.ts';
import type { LocalSearch } from './local.ts';
import { firstPageOf, halvesOf, ofWhole, wholeList } from './network.ts';

/** One of the two searches: the request with the tenant's rule of its index. */
export interface DraftedSearch {
  uid: string;
  params: SearchRequest;
}

export interface Draft {
  /** The same seed, with the same lists, gives the same draft. */
  seed: number;
  /** Hits name the index that has given them. */
  showsIndex: boolean;
}

export interface InterleavedParts {
  local: Pick<LocalSearch, 'federated'>;
  merger: ResponseMerger;
  settings: (uid: string) => SettingsObject | undefined;
  primaryKey: (uid: string) => string | null;
  limits: RequestLimits;
}

export class InterleavedSearch {
  readonly #parts: InterleavedParts;

  constructor(parts: InterleavedParts) {
    this.#parts = parts;
  }

  /**
   * Facets, metadata and the limit of hits are those of the first search. Rejects with the fault of
   * the first search that failed.
   */
  async search(
    searches: readonly [DraftedSearch, DraftedSearch],
    { seed, showsIndex }: Draft,
    caller: SearchCaller,
    keepsPage: boolean,
  ): Promise<SearchResponse> {
    const { merger, settings, limits } = this.#parts;
    const [{ uid, params }] = searches;
    const { faceting = null, pagination } = settings(uid) ?? {};
    const totalMax = pagination?.maxTotalHits;
    const facets = params.facets ?? [];
    this.#checkKeys(uid, searches[1].uid);
    const made = await Promise.allSettled(
      searches.map((one, position) => {
        const stages = caller.stages?.of(position);
        return this.#half(one, position, totalMax, { ...caller, stages });
      }),
    );
    const halves = made.map((half, position) => {
      if (half.status === 'fulfilled') return half.value;
      throw faultOf(half.reason, position);
    });
    caller.stages?.begin('merge');
    const about: EngineMergeRequest = {
      shape: 'search',
      draft: { seed },
      servers: [0, 1].map((position) => ({ name: null, isHere: true, positions: [position] })),
      responseBytesMax: limits.responseBytes,
      window: hitsPageOf(params),
      totalMax,
      query: params.q ?? '',
      ...(facets.length > 0 && { facetsOf: uid, faceting: { [uid]: faceting } }),
      halves: halvesOf(params),
      showsMetadata: caller.includeMetadata,
      showsOrigin: showsIndex,
      keepsPage,
    };
    const responses = halves.map(({ response }) => response);
    const merged = await merger.merge(about, responses, caller.signal);
    const cpuMs = halves.reduce((sum, half) => sum + half.cpuMs, 0);
    return { ...merged, head: { ...merged.head, cpuMs } };
  }

  /** Documents are the same if their ids are. */
  #checkKeys(uid: string, other: string): void {
    const [key, otherKey] = [uid, other].map(this.#parts.primaryKey);
    if (key === null || otherKey === null || key === otherKey) return;
    throw new ApiError(
      'invalid_search_interleave',
      `The primary key of \`${uid}\` is \`${key}\`, that of \`${other}\` is \`${otherKey}\`.`,
    );
  }

  /** The list of one index up to the end of the page. */
  async #half(
    { uid, params }: DraftedSearch,
    position: number,
    totalMax: number | undefined,
    caller: SearchCaller,
  ): Promise<{ response: ServerResponse; cpuMs: number }> {
    const { offset: _o, limit: _l, page: _p, hitsPerPage: _h, facets, ...query } = params;
    const window = hitsPageOf(params);
    const federation: Federation = {
      ...wholeList(window, totalMax),
      ...(position === 0 && (facets ?? []).length > 0 && { facetsByIndex: { [uid]: facets! } }),
    };
    const queries = [{ ...query, indexUid: uid, federationOptions: { queryPosition: position } }];
    const firstPage = searchKind(params) === 'hybrid' ? firstPageOf(window) : undefined;
    const { page, head } = await this.#parts.local.federated(queries, federation, caller, {
      merged: 'here',
      firstPage,
    });
    return { response: await page!.forMerging(), cpuMs: head.cpuMs ?? 0 };
  }
}

/** A fault of the other index says so: the request has one query. */
function faultOf(error: unknown, position: number): unknown {
  const plain = ofWhole(error);
  return plain instanceof ApiError && position === 1
    ? plain.locatedAt({ path: 'interleave.with' })
    : plain;
}
