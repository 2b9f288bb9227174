import type { Schema } from '../schema.ts';
import { PATTERNS, setting } from './setting.ts';

export interface FilterableRule {
  attributePatterns: string[];
  features: { facetSearch: boolean; filter: { equality: boolean; comparison: boolean } };
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
  return {
    attributePatterns: rule.attributePatterns!,
    features: {
      facetSearch: features?.facetSearch ?? false,
      filter: { equality: filter?.equality ?? true, comparison: filter?.comparison ?? false },
    },
  };
}

export const filterableAttributes = setting({
  name: 'filterableAttributes',
  explanation:
    'Fields that filters and facets may use: names, or rules with patterns and what each may be used for.',
  methods: ['PUT'],
  code: 'invalid_settings_filterable_attributes',
  schema: { type: ['array', 'null'], items: { oneOf: [{ type: 'string' }, RULE] } },
  touches: ['columns'],
  initial: (): (string | FilterableRule)[] => [],
  canonical: (sent: (string | Partial<FilterableRule>)[]) => sent.map(completeRule),
});
