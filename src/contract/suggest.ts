/** Suggestions: completions of what a user types. */
import { integer, nullable, object, optionals, string, type Static } from './declare.ts';

/** Number of suggestions in a response by default. */
export const SUGGESTIONS = 8;
/** Maximum number of suggestions in a response. */
const SUGGESTIONS_MAX = 100;

export const SUGGEST = object(
  optionals({
    q: nullable(string({ 'x-code': 'invalid_suggest_q' })),
    limit: integer({
      minimum: 1,
      maximum: SUGGESTIONS_MAX,
      default: SUGGESTIONS,
      'x-code': 'invalid_suggest_limit',
    }),
  }),
);
export type SuggestRequest = Static<typeof SUGGEST>;
