import assert from 'node:assert/strict';
import {
  changesOf,
  costOf,
  diffLines,
  estimateMs,
  moved,
  patchOf,
  synonymsFrom,
  wordsFrom,
} from '../../../src/web/settings-draft.ts';
import { typosAllowed, typosBetween } from '../../../src/web/typo-match.ts';
import { mulberry } from '../../support/random.ts';

const SCHEMAS = {
  stopWords: { type: ['array', 'null'], 'x-makes-anew': ['text'] },
  synonyms: { type: ['object', 'null'], 'x-makes-anew': [] },
  sortableAttributes: { type: ['array', 'null'], 'x-makes-anew': ['columns'] },
};

describe('Changes of settings', () => {
  it('are those that differ, are sent together, and have the greatest cost of them', () => {
    const values = { stopWords: ['a'], synonyms: {}, sortableAttributes: [] };
    const draft = { sortableAttributes: null, stopWords: ['a'], synonyms: { b: ['c'] } };
    const changes = changesOf(values, draft);
    assert.deepEqual(
      changes.map(({ name }) => name),
      ['synonyms', 'sortableAttributes'],
    );
    assert.deepEqual(patchOf(changes, SCHEMAS), {
      synonyms: { b: ['c'] },
      sortableAttributes: null,
    });
    assert.equal(costOf(['synonyms', 'sortableAttributes'], SCHEMAS), 'columns');
    assert.equal(costOf(['stopWords', 'sortableAttributes'], SCHEMAS), 'text');
    assert.equal(costOf(['synonyms'], SCHEMAS), 'instant');
  });

  it('take about as long as past batches did', () => {
    const batches = [
      { documents: 100, ms: 50 },
      { documents: 0, ms: 9000 },
      { documents: 300, ms: 150 },
    ];
    assert.equal(estimateMs(1000, batches), 500);
    assert.equal(estimateMs(1000, [{ documents: 0, ms: 1 }]), null);
  });

  it('are shown as lines that rebuild both texts', () => {
    const seed = Date.now() % 1_000_000;
    const next = mulberry(seed);
    const list = (): number[] =>
      Array.from({ length: Math.floor(next() * 6) }, () => Math.floor(next() * 4));
    for (let round = 0; round < 300; round++) {
      const [before, after] = [list(), list()];
      const lines = diffLines(before, after);
      const without = (kind: string): string =>
        lines
          .filter((line) => line.kind !== kind)
          .map(({ text }) => text)
          .join('\n');
      if (JSON.stringify(before) === JSON.stringify(after)) {
        assert.deepEqual(lines, [], `seed ${seed}`);
        continue;
      }
      // So short a list is shown whole unless its change is at one end.
      const parts = [JSON.stringify(before, null, 2), JSON.stringify(after, null, 2)];
      assert.ok(parts[0]!.includes(without('added')), `seed ${seed}: ${before} ${after}`);
      assert.ok(parts[1]!.includes(without('removed')), `seed ${seed}: ${before} ${after}`);
    }
  });
});

describe('Lists that are typed', () => {
  it('are moved, one item at a time', () => {
    assert.deepEqual(moved(['a', 'b', 'c'], 0, 2), ['b', 'c', 'a']);
    assert.deepEqual(moved(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b']);
  });

  it('are read from lines or JSON', () => {
    assert.deepEqual(wordsFrom(' a \r\n\nb c\n'), ['a', 'b c']);
    assert.deepEqual(wordsFrom('["a", 1]'), ['a', '1']);
    assert.throws(() => wordsFrom('["a"'));
    assert.deepEqual(synonymsFrom('tv: television, telly\nsofa, couch, settee\n'), {
      tv: ['television', 'telly'],
      sofa: ['couch', 'settee'],
      couch: ['sofa', 'settee'],
      settee: ['sofa', 'couch'],
    });
    assert.deepEqual(synonymsFrom('a => b\na => c'), { a: ['b', 'c'] });
    assert.deepEqual(synonymsFrom('{"a": ["b"]}'), { a: ['b'] });
  });
});

describe('The question whether a word matches', () => {
  const settings = {
    enabled: true,
    minWordSizeForTypos: { oneTypo: 5, twoTypos: 9 },
    disableOnWords: ['Gannet'],
    disableOnNumbers: true,
  };

  it('counts typos, those of the first letter twice', () => {
    assert.equal(typosBetween('house', 'house'), 0);
    assert.equal(typosBetween('hosue', 'house'), 1);
    assert.equal(typosBetween('mouse', 'house'), 2);
    assert.equal(typosBetween('hous', 'house'), 1);
    assert.equal(typosBetween('', 'ab'), 3);
  });

  it('allows as many as the settings do', () => {
    assert.equal(typosAllowed('four', settings), 0);
    assert.equal(typosAllowed('fives', settings), 1);
    assert.equal(typosAllowed('nineletters', settings), 2);
    assert.equal(typosAllowed('gannet', settings), 0);
    assert.equal(typosAllowed('1234567890', settings), 0);
    assert.equal(typosAllowed('nineletters', { ...settings, enabled: false }), 0);
  });
});
