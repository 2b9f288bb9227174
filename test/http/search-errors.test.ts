/** Which fault is reported, and what its message reveals. */
import assert from 'node:assert/strict';
import { type TestResponse, useServer } from './support/real-server.ts';

describe('Errors of searches', function () {
  this.timeout(60_000);
  const { send, done, code } = useServer();

  it('reports the first of two faults', async () => {
    assert.equal(
      await code('POST', '/indexes/i/documents/delete-batch?x=1', '['),
      'malformed_payload',
    );
    assert.equal(await code('POST', '/indexes/i/documents/delete-batch?x=1', '[]'), 'bad_request');
    const filter = 'kind =';
    const search = { filter, vector: [1] };
    assert.equal(await code('POST', '/indexes/i/search', search), 'invalid_search_filter');
    const facets = { facetName: 'kind', filter };
    assert.equal(await code('POST', '/indexes/none/facet-search', facets), 'index_not_found');
    assert.equal(await code('POST', '/indexes/i/facet-search', facets), 'invalid_search_filter');
    const sizes = { minWordSizeForTypos: { oneTypo: 5, twoTypos: 3 } };
    const settings = { typoTolerance: sizes, pagination: { maxTotalHits: -1 } };
    assert.equal(
      await code('PATCH', '/indexes/i/settings', settings),
      'invalid_settings_typo_tolerance',
    );
    assert.equal(
      await code('PATCH', '/indexes/i!/settings/typo-tolerance', sizes),
      'invalid_settings_typo_tolerance',
    );
  });

  it('refuses what a federated search cannot do', async () => {
    const federated = (federation: object, options?: object): Promise<string> =>
      code('POST', '/multi-search', {
        federation,
        queries: [{ indexUid: 'i', ...(options && { federationOptions: options }) }],
      });
    assert.equal(await federated({ personalize: { userContext: 'x' } }), 'feature_not_enabled');
    assert.equal(await federated({}, { remote: 'other' }), 'feature_not_enabled');
    await send('PATCH', '/experimental-features', { network: true });
    assert.equal(await federated({}, { remote: 'other' }), 'invalid_multi_search_remote');
    await send('PATCH', '/experimental-features', { network: false });
  });

  it('ignores what else stands in a search of facet values', async () => {
    const facet = (body: object): Promise<TestResponse> =>
      send('POST', '/indexes/i/facet-search', { facetName: 'kind', ...body });
    const plain = await facet({});
    assert.equal(plain.status, 200);
    for (const ignored of [
      { distinct: 'x' },
      { distinct: 'kind' },
      { sort: 3 },
      { personalize: { userContext: 'x' } },
      { segmentation: [0] },
    ]) {
      const { status, body } = await facet(ignored);
      assert.deepEqual([status, body.facetHits], [200, plain.body.facetHits]);
    }
    const gated = await facet({ filter: 'kind CONTAINS 1', containsFilter: true });
    assert.equal(gated.body.code, 'feature_not_enabled');
  });

  it('says which index an error is about', async () => {
    const refused: [path: string, body: object][] = [
      ['search', { filter: 'x = 1' }],
      ['search', { sort: ['x:asc'] }],
      ['search', { facets: ['x'] }],
      ['search', { distinct: 'x' }],
      ['facet-search', { facetName: 'x' }],
      ['facet-search', { facetName: 'kind', filter: 'x = 1' }],
      ['documents/fetch', { filter: 'x = 1' }],
      ['documents/fetch', { sort: ['x:asc'] }],
    ];
    for (const [path, body] of refused) {
      const response = await send('POST', `/indexes/i/${path}`, body);
      assert.match(response.body.message, /^Index `i`: /, `${path} ${JSON.stringify(body)}`);
    }
    const queries = [{ indexUid: 'i' }, { indexUid: 'i', filter: 'x = 1' }];
    for (const federation of [null, {}]) {
      const { body } = await send('POST', '/multi-search', { federation, queries });
      assert.match(body.message, /^Inside `\.queries\[1\]`: Index `i`: [^`]/);
    }
  });

  it('does not reveal the names of attributes that are not displayed', async () => {
    await done('POST', '/indexes/hidden/documents', [{ id: 1, pub: 'a', secret: 'b' }]);
    await done('PATCH', '/indexes/hidden/settings', {
      displayedAttributes: ['id', 'pub'],
      searchableAttributes: ['pub', 'secret'],
      filterableAttributes: [
        'pub',
        'secret',
        {
          attributePatterns: ['off'],
          features: { filter: { equality: false, comparison: false } },
        },
      ],
      sortableAttributes: ['pub', 'secret'],
    });
    for (const search of [
      { filter: 'x = 1' },
      { filter: '_geoRadius(1, 1, 1)' },
      { sort: ['x:asc'] },
      { facets: ['x'] },
      { distinct: 'x' },
      { attributesToSearchOn: ['x'] },
    ]) {
      const { status, body } = await send('POST', '/indexes/hidden/search', search);
      assert.equal(status, 400);
      assert.match(body.message, /`pub` and hidden ones/, JSON.stringify(search));
      assert.doesNotMatch(body.message, /secret/);
    }
    const facet = await send('POST', '/indexes/hidden/facet-search', { facetName: 'x' });
    assert.match(facet.body.message, /`pub` and hidden ones/);
    const off = await send('POST', '/indexes/hidden/search', { facets: ['off'] });
    assert.match(off.body.message, /rule #2 /);
  });
});
