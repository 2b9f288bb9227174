import assert from 'node:assert/strict';
import { addonIsBuilt } from '../../http/kill/support/server-process.ts';
import { NativeIndex } from '../../oracle/native-index.ts';

/** Segments with this many documents are too large for the lane of small merges. */
const LARGE = 6_000;
const WORDS = 120;

const add = (to: NativeIndex, documents: { id: number }[]): Promise<void> =>
  to.add({ documents, deleted: [] });

function text(seed: number): string {
  const word = (i: number): string => `word${(seed * 7919 + i * i * 104729) % 50_000}`;
  return Array.from({ length: WORDS }, (_, i) => word(i)).join(' ');
}

/** Adds four batches of large segments. Similar ones are merged four at a time: a merge begins. */
async function addLarge(to: NativeIndex): Promise<void> {
  for (let n = 0; n < 4; n++) {
    const ids = Array.from({ length: LARGE }, (_, i) => i + n * LARGE);
    await add(
      to,
      ids.map((id) => ({ id, text: text(id % LARGE) })),
    );
  }
}

const pause = (): Promise<void> => new Promise((done) => setTimeout(done, 10));

describe('an index of the addon', function () {
  this.timeout(120_000);

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });

  it('can be closed and opened again while its merges wait behind those of another one', async () => {
    const busy = new NativeIndex();
    const index = new NativeIndex();
    try {
      await addLarge(busy);
      for (let id = 0; id < 8; id++) await add(index, [{ id }]);
      assert.ok(busy.isMerging(), 'the merge of the other index is over too soon');
      await index.reopen();
      while (busy.isMerging()) await pause();
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

  it('goes on with a merge that closing it has stopped', async () => {
    const index = new NativeIndex();
    try {
      await addLarge(index);
      assert.ok(index.isMerging(), 'the merge is over too soon');
      await index.reopen();
      while (index.isMerging()) await pause();
      assert.equal(index.segmentFiles(), 1);
      assert.equal((await index.documents()).length, 4 * LARGE);
    } finally {
      await index.close();
    }
  });

  it('merges what single changes leave once no batch has run between two calls', async () => {
    const index = new NativeIndex();
    try {
      const ids = Array.from({ length: 200 }, (_, id) => id);
      await add(
        index,
        ids.map((id) => ({ id, text: text(id) })),
      );
      for (let id = 0; id < 3; id++) await add(index, [{ id }]);
      while (index.isMerging()) await pause();
      assert.equal(index.segmentFiles(), 4);
      index.mergeAtRest();
      await add(index, [{ id: 3_000 }]);
      while (index.isMerging()) await pause();
      const changed = index.segmentFiles();
      index.mergeAtRest();
      assert.ok(!index.isMerging(), 'it has just changed');
      assert.equal(index.segmentFiles(), changed);
      index.mergeAtRest();
      while (index.isMerging()) await pause();
      assert.equal(index.segmentFiles(), 1);
      index.mergeAtRest();
      assert.ok(!index.isMerging(), 'nothing is left to merge');
      assert.equal((await index.documents()).length, 201);
    } finally {
      await index.close();
    }
  });
});
