/** Every setting of an index, in the order of GET /settings. */
import { ok } from '../../base/result.ts';
import {
  checkPartialEmbedders,
  EMBEDDERS,
  inShownOrder,
  mergeEmbedders,
  obfuscateEmbedders,
  type Embedders,
  type PartialEmbedders,
} from '../embedders.ts';
import { chat } from './chat.ts';
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
    methods: ['PUT'],
    code: 'invalid_settings_searchable_attributes',
    schema: TEXTS,
    touches: ['text'],
    initial: allAttributes,
    resetForm: allAttributes,
    merge: mergeAttributes,
    // The order makes weights, which a search looks up.
    sameDerived: (before: string[], after: string[]) =>
      sortedSet(before).join('\0') === sortedSet(after).join('\0'),
  }),
  filterableAttributes,
  setting({
    name: 'sortableAttributes',
    methods: ['PUT'],
    code: 'invalid_settings_sortable_attributes',
    schema: TEXTS,
    touches: ['columns'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'foreignKeys',
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
    methods: ['PUT'],
    code: 'invalid_settings_stop_words',
    schema: TEXTS,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
    merge: (_current: string[], change: string[]) =>
      ok(sortedSet(change.map((word) => word.normalize('NFKD')))),
  }),
  setting({
    name: 'nonSeparatorTokens',
    methods: ['PUT'],
    code: 'invalid_settings_non_separator_tokens',
    schema: TEXTS,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'separatorTokens',
    methods: ['PUT'],
    code: 'invalid_settings_separator_tokens',
    schema: TEXTS,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'dictionary',
    methods: ['PUT'],
    code: 'invalid_settings_dictionary',
    schema: TEXTS,
    touches: ['text'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'synonyms',
    methods: ['PUT'],
    code: 'invalid_settings_synonyms',
    schema: {
      type: ['object', 'null'],
      additionalProperties: { type: 'array', items: { type: 'string' } },
    },
    touches: [],
    initial: (): Record<string, string[]> => ({}),
    canonical: sortedKeys,
  }),
  setting({
    name: 'distinctAttribute',
    methods: ['PUT'],
    code: 'invalid_settings_distinct_attribute',
    schema: { type: ['string', 'null'] },
    touches: ['columns'],
    initial: (): string | null => null,
  }),
  setting({
    name: 'proximityPrecision',
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
  setting({
    name: 'embedders',
    methods: ['PATCH'],
    code: 'invalid_settings_embedders',
    schema: EMBEDDERS,
    touches: ['vectors'],
    initial: (): Embedders => ({}),
    canonical: (sent: PartialEmbedders) =>
      sortedKeys(
        Object.fromEntries(
          Object.entries(sent).map(([name, embedder]) => [
            name,
            embedder === null ? null : inShownOrder(embedder),
          ]),
        ),
      ),
    check: checkPartialEmbedders,
    merge: mergeEmbedders,
    render: obfuscateEmbedders,
  }),
  setting({
    name: 'searchCutoffMs',
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
    methods: ['PUT'],
    code: 'invalid_settings_facet_search',
    schema: FLAG,
    touches: [],
    initial: () => true,
  }),
  setting({
    name: 'prefixSearch',
    methods: ['PUT'],
    code: 'invalid_settings_prefix_search',
    schema: { type: ['string', 'null'], enum: ['indexingTime', 'disabled'] },
    touches: [],
    initial: (): 'indexingTime' | 'disabled' => 'indexingTime',
  }),
  chat,
  setting({
    name: 'vectorStore',
    methods: ['PATCH', 'PUT'],
    code: 'invalid_settings_vector_store',
    schema: { type: ['string', 'null'], enum: ['stable', 'experimental'] },
    touches: [],
    initial: (): 'stable' | 'experimental' => 'stable',
    feature: 'vectorStoreSetting',
    resetOnlyWithFeature: true,
  }),
] as const;
