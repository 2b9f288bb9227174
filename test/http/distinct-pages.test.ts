import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

describe('pages of distinct documents', function () {
  this.timeout(120_000);

  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer();
    const settings = { filterableAttributes: ['g', 'p'], sortableAttributes: ['p'] };
    await server.finish('PATCH', '/indexes/a/settings', { body: settings });
    const documents = [
      { id: 1, g: ['a'], p: 3 },
      { id: 2, g: ['a', 'b'], p: 1 },
      { id: 3, g: ['b'], p: 2 },
      { id: 4, g: ['z'], p: 0 },
    ];
    await server.finish('POST', '/indexes/a/documents', { body: documents });
  });
  after(() => server?.close());

  it('count the documents that are shown, on every page and with every size', async () => {
    for (const hitsPerPage of [0, 1, 2, 3]) {
      for (const page of [1, 2, 3]) {
        const body = { distinct: 'g', sort: ['p:asc'], facets: ['p'], hitsPerPage, page };
        const { json } = await server.call('POST', '/indexes/a/search', { body });
        const at = `size ${hitsPerPage}, page ${page}`;
        assert.equal(json.totalHits, 2, at);
        assert.deepEqual(json.facetDistribution, { p: { '0': 1, '1': 1 } }, at);
        assert.deepEqual(json.facetStats, { p: { min: 0, max: 1 } }, at);
      }
    }
  });

  it('hold each document once', async () => {
    const shown: number[] = [];
    for (const page of [1, 2]) {
      const body = { distinct: 'g', sort: ['p:asc'], hitsPerPage: 1, page };
      const { json } = await server.call('POST', '/indexes/a/search', { body });
      shown.push(...json.hits.map(({ id }: { id: number }) => id));
    }
    assert.deepEqual(shown, [4, 2]);
  });
});
