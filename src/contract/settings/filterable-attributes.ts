import type { Schema } from '../schema.ts';
import { PATTERNS, setting } from './setting.ts';

/** Features of a filter that are additions to the API: shown only where they are on. */
const ADDITIONS = {
  date: 'Dates in RFC 3339, as texts or as seconds since 1970, are compared by their moments.',
  elements: 'Conditions in brackets, `items[price < 5 AND colour = red]`, test one element of it.',
} as const;
type Addition = keyof typeof ADDITIONS;

export interface FilterableRule {
  attributePatterns: string[];
  features: {
    facetSearch: boolean;
    filter: { equality: boolean; comparison: boolean } & { [name in Addition]?: true };
  };
}

const RULE: Schema = {
  type: 'object',
  properties: {
    attributePatterns: PATTERNS,
    features: {
      type: 'object',
      properties: {
        facetSearch: { type: 'boolean', default: false },
        filter: {
          type: 'object',
          properties: {
            equality: { type: 'boolean', default: true },
            comparison: { type: 'boolean', default: false },
            ...Object.fromEntries(
              Object.entries(ADDITIONS).map(([name, description]) => [
                name,
                { type: 'boolean', default: false, description },
              ]),
            ),
          },
          additionalProperties: false,
        },
      },
      additionalProperties: false,
    },
  },
  required: ['attributePatterns'],
  additionalProperties: false,
};

/** A rule with its defaults filled in. */
function completeRule(rule: string | Partial<FilterableRule>): string | FilterableRule {
  if (typeof rule === 'string') return rule;
  const features = rule.features as Partial<FilterableRule['features']> | undefined;
  const filter = features?.filter as Partial<FilterableRule['features']['filter']> | undefined;
  const additions = (Object.keys(ADDITIONS) as Addition[]).filter((name) => filter?.[name]);
  return {
    attributePatterns: rule.attributePatterns!,
    features: {
      facetSearch: features?.facetSearch ?? false,
      filter: {
        equality: filter?.equality ?? true,
        comparison: filter?.comparison ?? false,
        ...Object.fromEntries(additions.map((name) => [name, true])),
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
  canonical: (sent: (string | Partial<FilterableRule>)[]) => sent.map(completeRule),
});
