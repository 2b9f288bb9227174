import assert from 'node:assert/strict';
import { changeOf, movesOf } from '../../../src/web/comparison.ts';
import { draftName } from '../../../src/web/settings-draft.ts';

describe('Drafts of the page', () => {
  it('have the first name that no index has', () => {
    assert.equal(draftName('shoes', new Set()), 'shoes-draft');
    assert.equal(draftName('shoes', new Set(['shoes-draft', 'shoes-draft-2'])), 'shoes-draft-3');
  });

  it('are compared by the first hits, which are sought among all of the other list', () => {
    assert.deepEqual(movesOf(['a', 'b', 'c', 'd'], ['d', 'a', 'x', 'b', 'c'], 3), {
      ...{ up: 1, down: 1, added: 1, dropped: 0 },
    });
    assert.deepEqual(movesOf(['a', 'b'], [], 20), { up: 0, down: 0, added: 0, dropped: 2 });
    assert.equal(changeOf(movesOf(['a', 'b'], ['a', 'b'], 20)), 0);
  });
});
