import { NEVER_CANCELED } from '../../src/base/cancel-signal.ts';
import { ApiError } from '../../src/contract/errors.ts';
import type { SearchCaller } from '../../src/search/caller.ts';

/** A caller that may see everything and is never canceled, except as given. */
export function callerOf(given: Partial<SearchCaller> = {}): SearchCaller {
  return {
    access: {
      holder: 'test',
      weight: 1,
      mayAccess: () => true,
      tenantFilter: () => null,
      refusal: (uid) =>
        new ApiError('invalid_api_key', `The index \`${uid}\` may not be accessed.`),
    },
    requestId: '',
    signal: NEVER_CANCELED,
    includeMetadata: false,
    proxied: false,
    ...given,
  };
}
