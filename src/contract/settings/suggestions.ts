import { ok } from '../../base/result.ts';
import { integer, list, nullable, object, optionals, string, type Static } from '../declare.ts';
import { fieldsOf, inOrder, mergeFields, setting, type Complete } from './setting.ts';

/** Each is one search. */
const ATTRIBUTES_MAX = 10;
/** Nothing that only one user has typed is ever shown. */
const USERS_MIN = 2;
/** The number of users that are counted for one query. */
const USERS_MAX = 1000;

const SCHEMA = nullable(
  object(
    optionals({
      // Facet-searchable; their values complete a query.
      attributes: nullable(list(string(), { maxItems: ATTRIBUTES_MAX })),
      // A recorded query is suggested if this number of different users have sent it.
      minUsers: nullable(integer({ minimum: USERS_MIN, maximum: USERS_MAX })),
    }),
  ),
);
export type Suggestions = Complete<NonNullable<Static<typeof SCHEMA>>>;

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
