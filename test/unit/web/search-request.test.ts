import assert from 'node:assert/strict';
import {
  circleFrom,
  facetSearch,
  histogramSearch,
  mergedCounts,
  plainSearch,
  queryFrom,
  searchQueries,
  stateFrom,
} from '../../../src/web/search-request.ts';

const OPTIONS = { marks: { begin: '<', end: '>' }, explain: false, facets: true };

describe('The queries of the search view', () => {
  it('counts the values of a chosen facet without that choice', () => {
    const state = stateFrom({ q: 'x', facets: '{"a":["1","2\\""],"b":["3"],"c":[]}' });
    const [search, a, b, ...more] = searchQueries('i', state, OPTIONS);
    const ofA = ['a = 1', 'a = "2\\""'];
    const ofB = ['b = 3'];
    assert.deepEqual(search!.filter, [ofA, ofB]);
    assert.deepEqual([a!.facets, a!.filter, a!.limit], [['a'], [ofB], 0]);
    assert.deepEqual([b!.facets, b!.filter], [['b'], [ofA]]);
    assert.deepEqual(more, []);
    assert.deepEqual(
      mergedCounts([
        { facetDistribution: { a: { 1: 1 }, z: { y: 5 } } },
        { facetDistribution: { a: { 1: 1, 4: 2 } } },
      ]),
      { a: { 1: 1, 4: 2 }, z: { y: 5 } },
    );
  });

  it('counts the values of a range without that range, and the parts of it', () => {
    const state = stateFrom({ q: 'x', ranges: '{"a":[1,5],"b":[null,9]}' });
    const [search, a, b, ...more] = searchQueries('i', state, OPTIONS);
    const [ofA, ofB] = [['a >= 1', 'a <= 5'], ['b <= 9']];
    assert.deepEqual(search!.filter, [...ofA, ...ofB]);
    assert.deepEqual([a!.facets, a!.filter, a!.limit], [['a'], ofB, 0]);
    assert.deepEqual([b!.facets, b!.filter], [['b'], ofA]);
    assert.deepEqual(more, []);
    const facetStats = { a: { histogram: { buckets: 7 } } };
    assert.deepEqual(histogramSearch(state, 'a', 7), { q: 'x', filter: ofB, facetStats, limit: 0 });
  });

  it('is the same search for a program, without what only the page needs', () => {
    const ranges = '{"a":[1,5]}';
    const state = stateFrom({ q: 'x', page: '2', sort: 'year:asc', diverse: 'brand', ranges });
    assert.deepEqual(searchQueries('i', state, OPTIONS)[0]!.diversity, {
      attribute: 'brand',
      max: 2,
    });
    assert.deepEqual(plainSearch(state), {
      diversity: { attribute: 'brand', max: 2 },
      q: 'x',
      filter: ['a >= 1', 'a <= 5'],
      sort: ['year:asc'],
      page: 2,
      hitsPerPage: 20,
      showRankingScore: true,
    });
  });

  it('finds values of a facet without its own choice', () => {
    const state = stateFrom({ q: 'x', facets: '{"a":["1"],"b":["3"]}' });
    assert.deepEqual(facetSearch(state, 'a', 'va'), {
      facetName: 'a',
      facetQuery: 'va',
      mostFrequent: 100,
      q: 'x',
      filter: [['b = 3']],
    });
  });

  it('sorts by distance within a circle, and searches by meaning', () => {
    const state = stateFrom({
      near: '10,-20.5,3000',
      sort: 'year:asc',
      embedder: 'e',
      ratio: '0.7',
    });
    const [search] = searchQueries('i', state, OPTIONS);
    assert.deepEqual(search!.sort, ['year:asc', '_geoPoint(10, -20.5):asc']);
    assert.deepEqual(search!.filter, ['_geoRadius(10, -20.5, 3000)']);
    assert.deepEqual(search!.hybrid, { embedder: 'e', semanticRatio: 0.7 });
    assert.equal(circleFrom('91,0,5'), null);
    assert.equal(circleFrom('1,,5'), null);
    assert.equal(circleFrom('1,2,0'), null);
  });

  it('round-trips through the address, whatever it contains', () => {
    const query = {
      q: 'a b',
      page: '3',
      sort: 'year:desc',
      diverse: 'brand',
      facets: '{"a":["1"]}',
      ranges: '{"b":[1,null],"c":[null,2.5]}',
      embedder: 'e',
      ratio: '1',
      near: '1,2,3',
      filter: 'a = 1 OR b EXISTS',
    };
    assert.deepEqual(queryFrom(stateFrom(query)), query);
    const [search] = searchQueries('i', stateFrom(query), OPTIONS);
    assert.equal((search!.filter as unknown[]).at(-1), query.filter);
    for (const facets of ['{', 'null', '[]', '{"a":1}']) {
      assert.deepEqual(stateFrom({ ranges: facets }).ranges, {});
      for (const page of ['-1', 'x', '1.5']) {
        const state = stateFrom({ facets, page, ratio: 'y' });
        assert.equal(state.page, 1);
        assert.equal(state.semanticRatio, 0.5);
        assert.equal(searchQueries('i', state, OPTIONS).length, 1);
      }
    }
  });
});
