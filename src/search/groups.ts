/**
 * `groupBy`: hits by the values of an attribute (docs/behaviour/groups.md). The groups of a page
 * are the hits of a search with `distinct`; the hits of each group are those of the same search
 * among the documents with its value.
 */
import { combineFilters } from '../auth/tenant-token.ts';
import { membersAt } from '../base/json-spans.ts';
import { ApiError } from '../contract/errors.ts';
import { quotedInFilter } from '../contract/filters.ts';
import { isGiven } from '../contract/settings/setting.ts';
import type { GroupBy, SearchRequest } from '../contract/search.ts';
import type { RequestLimits } from '../contract/limits.ts';
import { joined, type SearchResponse } from './response.ts';

type Scalar = string | number | boolean;

export interface Grouping {
  attribute: string;
  hits: number;
  limit: number;
  page: number;
  facetsPer: 'document' | 'group';
  /** The search without its groups. */
  base: SearchRequest;
}

/** A group of the page: the values of its best hit. None: that hit is the whole group. */
interface Group {
  values: Scalar[];
  hit: string;
}

/** Throws `ApiError` for parameters that a grouped search does not take. */
export function groupingOf(request: SearchRequest, groupBy: GroupBy): Grouping {
  const { groupBy: _, facetsPer, ...base } = request;
  const other = ['distinct', 'limit', 'offset', 'page', 'hitsPerPage', 'personalize'] as const;
  const given = other.find((name) => isGiven(base[name]));
  if (given !== undefined) throw refused(`\`groupBy\` cannot be combined with \`${given}\``);
  const on = (['showPerformanceDetails', 'useNetwork'] as const).find(
    (name) => base[name] === true,
  );
  if (on !== undefined) throw refused(`\`groupBy\` cannot be combined with \`${on}\``);
  if (isGiven(base.media) || (isGiven(base.hybrid) && !isGiven(base.vector)))
    throw refused('`groupBy` needs the `vector` of a hybrid search');
  const { attribute, hits, limit, page } = groupBy;
  return {
    ...{ attribute, hits: hits ?? 3, limit: limit ?? 20, page: page ?? 1, base },
    facetsPer: facetsPer ?? 'document',
  };
}

function refused(reason: string): ApiError {
  return new ApiError('invalid_search_group_by', `${reason}.`);
}

export function notDisplayed(attribute: string): ApiError {
  return refused(`The attribute \`${attribute}\` of \`groupBy\` is not displayed`);
}

/** The search for the best hit of each group of the page. */
export function bestHits({ base, attribute, limit, page, facetsPer }: Grouping): SearchRequest {
  const shown = base.attributesToRetrieve;
  return {
    ...base,
    ...{ distinct: attribute, page, hitsPerPage: limit },
    ...(isGiven(shown) && { attributesToRetrieve: [...shown, attribute] }),
    facets: facetsPer === 'group' ? (base.facets ?? null) : null,
  };
}

/** Reads the groups from the response to {@link bestHits}. */
export function groupsIn(response: SearchResponse, attribute: string): Group[] {
  return hitsIn(response).map((hit) => {
    const values = new Set<Scalar>();
    collectAt(JSON.parse(hit) as unknown, attribute, values);
    return { values: [...values], hit };
  });
}

/** The searches for the hits of groups that have a value; then one for facets, if they are asked. */
export function searchesOf(grouping: Grouping, groups: readonly Group[]): SearchRequest[] {
  const { base, attribute, hits, facetsPer } = grouping;
  const searches = groups
    .filter(({ values }) => values.length > 0)
    .map(({ values }): SearchRequest => {
      const list = values.map((value) => quotedInFilter(String(value))).join(', ');
      const filter = combineFilters(base.filter, `${quotedInFilter(attribute)} IN [${list}]`);
      return { ...base, filter, facets: null, page: 1, hitsPerPage: hits };
    });
  if (facetsPer === 'document' && (base.facets ?? []).length > 0) {
    searches.push({ ...base, page: 1, hitsPerPage: 0 });
  }
  return searches;
}

/**
 * @param best the response to {@link bestHits}
 * @param found the responses to {@link searchesOf}
 */
export function groupedResponse(
  { base, limit, page, facetsPer }: Grouping,
  groups: readonly Group[],
  best: SearchResponse,
  found: readonly SearchResponse[],
  limits: RequestLimits,
): SearchResponse {
  let next = 0;
  const texts = groups.map(({ values, hit }): string => {
    const response = values.length === 0 ? undefined : found[next++];
    const own = response === undefined ? [] : hitsIn(response);
    // Its value may be longer than what a filter compares: then the group is its best hit alone.
    const shown = own.length === 0 ? [hit] : own;
    const value = JSON.stringify(values.length > 1 ? values : (values[0] ?? null));
    const total = Math.max(response?.head.totalHits ?? 1, 1);
    return `{"value":${value},"totalHits":${total},"hits":[${shown.join(',')}]}`;
  });
  const facets = facetsPer === 'group' ? best : found[next];
  const totalGroups = best.head.totalHits ?? 0;
  const heads = [best, ...found].map(({ head }) => head);
  const processingTimeMs = heads.reduce((sum, head) => sum + head.processingTimeMs, 0);
  const members = [
    `"hits":[],"query":${JSON.stringify(base.q ?? '')}`,
    `"processingTimeMs":${processingTimeMs},"groups":[${texts.join(',')}]`,
    `"totalGroups":${totalGroups},"page":${page},"limit":${limit}`,
    ...['facetDistribution', 'facetStats'].flatMap((name) => {
      const text = facets && memberOf(facets, name);
      return text === undefined ? [] : [`"${name}":${text}`];
    }),
  ];
  return {
    bytes: joined([`{${members.join(',')}}`], limits),
    head: {
      processingTimeMs,
      degraded: heads.some(({ degraded }) => degraded),
      totalHits: totalGroups,
    },
  };
}

/** The text of a member behind the hits. */
function memberOf({ bytes, head }: SearchResponse, name: string): string | undefined {
  const spans = head.hitSpans ?? new Uint32Array();
  const text =
    spans.length === 0 ? bytes.toString() : `{"hits":[${bytes.toString('utf8', spans.at(-1))}`;
  const member = membersAt(text, 0).find((each) => each.name === name);
  return member && text.slice(member.begin, member.end);
}

/** The texts of the hits of a response. */
function hitsIn({ bytes, head }: SearchResponse): string[] {
  const spans = head.hitSpans ?? new Uint32Array();
  return Array.from({ length: spans.length / 2 }, (_, n) =>
    bytes.toString('utf8', spans[2 * n], spans[2 * n + 1]),
  );
}

/** Adds the values of a document at a dotted path, those of lists one by one. */
function collectAt(node: unknown, path: string, into: Set<Scalar>): void {
  if (Array.isArray(node)) {
    for (const item of node) collectAt(item, path, into);
  } else if (node !== null && typeof node === 'object') {
    for (const [key, value] of Object.entries(node)) {
      if (key === path) collect(value, into);
      else if (path.startsWith(`${key}.`)) collectAt(value, path.slice(key.length + 1), into);
    }
  }
}

function collect(value: unknown, into: Set<Scalar>): void {
  if (Array.isArray(value)) for (const item of value) collect(item, into);
  else if (typeof value === 'string' ? value.trim() !== '' : isScalar(value)) {
    into.add(value as Scalar);
  }
}

function isScalar(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'boolean';
}
