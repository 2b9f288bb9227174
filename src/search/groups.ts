/**
 * The parameters of groups (docs/behaviour/groups.md). The engine makes them: of this server in
 * `native/search/federation/groups.cc`, of several in `merge_responses.cc`.
 */
import { ApiError } from '../contract/errors.ts';
import { isGiven } from '../contract/settings/setting.ts';
import { completeGroupBy, type Groupable, type GroupBy } from '../contract/search.ts';

/** `groupBy` with its defaults. */
export interface Grouping extends GroupBy {
  hits: number;
  limit: number;
  page: number;
  facetsPer: 'document' | 'group';
}

/** The parameters that say which hits of a list are returned, or once per value. */
const WINDOW = [
  'distinct',
  'diversity',
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
