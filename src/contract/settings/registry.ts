/** Every setting of an index, in the order of GET /settings. */
import { ok } from '../../base/result.ts';
import {
  integer,
  list,
  map,
  nullable,
  object,
  oneOf,
  optionals,
  string,
  type Static,
} from '../declare.ts';
import { MATCHING_STRATEGIES } from '../matching-strategies.ts';
import { chat } from './chat.ts';
import { embedders } from './embedders.ts';
import { faceting } from './faceting.ts';
import { filterableAttributes } from './filterable-attributes.ts';
import { localizedAttributes } from './localized-attributes.ts';
import { rankingRules } from './ranking-rules.ts';
import { rerankers } from './rerankers.ts';
import { searchableAttributes } from './searchable-attributes.ts';
import { FLAG, mergeFields, PATTERNS, setting, sortedKeys, sortedSet, TEXTS } from './setting.ts';
import { suggestions } from './suggestions.ts';
import { typoTolerance } from './typo-tolerance.ts';

/** Maximum per index; each is looked for in every hit. */
const FOREIGN_KEYS_MAX = 100;
const FOREIGN_KEYS = nullable(
  list(object({ foreignIndexUid: string(), fieldName: string() }), {
    maxItems: FOREIGN_KEYS_MAX,
  }),
);

/** What a search has when its index says nothing. */
export const SEARCH_CUTOFF_MS = 1500;

const allAttributes = (): string[] => ['*'];
const none = (): string[] => [];

/** One of these names. */
function chosen<const N extends string>(names: readonly N[], initial: N) {
  return { schema: nullable(oneOf(names)), initial: (): N => initial };
}

/** Each name once; the star replaces all of them. */
function mergeAttributes(_current: string[], change: string[]) {
  const names = [...new Set(change)];
  return ok(names.includes('*') ? allAttributes() : names);
}

/** The score from which hits count that only vectors find. */
type SemanticCutoff = 'auto' | 'off' | number;

export const SETTINGS = [
  setting({
    name: 'displayedAttributes',
    group: 'Fields',
    explanation:
      'The only fields that a search returns. `*` means all. The routes of documents return whole documents.',
    methods: ['PUT'],
    code: 'invalid_settings_displayed_attributes',
    schema: TEXTS,
    touches: [],
    initial: allAttributes,
    resetForm: allAttributes,
    merge: mergeAttributes,
  }),
  searchableAttributes,
  filterableAttributes,
  setting({
    name: 'sortableAttributes',
    group: 'Fields',
    explanation: 'Fields that a search can sort by. `_geo` allows sorting by distance.',
    methods: ['PUT'],
    code: 'invalid_settings_sortable_attributes',
    schema: TEXTS,
    touches: ['columns'],
    initial: none,
    canonical: sortedSet,
  }),
  setting({
    name: 'foreignKeys',
    group: 'Fields',
    explanation:
      'Fields with ids of documents in another index. A search can return those documents instead of the ids, and filter by them.',
    methods: ['PUT'],
    code: 'invalid_settings_foreign_keys',
    schema: FOREIGN_KEYS,
    touches: [],
    initial: (): NonNullable<Static<typeof FOREIGN_KEYS>> => [],
    feature: 'foreignKeys',
  }),
  rankingRules,
  setting({
    name: 'stopWords',
    group: 'Words',
    explanation: 'Words that a search ignores because almost every document contains them.',
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
    group: 'Characters',
    explanation:
      'Characters that become part of words instead of separating them, such as `@` or `#`.',
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
    group: 'Characters',
    explanation: 'Additional characters or texts that separate words, such as `&`.',
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
    group: 'Words',
    explanation: 'Words that stay whole although they contain a separator, such as `J. R. R.`.',
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
    group: 'Words',
    explanation:
      'For one or several words, the words that a search for them also finds. Synonyms work in one direction: list both for both directions.',
    methods: ['PUT'],
    code: 'invalid_settings_synonyms',
    schema: nullable(map(PATTERNS)),
    mayBeLong: true,
    touches: [],
    initial: (): Record<string, string[]> => ({}),
    canonical: sortedKeys,
  }),
  setting({
    name: 'distinctAttribute',
    group: 'Fields',
    explanation:
      'Show only the best document for each value of this field: for example a product once instead of in each colour.',
    methods: ['PUT'],
    code: 'invalid_settings_distinct_attribute',
    schema: nullable(string()),
    touches: ['columns'],
    initial: (): string | null => null,
  }),
  setting({
    name: 'expiresAtAttribute',
    group: 'Fields',
    explanation:
      'A field with a date in RFC 3339 or in seconds since 1970. From that second on the document is not found, and it is deleted soon after. Of several dates the earliest counts.',
    methods: ['PUT'],
    code: 'invalid_settings_expires_at_attribute',
    schema: nullable(string()),
    touches: ['columns'],
    initial: (): string | null => null,
    addition: true,
  }),
  setting({
    name: 'substringAttributes',
    group: 'Fields',
    explanation:
      'Fields, such as `sku` or `phone`, in whose words a word of the query with at least three characters also matches: `4711` in `AB4711X`.',
    methods: ['PUT'],
    code: 'invalid_settings_substring_attributes',
    schema: TEXTS,
    touches: ['text'],
    initial: none,
    addition: true,
    canonical: sortedSet,
  }),
  setting({
    name: 'proximityPrecision',
    group: 'Ranking',
    explanation:
      'How precisely the distance between words is measured: `byWord`, or `byAttribute`, which only checks whether they are in the same field.',
    methods: ['PUT'],
    code: 'invalid_settings_proximity_precision',
    ...chosen(['byWord', 'byAttribute'], 'byWord'),
    touches: [],
  }),
  typoTolerance,
  faceting,
  setting({
    name: 'pagination',
    group: 'Limits',
    explanation:
      'How many results paging can reach. Far more than ten thousand make deep pages slow.',
    methods: ['PATCH'],
    code: 'invalid_settings_pagination',
    schema: nullable(object(optionals({ maxTotalHits: nullable(integer({ minimum: 1 })) }))),
    touches: [],
    initial: () => ({ maxTotalHits: 1000 }),
    merge: (current: { maxTotalHits: number }, change: object) =>
      ok(mergeFields(current, change, { maxTotalHits: 1000 })),
  }),
  embedders,
  rerankers,
  setting({
    name: 'semanticCutoff',
    group: 'Meaning',
    explanation:
      'Hits that only vectors find count from this score on: `off` for all, `auto` for a score that is measured on the embeddings of the index, or a number from 0 to 1.',
    methods: ['PUT'],
    code: 'invalid_settings_semantic_cutoff',
    schema: {
      oneOf: [
        { type: ['string', 'null'], enum: ['auto', 'off'] },
        { type: 'number', minimum: 0, maximum: 1 },
      ],
    },
    touches: [],
    initial: (): SemanticCutoff => 'off',
    addition: true,
  }),
  setting({
    name: 'searchCutoffMs',
    group: 'Limits',
    explanation: `Milliseconds after which a search returns what it has ranked by then. ${SEARCH_CUTOFF_MS} by default.`,
    methods: ['PUT'],
    code: 'invalid_settings_search_cutoff_ms',
    schema: nullable(integer({ minimum: 0 })),
    touches: [],
    // null: SEARCH_CUTOFF_MS.
    initial: (): number | null => null,
  }),
  localizedAttributes,
  setting({
    name: 'facetSearch',
    group: 'Limits',
    explanation: 'Whether facet values can be searched.',
    methods: ['PUT'],
    code: 'invalid_settings_facet_search',
    schema: FLAG,
    touches: [],
    initial: () => true,
  }),
  setting({
    name: 'prefixSearch',
    group: 'Ranking',
    explanation:
      'Whether the last word of a query also finds words that begin with it, for search as you type: `indexingTime`, or `disabled`.',
    methods: ['PUT'],
    code: 'invalid_settings_prefix_search',
    ...chosen(['indexingTime', 'disabled'], 'indexingTime'),
    touches: [],
  }),
  setting({
    name: 'defaultMatchingStrategy',
    group: 'Ranking',
    explanation:
      'The `matchingStrategy` of searches that name none: `last`, `all`, `frequency`, or `natural`, which answers whole questions.',
    methods: ['PUT'],
    code: 'invalid_settings_default_matching_strategy',
    ...chosen(MATCHING_STRATEGIES, 'last'),
    touches: [],
    addition: true,
  }),
  suggestions,
  chat,
  setting({
    name: 'vectorStore',
    group: 'Meaning',
    explanation: 'How vectors are stored.',
    methods: ['PATCH', 'PUT'],
    code: 'invalid_settings_vector_store',
    ...chosen(['stable', 'experimental'], 'stable'),
    touches: [],
    feature: 'vectorStoreSetting',
    resetOnlyWithFeature: true,
  }),
] as const;
