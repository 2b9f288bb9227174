import assert from 'node:assert/strict';
import { responseTooLarge, DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import type { SearchResponse } from '../../../src/search/response.ts';
import { severally } from '../../../src/search/run/severally.ts';
import { callerOf } from '../../support/search-caller.ts';

describe('Several searches of one request', () => {
  const limits = { ...DEFAULT_LIMITS, responseBytes: 20_000 };
  const ofBytes = (bytes: number): SearchResponse =>
    ({ bytes: Buffer.alloc(bytes) }) as SearchResponse;

  it('are refused with the limit of the request, not with what is left of it', async () => {
    const responses = severally(2, 1, limits, callerOf(), (_, bytesLeft) =>
      bytesLeft < 10_000
        ? Promise.reject(responseTooLarge({ responseBytes: bytesLeft }).locatedAt({ query: 1 }))
        : Promise.resolve(ofBytes(19_950)),
    );
    await assert.rejects(responses, ({ message }: Error) => /20000 bytes|20 kB/.test(message));
  });

  it('pass on which query is too large by itself', async () => {
    const first = severally(1, 1, limits, callerOf(), (_, responseBytes) =>
      Promise.reject(responseTooLarge({ responseBytes }).locatedAt({ query: 0 })),
    );
    await assert.rejects(first, /Inside `\.queries\[0\]`/);
  });
});
