import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

/** More criteria than fit on the stack if each rule were nested in the one before. */
const MANY = Array.from({ length: 10_000 }, (_, i) => `a.x${i}:asc`);

describe('Too many sort criteria, and faulty ones', () => {
  let server: BuiltServer;

  before(async function () {
    this.timeout(120_000);
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/books/settings', {
      body: { sortableAttributes: ['a'] },
    });
    const documents = Array.from({ length: 300 }, (_, id) => ({
      id,
      a: Object.fromEntries(
        Array.from({ length: 300 }, (_, k) => [`x${(id * 300 + k) % 10_000}`, k]),
      ),
    }));
    await server.finish('POST', '/indexes/books/documents', { body: documents });
  });
  after(() => server.close());

  const cases: [path: string, body: unknown, code: string][] = [
    ['/indexes/books/search', { sort: MANY }, 'invalid_search_sort'],
    ['/multi-search', { queries: [{ indexUid: 'books', sort: MANY }] }, 'invalid_search_sort'],
    ['/indexes/books/documents/fetch', { sort: MANY }, 'invalid_document_sort'],
    ['/indexes/books/documents/fetch', { sort: MANY.join(',') }, 'invalid_document_sort'],
  ];
  for (const [path, body, code] of cases) {
    const form = Array.isArray((body as { sort?: unknown }).sort) ? 'a list' : 'a text or a query';
    it(`are refused by ${path} as ${form}`, async () => {
      const response = await server.call('POST', path, { body });
      assert.equal(response.status, 400);
      assert.equal(response.json.code, code);
    });
  }

  it('are more than 256', async () => {
    const search = (count: number): Promise<{ status: number }> =>
      server.call('POST', '/indexes/books/search', { body: { sort: MANY.slice(0, count) } });
    assert.equal((await search(256)).status, 200);
    assert.equal((await search(257)).status, 400);
  });

  it('are refused as a text with half a surrogate pair', async () => {
    const response = await server.call('POST', '/indexes/books/documents/fetch', {
      body: { sort: '\ud800' },
    });
    assert.equal(response.status, 400);
    assert.equal(response.json.code, 'malformed_payload');
  });

  for (const [path, code] of [
    ['/indexes/books/search', 'invalid_search_sort'],
    ['/indexes/books/documents', 'invalid_document_sort'],
  ]) {
    it(`are more than 256 in the query of GET ${path}`, async () => {
      const get = (count: number): Promise<{ status: number; json: { code?: string } }> =>
        server.call('GET', `${path}?sort=${MANY.slice(0, count).join(',')}`);
      assert.equal((await get(256)).status, 200);
      const refused = await get(257);
      assert.equal(refused.status, 400);
      assert.equal(refused.json.code, code);
    });
  }
});
