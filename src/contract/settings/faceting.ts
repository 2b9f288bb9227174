import { ok } from '../../base/result.ts';
import { integer, map, nullable, object, oneOf, optionals, type Static } from '../declare.ts';
import {
  fieldsOf,
  inOrder,
  isObject,
  mergeFields,
  setting,
  sortedKeys,
  type Complete,
} from './setting.ts';

const SCHEMA = nullable(
  object(
    optionals({
      maxValuesPerFacet: nullable(integer({ minimum: 0 })),
      sortFacetValuesBy: nullable(map(oneOf(['alpha', 'count']))),
    }),
  ),
);
export type Faceting = Complete<NonNullable<Static<typeof SCHEMA>>>;

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
