import assert from 'node:assert/strict';
import { DEFAULT_LIMITS } from '../../../src/contract/limits.ts';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NEVER_CANCELED } from '../../../src/base/cancel-signal.ts';
import type { EngineResult, HeldPage } from '../../../src/engine/native.ts';
import type { SearchedIndexes } from '../../../src/engine/searched-index.ts';
import { LocalSearch } from '../../../src/search/run/local.ts';
import { SearchQueue } from '../../../src/search/search-queue.ts';
import { embedNothing } from '../../support/embed-nothing.ts';
import { callerOf } from '../../support/search-caller.ts';

/** An engine whose pages are their scores. */
class Pages {
  readonly scores = new Map<HeldPage, Float64Array | null>();
  dropped = 0;

  result(): EngineResult {
    const page = {} as HeldPage;
    const head = { processingTimeMs: 0, degraded: false, totalHits: 2, sources: Buffer.from('[]') };
    return { bytes: Buffer.alloc(0), head: { ...head, page, pageBytes: 50 } };
  }

  native = {
    cancelSearch: () => {},
    reorderPage: async ([page]: [HeldPage], scores: Float64Array | null) => {
      this.scores.set(page, scores);
      return 40;
    },
    writePage: async ([page]: [HeldPage]) => {
      const scores = this.scores.get(page);
      return { bytes: Buffer.from(JSON.stringify(scores && [...scores])) };
    },
    dropPage: () => void this.dropped++,
  };
}

describe('Searches that are reranked', () => {
  it('keep their order while others hold too much memory', async () => {
    let respond: (scores: number[]) => void = () => {};
    let asked = 0;
    const pages = new Pages();
    const index = {
      settings: { rerankers: { m: {} }, searchCutoffMs: null },
      handle: { search: () => Promise.resolve(pages.result()) },
    };
    const search = new LocalSearch(
      { get: () => index, native: pages.native } as unknown as SearchedIndexes,
      new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 }),
      () => NO_FEATURES,
      embedNothing,
      { ...DEFAULT_LIMITS, queriesAtOnce: 1, rerankingBytes: 1 },
      () => {
        asked++;
        return new Promise((resolve) => (respond = resolve));
      },
    );
    const find = async (signal = NEVER_CANCELED): Promise<string> => {
      const request = { q: 'red', rerank: { model: 'm' } };
      const response = await search.search('r', request, { ...callerOf(), signal });
      assert.equal(response.page?.bytes, 40);
      return String(await response.page.write(''));
    };
    for (let round = 1; round <= 2; round++) {
      const first = find();
      assert.equal(await find(), 'null');
      assert.equal(asked, round);
      respond([0, 1]);
      assert.equal(await first, '[0,1]');
      assert.equal(pages.dropped, 2 * round, 'a page that is written is freed');
    }
    const listeners: (() => void)[] = [];
    const canceled = find({ onAbort: (listener) => void listeners.push(listener) });
    await nextTurn();
    for (const listener of listeners) listener();
    assert.equal(pages.dropped, 5, 'and that of a client that went away, at once');
    respond([0, 1]);
    await assert.rejects(canceled, /client went away/);
  });
});
