/** Branches: copies of indexes that share their files, to try settings on. */
import { boolean, indexUid, nullable, object, optional, type Static } from './declare.ts';
import { ApiError } from './errors.ts';
import { paginationQuery } from './pages.ts';

/** Maximum number of branches of an index: each that follows it repeats its writes. */
export const BRANCHES_MAX = 16;

export const CREATE_BRANCH = object({
  uid: indexUid({
    title: 'Uid',
    description: 'Uid of the branch: letters, digits, - and _.',
    'x-missing-code': 'missing_index_uid',
  }),
  follow: optional(
    nullable(
      boolean({
        title: 'Follow',
        description: 'Apply writes of documents to the branch too.',
        default: false,
        'x-code': 'invalid_branch_follow',
      }),
    ),
  ),
});
export type CreateBranch = Static<typeof CREATE_BRANCH>;

export const LIST_BRANCHES_QUERY = paginationQuery('invalid_index_offset', 'invalid_index_limit');

export function notABranch(uid: string): ApiError {
  return new ApiError('branch_not_found', `The index \`${uid}\` is not a branch of another.`);
}
