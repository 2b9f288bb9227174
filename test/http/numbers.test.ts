/** The greatest integers, and values that are none. */
import assert from 'node:assert/strict';
import { type TestResponse, useServer } from './support/real-server.ts';

/** The greatest integer of the interface; as a double it is 2^64. */
const GREATEST = '18446744073709551615';

describe('Numbers in requests', function () {
  this.timeout(60_000);
  const { send, done, idsOf, code, server } = useServer();

  it('takes the greatest integer for what it is', async () => {
    const search = (parameters: string): Promise<TestResponse> =>
      send('POST', '/indexes/i/search', `{"q":"word",${parameters}}`);
    assert.deepEqual(idsOf(await search(`"limit":${GREATEST}`)), [1, 2, 3]);
    assert.deepEqual(idsOf(await search(`"offset":${GREATEST}`)), []);
    assert.deepEqual(idsOf(await search(`"limit":${GREATEST},"offset":1`)), [2, 3]);
    const page = await search(`"hitsPerPage":${GREATEST}`);
    assert.deepEqual(idsOf(page), [1, 2, 3]);
    assert.equal(page.body.totalPages, 1);
    assert.deepEqual(idsOf(await search(`"page":${GREATEST}`)), []);
    for (const list of ['GET', 'POST']) {
      const fetched = (parameters: Record<string, string>): Promise<TestResponse> =>
        list === 'GET'
          ? send('GET', `/indexes/i/documents?${new URLSearchParams(parameters).toString()}`)
          : send(
              'POST',
              '/indexes/i/documents/fetch',
              `{${Object.entries(parameters)
                .map(([name, value]) => `"${name}":${value}`)
                .join()}}`,
            );
      assert.deepEqual(idsOf(await fetched({ limit: GREATEST })), [1, 2, 3, 1000]);
      assert.deepEqual(idsOf(await fetched({ limit: GREATEST, offset: '2' })), [3, 1000]);
      assert.deepEqual(idsOf(await fetched({ offset: GREATEST })), []);
    }
    const federated = await send(
      'POST',
      '/multi-search',
      `{"federation":{"limit":${GREATEST}},"queries":[{"indexUid":"i","q":"word"}]}`,
    );
    assert.deepEqual(idsOf(federated), [1, 2, 3]);
  });

  it('returns the greatest integer as one of 64 bits', async () => {
    for (const path of ['/indexes', '/tasks', '/batches', '/indexes/i/documents']) {
      const { text } = await server().client.call('GET', `${path}?limit=${GREATEST}`, {});
      const [, limit] = /"limit":(\d+)/.exec(text)!;
      assert.ok(BigInt(limit!) < 2n ** 64n, `${path}: ${limit}`);
    }
    for (const path of ['/indexes/i/fields', '/indexes/i/search', '/indexes/i/documents/fetch']) {
      const bytes = Buffer.from(`{"limit":${GREATEST}}`);
      const { text } = await server().client.call('POST', path, { bytes });
      const [, limit] = /"limit":(\d+)/.exec(text)!;
      assert.ok(BigInt(limit!) < 2n ** 64n, `${path}: ${limit}`);
    }
  });

  it('takes the greatest integer as a setting', async () => {
    const settings =
      `{"pagination":{"maxTotalHits":${GREATEST}},"faceting":{"maxValuesPerFacet":${GREATEST}},` +
      `"searchCutoffMs":${GREATEST}}`;
    assert.equal((await done('PATCH', '/indexes/i/settings', settings)).status, 'succeeded');
    const { body } = await send('POST', '/indexes/i/search', {
      q: 'word',
      facets: ['kind'],
      showRankingScoreDetails: true,
    });
    assert.equal(body.estimatedTotalHits, 3);
    assert.deepEqual(body.facetDistribution, { kind: { 0: 1, 1: 2 } });
    assert.equal(body.hits[0]._rankingScoreDetails.skipped, undefined);
    await done('PATCH', '/indexes/i/settings', {
      pagination: null,
      faceting: null,
      searchCutoffMs: null,
    });
  });

  it('refuses what is no integer of 64 bits', async () => {
    for (const number of ['18446744073709551616', '1.0', '1e3']) {
      assert.equal(
        await code('PUT', '/indexes/i/settings/search-cutoff-ms', number),
        'invalid_settings_search_cutoff_ms',
        number,
      );
    }
    for (const ids of [
      '[1.0]',
      '[1e3]',
      '["1",1E3]',
      '[18446744073709551616]',
      '[-9223372036854775809]',
    ]) {
      const body = `{"ids":${ids}}`;
      assert.equal(
        await code('POST', '/indexes/i/documents/fetch', body),
        'invalid_document_ids',
        ids,
      );
    }
    const found = await send(
      'POST',
      '/indexes/i/documents/fetch',
      `{"ids":["1",1000,${GREATEST}]}`,
    );
    assert.deepEqual(idsOf(found), [1, 1000]);
  });
});
