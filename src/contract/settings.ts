/**
 * The settings of an index: schemas of what may be sent, the canonical form of a request (which is what
 * task details show), merging with the stored settings, and the form of GET.
 *
 * Three states of a field in a request: absent leaves it, null resets it, a value is stored. The stored
 * settings are complete and hold secrets in clear.
 */
import { compareUtf8 } from '../base/json.ts';
import { err, ok, type Result } from '../base/result.ts';
import {
  checkPartialEmbedders,
  DEFAULT_DOCUMENT_TEMPLATE,
  DEFAULT_TEMPLATE_BYTES_MAX,
  EMBEDDERS,
  inShownOrder,
  mergeEmbedders,
  obfuscateEmbedders,
  type Embedders,
  type PartialEmbedders,
} from './embedders.ts';
import { ApiError, featureNotEnabled, type ErrorCode } from './errors.ts';
import type { FeatureSet } from './features.ts';
import { canonicalLocale, LOCALES } from './locales.ts';
import { ascendingFault, validator, type Schema, type Validator } from './schema.ts';
import { templateFault } from './template.ts';

export const DEFAULT_RANKING_RULES = [
  'words',
  'typo',
  'proximity',
  'attribute',
  'sort',
  'exactness',
];

export interface FilterableRule {
  attributePatterns: string[];
  features: { facetSearch: boolean; filter: { equality: boolean; comparison: boolean } };
}

export interface LocalizedRule {
  attributePatterns: string[];
  locales: string[];
}

export interface TypoTolerance {
  enabled: boolean;
  minWordSizeForTypos: { oneTypo: number; twoTypos: number };
  disableOnWords: string[];
  disableOnAttributes: string[];
  disableOnNumbers: boolean;
}

export interface ChatSettings {
  description: string;
  documentTemplate: string;
  documentTemplateMaxBytes: number;
  searchParameters: Record<string, unknown>;
}

/** Complete settings, in the order of GET. */
export interface SettingsObject {
  displayedAttributes: string[];
  searchableAttributes: string[];
  filterableAttributes: (string | FilterableRule)[];
  sortableAttributes: string[];
  foreignKeys: { foreignIndexUid: string; fieldName: string }[];
  rankingRules: string[];
  stopWords: string[];
  nonSeparatorTokens: string[];
  separatorTokens: string[];
  dictionary: string[];
  synonyms: Record<string, string[]>;
  distinctAttribute: string | null;
  proximityPrecision: 'byWord' | 'byAttribute';
  typoTolerance: TypoTolerance;
  faceting: { maxValuesPerFacet: number; sortFacetValuesBy: Record<string, 'alpha' | 'count'> };
  pagination: { maxTotalHits: number };
  embedders: Embedders;
  /** null: 1500 ms. */
  searchCutoffMs: number | null;
  localizedAttributes: LocalizedRule[];
  facetSearch: boolean;
  prefixSearch: 'indexingTime' | 'disabled';
  chat: ChatSettings;
  vectorStore: 'stable' | 'experimental';
}

export type SettingName = keyof SettingsObject;

/** What a request holds, in canonical form: details of tasks show it after `renderPartialSettings`. */
export type PartialSettings = Partial<Record<SettingName, unknown>>;

interface SettingRoute {
  name: SettingName;
  /** Path segment of the child route. */
  segment: string;
  methods: readonly ('PUT' | 'PATCH')[];
  code: ErrorCode;
}

/** In the order of GET. */
export const SETTING_ROUTES: readonly SettingRoute[] = [
  put('displayedAttributes', 'invalid_settings_displayed_attributes'),
  put('searchableAttributes', 'invalid_settings_searchable_attributes'),
  put('filterableAttributes', 'invalid_settings_filterable_attributes'),
  put('sortableAttributes', 'invalid_settings_sortable_attributes'),
  put('foreignKeys', 'invalid_settings_foreign_keys'),
  put('rankingRules', 'invalid_settings_ranking_rules'),
  put('stopWords', 'invalid_settings_stop_words'),
  put('nonSeparatorTokens', 'invalid_settings_non_separator_tokens'),
  put('separatorTokens', 'invalid_settings_separator_tokens'),
  put('dictionary', 'invalid_settings_dictionary'),
  put('synonyms', 'invalid_settings_synonyms'),
  put('distinctAttribute', 'invalid_settings_distinct_attribute'),
  put('proximityPrecision', 'invalid_settings_proximity_precision'),
  patch('typoTolerance', 'invalid_settings_typo_tolerance'),
  patch('faceting', 'invalid_settings_faceting'),
  patch('pagination', 'invalid_settings_pagination'),
  patch('embedders', 'invalid_settings_embedders'),
  put('searchCutoffMs', 'invalid_settings_search_cutoff_ms'),
  put('localizedAttributes', 'invalid_settings_localized_attributes'),
  put('facetSearch', 'invalid_settings_facet_search'),
  put('prefixSearch', 'invalid_settings_prefix_search'),
  patch('chat', 'invalid_settings_index_chat'),
  {
    ...patch('vectorStore', 'invalid_settings_vector_store'),
    methods: ['PATCH', 'PUT'],
  },
];

function put(name: SettingName, code: ErrorCode): SettingRoute {
  return { name, segment: kebabCase(name), methods: ['PUT'], code };
}

function patch(name: SettingName, code: ErrorCode): SettingRoute {
  return { name, segment: kebabCase(name), methods: ['PATCH'], code };
}

function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const TEXTS: Schema = { type: ['array', 'null'], items: { type: 'string' } };
const PATTERNS: Schema = { type: 'array', items: { type: 'string' } };
const FLAG: Schema = { type: ['boolean', 'null'] };

const LOCALIZED_RULES: Schema = {
  type: ['array', 'null'],
  items: {
    type: 'object',
    properties: {
      attributePatterns: PATTERNS,
      locales: { type: 'array', items: { type: 'string', enum: LOCALES } },
    },
    required: ['attributePatterns', 'locales'],
    additionalProperties: false,
  },
};

const TYPO_SIZES: Schema = {
  type: ['object', 'null'],
  properties: {
    oneTypo: { type: ['integer', 'null'], minimum: 0, maximum: 255 },
    twoTypos: { type: ['integer', 'null'], minimum: 0, maximum: 255 },
  },
  additionalProperties: false,
  'x-ascending': ['oneTypo', 'twoTypos'],
};

const VALUES: Readonly<Record<SettingName, Schema>> = {
  displayedAttributes: TEXTS,
  searchableAttributes: TEXTS,
  filterableAttributes: {
    type: ['array', 'null'],
    items: {
      oneOf: [
        { type: 'string' },
        {
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
        },
      ],
    },
  },
  sortableAttributes: TEXTS,
  foreignKeys: {
    type: ['array', 'null'],
    items: {
      type: 'object',
      properties: { foreignIndexUid: { type: 'string' }, fieldName: { type: 'string' } },
      required: ['foreignIndexUid', 'fieldName'],
      additionalProperties: false,
    },
  },
  rankingRules: { type: ['array', 'null'], items: { type: 'string', format: 'ranking-rule' } },
  stopWords: TEXTS,
  nonSeparatorTokens: TEXTS,
  separatorTokens: TEXTS,
  dictionary: TEXTS,
  synonyms: {
    type: ['object', 'null'],
    additionalProperties: { type: 'array', items: { type: 'string' } },
  },
  distinctAttribute: { type: ['string', 'null'] },
  proximityPrecision: { type: ['string', 'null'], enum: ['byWord', 'byAttribute'] },
  typoTolerance: {
    type: ['object', 'null'],
    properties: {
      enabled: FLAG,
      minWordSizeForTypos: TYPO_SIZES,
      disableOnWords: TEXTS,
      disableOnAttributes: TEXTS,
      disableOnNumbers: FLAG,
    },
    additionalProperties: false,
  },
  faceting: {
    type: ['object', 'null'],
    properties: {
      maxValuesPerFacet: { type: ['integer', 'null'], minimum: 0 },
      sortFacetValuesBy: {
        type: ['object', 'null'],
        additionalProperties: { type: 'string', enum: ['alpha', 'count'] },
      },
    },
    additionalProperties: false,
  },
  pagination: {
    type: ['object', 'null'],
    properties: { maxTotalHits: { type: ['integer', 'null'], minimum: 1 } },
    additionalProperties: false,
  },
  embedders: EMBEDDERS,
  searchCutoffMs: { type: ['integer', 'null'], minimum: 0 },
  localizedAttributes: LOCALIZED_RULES,
  facetSearch: FLAG,
  prefixSearch: { type: ['string', 'null'], enum: ['indexingTime', 'disabled'] },
  chat: {
    type: ['object', 'null'],
    properties: {
      description: { type: ['string', 'null'] },
      documentTemplate: { type: ['string', 'null'] },
      documentTemplateMaxBytes: { type: ['integer', 'null'], minimum: 0 },
      searchParameters: {
        type: ['object', 'null'],
        properties: {
          hybrid: {
            type: ['object', 'null'],
            properties: {
              semanticRatio: { type: 'number', minimum: 0, maximum: 1, default: 0.5 },
              embedder: { type: 'string' },
            },
            required: ['embedder'],
            additionalProperties: false,
          },
          limit: { type: ['integer', 'null'], minimum: 0 },
          sort: TEXTS,
          distinct: { type: ['string', 'null'] },
          matchingStrategy: { type: ['string', 'null'], enum: ['last', 'all', 'frequency'] },
          attributesToSearchOn: TEXTS,
          rankingScoreThreshold: { type: ['number', 'null'], minimum: 0, maximum: 1 },
        },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  },
  vectorStore: { type: ['string', 'null'], enum: ['stable', 'experimental'] },
};

/** The value of one setting, with its code for every fault inside. */
function valueSchema({ name, code }: SettingRoute): Schema {
  return { ...VALUES[name], 'x-code': code, 'x-key-code': code };
}

export const SETTINGS: Schema = {
  type: 'object',
  properties: Object.fromEntries(SETTING_ROUTES.map((route) => [route.name, valueSchema(route)])),
  additionalProperties: false,
};

const WHOLE: Validator<Record<string, unknown>> = validator(SETTINGS);

/** Body of a child route: the bare value. */
export function childSchema(route: SettingRoute): Schema {
  const schema = valueSchema(route);
  if (route.name !== 'localizedAttributes') return schema;
  // The wrapped form is accepted as well.
  return {
    oneOf: [
      { ...LOCALIZED_RULES },
      {
        type: 'object',
        properties: { localizedAttributes: LOCALIZED_RULES },
        required: ['localizedAttributes'],
        additionalProperties: false,
      },
    ],
    'x-code': route.code,
    'x-key-code': route.code,
  };
}

const CHILDREN = new Map(
  SETTING_ROUTES.map((route) => [route.name, validator<unknown>(childSchema(route))]),
);

/**
 * Body of PATCH /settings to canonical form: keys in the order of GET.
 * @param marked the body with marked numbers, see `parseJson`
 */
export function parseSettings(body: unknown, marked: unknown): Result<PartialSettings, ApiError> {
  const checked = WHOLE.validate(body, marked);
  return checked.ok ? ok(canonical(checked.value)) : checked;
}

/** Body of a child route to the canonical form of the one setting it names. */
export function parseChildSetting(
  name: SettingName,
  body: unknown,
  marked: unknown,
): Result<PartialSettings, ApiError> {
  const checked = CHILDREN.get(name)!.validate(body, marked);
  if (!checked.ok) return checked;
  let value = checked.value;
  if (name === 'localizedAttributes' && isObject(value)) value = value.localizedAttributes;
  return ok(canonical({ [name]: value }));
}

/**
 * What a request can be refused for after its shape: features, the mix of ranking rules, embedders.
 * Pure: `features` are those in force.
 */
export function checkPartialSettings(
  partial: PartialSettings,
  features: FeatureSet,
): ApiError | null {
  if (isGiven(partial.foreignKeys)) {
    return featureNotEnabled('Setting `foreignKeys`', 'foreignKeys');
  }
  if (isGiven(partial.chat) && !features.chatCompletions) {
    return featureNotEnabled('Setting `chat`', 'chatCompletions');
  }
  if (isGiven(partial.vectorStore) && !features.vectorStoreSetting) {
    return featureNotEnabled('Setting `vectorStore`', 'vectorStoreSetting');
  }
  if (isGiven(partial.rankingRules)) {
    const mix = rankingRuleMix(partial.rankingRules as string[]);
    if (mix !== null) return mix;
  }
  return isGiven(partial.embedders)
    ? checkPartialEmbedders(partial.embedders as PartialEmbedders, features)
    : null;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function rankingRuleMix(rules: readonly string[]): ApiError | null {
  if (!rules.includes('attribute')) return null;
  const split = rules.find((rule) => rule === 'attributeRank' || rule === 'wordPosition');
  if (split === undefined) return null;
  return new ApiError(
    'invalid_settings_ranking_rules',
    `Invalid value at \`.rankingRules\`: \`attribute\` cannot stand beside \`${split}\`, which is a part of it.`,
  );
}

/** Every setting reset: what DELETE /settings stands for. */
export function resetAllSettings(features: FeatureSet): PartialSettings {
  const names = SETTING_ROUTES.map(({ name }) => name).filter(
    (name) => name !== 'vectorStore' || features.vectorStoreSetting,
  );
  return canonical(Object.fromEntries(names.map((name) => [name, null])));
}

export function resetSetting(name: SettingName): PartialSettings {
  return canonical({ [name]: null });
}

// --- Canonical form ---------------------------------------------------------------------------------

function canonical(body: Record<string, unknown>): PartialSettings {
  const partial: PartialSettings = {};
  for (const { name } of SETTING_ROUTES) {
    if (Object.hasOwn(body, name)) partial[name] = canonicalValue(name, body[name]);
  }
  return partial;
}

function canonicalValue(name: SettingName, value: unknown): unknown {
  if (name === 'displayedAttributes' || name === 'searchableAttributes') return value ?? ['*'];
  if (value === null) return null;
  switch (name) {
    case 'sortableAttributes':
    case 'stopWords':
    case 'nonSeparatorTokens':
    case 'separatorTokens':
    case 'dictionary':
      return sortedSet(value as string[]);
    case 'filterableAttributes':
      return (value as (string | Partial<FilterableRule>)[]).map(completeRule);
    case 'synonyms':
      return sortedKeys(value as Record<string, unknown>);
    case 'typoTolerance':
      return canonicalTypoTolerance(value as Record<string, unknown>);
    case 'faceting': {
      const faceting = inOrder(value as Record<string, unknown>, [
        'maxValuesPerFacet',
        'sortFacetValuesBy',
      ]);
      if (isObject(faceting.sortFacetValuesBy)) {
        faceting.sortFacetValuesBy = sortedKeys(faceting.sortFacetValuesBy);
      }
      return faceting;
    }
    case 'embedders':
      return canonicalEmbedders(value as PartialEmbedders);
    case 'chat':
      return canonicalChat(value as Record<string, unknown>);
    default:
      return value;
  }
}

function sortedSet(values: readonly string[]): string[] {
  return [...new Set(values)].sort(compareUtf8);
}

function sortedKeys<T>(map: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => compareUtf8(a, b)));
}

function inOrder(
  value: Record<string, unknown>,
  order: readonly string[],
): Record<string, unknown> {
  const ordered: Record<string, unknown> = {};
  for (const key of order) if (Object.hasOwn(value, key)) ordered[key] = value[key];
  return ordered;
}

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

function canonicalTypoTolerance(value: Record<string, unknown>): Record<string, unknown> {
  const ordered = inOrder(value, [
    'enabled',
    'minWordSizeForTypos',
    'disableOnWords',
    'disableOnAttributes',
    'disableOnNumbers',
  ]);
  if (isObject(ordered.minWordSizeForTypos)) {
    ordered.minWordSizeForTypos = inOrder(ordered.minWordSizeForTypos, ['oneTypo', 'twoTypos']);
  }
  for (const list of ['disableOnWords', 'disableOnAttributes']) {
    if (Array.isArray(ordered[list])) ordered[list] = sortedSet(ordered[list] as string[]);
  }
  return ordered;
}

function canonicalEmbedders(value: PartialEmbedders): PartialEmbedders {
  return sortedKeys(
    Object.fromEntries(
      Object.entries(value).map(([name, embedder]) => [
        name,
        embedder === null ? null : inShownOrder(embedder),
      ]),
    ),
  );
}

const CHAT_SEARCH_PARAMETERS = [
  'hybrid',
  'limit',
  'sort',
  'distinct',
  'matchingStrategy',
  'attributesToSearchOn',
  'rankingScoreThreshold',
];

function canonicalChat(value: Record<string, unknown>): Record<string, unknown> {
  const chat = inOrder(value, [
    'description',
    'documentTemplate',
    'documentTemplateMaxBytes',
    'searchParameters',
  ]);
  if (isObject(chat.searchParameters)) {
    const parameters = inOrder(chat.searchParameters, CHAT_SEARCH_PARAMETERS);
    if (isObject(parameters.hybrid)) {
      parameters.hybrid = {
        semanticRatio: parameters.hybrid.semanticRatio ?? 0.5,
        embedder: parameters.hybrid.embedder,
      };
    }
    chat.searchParameters = parameters;
  }
  return chat;
}

// --- Stored settings --------------------------------------------------------------------------------

export function defaultSettings(): SettingsObject {
  return {
    displayedAttributes: ['*'],
    searchableAttributes: ['*'],
    filterableAttributes: [],
    sortableAttributes: [],
    foreignKeys: [],
    rankingRules: [...DEFAULT_RANKING_RULES],
    stopWords: [],
    nonSeparatorTokens: [],
    separatorTokens: [],
    dictionary: [],
    synonyms: {},
    distinctAttribute: null,
    proximityPrecision: 'byWord',
    typoTolerance: {
      enabled: true,
      minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 },
      disableOnWords: [],
      disableOnAttributes: [],
      disableOnNumbers: false,
    },
    faceting: { maxValuesPerFacet: 100, sortFacetValuesBy: { '*': 'alpha' } },
    pagination: { maxTotalHits: 1000 },
    embedders: {},
    searchCutoffMs: null,
    localizedAttributes: [],
    facetSearch: true,
    prefixSearch: 'indexingTime',
    chat: {
      description: '',
      documentTemplate: DEFAULT_DOCUMENT_TEMPLATE,
      documentTemplateMaxBytes: DEFAULT_TEMPLATE_BYTES_MAX,
      searchParameters: {},
    },
    vectorStore: 'stable',
  };
}

/**
 * The stored settings with a request applied. Checks that need the stored ones are made here; a task
 * fails with what is returned, and its index keeps the settings it had.
 * @param stored null: never set
 * @param partial canonical form
 */
export function mergeSettings(
  stored: SettingsObject | null,
  partial: PartialSettings,
): Result<SettingsObject, ApiError> {
  const defaults = defaultSettings();
  const merged: SettingsObject = { ...defaults, ...stored };
  const target = merged as unknown as Record<string, unknown>;
  for (const { name } of SETTING_ROUTES) {
    if (!Object.hasOwn(partial, name)) continue;
    const value = partial[name];
    if (name === 'embedders') {
      const embedders = mergeEmbedders(merged.embedders, value as PartialEmbedders | null);
      if (!embedders.ok) return embedders;
      merged.embedders = embedders.value;
    } else if (value === null) target[name] = defaults[name];
    else if (name === 'typoTolerance') {
      const typo = mergeTypoTolerance(merged.typoTolerance, value as Record<string, unknown>);
      if (!typo.ok) return typo;
      merged.typoTolerance = typo.value;
    } else if (name === 'chat') {
      const chat = mergeChat(merged.chat, value as Record<string, unknown>);
      if (!chat.ok) return chat;
      merged.chat = chat.value;
    } else target[name] = storedValue(name, value, merged);
  }
  const mix = rankingRuleMix(merged.rankingRules);
  return mix === null ? ok(merged) : err(mix);
}

/** The stored form of a setting that is replaced whole, or merged without a check. */
function storedValue(name: SettingName, value: unknown, current: SettingsObject): unknown {
  switch (name) {
    case 'displayedAttributes':
    case 'searchableAttributes': {
      const names = [...new Set(value as string[])];
      return names.includes('*') ? ['*'] : names;
    }
    case 'stopWords':
      return sortedSet((value as string[]).map((word) => word.normalize('NFKD')));
    case 'localizedAttributes':
      return (value as LocalizedRule[]).map(({ attributePatterns, locales }) => ({
        attributePatterns,
        locales: locales.map(canonicalLocale),
      }));
    case 'faceting': {
      const change = value as { maxValuesPerFacet?: number | null; sortFacetValuesBy?: unknown };
      const { maxValuesPerFacet, sortFacetValuesBy } = change;
      const initial = defaultSettings().faceting;
      return {
        maxValuesPerFacet:
          maxValuesPerFacet === undefined
            ? current.faceting.maxValuesPerFacet
            : (maxValuesPerFacet ?? initial.maxValuesPerFacet),
        sortFacetValuesBy:
          sortFacetValuesBy === undefined
            ? current.faceting.sortFacetValuesBy
            : sortedKeys({ '*': 'alpha', ...(sortFacetValuesBy as object | null) }),
      };
    }
    case 'pagination': {
      const { maxTotalHits } = value as { maxTotalHits?: number | null };
      return {
        maxTotalHits:
          maxTotalHits === undefined
            ? current.pagination.maxTotalHits
            : (maxTotalHits ?? defaultSettings().pagination.maxTotalHits),
      };
    }
    default:
      return value;
  }
}

function mergeTypoTolerance(
  current: TypoTolerance,
  change: Record<string, unknown>,
): Result<TypoTolerance, ApiError> {
  const initial = defaultSettings().typoTolerance;
  const field = <K extends keyof TypoTolerance>(name: K): TypoTolerance[K] =>
    change[name] === undefined
      ? current[name]
      : ((change[name] ?? initial[name]) as TypoTolerance[K]);
  const sizes = change.minWordSizeForTypos as Record<string, number | null> | null | undefined;
  const size = (name: 'oneTypo' | 'twoTypos'): number => {
    if (sizes === null) return initial.minWordSizeForTypos[name];
    if (sizes === undefined || sizes[name] === undefined) return current.minWordSizeForTypos[name];
    return sizes[name] ?? initial.minWordSizeForTypos[name];
  };
  const merged: TypoTolerance = {
    enabled: field('enabled'),
    minWordSizeForTypos: { oneTypo: size('oneTypo'), twoTypos: size('twoTypos') },
    disableOnWords: sortedSet(field('disableOnWords').map(normalizedWord)),
    disableOnAttributes: field('disableOnAttributes'),
    disableOnNumbers: field('disableOnNumbers'),
  };
  const code = 'invalid_settings_typo_tolerance';
  const fault = ascendingFault(TYPO_SIZES, code, merged.minWordSizeForTypos);
  if (fault === null) return ok(merged);
  return err(fault.under('.typoTolerance.minWordSizeForTypos').toError());
}

/** Lower case without accents, the form in which words are compared. */
function normalizedWord(word: string): string {
  return word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

function mergeChat(
  current: ChatSettings,
  change: Record<string, unknown>,
): Result<ChatSettings, ApiError> {
  const initial = defaultSettings().chat;
  const field = <K extends keyof ChatSettings>(name: K): ChatSettings[K] =>
    change[name] === undefined
      ? current[name]
      : ((change[name] ?? initial[name]) as ChatSettings[K]);
  const merged: ChatSettings = {
    description: field('description'),
    documentTemplate: field('documentTemplate'),
    documentTemplateMaxBytes: field('documentTemplateMaxBytes'),
    searchParameters: current.searchParameters,
  };
  if (change.searchParameters === null) merged.searchParameters = {};
  else if (isObject(change.searchParameters)) {
    const parameters = { ...current.searchParameters, ...change.searchParameters };
    merged.searchParameters = Object.fromEntries(
      CHAT_SEARCH_PARAMETERS.filter((name) => isGiven(parameters[name])).map((name) => [
        name,
        parameters[name],
      ]),
    );
  }
  const reason = templateFault(merged.documentTemplate);
  if (reason !== null) {
    return err(
      new ApiError(
        'invalid_chat_setting_document_template',
        `\`.chat.documentTemplate\`: the template does not parse: ${reason}.`,
      ),
    );
  }
  if (merged.documentTemplateMaxBytes === 0) {
    return err(
      new ApiError(
        'invalid_settings_index_chat',
        '`.chat.documentTemplateMaxBytes`: a zero was found, at least 1 is required.',
      ),
    );
  }
  return ok(merged);
}

// --- Views ------------------------------------------------------------------------------------------

/** The body of GET /settings: keys in order, those of features that are off left out, no secrets. */
export function renderSettings(
  complete: SettingsObject,
  features: FeatureSet,
): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const { name } of SETTING_ROUTES) {
    if (name === 'foreignKeys') continue;
    if (name === 'chat' && !features.chatCompletions) continue;
    if (name === 'vectorStore' && !features.vectorStoreSetting) continue;
    body[name] = renderSetting(complete, name);
  }
  return body;
}

/** The body of a child GET. */
export function renderSetting(complete: SettingsObject, name: SettingName): unknown {
  return name === 'embedders' ? obfuscateEmbedders(complete.embedders) : complete[name];
}

/** Task details of a canonical partial object: the same without secrets. */
export function renderPartialSettings(partial: PartialSettings): Record<string, unknown> {
  if (!isGiven(partial.embedders)) return partial;
  return { ...partial, embedders: obfuscateEmbedders(partial.embedders as PartialEmbedders) };
}
