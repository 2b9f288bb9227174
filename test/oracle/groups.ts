/**
 * Searches with `groupBy` in plain loops (docs/behaviour/groups.md).
 */
import type { Document } from './corpus.ts';
import type { Body, Oracle, SearchParams } from './engine.ts';
import { distinctKeys } from './sort.ts';
import { scalarsOf } from './values.ts';

/** The best hit of each value, then all documents that share one of its values. */
export function groupsOfOracle(
  oracle: Oracle,
  { groupBy, facetsPer, ...base }: SearchParams,
): Body {
  const { attribute, hits = 3, limit = 20, page = 1 } = groupBy!;
  const facets = base.facets ?? [];
  const window = { distinct: attribute, page, hitsPerPage: limit };
  const best = { ...base, ...window, facets: facetsPer === 'group' ? facets : [] };
  const response = oracle.search(best);
  const run = oracle.rank(best);
  const groups = run.hits.slice(run.offset, run.end).map(({ document }, i) => {
    const values = scalarsOf(oracle.documents[document]!, attribute);
    const keys = new Set(distinctKeys(oracle.documents[document]!, attribute));
    const shares = (other: Document): boolean =>
      distinctKeys(other, attribute).some((key) => keys.has(key));
    const all = { ...base, facets: [], page: 1, hitsPerPage: hits + 1 };
    const own = oracle.search(all, shares);
    const ranked = oracle.rank(all, shares).hits;
    const others = own.hits.filter((_, n) => ranked[n]!.document !== document);
    return {
      value: values.length > 1 ? values : (values[0] ?? null),
      // A hit without a value is alone.
      totalHits: Math.max(own['totalHits'] as number, 1),
      hits: [response.hits[i]!, ...others].slice(0, hits),
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
