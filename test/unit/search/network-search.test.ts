import assert from 'node:assert/strict';
import { ApiError } from '../../../src/contract/errors.ts';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import type { MultiSearchQuery } from '../../../src/contract/search.ts';
import { NetworkSearch, type NetworkServices } from '../../../src/search/run/network.ts';
import type { LocalSearch } from '../../../src/search/run/local.ts';
import { headOf } from '../../support/result-head.ts';
import { callerOf } from '../../support/search-caller.ts';

describe('separate searches of which one is of the whole network', () => {
  it('are begun only while their responses fit into one', async () => {
    let begun = 0;
    const search = {
      separate: () => {
        begun++;
        return Promise.resolve([{ bytes: Buffer.alloc(100), head: headOf(0) }]);
      },
    } as unknown as LocalSearch;
    const services = {
      fanOut: {},
      limits: { ...DEFAULT_LIMITS, responseBytes: 1000 },
    } as unknown as NetworkServices;
    const queries: MultiSearchQuery[] = Array.from({ length: 200 }, () => ({ indexUid: 'a' }));
    queries.push({ indexUid: 'a', useNetwork: true });
    await assert.rejects(
      new NetworkSearch(search, services).separate(queries, callerOf(), {}),
      (error: ApiError) => error.code === 'bad_request' && /larger than/.test(error.message),
    );
    assert.ok(begun <= 20, `${begun} were begun`);
  });
});
