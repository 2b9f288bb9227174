import assert from 'node:assert/strict';
import { startTestServer } from './support/test-server.ts';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('GET /access', () => {
  let server: BuiltServer;

  before(async function () {
    server = await startBuiltServer();
    for (const uid of ['books', 'papers', 'private']) {
      await server.finish('POST', '/indexes', { body: { uid } });
    }
  });
  after(() => server?.close());

  const accessOf = async (key: string | null): Promise<any> => {
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(`${server.url}/access`, { headers });
    assert.equal(response.status, 200);
    return response.json();
  };
  const makeKey = async (body: object): Promise<string> =>
    (await server.call('POST', '/keys', { body: { expiresAt: null, ...body } })).json.key;

  it('shows nothing without a key, or with one that is not valid', async () => {
    const nothing = { hasMasterKey: true, actions: [], indexes: [] };
    assert.deepEqual(await accessOf(null), nothing);
    assert.deepEqual(await accessOf('not a key'), nothing);
    assert.deepEqual(await accessOf('a.b.c'), nothing);
  });

  it('shows the actions of a key and the indexes that it may use', async () => {
    const key = await makeKey({ actions: ['search', 'documents.*'], indexes: ['books', 'pa*'] });
    assert.deepEqual(await accessOf(key), {
      hasMasterKey: true,
      actions: ['search', 'documents.add', 'documents.get', 'documents.delete'],
      indexes: ['books', 'papers'],
    });
    const all = await accessOf(server.masterKey);
    assert.deepEqual(all.indexes, ['books', 'papers', 'private']);
    assert.ok(
      all.actions.includes('keys.get') && !all.actions.some((one: string) => one.includes('*')),
    );
  });

  it('shows no action that needs all indexes to a key of some', async () => {
    const key = await makeKey({ actions: ['*'], indexes: ['books'] });
    const { actions, indexes } = await accessOf(key);
    assert.ok(!actions.includes('keys.get') && !actions.includes('version'));
    assert.ok(actions.includes('search'));
    assert.deepEqual(indexes, ['books']);
  });
});

describe('GET /access without a master key', () => {
  it('shows everything but what needs one', async () => {
    const server = await startTestServer({ masterKey: null });
    try {
      const { json } = await server.call('GET', '/access');
      assert.equal(json.hasMasterKey, false);
      assert.ok(json.actions.includes('search') && !json.actions.includes('keys.get'));
    } finally {
      await server.close();
    }
  });
});
