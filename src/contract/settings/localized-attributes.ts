import { ok } from '../../base/result.ts';
import { list, nullable, object, oneOf, type Static } from '../declare.ts';
import { canonicalLocale, LOCALES } from '../locales.ts';
import { isObject, PATTERNS, setting } from './setting.ts';

const SCHEMA = nullable(
  list(object({ attributePatterns: PATTERNS, locales: list(oneOf(LOCALES)) })),
);
type LocalizedRules = NonNullable<Static<typeof SCHEMA>>;

export const localizedAttributes = setting({
  name: 'localizedAttributes',
  group: 'Words',
  explanation: 'The languages of fields, if their characters alone do not identify them.',
  methods: ['PUT'],
  code: 'invalid_settings_localized_attributes',
  schema: SCHEMA,
  touches: ['text'],
  initial: (): LocalizedRules => [],
  // The value wrapped in an object of one member is accepted as well.
  childSchema: {
    oneOf: [SCHEMA, object({ localizedAttributes: SCHEMA })],
  },
  fromChildBody: (body: unknown) => (isObject(body) ? body.localizedAttributes : body),
  merge(_current: LocalizedRules, change: LocalizedRules) {
    return ok(
      change.map(({ attributePatterns, locales }) => ({
        attributePatterns,
        locales: locales.map(canonicalLocale),
      })),
    );
  },
});
