/** `offset` and `limit` of lists, and what they are when a request does not say so. */
import { defaultOf, integer, object, optionals, type Declared, type Static } from './declare.ts';
import type { ErrorCode } from './errors.ts';

type Members = Record<'offset' | 'limit', Declared<number>>;

/** The members of a query string or of a body. */
export function pageMembers(
  offsetCode?: ErrorCode,
  limitCode?: ErrorCode,
  limitMax?: number,
): Members {
  return {
    offset: integer({ minimum: 0, default: 0, ...(offsetCode && { 'x-code': offsetCode }) }),
    limit: integer({
      minimum: 0,
      ...(limitMax !== undefined && { maximum: limitMax }),
      default: 20,
      ...(limitCode && { 'x-code': limitCode }),
    }),
  };
}

/** The query string of a list that takes nothing else. */
export function paginationQuery(offsetCode: ErrorCode, limitCode: ErrorCode) {
  return object(optionals(pageMembers(offsetCode, limitCode)));
}
export type Pagination = Static<ReturnType<typeof paginationQuery>>;

const { offset: FIRST, limit: SIZE } = pageMembers();

/** The page that a request selects. */
export function pageOf({
  offset = defaultOf(FIRST),
  limit = defaultOf(SIZE),
}: Pagination): Required<Pagination> {
  return { offset, limit };
}
