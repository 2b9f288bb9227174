/** Words of a query that are parts of words (docs/behaviour/query-analysis.md). */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

describe('words that contain a word of the query', function () {
  this.timeout(300_000);

  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server?.close());

  const documents = [
    { id: 1, sku: 'AB4711X', title: 'strawberry jam', kind: 'jam' },
    { id: 2, sku: '4711', title: 'a jam', kind: 'jam' },
    { id: 3, sku: '47112', title: 'blueberry', kind: 'fruit', info: { code: 'Xberry-Straße' } },
    { id: 4, sku: 'zz', title: 'berry', kind: 'fruit', info: { code: ['q', 'Himbeerstrauch'] } },
  ];
  const settings = {
    substringAttributes: ['sku', 'info'],
    filterableAttributes: ['kind'],
    typoTolerance: { disableOnWords: ['711'] },
  };

  const search = async (uid: string, body: object): Promise<any> =>
    (await server.call('POST', `/indexes/${uid}/search`, { body })).json;
  const ids = async (uid: string, body: object): Promise<number[]> =>
    (await search(uid, body)).hits.map((hit: any) => hit.id);

  it('are found in these attributes only, behind words and prefixes', async () => {
    await server.finish('POST', '/indexes/a/documents', { body: documents });
    assert.deepEqual(await ids('a', { q: '4711' }), [2, 3]);
    await server.finish('PATCH', '/indexes/a/settings', { body: settings });
    // As typed and begun with it, then inside.
    assert.deepEqual(await ids('a', { q: '4711' }), [2, 3, 1]);
    assert.deepEqual(await ids('a', { q: 'berry' }), [4, 3], 'not in titles');
    assert.deepEqual(await ids('a', { q: 'stra' }), [1, 3, 4]);
    assert.deepEqual(await ids('a', { q: 'erstrau' }), [4]);
    // A word that is not the last one also finds the beginnings of words.
    assert.deepEqual(await ids('a', { q: '4711 jam' }), [2, 1, 3]);
    assert.deepEqual(await ids('a', { q: 'b471 strawberry', matchingStrategy: 'all' }), [1]);
    for (const q of ['11', '711', '"b471"', 'b4711y']) assert.deepEqual(await ids('a', { q }), []);
    assert.deepEqual(await ids('a', { q: 'b471', attributesToSearchOn: ['title'] }), []);
    assert.deepEqual(await ids('a', { q: 'b471', attributesToSearchOn: ['sku'] }), [1]);
    assert.deepEqual(await ids('a', { q: 'b471', matchingStrategy: 'natural' }), []);
    assert.deepEqual(await ids('a', { q: 'berry -b471' }), [4, 3]);
  });

  it('count in facets, and are highlighted inside', async () => {
    const body = {
      q: 'berry',
      facets: ['kind'],
      filter: 'kind = fruit',
      attributesToHighlight: ['*'],
      showMatchesPosition: true,
      showRankingScoreDetails: true,
    };
    const { hits, facetDistribution } = await search('a', body);
    assert.deepEqual(facetDistribution, { kind: { fruit: 2 } });
    const [first, second] = hits;
    assert.deepEqual(first._formatted.title, '<em>berry</em>');
    assert.deepEqual(second._formatted.info.code, 'X<em>berry</em>-Straße');
    assert.equal(second._formatted.title, 'blueberry', 'not of these attributes');
    assert.deepEqual(second._matchesPosition, { 'info.code': [{ start: 1, length: 5 }] });
    assert.deepEqual(
      hits.map((hit: any) => hit._rankingScoreDetails.typo.typoCount),
      [0, 3],
    );
    const long = await search('a', { q: 'traß', attributesToHighlight: ['info'] });
    assert.equal(long.hits[0]._formatted.info.code, 'Xberry-S<em>traß</em>e');
  });

  it('are found by several searches at once, and in one list', async () => {
    await server.finish('PATCH', '/indexes/b/settings', { body: settings });
    await server.finish('POST', '/indexes/b/documents', { body: [{ id: 9, sku: 'y4711' }] });
    const queries = ['a', 'b'].map((indexUid) => ({ indexUid, q: '4711' }));
    const each = await server.call('POST', '/multi-search', { body: { queries } });
    assert.deepEqual(
      each.json.results.map(({ hits }: any) => hits.map((hit: any) => hit.id)),
      [[2, 3, 1], [9]],
    );
    const one = await server.call('POST', '/multi-search', { body: { queries, federation: {} } });
    assert.deepEqual(one.json.hits.map((hit: any) => hit.id).toSorted(), [1, 2, 3, 9]);
    assert.deepEqual(
      one.json.hits.slice(0, 2).map((hit: any) => hit.id),
      [2, 3],
    );
  });

  it('are found after updates, and no longer without the setting', async () => {
    await server.finish('PUT', '/indexes/a/documents', { body: [{ id: 1, sku: 'CD0815Y' }] });
    await server.finish('POST', '/indexes/a/documents', { body: [{ id: 5, sku: 'Q4711' }] });
    assert.deepEqual(await ids('a', { q: '4711' }), [2, 3, 5]);
    assert.deepEqual(await ids('a', { q: 'd081' }), [1]);
    await server.finish('DELETE', '/indexes/a/settings/substring-attributes');
    assert.deepEqual(await ids('a', { q: '4711' }), [2, 3]);
    const path = '/indexes/a/settings/substring-attributes';
    assert.deepEqual((await server.call('GET', path)).json, []);
    await server.finish('PUT', path, { body: ['sku', 'sku', 'info'] });
    assert.deepEqual((await server.call('GET', path)).json, ['info', 'sku']);
    assert.deepEqual(await ids('a', { q: '4711' }), [2, 3, 5]);
    const wrong = await server.call('PUT', path, { body: [1] });
    assert.equal(wrong.json.code, 'invalid_settings_substring_attributes');
  });
});
