import assert from 'node:assert/strict';
import { addonIsBuilt } from '../../http/kill/support/server-process.ts';
import { NativeIndex } from '../../oracle/native-index.ts';

/** Segments with this many documents are too large for the lane of small merges. */
const LARGE = 6_000;
const WORDS = 120;

describe('an index of the addon', function () {
  this.timeout(120_000);

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });

  it('can be closed and opened again while its merges wait behind those of another one', async () => {
    const busy = new NativeIndex();
    const index = new NativeIndex();
    const add = (to: NativeIndex, documents: { id: number }[]): Promise<void> =>
      to.add({ documents, deleted: [] });
    const text = (seed: number): string =>
      Array.from(
        { length: WORDS },
        (_, i) => `word${(seed * 7919 + i * i * 104729) % 50_000}`,
      ).join(' ');
    const large = Array.from({ length: LARGE }, (_, id) => ({ id, text: text(id) }));
    try {
      // Similar ones are merged four at a time: the fourth batch of each begins a merge.
      for (let n = 0; n < 4; n++) {
        await add(
          busy,
          large.map((document) => ({ ...document, id: document.id + n * LARGE })),
        );
      }
      for (let id = 0; id < 8; id++) await add(index, [{ id }]);
      assert.ok(busy.isMerging(), 'the merge of the other index is over too soon');
      await index.reopen();
      while (busy.isMerging()) await new Promise((done) => setTimeout(done, 10));
      // The first holder has released it by now, with its locks.
      for (let id = 8; id < 16; id++) await add(index, [{ id }]);
      assert.equal((await index.documents()).length, 16);
      await index.reopen();
      assert.equal((await index.documents()).length, 16);
    } finally {
      await index.close();
      await index.close();
      await busy.close();
    }
  });
});
