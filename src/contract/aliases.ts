/** Aliases: further names of indexes. */
import { indexUid, object, type Static } from './declare.ts';
import { ApiError } from './errors.ts';
import { paginationQuery } from './pages.ts';

export const ALIASES_MAX = 10_000;

export const PUT_ALIAS = object({
  indexUid: indexUid({
    title: 'Index',
    description: 'Uid of the index.',
    'x-code': 'invalid_alias_index_uid',
    'x-missing-code': 'missing_alias_index_uid',
  }),
});
export type PutAlias = Static<typeof PUT_ALIAS>;

export const LIST_ALIASES_QUERY = paginationQuery('invalid_alias_offset', 'invalid_alias_limit');

export function danglingAlias(alias: string, indexUid: string): ApiError {
  return new ApiError(
    'index_not_found',
    `Index \`${indexUid}\` not found, which \`${alias}\` is an alias of.`,
  );
}

/** The error of an index that would have the name of an alias. */
export function aliasAlreadyExists(alias: string, indexUid: string): ApiError {
  return new ApiError(
    'index_already_exists',
    `\`${alias}\` is an alias of the index \`${indexUid}\`.`,
  );
}

export function aliasNotFound(alias: string): ApiError {
  return new ApiError('alias_not_found', `There is no alias \`${alias}\`.`);
}
