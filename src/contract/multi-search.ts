/**
 * Combinations that a multi-search refuses, apart from those that concern the indexes themselves.
 */
import { ApiError, featureNotEnabled, type ErrorCode } from './errors.ts';
import type { FeatureSet } from './features.ts';
import { covers, matchesPattern } from './fields.ts';
import { NO_NETWORK } from './network.ts';
import type { Network } from './responses.ts';
import {
  type Federation,
  GROUPED_QUERIES_MAX,
  type IndexSearchRequest,
  type MultiSearchQuery,
  type MultiSearchRequest,
  type SearchRequest,
} from './search.ts';
import { isGiven } from './settings/setting.ts';

/** Reports the first invalid query. Messages begin with its location. */
export function multiSearchFault(
  { federation, queries }: MultiSearchRequest,
  features: FeatureSet,
  network: Pick<Network, 'self' | 'remotes'> = NO_NETWORK,
): ApiError | null {
  const unmeasured = federation ? measuresFault(federation) : null;
  if (unmeasured !== null) return unmeasured;
  const isGrouped = isGiven(federation?.groupBy);
  let grouped = 0;
  for (const [i, query] of queries.entries()) {
    grouped += isGrouped || isGiven(query.groupBy) ? 1 : 0;
    if (grouped > GROUPED_QUERIES_MAX) {
      const text = `At most ${GROUPED_QUERIES_MAX} queries of a multi-search can be grouped.`;
      return new ApiError('invalid_search_group_by', `\`.queries[${i}]\`: ${text}`);
    }
    const fault =
      federation === null || federation === undefined
        ? separateFault(query, i)
        : federatedFault(
            query,
            i,
            federation.groupBy?.attribute ?? federation.distinct,
            features,
            network,
          );
    if (fault !== null) return fault;
    const isElsewhere = query.useNetwork === true || isGiven(query.federationOptions?.remote);
    if (isElsewhere && isGiven(federation?.facetStats)) {
      return notOfSeveral('facetStats').locatedAt({ path: 'federation' });
    }
    if (isElsewhere && Object.values(federation?.facetsByIndex ?? {}).includes('auto')) {
      return notOfSeveral('facets').locatedAt({ path: 'federation' });
    }
    const gate = searchGate(query, features);
    if (gate !== null) return gate.locatedAt({ query: i });
  }
  const gate = federation
    ? searchGate({ personalize: federation.personalize ?? null }, features)
    : null;
  return gate && gate.locatedAt({ path: 'federation' });
}

/** `facetStats` measures facets that are counted. */
function measuresFault({ facetsByIndex, facetStats }: Federation): ApiError | null {
  const counted = Object.values(facetsByIndex ?? {}).flatMap((list) =>
    list === 'auto' ? ['*'] : (list ?? []),
  );
  const name = Object.keys(facetStats ?? {}).find(
    (one) => !counted.some((facet) => mayCount(facet, one)),
  );
  if (name === undefined) return null;
  const message = `No index of \`facetsByIndex\` counts the facet \`${name}\` of \`facetStats\`; add it to one.`;
  return new ApiError('invalid_search_facet_stats', message).locatedAt({ path: 'federation' });
}

/** Whether an item of a list of facets can select an attribute: itself, or one below it. */
function mayCount(facet: string, attribute: string): boolean {
  const isPattern = facet.startsWith('*') || facet.endsWith('*');
  return isPattern ? matchesPattern(facet, attribute) : covers(facet, attribute);
}

function separateFault(query: MultiSearchQuery, position: number): ApiError | null {
  if (!isGiven(query.federationOptions)) return null;
  return new ApiError(
    'invalid_multi_search_federation_options',
    `\`.queries[${position}]\`: \`federationOptions\` needs a federated search. Remove it, or add \`federation\` to the request.`,
  );
}

function federatedFault(
  query: MultiSearchQuery,
  position: number,
  distinct: string | null | undefined,
  features: FeatureSet,
  network: Pick<Network, 'self' | 'remotes'>,
): ApiError | null {
  const refuse = (code: ErrorCode, message: string): ApiError =>
    new ApiError(code, `\`.queries[${position}]\`: ${message}`);
  for (const name of ['limit', 'offset', 'page', 'hitsPerPage'] as const) {
    if (isGiven(query[name])) {
      return refuse(
        'invalid_multi_search_query_pagination',
        `\`${name}\` is not available in a query of a federated search; use \`federation.${name}\`.`,
      );
    }
  }
  if (isGiven(query.facets) && query.facets!.length > 0) {
    return refuse(
      'invalid_multi_search_query_facets',
      `\`facets\` is not available in a query of a federated search; use \`federation.facetsByIndex.${query.indexUid}: ${JSON.stringify(query.facets)}\`.`,
    );
  }
  if (isGiven(query.facetStats)) {
    return refuse(
      'invalid_search_facet_stats',
      '`facetStats` is not available in a query of a federated search; use `federation.facetStats`.',
    );
  }
  if (isGiven(query.groupBy)) {
    return refuse(
      'invalid_search_group_by',
      '`groupBy` is not available in a query of a federated search; use `federation.groupBy`.',
    );
  }
  if (isGiven(query.personalize)) {
    return refuse(
      'invalid_multi_search_query_personalization',
      '`personalize` is not available in a query of a federated search; move it to `federation`.',
    );
  }
  if (isGiven(query.rerank)) {
    return refuse(
      'invalid_search_rerank',
      '`rerank` is not available in a query of a federated search; remove it.',
    );
  }
  if (isGiven(query.diversity)) {
    return refuse(
      'invalid_search_diversity',
      '`diversity` is not available in a query of a federated search; remove it.',
    );
  }
  if (isGiven(query.showPerformanceDetails)) {
    return refuse(
      'invalid_multi_search_query_show_performance_details',
      '`showPerformanceDetails` is not available in a query of a federated search; remove it.',
    );
  }
  if (isGiven(query.distinct) && isGiven(distinct)) {
    return refuse(
      'invalid_multi_search_distinct',
      '`distinct` is given here and in `federation`; remove one.',
    );
  }
  return remoteFault(query, position, features, network);
}

/** Checks what a query of a federated search says about other servers. */
function remoteFault(
  query: MultiSearchQuery,
  position: number,
  features: FeatureSet,
  { self, remotes }: Pick<Network, 'self' | 'remotes'>,
): ApiError | null {
  const remote = query.federationOptions?.remote;
  if (isGiven(remote)) {
    if (query.useNetwork === true) {
      return new ApiError(
        'invalid_multi_search_federation_options',
        `\`.queries[${position}]\`: \`federationOptions.remote\` cannot stand beside \`useNetwork\`.`,
      );
    }
    if (!features.network) {
      return featureNotEnabled('Using `federationOptions.remote`', 'network').locatedAt({
        query: position,
      });
    }
    // This server knows its own name even without an entry in `remotes`.
    if (remote !== self && !Object.hasOwn(remotes, remote!)) {
      return new ApiError(
        'invalid_multi_search_remote',
        `\`.queries[${position}]\`: the network of this server has no remote \`${remote}\`.`,
      );
    }
  }
  if (isGiven(query.federationOptions?.queryPosition) && !features.network) {
    return featureNotEnabled('Using `federationOptions.queryPosition`', 'network').locatedAt({
      query: position,
    });
  }
  return null;
}

/** What an interleaved search does not take: its list is not that of one index. */
export function interleaveFault(request: IndexSearchRequest): ApiError | null {
  if (!isGiven(request.interleave)) return null;
  const names = [
    'diversity',
    'facetStats',
    'groupBy',
    'personalize',
    'rerank',
    'useNetwork',
  ] as const;
  const given = names.find((name) => isGiven(request[name]) && request[name] !== false);
  if (given === undefined) return null;
  return new ApiError(
    'invalid_search_interleave',
    `\`interleave\` cannot be combined with \`${given}\`.`,
  );
}

/** Hits and numbers of several servers are not merged for these. */
const NOT_OF_SEVERAL = {
  diversity: ['`diversity`', 'invalid_search_diversity'],
  facetStats: ['`facetStats`', 'invalid_search_facet_stats'],
  facets: ['`auto` of facets', 'invalid_search_facets'],
} as const;

function notOfSeveral(name: keyof typeof NOT_OF_SEVERAL): ApiError {
  const [words, code] = NOT_OF_SEVERAL[name];
  return new ApiError(code, `${words} is not available in a search of several servers.`);
}

/** Checks parameters of a single search that need a feature. */
export function searchGate(
  {
    useNetwork,
    personalize,
    rerank,
    diversity,
    facetStats,
    facets,
  }: Pick<SearchRequest, 'useNetwork'> &
    Partial<Pick<SearchRequest, 'personalize' | 'rerank' | 'diversity' | 'facetStats' | 'facets'>>,
  features: FeatureSet,
): ApiError | null {
  if (useNetwork === true && !features.network) {
    return featureNotEnabled('Using `useNetwork`', 'network');
  }
  if (useNetwork === true && isGiven(rerank)) {
    return new ApiError(
      'invalid_search_rerank',
      '`rerank` cannot be combined with `useNetwork`: each server has rerankers of its own.',
    );
  }
  if (isGiven(diversity) && isGiven(rerank)) {
    return new ApiError(
      'invalid_search_diversity',
      '`diversity` cannot be combined with `rerank`, which puts hits into another order.',
    );
  }
  if (useNetwork === true && isGiven(diversity)) return notOfSeveral('diversity');
  if (useNetwork === true && isGiven(facetStats)) return notOfSeveral('facetStats');
  if (useNetwork === true && facets === 'auto') return notOfSeveral('facets');
  if (isGiven(personalize)) {
    return new ApiError(
      'feature_not_enabled',
      'Using `personalize` needs a personalization service, which is not configured on this server.',
    );
  }
  return null;
}
