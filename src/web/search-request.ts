/** Converts the state of the search view to queries. Pure functions. */
import type { Marks } from './marks.ts';

export interface Circle {
  /** Degrees. */
  readonly lat: number;
  readonly lng: number;
  /** Metres. */
  readonly radius: number;
}

export interface SearchState {
  readonly q: string;
  /** From 1. */
  readonly page: number;
  /** `field:asc`, or empty. */
  readonly sort: string;
  /** Chosen values by facet. A document must have at least one of the values of each facet. */
  readonly chosen: Readonly<Record<string, readonly string[]>>;
  /** Name of an embedder; empty: search by words only. */
  readonly embedder: string;
  /** 0: search by words only, 1: search by meaning only. */
  readonly semanticRatio: number;
  readonly circle: Circle | null;
}

export const HITS_PER_PAGE = 20;

export interface FacetCounts {
  readonly facetDistribution?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly facetStats?: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
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
  readonly _geo?: unknown;
};

/**
 * @param facets false: the index has no facets, and requesting them would be an error
 * @returns the search first; then, for each facet with chosen values, a query that counts its
 * values without that choice: how many documents choosing one more value would add
 */
export function searchQueries(
  indexUid: string,
  state: SearchState,
  { marks, explain, facets }: { marks: Marks; explain: boolean; facets: boolean },
): Record<string, unknown>[] {
  const { q, page, sort, chosen, embedder, semanticRatio, circle } = state;
  const common = {
    indexUid,
    q,
    ...(embedder !== '' && { hybrid: { embedder, semanticRatio } }),
  };
  const order = [
    ...(sort === '' ? [] : [sort]),
    ...(circle === null ? [] : [`_geoPoint(${circle.lat}, ${circle.lng}):asc`]),
  ];
  const search = {
    ...common,
    filter: filterOf(state, null),
    page,
    hitsPerPage: HITS_PER_PAGE,
    ...(facets && { facets: ['*'] }),
    attributesToHighlight: ['*'],
    highlightPreTag: marks.begin,
    highlightPostTag: marks.end,
    showRankingScore: true,
    ...(explain && { showRankingScoreDetails: true }),
    ...(order.length > 0 && { sort: order }),
  };
  const counts = Object.keys(chosen)
    .filter((facet) => chosen[facet]!.length > 0)
    .map((facet) => ({ ...common, filter: filterOf(state, facet), facets: [facet], limit: 0 }));
  return [search, ...counts];
}

/** Searches the values of a facet among the documents found without a choice for that facet. */
export function facetSearch(
  state: SearchState,
  facetName: string,
  facetQuery: string,
): Record<string, unknown> {
  const { q, embedder, semanticRatio } = state;
  return {
    facetName,
    facetQuery,
    q,
    filter: filterOf(state, facetName),
    ...(embedder !== '' && { hybrid: { embedder, semanticRatio } }),
  };
}

/** @param without a facet whose choice is ignored, or null */
function filterOf({ chosen, circle }: SearchState, without: string | null): (string | string[])[] {
  const facets = Object.entries(chosen)
    .filter(([facet, values]) => facet !== without && values.length > 0)
    .map(([facet, values]) => values.map((value) => `${quoted(facet)} = ${quoted(value)}`));
  if (circle === null) return facets;
  return [...facets, `_geoRadius(${circle.lat}, ${circle.lng}, ${circle.radius})`];
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
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

/** Reads the state from the address of the page. */
export function stateFrom(query: Readonly<Record<string, string>>): SearchState {
  const page = Number(query.page);
  const ratio = Number(query.ratio ?? 0.5);
  return {
    q: query.q ?? '',
    page: Number.isInteger(page) && page > 1 ? page : 1,
    sort: query.sort ?? '',
    chosen: chosenFrom(query.facets ?? ''),
    embedder: query.embedder ?? '',
    semanticRatio: ratio >= 0 && ratio <= 1 ? ratio : 0.5,
    circle: circleFrom(query.near ?? ''),
  };
}

export function queryFrom(state: SearchState): Record<string, string> {
  const { q, page, sort, chosen, embedder, semanticRatio, circle } = state;
  const given = Object.entries(chosen).filter(([, values]) => values.length > 0);
  return {
    q,
    page: page > 1 ? String(page) : '',
    sort,
    facets: given.length === 0 ? '' : JSON.stringify(Object.fromEntries(given)),
    embedder,
    ratio: embedder === '' ? '' : String(semanticRatio),
    near: circle === null ? '' : `${circle.lat},${circle.lng},${circle.radius}`,
  };
}

function chosenFrom(text: string): Record<string, string[]> {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value !== 'object' || value === null) return {};
    return Object.fromEntries(
      Object.entries(value).map(([facet, values]) => [
        facet,
        Array.isArray(values) ? values.map(String) : [],
      ]),
    );
  } catch {
    return {};
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
