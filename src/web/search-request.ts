/** Converts the state of the search view to queries. Pure functions. */
import { condition, conditionText } from './filter.ts';
import type { Marks } from './marks.ts';

export interface Circle {
  /** Degrees. */
  readonly lat: number;
  readonly lng: number;
  /** Metres. */
  readonly radius: number;
}

/** Both ends belong to it; null: open. */
export interface Range {
  readonly min: number | null;
  readonly max: number | null;
}

export interface SearchState {
  readonly q: string;
  /** From 1. */
  readonly page: number;
  /** `field:asc`, or empty. */
  readonly sort: string;
  /** A facet of whose values each page has only some hits; empty: none. */
  readonly diverse: string;
  /** Chosen values by facet. A document must have at least one of the values of each facet. */
  readonly chosen: Readonly<Record<string, readonly string[]>>;
  /** Chosen ranges of numbers by facet. */
  readonly ranges: Readonly<Record<string, Range>>;
  /** Name of an embedder; empty: search by words only. */
  readonly embedder: string;
  /** 0: search by words only, 1: search by meaning only. */
  readonly semanticRatio: number;
  readonly circle: Circle | null;
  /** What results must match besides; empty: nothing. */
  readonly filter: string;
}

/** The page's own choices: its searches name both. */
export const HITS_PER_PAGE = 20;
const RATIO_AT_FIRST = 0.5;
/** Hits of one value of a facet on a page. */
export const DIVERSE_HITS = 2;

/** Numbers of a facet. */
export interface Stats {
  readonly min: number;
  readonly max: number;
  readonly histogram?: readonly Bucket[];
}

export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

export interface FacetCounts {
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly facetStats?: Readonly<Record<string, Stats>>;
}

export interface SearchResult extends FacetCounts {
  readonly hits: readonly Hit[];
  readonly totalHits: number;
  readonly totalPages: number;
  readonly processingTimeMs: number;
  readonly semanticHitCount?: number;
}

export type Hit = Readonly<Record<string, unknown>> & {
  readonly _formatted?: Readonly<Record<string, unknown>>;
  readonly _rankingScore?: number;
  readonly _rankingScoreDetails?: Readonly<Record<string, unknown>>;
  readonly _passages?: readonly { readonly text: string }[];
  readonly _geo?: unknown;
};

/**
 * @param facets false: the index has no facets, and requesting them would be an error
 * @returns the search first; then, for each facet with a choice, a query that counts its values
 * without that choice: how many documents choosing one more value would add
 */
export function searchQueries(
  indexUid: string,
  state: SearchState,
  { marks, explain, facets }: { marks: Marks; explain: boolean; facets: boolean },
): Record<string, unknown>[] {
  const common = { indexUid, ...termsOf(state) };
  const order = orderOf(state);
  const search = {
    ...common,
    filter: filterOf(state, null),
    page: state.page,
    hitsPerPage: HITS_PER_PAGE,
    ...(facets && { facets: ['*'] }),
    attributesToHighlight: ['*'],
    highlightPreTag: marks.begin,
    highlightPostTag: marks.end,
    showRankingScore: true,
    ...(explain && { showRankingScoreDetails: true, showPassages: 1 }),
    ...(order.length > 0 && { sort: order }),
    ...diversityOf(state),
  };
  const counts = narrowedFacets(state).map((facet) => ({
    ...common,
    filter: filterOf(state, facet),
    facets: [facet],
    limit: 0,
  }));
  return [search, ...counts];
}

/** The facets with a choice. */
export function narrowedFacets({ chosen, ranges }: SearchState): string[] {
  const ofValues = Object.keys(chosen).filter((facet) => chosen[facet]!.length > 0);
  return [...new Set([...ofValues, ...Object.keys(ranges)])];
}

/** Whether something besides the query narrows the results. */
export function isNarrowed(state: SearchState): boolean {
  return narrowedFacets(state).length > 0 || state.circle !== null || state.filter !== '';
}

/** Places of hits that the map shows at once. */
export const PLACES_MAX = 1000;

/**
 * The hits for the map: as many as one search returns.
 * @param box a filter for a part of the world; null: all of it
 */
export function placesQuery(
  indexUid: string,
  state: SearchState,
  fields: readonly string[],
  box: string | null,
): Record<string, unknown> {
  return {
    indexUid,
    ...termsOf(state),
    filter: [...filterOf(state, null), ...(box === null ? [] : [box])],
    attributesToRetrieve: ['_geo', ...fields],
    limit: PLACES_MAX,
  };
}

/** The search as a program would send it, without what only this page needs. */
export function plainSearch(state: SearchState): Record<string, unknown> {
  const filter = filterOf(state, null);
  const order = orderOf(state);
  return {
    ...termsOf(state),
    ...(filter.length > 0 && { filter }),
    ...(order.length > 0 && { sort: order }),
    ...diversityOf(state),
    page: state.page,
    hitsPerPage: HITS_PER_PAGE,
    showRankingScore: true,
  };
}

function termsOf({ q, embedder, semanticRatio }: SearchState): Record<string, unknown> {
  return { q, ...(embedder !== '' && { hybrid: { embedder, semanticRatio } }) };
}

function diversityOf({ diverse }: SearchState): Record<string, unknown> {
  return diverse === '' ? {} : { diversity: { attribute: diverse, max: DIVERSE_HITS } };
}

function orderOf({ sort, circle }: SearchState): string[] {
  return [
    ...(sort === '' ? [] : [sort]),
    ...(circle === null ? [] : [`_geoPoint(${circle.lat}, ${circle.lng}):asc`]),
  ];
}

/** Counts the numbers of a facet in buckets, without the choice for that facet. */
export function histogramSearch(
  state: SearchState,
  facet: string,
  buckets: number,
): Record<string, unknown> {
  const filter = filterOf(state, facet);
  return {
    ...termsOf(state),
    filter,
    facetStats: { [facet]: { histogram: { buckets } } },
    limit: 0,
  };
}

/** Maximum number of values of a facet that the page shows. */
export const FACET_VALUES = 100;

/**
 * Searches the most frequent values of a facet among the documents found without a choice for that
 * facet.
 * @param facetQuery empty: all values
 */
export function facetSearch(
  state: SearchState,
  facetName: string,
  facetQuery: string,
): Record<string, unknown> {
  const filter = filterOf(state, facetName);
  return { facetName, facetQuery, mostFrequent: FACET_VALUES, ...termsOf(state), filter };
}

/** @param without a facet whose choice is ignored, or null */
function filterOf(state: SearchState, without: string | null): (string | string[])[] {
  const { chosen, ranges, circle, filter } = state;
  const values = Object.entries(chosen)
    .filter(([facet, some]) => facet !== without && some.length > 0)
    .map(([facet, some]) => some.map((value) => conditionText(condition(facet, '=', [value]))));
  const within = Object.entries(ranges)
    .filter(([facet]) => facet !== without)
    .flatMap(([facet, range]) => rangeFilter(facet, range));
  const near =
    circle === null ? [] : [`_geoRadius(${circle.lat}, ${circle.lng}, ${circle.radius})`];
  return [...values, ...within, ...near, ...(filter === '' ? [] : [filter])];
}

function rangeFilter(facet: string, { min, max }: Range): string[] {
  return [
    ...(min === null ? [] : [conditionText(condition(facet, '>=', [String(min)]))]),
    ...(max === null ? [] : [conditionText(condition(facet, '<=', [String(max)]))]),
  ];
}

/** The facet counts to show, from the results of {@link searchQueries}. */
export function mergedCounts([search, ...others]: readonly FacetCounts[]): Record<
  string,
  Readonly<Record<string, number>>
> {
  return Object.assign(
    {},
    search?.facetDistribution,
    ...others.map((one) => one.facetDistribution),
  );
}

/** The ranges of numbers to show, from the results of {@link searchQueries}. */
export function mergedStats([search, ...others]: readonly FacetCounts[]): Record<string, Stats> {
  return Object.assign({}, search?.facetStats, ...others.map((one) => one.facetStats));
}

/** Reads the state from the address of the page. */
export function stateFrom(query: Readonly<Record<string, string>>): SearchState {
  const page = Number(query.page);
  const ratio = Number(query.ratio ?? RATIO_AT_FIRST);
  return {
    q: query.q ?? '',
    page: Number.isInteger(page) && page > 1 ? page : 1,
    sort: query.sort ?? '',
    diverse: query.diverse ?? '',
    chosen: chosenFrom(query.facets ?? ''),
    ranges: rangesFrom(query.ranges ?? ''),
    embedder: query.embedder ?? '',
    semanticRatio: ratio >= 0 && ratio <= 1 ? ratio : RATIO_AT_FIRST,
    circle: circleFrom(query.near ?? ''),
    filter: query.filter ?? '',
  };
}

export function queryFrom(state: SearchState): Record<string, string> {
  const { q, page, sort, diverse, chosen, ranges, embedder, semanticRatio, circle, filter } = state;
  const within = Object.entries(ranges).map(([facet, { min, max }]) => [facet, [min, max]]);
  const given = Object.entries(chosen).filter(([, values]) => values.length > 0);
  return {
    q,
    page: page > 1 ? String(page) : '',
    sort,
    diverse,
    facets: given.length === 0 ? '' : JSON.stringify(Object.fromEntries(given)),
    ranges: within.length === 0 ? '' : JSON.stringify(Object.fromEntries(within)),
    embedder,
    ratio: embedder === '' ? '' : String(semanticRatio),
    near: circle === null ? '' : `${circle.lat},${circle.lng},${circle.radius}`,
    filter,
  };
}

function chosenFrom(text: string): Record<string, string[]> {
  return Object.fromEntries(
    membersOf(text).map(([facet, values]) => [
      facet,
      Array.isArray(values) ? values.map(String) : [],
    ]),
  );
}

function rangesFrom(text: string): Record<string, Range> {
  const end = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  const given = membersOf(text).flatMap(([facet, ends]): [string, Range][] =>
    Array.isArray(ends) ? [[facet, { min: end(ends[0]), max: end(ends[1]) }]] : [],
  );
  return Object.fromEntries(given.filter(([, { min, max }]) => min !== null || max !== null));
}

/** The members of an object in JSON; none if the text is something else. */
function membersOf(text: string): [string, unknown][] {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? Object.entries(value) : [];
  } catch {
    return [];
  }
}

export function circleFrom(text: string): Circle | null {
  const [lat, lng, radius] = text
    .split(',')
    .map((part) => (part.trim() === '' ? NaN : Number(part)));
  if (lat === undefined || lng === undefined || radius === undefined) return null;
  if (!(Math.abs(lat) <= 90) || !(Math.abs(lng) <= 180) || !(radius > 0)) return null;
  return { lat, lng, radius };
}
