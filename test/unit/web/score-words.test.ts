import assert from 'node:assert/strict';
import { scoreReasons } from '../../../src/web/score-words.ts';

describe('The words for a ranking score', () => {
  it('come in the order in which the rules were applied, with the score of each', () => {
    const reasons = scoreReasons({
      exactness: { order: 4, matchType: 'exactMatch', score: 1 },
      words: { order: 0, matchingWords: 1, maxMatchingWords: 2, score: 0.5 },
      typo: { order: 1, typoCount: 1, maxTypoCount: 2, score: 0.75 },
      'year:desc': { order: 2, value: 1999 },
      '_geoPoint(1, 2):asc': { order: 3, value: { lat: 1, lng: 2 }, distance: 1500 },
      vectorSort: { order: 5, similarity: 0.9 },
      skipped: { order: 6 },
      natural: {
        order: 8,
        words: [
          { word: 'war', attribute: 'title', variant: 'exact', contribution: 0.1 },
          { word: 'peace', attribute: 'summary', variant: 'stem', contribution: 0.4 },
        ],
        proximity: 0.05,
        wholeField: 0,
        score: 0.55,
      },
      rrf: { order: 7, wordsRank: 3, semanticRank: 1, score: 0.9 },
    });
    assert.deepEqual(
      reasons.map(({ rule, score }) => [rule, score]),
      [
        ['words', 0.5],
        ['typo', 0.75],
        ['year:desc', null],
        ['_geoPoint(1, 2):asc', null],
        ['exactness', 1],
        ['vectorSort', null],
        ['skipped', null],
        ['rrf', 0.9],
        ['natural', 0.55],
      ],
    );
    const words = reasons.map((reason) => reason.words);
    assert.match(words[0]!, /1 of 2 words/);
    assert.match(words[1]!, /1 letter differs .*at most 2 allowed/);
    assert.match(words[2]!, /1999, greatest first/);
    assert.match(words[3]!, /1,500 m .* nearest first/);
    assert.match(words[5]!, /90\u00a0%/);
    assert.equal(
      words[8],
      '“peace” in summary by its stem (40\u00a0%), “war” in title (10\u00a0%). Words that stand together add 5\u00a0%.',
    );
    assert.match(words[7]!, /number 3 by its words and number 1 by its meaning/);
  });
});
