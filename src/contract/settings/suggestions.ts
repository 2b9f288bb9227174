import { ok } from '../../base/result.ts';
import type { Schema } from '../schema.ts';
import { fieldsOf, inOrder, mergeFields, setting } from './setting.ts';

export interface Suggestions {
  /** Facet-searchable attributes whose values complete a query. */
  attributes: string[];
  /** A recorded query is suggested if this number of different users have sent it. */
  minUsers: number;
}

/** Each is one search. */
const ATTRIBUTES_MAX = 10;
/** Nothing that only one user has typed is ever shown. */
const USERS_MIN = 2;
/** The number of users that are counted for one query. */
const USERS_MAX = 1000;

const SCHEMA: Schema = {
  type: ['object', 'null'],
  properties: {
    attributes: {
      type: ['array', 'null'],
      items: { type: 'string' },
      maxItems: ATTRIBUTES_MAX,
    },
    minUsers: { type: ['integer', 'null'], minimum: USERS_MIN, maximum: USERS_MAX },
  },
  additionalProperties: false,
};

function initial(): Suggestions {
  return { attributes: [], minUsers: 5 };
}

export const suggestions = setting({
  name: 'suggestions',
  group: 'Words',
  explanation:
    'What completes a query in the route `suggest`: values of facet-searchable `attributes`, and recorded searches that `minUsers` different users have sent.',
  methods: ['PATCH'],
  code: 'invalid_settings_suggestions',
  schema: SCHEMA,
  touches: [],
  initial,
  canonical: (sent: Record<string, unknown>) => inOrder(sent, fieldsOf(SCHEMA)),
  merge: (current: Suggestions, change: Partial<Suggestions>) =>
    ok(mergeFields(current, change, initial())),
  addition: true,
});
