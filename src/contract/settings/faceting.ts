import { ok } from '../../base/result.ts';
import type { Schema } from '../schema.ts';
import { fieldsOf, inOrder, isObject, mergeFields, setting, sortedKeys } from './setting.ts';

export interface Faceting {
  maxValuesPerFacet: number;
  sortFacetValuesBy: Record<string, 'alpha' | 'count'>;
}

const SCHEMA: Schema = {
  type: ['object', 'null'],
  properties: {
    maxValuesPerFacet: { type: ['integer', 'null'], minimum: 0 },
    sortFacetValuesBy: {
      type: ['object', 'null'],
      additionalProperties: { type: 'string', enum: ['alpha', 'count'] },
    },
  },
  additionalProperties: false,
};

function initial(): Faceting {
  return { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha' } };
}

export const faceting = setting({
  name: 'faceting',
  group: 'Limits',
  explanation: 'How many values of a facet are returned, and in which order.',
  methods: ['PATCH'],
  code: 'invalid_settings_faceting',
  schema: SCHEMA,
  touches: [],
  initial,
  canonical(sent: Record<string, unknown>) {
    const ordered = inOrder(sent, fieldsOf(SCHEMA));
    if (isObject(ordered.sortFacetValuesBy)) {
      ordered.sortFacetValuesBy = sortedKeys(ordered.sortFacetValuesBy);
    }
    return ordered;
  },
  merge(current: Faceting, change: Partial<Faceting>) {
    const merged = mergeFields(current, change, initial());
    merged.sortFacetValuesBy = sortedKeys({
      ...initial().sortFacetValuesBy,
      ...merged.sortFacetValuesBy,
    });
    return ok(merged);
  },
});
