/**
 * Limits of one request that launch options determine. Limits without an option are declared next
 * to what they bound; `docs/limits.md` lists all of them.
 */
import { limitText } from '../base/size.ts';
import { ApiError, type ErrorCode } from './errors.ts';
import type { MultiSearchRequest, SearchRequest } from './search.ts';

/**
 * The content of a body, which determines its maximum size: `payload`: documents or ids of
 * documents; `search`: read-only requests; `settings`: settings of an index; `other`: anything
 * else.
 */
export type BodyKind = 'payload' | 'search' | 'settings' | 'other';

/** Bytes. */
const SETTINGS_BODY_MAX = 4_000_000;
const OTHER_BODY_MAX = 1_000_000;

export interface RequestLimits {
  /** Maximum body of any route after decoding, bytes; see `bodyBytesMax`. */
  payloadBytes: number;
  /** Maximum body of a read-only route (searches, documents/fetch), bytes. */
  searchPayloadBytes: number;
  /** Maximum response of a search before compression, bytes. */
  responseBytes: number;
  /** Maximum number of searches in one multi-search. */
  queries: number;
  /** Maximum size of each highlight tag and of a crop marker, bytes. */
  tagBytes: number;
}

export const DEFAULT_LIMITS: Readonly<RequestLimits> = {
  payloadBytes: 100_000_000,
  searchPayloadBytes: 10_000_000,
  responseBytes: 128_000_000,
  queries: 1000,
  tagBytes: 4096,
};

/** Maximum size of a body after decoding, bytes. */
export function bodyBytesMax(
  kind: BodyKind,
  { payloadBytes, searchPayloadBytes }: RequestLimits,
): number {
  const bytesMax: Record<BodyKind, number> = {
    payload: payloadBytes,
    search: searchPayloadBytes,
    settings: SETTINGS_BODY_MAX,
    other: OTHER_BODY_MAX,
  };
  return Math.min(payloadBytes, bytesMax[kind]);
}

const TAGS = [
  ['highlightPreTag', 'invalid_search_highlight_pre_tag'],
  ['highlightPostTag', 'invalid_search_highlight_post_tag'],
  ['cropMarker', 'invalid_search_crop_marker'],
] as const satisfies readonly (readonly [keyof SearchRequest, ErrorCode])[];

/** The fault of a tag or marker that is too long, or null. */
export function tagFault(request: SearchRequest, { tagBytes }: RequestLimits): ApiError | null {
  for (const [name, code] of TAGS) {
    const tag = request[name];
    if (tag === undefined || Buffer.byteLength(tag) <= tagBytes) continue;
    return new ApiError(
      code,
      `Invalid value at \`.${name}\`: it has ${Buffer.byteLength(tag)} bytes, at most ${tagBytes} are accepted.`,
    );
  }
  return null;
}

/** The fault of too many queries, or of a tag of one that is too long, or null. */
export function multiSearchLimitFault(
  { queries }: MultiSearchRequest,
  limits: RequestLimits,
): ApiError | null {
  if (queries.length > limits.queries) {
    return new ApiError(
      'bad_request',
      `Invalid value at \`.queries\`: it has ${queries.length} queries, at most ${limits.queries} are accepted.`,
    );
  }
  for (const [i, query] of queries.entries()) {
    const fault = tagFault(query, limits);
    if (fault !== null) return fault.locatedAt({ query: i });
  }
  return null;
}

/** Beginning of the message about a response larger than `responseBytes`. */
const RESPONSE_TOO_LARGE = 'The response would be larger than the limit of';

export function responseTooLarge({
  responseBytes,
}: Pick<RequestLimits, 'responseBytes'>): ApiError {
  return new ApiError(
    'bad_request',
    `${RESPONSE_TOO_LARGE} ${limitText(responseBytes)}; ask for fewer hits, attributes or facets.`,
  );
}

/** Whether an error is that of `responseTooLarge`, or the engine's error for the same limit. */
export function isResponseTooLarge(error: unknown): boolean {
  return error instanceof ApiError && error.text.startsWith(RESPONSE_TOO_LARGE);
}
