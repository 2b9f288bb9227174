/** Every setting of an index, in the order of GET /settings. */
import { ok } from '../../base/result.ts';
import { chat } from './chat.ts';
import { embedders } from './embedders.ts';
import { faceting } from './faceting.ts';
import { filterableAttributes } from './filterable-attributes.ts';
import { localizedAttributes } from './localized-attributes.ts';
import { rankingRules } from './ranking-rules.ts';
import { FLAG, mergeFields, setting, sortedKeys, sortedSet, TEXTS } from './setting.ts';
import { typoTolerance } from './typo-tolerance.ts';

/** Of an index; each is looked for in every hit. */
const FOREIGN_KEYS_MAX = 100;

const allAttributes = (): string[] => ['*'];
const none = (): string[] => [];

/** Each name once; the star stands for all of them. */
function mergeAttributes(_current: string[], change: string[]) {
  const names = [...new Set(change)];
  return ok(names.includes('*') ? allAttributes() : names);
}

export const SETTINGS = [
  setting({
    name: 'displayedAttributes',
    explanation:
      'Fields that a search shows, and no others. `*` stands for all. Documents that are fetched by themselves are shown whole.',
    methods: ['PUT'],
    code: 'invalid_settings_displayed_attributes',
    schema: TEXTS,
    touches: [],
    initial: allAttributes,
    resetForm: allAttributes,
    merge: mergeAttributes,
  }),
  setting({
    name: 'searchableAttributes',
    explanation:
      'Fields whose text is searched, the most important first. `*` stands for all, in the order in which they were first seen.',
    methods: ['PUT'],
    code: 'invalid_settings_searchable_attributes',
    schema: TEXTS,
    touches: ['text'],
    initial: allAttributes,
    resetForm: allAttributes,
    merge: mergeAttributes,
  }),
  filterableAttributes,
  setting({
    name: 'sortableAttributes',
    explanation: 'Fields that a search may be asked to sort by. `_geo` allows sorting by distance.',
    methods: ['PUT'],
    code: 'invalid_settings_sortable_attributes',
    schema: TEXTS,
    touches: ['columns'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'foreignKeys',
    explanation:
      'Fields that hold ids of documents of another index; a search can show those documents in their place, and filter by them.',
    methods: ['PUT'],
    code: 'invalid_settings_foreign_keys',
    schema: {
      type: ['array', 'null'],
      items: {
        type: 'object',
        properties: { foreignIndexUid: { type: 'string' }, fieldName: { type: 'string' } },
        required: ['foreignIndexUid', 'fieldName'],
        additionalProperties: false,
      },
      maxItems: FOREIGN_KEYS_MAX,
    },
    touches: [],
    initial: (): { foreignIndexUid: string; fieldName: string }[] => [],
    feature: 'foreignKeys',
  }),
  rankingRules,
  setting({
    name: 'stopWords',
    explanation: 'Words that a search ignores, because they stand in almost every document.',
    methods: ['PUT'],
    code: 'invalid_settings_stop_words',
    schema: TEXTS,
    mayBeLong: true,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
    merge: (_current: string[], change: string[]) =>
      ok(sortedSet(change.map((word) => word.normalize('NFKD')))),
  }),
  setting({
    name: 'nonSeparatorTokens',
    explanation:
      'Characters that usually end a word and shall be a part of it, such as `@` or `#`.',
    methods: ['PUT'],
    code: 'invalid_settings_non_separator_tokens',
    schema: TEXTS,
    mayBeLong: true,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'separatorTokens',
    explanation:
      'Characters or texts that shall end a word although they usually do not, such as `&`.',
    methods: ['PUT'],
    code: 'invalid_settings_separator_tokens',
    schema: TEXTS,
    mayBeLong: true,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'dictionary',
    explanation: 'Words that shall stay whole although they hold a separator, such as `J. R. R.`.',
    methods: ['PUT'],
    code: 'invalid_settings_dictionary',
    schema: TEXTS,
    mayBeLong: true,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'synonyms',
    explanation:
      'For a word or several, the words that a search for it finds as well. One way only: name both for both ways.',
    methods: ['PUT'],
    code: 'invalid_settings_synonyms',
    schema: {
      type: ['object', 'null'],
      additionalProperties: { type: 'array', items: { type: 'string' } },
    },
    mayBeLong: true,
    touches: [],
    initial: (): Record<string, string[]> => ({}),
    canonical: sortedKeys,
  }),
  setting({
    name: 'distinctAttribute',
    explanation:
      'A field of whose every value a search shows one document alone, the best: the product instead of each of its colours, for example.',
    methods: ['PUT'],
    code: 'invalid_settings_distinct_attribute',
    schema: { type: ['string', 'null'] },
    touches: ['columns'],
    initial: (): string | null => null,
  }),
  setting({
    name: 'proximityPrecision',
    explanation:
      'How exactly the distance of words counts: `byWord`, or `byAttribute`, which only asks whether they stand in the same field.',
    methods: ['PUT'],
    code: 'invalid_settings_proximity_precision',
    schema: { type: ['string', 'null'], enum: ['byWord', 'byAttribute'] },
    touches: [],
    initial: (): 'byWord' | 'byAttribute' => 'byWord',
  }),
  typoTolerance,
  faceting,
  setting({
    name: 'pagination',
    explanation:
      'How many results can be reached by paging through them. More than some ten thousand make deep pages slow.',
    methods: ['PATCH'],
    code: 'invalid_settings_pagination',
    schema: {
      type: ['object', 'null'],
      properties: { maxTotalHits: { type: ['integer', 'null'], minimum: 1 } },
      additionalProperties: false,
    },
    touches: [],
    initial: () => ({ maxTotalHits: 1000 }),
    merge: (current: { maxTotalHits: number }, change: object) =>
      ok(mergeFields(current, change, { maxTotalHits: 1000 })),
  }),
  embedders,
  setting({
    name: 'searchCutoffMs',
    explanation:
      'Milliseconds after which a search answers with what it has ranked by then. 1500 when nothing is set.',
    methods: ['PUT'],
    code: 'invalid_settings_search_cutoff_ms',
    schema: { type: ['integer', 'null'], minimum: 0 },
    touches: [],
    // null: 1500 ms.
    initial: (): number | null => null,
  }),
  localizedAttributes,
  setting({
    name: 'facetSearch',
    explanation: 'Whether the values of facets can be searched.',
    methods: ['PUT'],
    code: 'invalid_settings_facet_search',
    schema: FLAG,
    touches: [],
    initial: () => true,
  }),
  setting({
    name: 'prefixSearch',
    explanation:
      'Whether the last word of a query also finds words that only begin with it, which is what search while typing needs: `indexingTime`, or `disabled`.',
    methods: ['PUT'],
    code: 'invalid_settings_prefix_search',
    schema: { type: ['string', 'null'], enum: ['indexingTime', 'disabled'] },
    touches: [],
    initial: (): 'indexingTime' | 'disabled' => 'indexingTime',
  }),
  chat,
  setting({
    name: 'vectorStore',
    explanation: 'How vectors are kept.',
    methods: ['PATCH', 'PUT'],
    code: 'invalid_settings_vector_store',
    schema: { type: ['string', 'null'], enum: ['stable', 'experimental'] },
    touches: [],
    initial: (): 'stable' | 'experimental' => 'stable',
    feature: 'vectorStoreSetting',
    resetOnlyWithFeature: true,
  }),
] as const;
