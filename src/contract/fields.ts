/** `POST /indexes/{uid}/fields`: what the settings define for each field of an index. */
import { attributeNames } from './settings/searchable-attributes.ts';
import { own } from '../base/own.ts';
import type { FilterableRule } from './settings/filterable-attributes.ts';
import {
  boolean,
  each,
  list,
  nullable,
  object,
  optionals,
  string,
  type Static,
} from './declare.ts';
import { pageMembers } from './pages.ts';
import type { SettingsObject } from './settings.ts';

const FLAGS = {
  displayed: 'invalid_index_fields_filter_displayed',
  searchable: 'invalid_index_fields_filter_searchable',
  sortable: 'invalid_index_fields_filter_sortable',
  distinct: 'invalid_index_fields_filter_distinct',
  rankingRule: 'invalid_index_fields_filter_ranking_rule',
  filterable: 'invalid_index_fields_filter_filterable',
} as const;
type Flag = keyof typeof FLAGS;
const FLAG_NAMES = Object.keys(FLAGS) as Flag[];

/** Each is compared with every field of the index. */
const PATTERNS_MAX = 256;

const FILTER = object(
  optionals({
    attributePatterns: nullable(
      list(string({ 'x-code': 'invalid_index_fields_filter_attribute_patterns' }), {
        maxItems: PATTERNS_MAX,
        'x-code': 'invalid_index_fields_filter_attribute_patterns',
      }),
    ),
    ...each(FLAG_NAMES, (name) => nullable(boolean({ 'x-code': FLAGS[name] }))),
  }),
  { 'x-code': 'invalid_index_fields_filter', 'x-key-code': 'invalid_index_fields_filter' },
);
export type FieldFilter = Static<typeof FILTER>;

export const FIELDS = object(
  optionals({
    ...pageMembers('invalid_index_offset', 'invalid_index_limit'),
    filter: nullable(FILTER),
  }),
);
export type FieldsRequest = Static<typeof FIELDS>;

export interface FieldView extends Record<
  Exclude<Flag, 'rankingRule' | 'filterable'>,
  { enabled: boolean }
> {
  name: string;
  rankingRule: { enabled: boolean; order?: 'asc' | 'desc' };
  filterable: {
    enabled: boolean;
    sortBy: string;
    facetSearch: boolean;
    equality: boolean;
    comparison: boolean;
    date?: true;
    elements?: true;
  };
  localized: { locales: string[] };
}

/** A list entry covers a field of its name and everything below it. */
export function covers(entry: string, field: string): boolean {
  return entry === field || field.startsWith(`${entry}.`);
}

/** Names with a star at the end, at the start, or at both; others match only themselves. */
export function matchesPattern(pattern: string, field: string): boolean {
  if (pattern === '*') return true;
  const open = pattern.startsWith('*');
  const close = pattern.endsWith('*');
  const inner = pattern.slice(open ? 1 : 0, close ? -1 : undefined);
  // A star inside a name is an ordinary character.
  if (open && close) return field.includes(inner);
  if (open) return field.endsWith(inner);
  return close ? field.startsWith(inner) : field === pattern;
}

function isReserved(field: string): boolean {
  return /^_(?:vectors|geo|geojson)(?:\.|$)/.test(field);
}

/** Whether a list of attributes (null: all) contains the field or one of its parents. */
export function listed(list: readonly string[] | null, field: string): boolean {
  return list === null || list.includes('*') || list.some((entry) => covers(entry, field));
}

const NO_FEATURES: FilterableRule['features'] = {
  facetSearch: false,
  filter: { equality: false, comparison: false },
};

/** The features of the first entry that matches. */
function filterFeatures(
  rules: readonly (string | FilterableRule)[],
  field: string,
): FilterableRule['features'] {
  for (const rule of rules) {
    if (typeof rule === 'string') {
      if (covers(rule, field)) {
        return { facetSearch: true, filter: { equality: true, comparison: true } };
      }
    } else if (!isReserved(field) && rule.attributePatterns.some((p) => matchesPattern(p, field))) {
      return rule.features;
    }
  }
  return NO_FEATURES;
}

function localesOf(rules: SettingsObject['localizedAttributes'], field: string): string[] {
  const rule = (rules ?? []).find(({ attributePatterns }) =>
    attributePatterns.some((pattern) => matchesPattern(pattern, field)),
  );
  return (rule?.locales ?? []).map((code) => code[0]!.toUpperCase() + code.slice(1));
}

export function fieldView(name: string, settings: SettingsObject): FieldView {
  const { facetSearch, filter } = filterFeatures(settings.filterableAttributes, name);
  const { equality, comparison, date, elements } = filter;
  const rule = settings.rankingRules
    .map((text) => /^(.+):(asc|desc)$/.exec(text))
    .find((match) => match !== null && covers(match[1]!, name));
  const sortBy = settings.faceting.sortFacetValuesBy as Record<string, string>;
  return {
    name,
    displayed: {
      enabled: !name.startsWith('_vectors') && listed(settings.displayedAttributes, name),
    },
    searchable: {
      enabled: !isReserved(name) && listed(attributeNames(settings.searchableAttributes), name),
    },
    sortable: { enabled: settings.sortableAttributes.some((entry) => covers(entry, name)) },
    distinct: { enabled: settings.distinctAttribute === name },
    rankingRule:
      rule === undefined || rule === null
        ? { enabled: false }
        : { enabled: true, order: rule[2] as 'asc' | 'desc' },
    filterable: {
      enabled: facetSearch || equality || comparison || date === true || elements === true,
      sortBy: own(sortBy, name) ?? sortBy['*'] ?? 'alpha',
      facetSearch,
      equality,
      comparison,
      ...(date && { date }),
      ...(elements && { elements }),
    },
    localized: { locales: localesOf(settings.localizedAttributes, name) },
  };
}

export function meets(view: FieldView, filter: FieldFilter | null | undefined): boolean {
  if (filter === null || filter === undefined) return true;
  const { attributePatterns, ...flags } = filter;
  if (
    attributePatterns &&
    !attributePatterns.some((pattern) => matchesPattern(pattern, view.name))
  ) {
    return false;
  }
  return Object.entries(flags).every(
    ([flag, wanted]) => wanted === null || view[flag as Flag].enabled === wanted,
  );
}
