import assert from 'node:assert/strict';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import type { EngineResult } from '../../../src/engine/native.ts';
import type { SearchedIndexes } from '../../../src/engine/searched-index.ts';
import { LocalSearch } from '../../../src/search/run/local.ts';
import { SearchQueue } from '../../../src/search/search-queue.ts';
import { embedNothing } from '../../support/embed-nothing.ts';
import { callerOf } from '../../support/search-caller.ts';

/** A result with two hits. */
function twoHits(): EngineResult {
  const hits = ['{"id":1}', '{"id":2}'];
  const begin = '{"hits":['.length;
  const second = begin + hits[0]!.length + 1;
  return {
    bytes: Buffer.from(`{"hits":[${hits.join()}],"limit":50,"offset":0}`),
    head: {
      ...{ processingTimeMs: 0, degraded: false, totalHits: 2, sources: Buffer.from('[]') },
      hitSpans: Uint32Array.of(begin, begin + hits[0]!.length, second, second + hits[1]!.length),
    },
  };
}

describe('Searches that are reranked', () => {
  it('keep their order while others hold too much memory', async () => {
    let respond: (scores: number[]) => void = () => {};
    let asked = 0;
    const index = {
      settings: { rerankers: { m: {} }, searchCutoffMs: null },
      handle: { search: () => Promise.resolve(twoHits()) },
    };
    const search = new LocalSearch(
      { get: () => index } as unknown as SearchedIndexes,
      new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 }),
      () => NO_FEATURES,
      embedNothing,
      { ...DEFAULT_LIMITS, queriesAtOnce: 1, rerankingBytes: 1 },
      () => {
        asked++;
        return new Promise((resolve) => (respond = resolve));
      },
    );
    const find = async (): Promise<unknown> => {
      const request = { q: 'red', rerank: { model: 'm' } };
      const { hits, degraded } = JSON.parse(
        String((await search.search('r', request, callerOf())).bytes),
      );
      return [hits, degraded];
    };
    for (let round = 1; round <= 2; round++) {
      const first = find();
      assert.deepEqual(await find(), [[{ id: 1 }, { id: 2 }], ['rerank']]);
      assert.equal(asked, round);
      respond([0, 1]);
      assert.deepEqual(await first, [[{ id: 2 }, { id: 1 }], undefined]);
    }
  });
});
