import type { Access } from '../auth/authorize.ts';
import { combineFilters } from '../auth/tenant-token.ts';
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { Federation } from '../contract/search.ts';
import { ofQuery } from './of-query.ts';
import type { SearchMeter } from './search-meter.ts';
import type { Stages } from './stages.ts';

/** What a caller may search. */
export type SearchAccess = Pick<
  Access,
  'holder' | 'weight' | 'mayAccess' | 'tenantFilter' | 'refusal'
>;

/** The caller of a search. */
export interface SearchCaller {
  access: SearchAccess;
  /** Id of the request, for the log. Empty: the server's own search, which is not logged. */
  requestId: string;
  signal: CancelSignal;
  /** Absent: its searches are not counted. */
  meter?: SearchMeter | undefined;
  /** Responses describe what was searched. */
  includeMetadata: boolean;
  /** Another server of the network sends the request: hits include what it needs to merge them. */
  proxied: boolean;
  /** The hits of the first page of the client of another server, if that sends the request. */
  firstPage?: number | undefined;
  /** When the request arrived, by `performance.now()`. Absent: the search is the first of it. */
  arrivedAt?: number;
  /** Where the time of the search goes. Absent: nobody asks. */
  stages?: Stages | undefined;
}

/**
 * The request with the filter of the caller's tenant token. Throws the refusal of an index that the
 * caller may not search.
 */
export function restricted<T extends { filter?: unknown }>(
  uid: string,
  request: T,
  access: SearchAccess,
): T {
  if (!access.mayAccess(uid)) throw access.refusal(uid);
  const rule = access.tenantFilter(uid);
  return rule === null ? request : { ...request, filter: combineFilters(request.filter, rule) };
}

/** Throws the refusal of the first index that the caller may not search. */
export function checkAccess(
  uids: readonly string[],
  federation: Federation | null | undefined,
  access: SearchAccess,
): void {
  for (const [n, uid] of uids.entries()) {
    if (!access.mayAccess(uid)) throw ofQuery(access.refusal(uid), n);
  }
  for (const uid of Object.keys(federation?.facetsByIndex ?? {})) {
    if (!access.mayAccess(uid))
      throw access.refusal(uid).locatedAt({ path: 'federation.facetsByIndex' });
  }
}
