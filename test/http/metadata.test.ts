/** The header `Meili-Include-Metadata`. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('Metadata of a search', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1, title: 'Dune' }] });
    await server.finish('POST', '/indexes', { body: { uid: 'empty' } });
  });
  after(() => server.close());

  async function search(path: string, body: unknown, header: string | null): Promise<any> {
    const response = await fetch(server.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.masterKey}`,
        'content-type': 'application/json',
        ...(header !== null && { 'meili-include-metadata': header }),
      },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 200);
    return response.json();
  }

  const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;

  it('names the query, the index and its primary key', async () => {
    for (const header of ['true', 'TRUE', '1']) {
      const { metadata } = await search('/indexes/books/search', { q: 'dune' }, header);
      const { queryUid, ...rest } = metadata;
      assert.match(queryUid, UUID_V7);
      assert.deepEqual(rest, { query: 'dune', indexUid: 'books', primaryKey: 'id' });
    }
    const { metadata } = await search('/indexes/empty/search', {}, 'true');
    assert.deepEqual(Object.keys(metadata), ['queryUid', 'indexUid']);
  });

  it('is left out when nobody asks for it', async () => {
    for (const header of [null, 'false', 'yes']) {
      assert.ok(!('metadata' in (await search('/indexes/books/search', {}, header))));
    }
  });

  it('stands in each result of a multi-search, and as a list in a federated one', async () => {
    const queries = [
      { indexUid: 'books', q: 'dune' },
      { indexUid: 'empty', q: 'x' },
    ];
    const { results } = await search('/multi-search', { queries }, 'true');
    const merged = await search('/multi-search', { federation: {}, queries }, 'true');
    for (const list of [results.map((result: any) => result.metadata), merged.metadata]) {
      assert.deepEqual(
        list.map((one: any) => ({ ...one, queryUid: undefined })),
        [
          { query: 'dune', queryUid: undefined, indexUid: 'books', primaryKey: 'id' },
          { query: 'x', queryUid: undefined, indexUid: 'empty' },
        ],
      );
    }
  });
});
