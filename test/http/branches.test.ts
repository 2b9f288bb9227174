/** Branches of indexes, through HTTP. */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('Branches', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  const fill = (uid: string, ...titles: string[]): Promise<any> =>
    server.finish('POST', `/indexes/${uid}/documents`, {
      body: titles.map((title, id) => ({ id, title })),
    });
  const branch = (uid: string, body: object): Promise<any> =>
    server.finish('POST', `/indexes/${uid}/branch`, { body });
  const promote = (uid: string): Promise<any> => server.finish('POST', `/indexes/${uid}/promote`);
  const titlesIn = async (uid: string, q = ''): Promise<string[]> => {
    const { json } = await server.call('POST', `/indexes/${uid}/search`, { body: { q } });
    return json.hits.map(({ title }: any) => title);
  };
  const diff = (uid: string): Promise<any> => server.call('GET', `/indexes/${uid}/branch/diff`);

  it('have the content of their origin, and settings of their own', async () => {
    await fill('products', 'red shoe', 'blue shoe');
    const made = await branch('products', { uid: 'draft' });
    assert.deepEqual(
      [made.status, made.type, made.indexUid, made.details],
      ['succeeded', 'indexBranch', 'products', { branchUid: 'draft', follow: false }],
    );
    assert.deepEqual(await titlesIn('draft', 'shoe'), ['red shoe', 'blue shoe']);
    const { json: listed } = await server.call('GET', '/indexes/products/branches');
    assert.deepEqual(
      listed.results.map(({ uid, origin, follow }: any) => [uid, origin, follow]),
      [['draft', 'products', false]],
    );
    await server.finish('PATCH', '/indexes/draft/settings', { body: { stopWords: ['shoe'] } });
    assert.deepEqual((await diff('draft')).json, {
      uid: 'draft',
      origin: 'products',
      settings: { stopWords: { origin: [], branch: ['shoe'] } },
    });
    // Settings that responses leave out where they have their defaults, on either side.
    await server.finish('PATCH', '/indexes/draft/settings', {
      body: { stopWords: null, defaultMatchingStrategy: 'all' },
    });
    await server.finish('PATCH', '/indexes/products/settings', {
      body: { substringAttributes: ['title'] },
    });
    assert.deepEqual((await diff('draft')).json.settings, {
      defaultMatchingStrategy: { origin: 'last', branch: 'all' },
      substringAttributes: { origin: ['title'], branch: [] },
    });
    for (const uid of ['draft', 'products']) {
      const body = { stopWords: uid === 'draft' ? ['shoe'] : null };
      const others = { defaultMatchingStrategy: null, substringAttributes: null };
      await server.finish('PATCH', `/indexes/${uid}/settings`, { body: { ...body, ...others } });
    }
    await server.finish('DELETE', '/indexes/draft/documents/0');
    await fill('products', 'red shoe', 'blue shoe', 'hat');
    assert.deepEqual(await titlesIn('products'), ['red shoe', 'blue shoe', 'hat']);
    assert.deepEqual(await titlesIn('draft'), ['blue shoe']);
  });

  it('are promoted, and promoted again to go back', async () => {
    const swapped = await promote('draft');
    assert.deepEqual([swapped.status, swapped.type], ['succeeded', 'indexSwap']);
    assert.deepEqual(await titlesIn('products'), ['blue shoe']);
    assert.deepEqual(await titlesIn('draft'), ['red shoe', 'blue shoe', 'hat']);
    assert.deepEqual((await diff('draft')).json.settings, {
      stopWords: { origin: ['shoe'], branch: [] },
    });
    await promote('draft');
    assert.deepEqual(await titlesIn('draft'), ['blue shoe']);
    await server.finish('DELETE', '/indexes/draft');
    const { status, json } = await promoted('draft');
    assert.deepEqual([status, json.code], [404, 'index_not_found']);
    assert.deepEqual((await titlesIn('products')).length, 3);
  });

  const promoted = (uid: string): Promise<any> =>
    server.call('POST', `/indexes/${uid}/promote`, { body: {} });

  it('that follow get the writes of documents to their origin, also those that wait', async () => {
    await fill('shop', 'a', 'b');
    // None waits for the one before.
    const sent: any[] = [];
    const send = async (method: string, path: string, body?: unknown): Promise<void> => {
      const { json } = await server.call(method, path, body === undefined ? {} : { body });
      sent.push(json.taskUid);
    };
    await send('POST', '/indexes/shop/branch', { uid: 'next', follow: true });
    await send('POST', '/indexes/shop/documents', [{ id: 2, title: 'c' }]);
    await send('DELETE', '/indexes/shop/documents/0');
    await send('PATCH', '/indexes/shop/settings', { stopWords: ['b'] });
    const large = Array.from({ length: 20_000 }, (_, n) => ({ id: 100 + n, title: 'many' }));
    await send('POST', '/indexes/shop/documents', large);
    await server.idle();
    for (const uid of ['shop', 'next']) {
      const { json } = await server.call('GET', `/indexes/${uid}/stats`);
      assert.equal(json.numberOfDocuments, 20_002, uid);
      assert.deepEqual(await titlesIn(uid, 'c'), ['c']);
      assert.deepEqual(await titlesIn(uid, 'a'), []);
    }
    const { json: tasks } = await server.call('GET', '/tasks?indexUids=next&limit=100');
    assert.deepEqual(
      tasks.results.map(({ type, status }: any) => `${type} ${status}`),
      [
        'documentAdditionOrUpdate succeeded',
        'documentDeletion succeeded',
        'documentAdditionOrUpdate succeeded',
        'indexBranch succeeded',
      ],
    );
    const { json: settings } = await server.call('GET', '/indexes/next/settings/stop-words');
    assert.deepEqual(settings, []);
    // After a promotion the older content follows the newer.
    await promote('next');
    await fill('shop', 'new');
    await server.idle();
    for (const uid of ['shop', 'next']) assert.ok((await titlesIn(uid, 'new')).includes('new'));
  });

  it('whose task fails leave the index of that uid alone', async () => {
    await fill('taken', 'mine');
    await fill('other', 'x');
    // Neither waits for the one before.
    const follow = { uid: 'taken', follow: true };
    await server.call('POST', '/indexes/other/branch', { body: follow });
    await server.call('POST', '/indexes/other/documents', { body: [{ id: 9, title: 'y' }] });
    await server.idle();
    assert.deepEqual(await titlesIn('taken'), ['mine']);
    // Whether the write is repeated depends on when the task fails.
    const { json } = await server.call('GET', '/tasks?indexUids=taken&statuses=succeeded');
    assert.equal(json.total, 1);
  });

  it('end with their index, and go with it when it is renamed', async () => {
    await fill('one', 'x');
    await branch('one', { uid: 'two', follow: true });
    await server.finish('PATCH', '/indexes/two', { body: { uid: 'three' } });
    await server.finish('PATCH', '/indexes/one', { body: { uid: 'zero' } });
    assert.deepEqual((await diff('three')).json, { uid: 'three', origin: 'zero', settings: {} });
    await fill('zero', 'x', 'followed');
    await server.idle();
    assert.deepEqual(await titlesIn('three'), ['x', 'followed']);
    const chained = await branch('three', { uid: 'four', follow: true });
    assert.deepEqual([chained.status, chained.error.code], ['failed', 'bad_request']);
    await server.finish('DELETE', '/indexes/zero');
    await fill('zero', 'another');
    await server.idle();
    assert.deepEqual(await titlesIn('three'), ['x', 'followed']);
    const { status, json } = await diff('three');
    assert.deepEqual([status, json.code], [404, 'branch_not_found']);
  });

  it('share files, which the statistics count once', async () => {
    const sizeOf = async (): Promise<number> =>
      (await server.call('GET', '/stats')).json.databaseSize;
    const words = (n: number): string =>
      Array.from({ length: 40 }, (_, k) => `w${n * k}`).join(' ');
    await fill('large', ...Array.from({ length: 5000 }, (_, n) => words(n)));
    const before = await sizeOf();
    const { json } = await server.call('GET', '/indexes/large/stats');
    assert.ok(json.indexSize > 1_000_000);
    await branch('large', { uid: 'large-draft' });
    assert.ok((await sizeOf()) - before < json.indexSize / 2);
  });

  it('need the right to read the origin and to create the branch', async () => {
    const keyOf = async (actions: string[], indexes: string[]): Promise<string> =>
      (await server.call('POST', '/keys', { body: { actions, indexes, expiresAt: null } })).json
        .key;
    const as = async (key: string, uid: string): Promise<number> =>
      (
        await fetch(`${server.url}/indexes/products/branch`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ uid }),
        })
      ).status;
    const both = ['indexes.create', 'documents.get'];
    const names = ['products', 'mine*'];
    assert.equal(await as(await keyOf(['indexes.create'], names), 'mine-1'), 403);
    assert.equal(await as(await keyOf(['documents.get'], names), 'mine-1'), 403);
    assert.equal(await as(await keyOf(both, ['mine*']), 'mine-1'), 403);
    assert.equal(await as(await keyOf(both, names), 'yours'), 403);
    assert.equal(await as(await keyOf(both, names), 'mine-1'), 202);
    await server.idle();
    const refused = await server.call('POST', '/indexes/products/branch', { body: { uid: 'a b' } });
    assert.deepEqual([refused.status, refused.json.code], [400, 'invalid_index_uid']);
    const follow = { uid: 'mine-2', follow: 'yes' };
    const wrong = await server.call('POST', '/indexes/products/branch', { body: follow });
    assert.deepEqual([wrong.status, wrong.json.code], [400, 'invalid_branch_follow']);
  });
});
