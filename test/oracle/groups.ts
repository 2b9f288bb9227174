/**
 * Searches with `groupBy` in plain loops (docs/behaviour/groups.md).
 */
import type { Document } from './corpus.ts';
import type { Body, Oracle, SearchParams } from './engine.ts';
import { distinctKeys } from './sort.ts';
import { scalarsOf } from './values.ts';

/** Documents of the groups of a page that are ranked together; more are ranked group by group. */
const TOGETHER_MAX = 4096;

/**
 * The best hit of each value, then all documents that share one of its values. Those of all groups
 * are ranked together: scores depend on what is ranked.
 */
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
  const sharing = run.hits.slice(run.offset, run.end).map(({ document: head }) => {
    const keys = new Set(distinctKeys(oracle.documents[head]!, attribute));
    const shares = (other: Document): boolean =>
      distinctKeys(other, attribute).some((key) => keys.has(key));
    return { head, shares };
  });
  const together = togetherOf(
    oracle,
    base,
    sharing.map(({ shares }) => shares),
  );
  const groups = sharing.map(({ head, shares }, i) => {
    const all = { ...base, facets: [], page: 1, hitsPerPage: together?.count ?? hits + 1 };
    const among = together?.among ?? shares;
    const ranked = oracle.rank(all, among);
    const isOther = (document: number): boolean =>
      document !== head && shares(oracle.documents[document]!);
    const others = oracle
      .search(all, among)
      .hits.filter((_, n) => isOther(ranked.hits[n]!.document));
    const values = scalarsOf(oracle.documents[head]!, attribute);
    const total = ranked.universe.filter((id) => shares(oracle.documents[id]!)).length;
    return {
      value: values.length > 1 ? values : (values[0] ?? null),
      // A hit without a value is alone.
      totalHits: Math.max(Math.min(total, oracle.settings.pagination?.maxTotalHits ?? 1000), 1),
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

/** The documents of all groups that have more than their head, and their number; null: too many. */
function togetherOf(
  oracle: Oracle,
  { filter }: SearchParams,
  sharing: readonly ((other: Document) => boolean)[],
): { among(other: Document): boolean; count: number } | null {
  const { distinctAttribute, pagination } = oracle.settings;
  if (typeof distinctAttribute === 'string') return null;
  const membersOf = (among: (other: Document) => boolean): number[] =>
    oracle.rank({ filter, limit: 0 }, among).universe;
  const larger = sharing.filter((shares) => membersOf(shares).length > 1);
  const among = (other: Document): boolean => larger.some((shares) => shares(other));
  const count = membersOf(among).length;
  const max = Math.min(TOGETHER_MAX, pagination?.maxTotalHits ?? 1000);
  return count === 0 || count > max ? null : { among, count };
}
