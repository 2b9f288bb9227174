/** Suggestions: completions of what a user types. */
import type { Schema } from './schema.ts';

/** Number of suggestions in a response by default. */
export const SUGGESTIONS = 8;
/** Maximum number of suggestions in a response. */
const SUGGESTIONS_MAX = 100;

export interface SuggestRequest {
  q?: string | null;
  limit?: number;
}

export interface Suggestion {
  text: string;
  /** `searches`: recorded ones. `attribute`: a value of a document. */
  source: 'searches' | 'attribute';
  /** The attribute that has the value. */
  attribute?: string;
  /** The number of users that have searched for it, or of documents that have the value. */
  count: number;
}

export const SUGGEST: Schema = {
  type: 'object',
  properties: {
    q: { type: ['string', 'null'], 'x-code': 'invalid_suggest_q' },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: SUGGESTIONS_MAX,
      default: SUGGESTIONS,
      'x-code': 'invalid_suggest_limit',
    },
  },
  additionalProperties: false,
};
