import { ApiError, toApiError, type ErrorCode } from '../contract/errors.ts';
import { filterKindFault, isEmptyFilter } from '../contract/filters.ts';
import type { Dependencies } from './dependencies.ts';

/** Checks kind and syntax of a filter. Throws what is wrong with it under `code`, and `feature_not_enabled`. */
export type FilterCheck = (filter: unknown, code: ErrorCode) => void;

export function filterCheck({
  services: { features },
  checkFilter,
}: Pick<Dependencies, 'services' | 'checkFilter'>): FilterCheck {
  return (filter, code) => {
    const fault = filterKindFault(filter, code);
    if (fault !== null) throw fault;
    if (isEmptyFilter(filter)) return;
    try {
      checkFilter(JSON.stringify(filter), features.get().containsFilter);
    } catch (thrown) {
      const error = toApiError(thrown);
      throw error.code === 'invalid_search_filter' ? new ApiError(code, error.message) : error;
    }
  };
}
