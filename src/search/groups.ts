/**
 * `groupBy` (docs/behaviour/groups.md). The engine makes the groups of this server
 * (`native/search/federation/groups.cc`), this file those of several servers: the groups of a page
 * are the hits of a search with `distinct`; the further hits of each group are those of the same
 * search among the documents with its value.
 */
import { combineFilters } from '../auth/tenant-token.ts';
import { membersAt } from '../base/json-spans.ts';
import { ApiError } from '../contract/errors.ts';
import { quotedInFilter } from '../contract/filters.ts';
import { isGiven } from '../contract/settings/setting.ts';
import {
  completeGroupBy,
  type Groupable,
  type GroupBy,
  type SearchRequest,
} from '../contract/search.ts';
import type { RequestLimits } from '../contract/limits.ts';
import { joined, type SearchResponse } from './response.ts';

type Scalar = string | number | boolean;

/** `groupBy` with its defaults. */
export interface Grouping extends GroupBy {
  hits: number;
  limit: number;
  page: number;
  facetsPer: 'document' | 'group';
}

/** The lists of hits that make a grouped search. */
export interface GroupedLists {
  hasFacets: boolean;
  /** Ranks of hits among the documents of a group differ from those in the whole list. */
  isHybrid: boolean;
  /** The best hit of each group of the page. */
  best: (withFacets: boolean) => Promise<SearchResponse>;
  /** The first hits that meet a condition. */
  among: (condition: string) => Promise<SearchResponse>;
  /** The facets of all hits. */
  facets: () => Promise<SearchResponse>;
  /** Members at the start of the response, and names of those that come from the lists. */
  start: string[];
  facetMembers: readonly string[];
}

/** A group of the page: the values of its best hit. None: that hit is the whole group. */
interface Group {
  values: Scalar[];
  hit: Hit;
}

interface Hit {
  text: string;
  /** What identifies its document, or its text. */
  document: string;
}

/** The parameters that say which hits of a list are returned, or once per value. */
const WINDOW = [
  'distinct',
  'limit',
  'offset',
  'page',
  'hitsPerPage',
  'personalize',
  'rerank',
] as const;

/**
 * The search with the defaults of its groups, if it has any. Throws `ApiError` for parameters that
 * these do not take.
 */
export function grouped<T extends Groupable>(search: T): T & { groupBy?: Grouping | null } {
  const { facetsPer, showPerformanceDetails, groupBy, ...base } = search;
  if (!isGiven(groupBy)) return base as T & { groupBy?: null };
  const given =
    WINDOW.find((name) => isGiven(search[name])) ??
    (showPerformanceDetails === true ? 'showPerformanceDetails' : undefined);
  if (given !== undefined) throw refused(`\`groupBy\` cannot be combined with \`${given}\``);
  const grouping = { ...completeGroupBy(groupBy), facetsPer: facetsPer ?? 'document' };
  return { ...(base as T), groupBy: grouping };
}

function refused(reason: string): ApiError {
  return new ApiError('invalid_search_group_by', `${reason}.`);
}

export function notDisplayed(attribute: string): ApiError {
  return refused(`The attribute \`${attribute}\` of \`groupBy\` is not displayed`);
}

/** The window of the best hits of the groups of a page. */
export function bestHits({ attribute, page, limit }: Grouping): {
  distinct: string;
  page: number;
  hitsPerPage: number;
} {
  return { distinct: attribute, page, hitsPerPage: limit };
}

/** The search with the attribute in its hits, which have the value of their group. */
export function showing<T extends SearchRequest>(search: T, attribute: string): T {
  const shown = search.attributesToRetrieve;
  return isGiven(shown) ? { ...search, attributesToRetrieve: [...shown, attribute] } : search;
}

/** The search among the documents that meet the condition as well. */
export function among<T extends SearchRequest>(search: T, condition: string): T {
  return { ...search, filter: combineFilters(search.filter, condition) };
}

/** @param several runs searches; few concurrently */
export async function groupedSearch(
  grouping: Grouping,
  lists: GroupedLists,
  limits: RequestLimits,
  several: (
    count: number,
    run: (position: number) => Promise<SearchResponse>,
  ) => Promise<SearchResponse[]>,
): Promise<SearchResponse> {
  const { attribute, limit, page } = grouping;
  const perGroup = grouping.facetsPer === 'group';
  const best = await lists.best(perGroup && lists.hasFacets);
  const groups = groupsIn(best, attribute);
  const conditions = groups
    .filter(({ values }) => values.length > 0)
    .map(({ values }) => {
      const list = values.map((value) => quotedInFilter(String(value))).join(', ');
      return `${quotedInFilter(attribute)} IN [${list}]`;
    });
  const counts = !perGroup && lists.hasFacets;
  const found = await several(conditions.length + (counts ? 1 : 0), (n) =>
    n === conditions.length ? lists.facets() : lists.among(conditions[n]!),
  );
  const texts = groupTexts(groups, lists.isHybrid, grouping.hits, found);
  const facets = perGroup ? best : found[conditions.length];
  const totalGroups = totalOf(best);
  const heads = [best, ...found].map(({ head }) => head);
  const processingTimeMs = heads.reduce((sum, head) => sum + head.processingTimeMs, 0);
  const copied = (from: SearchResponse | undefined, names: readonly string[]): string[] =>
    names.flatMap((name) => {
      const text = from && memberOf(from, name);
      return text === undefined ? [] : [`"${name}":${text}`];
    });
  const members = [
    ...lists.start,
    `"processingTimeMs":${processingTimeMs},"groups":[${texts.join(',')}]`,
    `"totalGroups":${totalGroups},"page":${page},"limit":${limit}`,
    ...copied(facets, lists.facetMembers),
    ...copied(best, ['remoteErrors', 'degraded']),
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

/** Reads the groups from their best hits. */
function groupsIn(response: SearchResponse, attribute: string): Group[] {
  return hitsIn(response).map((hit) => {
    const values = new Set<Scalar>();
    collectAt(JSON.parse(hit.text) as unknown, attribute, values);
    return { values: [...values], hit };
  });
}

/**
 * @param isHybrid the best hit of a group comes first as it is, then others in their order
 * @param count hits of each group
 * @param found the hits of each group that has values
 */
function groupTexts(
  groups: readonly Group[],
  isHybrid: boolean,
  count: number,
  found: readonly SearchResponse[],
): string[] {
  let next = 0;
  return groups.map(({ values, hit }): string => {
    const response = values.length === 0 ? undefined : found[next++];
    const own = response === undefined ? [] : hitsIn(response);
    const others = own.filter(({ document }) => document !== hit.document);
    // Its value may be longer than what a filter compares: then the group is its best hit alone.
    const hits = isHybrid || own.length === 0 ? [hit, ...others].slice(0, count) : own;
    const texts = hits.map(({ text }) => text).join(',');
    const value = JSON.stringify(values.length > 1 ? values : (values[0] ?? null));
    const total = response === undefined ? 1 : Math.max(totalOf(response), 1);
    return `{"value":${value},"totalHits":${total},"hits":[${texts}]}`;
  });
}

function totalOf(response: SearchResponse): number {
  return response.head.totalHits ?? Number(memberOf(response, 'totalHits') ?? 0);
}

/** The text of a member behind the hits. */
function memberOf({ bytes, head }: SearchResponse, name: string): string | undefined {
  const spans = head.hitSpans ?? new Uint32Array();
  const text =
    spans.length === 0 ? bytes.toString() : `{"hits":[${bytes.toString('utf8', spans.at(-1))}`;
  const member = membersAt(text, 0).find((each) => each.name === name);
  return member && text.slice(member.begin, member.end);
}

/** The hits of a response. */
function hitsIn({ bytes, head }: SearchResponse): Hit[] {
  const { hitSpans: spans = new Uint32Array(), hitDocuments = [] } = head;
  return Array.from({ length: spans.length / 2 }, (_, n) => {
    const text = bytes.toString('utf8', spans[2 * n], spans[2 * n + 1]);
    return { text, document: hitDocuments[n] || text };
  });
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
