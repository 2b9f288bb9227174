import assert from 'node:assert/strict';
import { changedSizes } from '../../../src/tasks/measures.ts';

describe('The sizes that a batch has changed', () => {
  it('are shown with the change, without parts that kept their size', () => {
    assert.deepEqual(
      changedSizes(
        { documents: 4096, words: 100, facets: 10 },
        { documents: 5120, words: 100, points: 7 },
      ),
      {
        documents: '5.00 KiB (+1.00 KiB)',
        facets: '0 B (-10 B)',
        points: '7 B (+7 B)',
      },
    );
    assert.equal(changedSizes({ words: 1 }, { words: 1 }), undefined);
  });
});
