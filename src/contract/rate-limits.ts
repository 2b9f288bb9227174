import type { Schema } from './schema.ts';

/** What a key may ask for; null: as much as it likes. */
export interface RateLimit {
  requestsPerSecond: number | null;
  /** Searches under way at once. */
  concurrentSearches: number | null;
}

/** Of either number. */
export const RATE_LIMIT_MAX = 1_000_000;

const COUNT: Schema = {
  type: ['integer', 'null'],
  minimum: 1,
  maximum: RATE_LIMIT_MAX,
  default: null,
};

/** In the body of a key. null: what holds for all keys. */
export const RATE_LIMIT: Schema = {
  type: ['object', 'null'],
  properties: { requestsPerSecond: COUNT, concurrentSearches: COUNT },
  additionalProperties: false,
  default: null,
  'x-code': 'invalid_api_key_rate_limit',
  'x-key-code': 'invalid_api_key_rate_limit',
};

/** What is sent, complete; null where it is absent. */
export function rateLimitOf(sent: Partial<RateLimit> | null | undefined): RateLimit | null {
  if (sent === null || sent === undefined) return null;
  const { requestsPerSecond = null, concurrentSearches = null } = sent;
  return { requestsPerSecond, concurrentSearches };
}
