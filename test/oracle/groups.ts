/**
 * Searches with `groupBy`, in plain loops and in the engine (docs/behaviour/groups.md).
 */
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import type { SearchRequest } from '../../src/contract/search.ts';
import {
  bestHits,
  groupedSearch,
  groupingOf,
  searchesOf,
  showing,
  ungrouped,
} from '../../src/search/groups.ts';
import type { SearchResponse } from '../../src/search/response.ts';
import type { Document } from './corpus.ts';
import type { Body, Oracle, SearchParams } from './engine.ts';
import { hasValue } from './filter.ts';
import { scalarsOf, valuesOf } from './values.ts';

/** The response of the server. @param search one search of the engine */
export async function groupsOfEngine(
  params: SearchParams,
  search: (params: SearchRequest) => Promise<SearchResponse>,
): Promise<Body> {
  const grouping = groupingOf(params as SearchRequest);
  const base: SearchRequest = ungrouped(params as SearchRequest);
  const response = await groupedSearch(
    grouping,
    {
      hasFacets: (base.facets ?? []).length > 0,
      best: (withFacets) => {
        const shown = { ...showing(base, grouping.attribute), ...bestHits(grouping) };
        return search({ ...shown, facets: withFacets ? base.facets! : null });
      },
      rest: async (conditions, withFacets) => {
        const out: SearchResponse[] = [];
        for (const one of searchesOf(base, conditions, grouping.hits, withFacets)) {
          out.push(await search(one));
        }
        return out;
      },
      start: [`"hits":[],"query":${JSON.stringify(base.q ?? '')}`],
      facetMembers: ['facetDistribution', 'facetStats'],
    },
    DEFAULT_LIMITS,
  );
  return JSON.parse(String(response.bytes)) as Body;
}

/** The best hit of each value, then all documents that share one of its values. */
export function groupsOfOracle(
  oracle: Oracle,
  { groupBy, facetsPer, ...base }: SearchParams,
): Body {
  const { attribute, hits = 3, limit = 20, page = 1 } = groupBy!;
  const facets = base.facets ?? [];
  const window = { distinct: attribute, page, hitsPerPage: limit };
  const best = { ...base, ...window, facets: facetsPer === 'group' ? facets : [] };
  const shown = base.attributesToRetrieve ?? ['*'];
  const response = oracle.search({ ...best, attributesToRetrieve: [...shown, attribute] });
  const run = oracle.rank(best);
  const groups = run.hits.slice(run.offset, run.end).map(({ document }, i) => {
    const values = scalarsOf(oracle.documents[document]!, attribute);
    const shares = (other: Document): boolean =>
      values.some((value) => hasValue(valuesOf(other, attribute), String(value)));
    const own = oracle.search({ ...base, facets: [], page: 1, hitsPerPage: hits }, shares);
    // A hit without a value is alone.
    const found = own.hits.length > 0 ? own.hits : [response.hits[i]!];
    return {
      value: values.length > 1 ? values : (values[0] ?? null),
      totalHits: Math.max(own['totalHits'] as number, 1),
      hits: found,
    };
  });
  const counted =
    facetsPer === 'group' ? response : oracle.search({ ...base, page: 1, hitsPerPage: 0 });
  return {
    ...{ hits: [], query: base.q ?? '', groups, totalGroups: response['totalHits'], page, limit },
    ...(facets.length > 0 && {
      facetDistribution: counted['facetDistribution'],
      facetStats: counted['facetStats'],
    }),
  };
}
