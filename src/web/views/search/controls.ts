import { count, counted } from '../../format.ts';
import type { Settings } from '../../indexes.ts';
import { FACET_VALUES } from '../../search-request.ts';

/** The controls to show, derived from the settings; none for a key that may not read settings. */
export interface Controls {
  readonly sortable: readonly string[];
  /** Whether the index has filterable attributes; null: not known. */
  readonly isFilterable: boolean | null;
  readonly embedders: readonly string[];
  readonly points: boolean;
  /** The greatest total that a search gives; null: not known. */
  readonly totalMax: number | null;
  readonly searchesFacets: boolean;
  /**
   * Whether a search may return the first values of a facet by name instead of the most frequent.
   */
  isCut(facet: string, values: number): boolean;
}

export function controlsOf(settings: Settings | undefined): Controls {
  const sortable = (settings?.sortableAttributes ?? []) as string[];
  const filterable = (settings?.filterableAttributes ?? []) as unknown[];
  const pagination = settings?.pagination as { maxTotalHits?: number } | undefined;
  const faceting = settings?.faceting as
    { maxValuesPerFacet: number; sortFacetValuesBy: Readonly<Record<string, string>> } | undefined;
  return {
    searchesFacets: settings?.facetSearch !== false,
    // A key that may not read settings expects those that an index has at first.
    isCut: (facet, values) =>
      values >= (faceting?.maxValuesPerFacet ?? FACET_VALUES) &&
      (faceting?.sortFacetValuesBy[facet] ?? faceting?.sortFacetValuesBy['*']) !== 'count',
    sortable: sortable.filter((name) => name !== '_geo'),
    isFilterable: settings === undefined ? null : filterable.length > 0,
    embedders: Object.entries((settings?.embedders ?? {}) as Record<string, { source?: string }>)
      // A query vector cannot be typed.
      .filter(([, { source }]) => source !== 'userProvided')
      .map(([name]) => name),
    points: sortable.includes('_geo') && filterable.includes('_geo'),
    totalMax: pagination?.maxTotalHits ?? null,
  };
}

/** The total of a search for a key that may not read the setting. */
const TOTAL_MAX = 1000;

/**
 * How many results there are: as many as the server counts, and whether there are more.
 * @param all the number of documents, for a search that finds all of them
 */
export function totalWords(hits: number, { totalMax }: Controls, all?: number): string {
  if (hits < (totalMax ?? TOTAL_MAX)) return counted(hits, 'result');
  return all !== undefined && all >= hits
    ? counted(all, 'result')
    : `more than ${count(hits)} results`;
}
