/** `POST /indexes/{uid}/passages`. */
import { defaultsOf, integer, nullable, object, optionals, type Static } from './declare.ts';
import { SEARCH } from './search.ts';

const COUNTS = {
  maxTokens: nullable(
    integer({
      minimum: 1,
      maximum: 32_000,
      default: 2_000,
      description: 'Maximum tokens of all passages. One token is four bytes of UTF-8.',
      'x-code': 'invalid_passages_max_tokens',
    }),
  ),
  documents: nullable(
    integer({
      minimum: 1,
      maximum: 100,
      default: 20,
      description: 'Number of documents whose passages are considered, best first.',
      'x-code': 'invalid_passages_documents',
    }),
  ),
};

const { q, filter, vector, hybrid, matchingStrategy, locales, useNetwork } = SEARCH.properties;

export const PASSAGES = object({
  q,
  filter,
  vector,
  hybrid,
  matchingStrategy,
  locales,
  useNetwork,
  ...optionals(COUNTS),
});
export type PassagesRequest = Static<typeof PASSAGES>;

export const PASSAGES_DEFAULTS = defaultsOf(COUNTS, 'maxTokens', 'documents');
