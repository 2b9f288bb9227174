/**
 * Searches with `groupBy`, in plain loops and in the engine (docs/behaviour/groups.md).
 */
import { DEFAULT_LIMITS } from '../../src/contract/limits.ts';
import type { SearchRequest } from '../../src/contract/search.ts';
import { among, bestHits, grouped, groupedSearch, showing } from '../../src/search/groups.ts';
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
  const { groupBy, facets, ...base } = grouped(params as SearchRequest);
  const { hits: hitsPerPage, attribute } = groupBy!;
  const response = await groupedSearch(
    groupBy!,
    {
      hasFacets: (facets ?? []).length > 0,
      isHybrid: false,
      best: (withFacets) => {
        const shown = { ...showing(base, attribute), ...bestHits(groupBy!) };
        return search(withFacets ? { ...shown, facets: facets! } : shown);
      },
      among: (condition) => search({ ...among(base, condition), page: 1, hitsPerPage }),
      facets: () => search({ ...base, facets: facets!, page: 1, hitsPerPage: 0 }),
      start: [`"hits":[],"query":${JSON.stringify(base.q ?? '')}`],
      facetMembers: ['facetDistribution', 'facetStats'],
    },
    DEFAULT_LIMITS,
    async (count, run) => {
      const out: SearchResponse[] = [];
      for (let n = 0; n < count; n++) out.push(await run(n));
      return out;
    },
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
