import { jsonInSlices, weightOf } from '../base/json-slices.ts';
import { ApiError, toApiError, type ErrorCode } from '../contract/errors.ts';
import { filterKindFault, isEmptyFilter } from '../contract/filters.ts';
import type { Dependencies } from './dependencies.ts';

/** Checks kind and syntax of a filter. Throws what is wrong with it under `code`, and `feature_not_enabled`. */
export type FilterCheck = (filter: unknown, code: ErrorCode) => void;

type Needs = Pick<Dependencies, 'services' | 'checkFilter' | 'checkLargeFilter'>;

export function filterCheck({ services: { features }, checkFilter }: Needs): FilterCheck {
  return (filter, code) => {
    const fault = filterKindFault(filter, code);
    if (fault !== null) throw fault;
    if (isEmptyFilter(filter)) return;
    try {
      const { containsFilter, multimodal } = features.get();
      checkFilter(JSON.stringify(filter), containsFilter, multimodal);
    } catch (thrown) {
      throw underCode(thrown, code);
    }
  };
}

/** JSON of a longer filter is checked on another thread, UTF-16 units. */
const CHECKED_AT_ONCE_MAX = 64 * 1024;

/** The same, with long filters on another thread. */
export function anyFilterCheck(needs: Needs): (filter: unknown, code: ErrorCode) => Promise<void> {
  const { services, checkFilter, checkLargeFilter } = needs;
  return async (filter, code) => {
    const fault = filterKindFault(filter, code);
    if (fault !== null) throw fault;
    if (isEmptyFilter(filter)) return;
    const { containsFilter, multimodal } = services.features.get();
    try {
      if (weightOf(filter, CHECKED_AT_ONCE_MAX) < CHECKED_AT_ONCE_MAX) {
        checkFilter(JSON.stringify(filter), containsFilter, multimodal);
      } else await checkLargeFilter(await jsonInSlices(filter), containsFilter, multimodal);
    } catch (thrown) {
      throw underCode(thrown, code);
    }
  };
}

/** What is wrong with a filter, under the code of its place. */
export function underCode(thrown: unknown, code: ErrorCode): ApiError {
  const error = toApiError(thrown);
  return error.code === 'invalid_search_filter' ? new ApiError(code, error.message) : error;
}
