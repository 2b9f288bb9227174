import assert from 'node:assert/strict';
import { comparedQuery, comparisonFrom, comparisonText } from '../../../src/web/compared-search.ts';
import { stateFrom } from '../../../src/web/search-request.ts';

const OPTIONS = { marks: { begin: '<', end: '>' }, explain: true };

describe('Two searches that are compared', () => {
  const state = stateFrom({ q: 'x', page: '3', sort: 'year:asc', facets: '{"a":["1"]}' });

  it('begin as the search, and keep in the address only what differs from it', () => {
    assert.equal(comparisonFrom('', state), null);
    const begin = comparisonFrom('{}', state)!;
    assert.equal(begin.left.sort, 'year:asc');
    assert.deepEqual(begin.left, begin.right);
    assert.equal(comparisonText(begin, state), '{"left":{},"right":{}}');
    const changed = {
      left: { ...begin.left, matchingStrategy: 'all' },
      right: { ...begin.right, sort: '', embedder: 'e', fusion: 'rrf', minScore: '0.5' },
    };
    const text = comparisonText(changed, state);
    assert.deepEqual(JSON.parse(text).left, { matchingStrategy: 'all' });
    assert.deepEqual(comparisonFrom(text, state), changed);
    assert.deepEqual(comparisonFrom('no JSON', state), begin);
  });

  it('are sent with all their parameters, from the first hit on', () => {
    const { left } = comparisonFrom('{}', state)!;
    const plain = comparedQuery('i', state, left, OPTIONS);
    assert.deepEqual(
      [plain.q, plain.page, plain.sort, plain.filter, plain.hybrid, plain.matchingStrategy],
      ['x', 1, ['year:asc'], [['a = 1']], undefined, undefined],
    );
    assert.equal(plain.showRankingScoreDetails, true);
    const side = {
      ...{ ...left, matchingStrategy: 'natural', sort: 'log(1 + a):desc' },
      ...{ embedder: 'e', semanticRatio: 0.3, fusion: 'rrf', minScore: '0.5' },
    };
    const full = comparedQuery('j', state, side, OPTIONS);
    assert.deepEqual(
      [full.indexUid, full.sort, full.matchingStrategy],
      ['j', ['log(1 + a):desc'], 'natural'],
    );
    const hybrid = { embedder: 'e', semanticRatio: 0.3, fusion: 'rrf', minScore: 0.5 };
    assert.deepEqual(full.hybrid, hybrid);
    const odd = comparedQuery('j', state, { ...side, minScore: 'much' }, OPTIONS);
    assert.deepEqual(odd.hybrid, { embedder: 'e', semanticRatio: 0.3, fusion: 'rrf' });
  });
});
