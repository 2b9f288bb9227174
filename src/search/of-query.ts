import { ApiError } from '../contract/errors.ts';

/** The error of one of several queries, with its position. */
export function ofQuery(error: unknown, query: number): Error {
  return error instanceof ApiError ? error.locatedAt({ query }) : (error as Error);
}
