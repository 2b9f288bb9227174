import { jsonInSlices, weightOf } from '../base/json-slices.ts';
import { ApiError, toApiError, type ErrorCode } from '../contract/errors.ts';
import { filterKindFault, isEmptyFilter } from '../contract/filters.ts';
import type { ReadDependencies } from './dependencies.ts';
import type { ReadServices } from './services.ts';

/** Checks type and syntax of a filter. Throws the fault under `code`, or `feature_not_enabled`. */
export type FilterCheck = (filter: unknown, code: ErrorCode) => void;

type Needs = Pick<ReadDependencies, 'checkFilter' | 'checkLargeFilter'> & {
  services: Pick<ReadServices, 'features'>;
};

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

/** Filters with longer JSON are checked on another thread, UTF-16 units. */
const CHECKED_AT_ONCE_MAX = 64 * 1024;

/** Like `FilterCheck`, with long filters checked on another thread. */
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

/** The fault of a filter, under the code of its field. */
export function underCode(thrown: unknown, code: ErrorCode): ApiError {
  const error = toApiError(thrown);
  return error.code === 'invalid_search_filter' ? new ApiError(code, error.message) : error;
}
