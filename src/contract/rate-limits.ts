import { integer, nullable, object, optionals, type Static } from './declare.ts';
import type { RateLimit } from './responses.ts';

/** Maximum of either number. */
export const RATE_LIMIT_MAX = 1_000_000;

const COUNT = nullable(integer({ minimum: 1, maximum: RATE_LIMIT_MAX, default: null }));

/** In the body of a key. null: the limits for all keys. */
export const RATE_LIMIT = nullable(
  object(optionals({ requestsPerSecond: COUNT, concurrentSearches: COUNT }), {
    default: null,
    'x-code': 'invalid_api_key_rate_limit',
    'x-key-code': 'invalid_api_key_rate_limit',
  }),
);

/** The complete limits; null for absent members. */
export function rateLimitOf(sent: Static<typeof RATE_LIMIT> | undefined): RateLimit | null {
  if (sent === null || sent === undefined) return null;
  const { requestsPerSecond = null, concurrentSearches = null } = sent;
  return { requestsPerSecond, concurrentSearches };
}
