import { boolean, defaultOf, object, optional, optionals, type Static } from '../declare.ts';
import { PATTERNS, setting } from './setting.ts';

/** Additions to the API: shown only where they are on. */
const ADDITIONS = {
  date: boolean({
    default: false,
    description:
      'Dates in RFC 3339, as texts or as seconds since 1970, are compared by their moments.',
  }),
  elements: boolean({
    default: false,
    description:
      'Conditions in brackets, `items[price < 5 AND colour = red]`, test one element of it.',
  }),
};
const FILTER = {
  equality: boolean({ default: true }),
  comparison: boolean({ default: false }),
};
const FEATURES = {
  facetSearch: boolean({ default: false }),
  filter: object(optionals({ ...FILTER, ...ADDITIONS })),
};
const RULE = object({
  attributePatterns: PATTERNS,
  features: optional(object(optionals(FEATURES))),
});
type GivenRule = Static<typeof RULE>;

export interface FilterableRule extends GivenRule {
  features: {
    facetSearch: boolean;
    filter: { equality: boolean; comparison: boolean; date?: boolean; elements?: boolean };
  };
}

/** A rule with its defaults filled in. */
function completeRule(rule: string | GivenRule): string | FilterableRule {
  if (typeof rule === 'string') return rule;
  const { attributePatterns, features: { facetSearch, filter = {} } = {} } = rule;
  const { equality, comparison, ...additions } = filter;
  const names = Object.keys(ADDITIONS) as (keyof typeof ADDITIONS)[];
  return {
    attributePatterns,
    features: {
      facetSearch: facetSearch ?? defaultOf(FEATURES.facetSearch),
      filter: {
        equality: equality ?? defaultOf(FILTER.equality),
        comparison: comparison ?? defaultOf(FILTER.comparison),
        ...Object.fromEntries(names.filter((name) => additions[name]).map((name) => [name, true])),
      },
    },
  };
}

export const filterableAttributes = setting({
  name: 'filterableAttributes',
  group: 'Fields',
  explanation:
    'Fields that filters and facets may use: names, or rules with patterns and what each may be used for.',
  methods: ['PUT'],
  code: 'invalid_settings_filterable_attributes',
  schema: { type: ['array', 'null'], items: { oneOf: [{ type: 'string' }, RULE] } },
  touches: ['columns'],
  initial: (): (string | FilterableRule)[] => [],
  canonical: (sent: (string | GivenRule)[]) => sent.map(completeRule),
});
