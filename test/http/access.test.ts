import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import { startTestServer, type TestResponse, type TestServer } from './support/test-server.ts';

describe('Access', () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
    for (const uid of ['movies', 'movies-2', 'other']) server.services.addIndex(uid);
  });
  after(() => server.close());

  async function newKey(
    actions: string[],
    indexes: string[],
  ): Promise<{ key: string; uid: string }> {
    const { json } = await server.call('POST', '/keys', {
      body: { actions, indexes, expiresAt: null },
    });
    return json;
  }

  function code({ status, json }: TestResponse): string {
    return status < 300 ? 'ok' : json.code;
  }

  it('of a restricted key leaves out what it may not see', async () => {
    const { key } = await newKey(['*'], ['movies*']);
    const list = await server.call('GET', '/indexes?limit=1', { key });
    assert.equal(list.json.total, 2);
    assert.deepEqual(
      list.json.results.map((one: { uid: string }) => one.uid),
      ['movies'],
    );
    const stats = await server.call('GET', '/stats', { key });
    assert.deepEqual(Object.keys(stats.json.indexes), ['movies', 'movies-2']);
    const cases: [string, string, unknown, string][] = [
      ['GET', '/indexes/other', undefined, 'invalid_api_key'],
      ['GET', '/indexes/movies-9', undefined, 'index_not_found'],
      ['POST', '/indexes', { uid: 'other-2' }, 'invalid_api_key'],
      ['PATCH', '/indexes/movies', { uid: 'other-2' }, 'invalid_api_key'],
      ['POST', '/swap-indexes', [{ indexes: ['movies', 'other'] }], 'invalid_api_key'],
      ['POST', '/swap-indexes', [{ indexes: ['movies', 'movies-2'] }], 'ok'],
      ['GET', '/version', undefined, 'invalid_api_key'],
      ['GET', '/keys', undefined, 'invalid_api_key'],
    ];
    for (const [method, path, body, expected] of cases) {
      assert.equal(code(await server.call(method, path, { key, body })), expected, path);
    }
    const multi = await server.call('POST', '/multi-search', {
      key,
      body: { queries: [{ indexUid: 'movies' }, { indexUid: 'other' }] },
    });
    assert.equal(multi.json.code, 'invalid_api_key');
    assert.match(multi.json.message, /\.queries\[1\]/);
  });

  it('decides whether a write may create its index', async () => {
    const plain = await newKey(['documents.add', 'settings.update'], ['*']);
    const creating = await newKey(['documents.add', 'indexes.create'], ['*']);
    for (const [{ key }, allowed] of [
      [plain, false],
      [creating, true],
    ] as const) {
      await server.call('POST', '/indexes/new/documents', { key, body: [] });
      const request = server.services.registered.at(-1) as { allowIndexCreation: boolean };
      assert.equal(request.allowIndexCreation, allowed);
    }
    await server.call('PATCH', '/indexes/new/settings', { key: plain.key, body: {} });
    assert.equal(
      (server.services.registered.at(-1) as { allowIndexCreation: boolean }).allowIndexCreation,
      false,
    );
  });

  it('through a tenant token adds its filter to every search', async () => {
    const { key, uid } = await newKey(['search'], ['*']);
    const searchRules = { movies: { filter: 'tenant = 42' }, 'movies-*': null };
    const token = jwt.sign({ searchRules, apiKeyUid: uid }, key);
    const last = (): any => server.services.searches.at(-1)!.params;
    await server.call('POST', '/indexes/movies/search', {
      key: token,
      body: { filter: ['a = 1'] },
    });
    assert.deepEqual(last().filter, ['a = 1', 'tenant = 42']);
    await server.call('GET', '/indexes/movies/search?q=x', { key: token });
    assert.deepEqual(last(), { q: 'x', filter: 'tenant = 42' });
    await server.call('POST', '/indexes/movies/facet-search', {
      key: token,
      body: { facetName: 'a' },
    });
    assert.equal(last().filter, 'tenant = 42');
    await server.call('POST', '/multi-search', {
      key: token,
      body: { queries: [{ indexUid: 'movies', filter: 'b = 2' }, { indexUid: 'movies-2' }] },
    });
    assert.deepEqual(
      last().queries.map((query: { filter?: unknown }) => query.filter),
      [['b = 2', 'tenant = 42'], undefined],
    );
    const refused = await server.call('POST', '/indexes/other/search', { key: token, body: {} });
    assert.equal(refused.json.code, 'invalid_api_key');
    assert.match(refused.json.message, /`other`.*movies/);
    assert.equal(
      code(await server.call('GET', '/indexes/movies', { key: token })),
      'invalid_api_key',
    );
  });

  it('without a master key is open, but not to keys', async () => {
    const open = await startTestServer({ masterKey: null });
    assert.equal(code(await open.call('GET', '/indexes')), 'ok');
    assert.equal(code(await open.call('GET', '/indexes', { key: 'anything' })), 'ok');
    const keys = await open.call('GET', '/keys', { key: 'anything' });
    assert.equal(keys.status, 401);
    assert.equal(keys.json.code, 'missing_master_key');
    const scheme = await open.call('GET', '/indexes', { headers: { authorization: 'Basic x' } });
    assert.equal(scheme.json.code, 'missing_authorization_header');
    await open.close();
  });
});
