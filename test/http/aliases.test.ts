/** Aliases: further names of indexes, through HTTP. */
import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import { Meilisearch } from 'meilisearch';
import { runProgram } from '../support/run-program.ts';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

describe('Aliases', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
  });
  after(() => server.close());

  const put = (alias: string, indexUid: string): Promise<any> =>
    server.finish('PUT', `/aliases/${alias}`, { body: { indexUid } });
  const fill = (uid: string, ...titles: string[]): Promise<any> =>
    server.finish('POST', `/indexes/${uid}/documents`, {
      body: titles.map((title, id) => ({ id, title, shelf: id % 2 })),
    });
  const titlesBy = async (uid: string): Promise<string[]> => {
    const { json } = await server.call('POST', `/indexes/${uid}/search`, { body: {} });
    return json.hits.map(({ title }: any) => title);
  };
  async function newKey(
    actions: string[],
    indexes: string[],
  ): Promise<{ key: string; uid: string }> {
    return (await server.call('POST', '/keys', { body: { actions, indexes, expiresAt: null } }))
      .json;
  }
  async function as(key: string, method: string, path: string, body?: unknown): Promise<any> {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  }

  it('let a client reindex: build, switch, delete', async () => {
    const client = new Meilisearch({ host: server.url, apiKey: server.masterKey });
    await fill('books-1', 'Dune');
    const first = await put('books', 'books-1');
    assert.deepEqual(
      [first.status, first.indexUid, first.details],
      ['succeeded', 'books-1', { alias: 'books', indexUid: 'books-1' }],
    );
    const books = client.index('books');
    assert.deepEqual(
      (await books.search('')).hits.map(({ title }) => title),
      ['Dune'],
    );
    assert.equal((await books.getDocument(0)).title, 'Dune');
    assert.equal((await books.getStats()).numberOfDocuments, 1);
    assert.equal((await books.getRawInfo()).uid, 'books-1');

    // The switch is registered after the documents, so it happens after them.
    const building = client.index('books-2').addDocuments([{ id: 0, title: 'Solaris' }]);
    await building;
    assert.equal((await put('books', 'books-2')).status, 'succeeded');
    assert.deepEqual(await titlesBy('books'), ['Solaris']);
    await client.deleteIndex('books-1').waitTask();
    assert.deepEqual(await titlesBy('books'), ['Solaris']);

    const added = await books.addDocuments([{ id: 1, title: 'Ubik' }]).waitTask();
    assert.deepEqual([added.status, added.indexUid], ['succeeded', 'books-2']);
    await books.updateSettings({ filterableAttributes: ['id'] }).waitTask();
    assert.deepEqual(await client.index('books-2').getFilterableAttributes(), ['id']);
    await books.deleteDocument(0).waitTask();
    assert.deepEqual(await titlesBy('books-2'), ['Ubik']);
    const { indexes } = await client.getStats();
    assert.deepEqual(Object.keys(indexes), ['books-2']);
  });

  it('are shown, listed in pages, and deleted', async () => {
    await fill('shown', 'x');
    await put('b-shown', 'shown');
    await put('a-shown', 'shown');
    const { json } = await server.call('GET', '/aliases/a-shown');
    assert.deepEqual(Object.keys(json), ['alias', 'indexUid', 'createdAt', 'updatedAt']);
    assert.deepEqual([json.alias, json.indexUid], ['a-shown', 'shown']);
    const created = json.createdAt;
    await put('a-shown', 'books-2');
    const after = (await server.call('GET', '/aliases/a-shown')).json;
    assert.equal(after.createdAt, created);
    assert.notEqual(after.updatedAt, created);
    const page = (await server.call('GET', '/aliases?offset=1&limit=1')).json;
    assert.deepEqual(
      page.results.map(({ alias }: any) => alias),
      ['b-shown'],
    );
    assert.deepEqual([page.offset, page.limit, page.total], [1, 1, 3]);
    for (const alias of ['a-shown', 'b-shown']) {
      assert.equal((await server.finish('DELETE', `/aliases/${alias}`)).status, 'succeeded');
      const missing = await server.call('GET', `/aliases/${alias}`);
      assert.deepEqual([missing.status, missing.json.code], [404, 'alias_not_found']);
    }
    const again = await server.finish('DELETE', '/aliases/a-shown');
    assert.deepEqual([again.status, again.error.code], ['failed', 'alias_not_found']);
    assert.deepEqual(await titlesBy('shown'), ['x']);
  });

  it('refuse what is no alias of an index', async () => {
    await fill('taken', 'x');
    await put('name', 'taken');
    const faults: [string, string, string][] = [
      ['taken', 'books-2', 'index_already_exists'],
      ['new', 'no-such-index', 'index_not_found'],
    ];
    for (const [alias, indexUid, code] of faults) {
      const task = await put(alias, indexUid);
      assert.deepEqual([task.status, task.error.code], ['failed', code]);
    }
    const requests: [string, unknown, number, string][] = [
      ['/aliases/new', { indexUid: 'name' }, 400, 'alias_not_allowed'],
      ['/aliases/new', {}, 400, 'missing_alias_index_uid'],
      ['/aliases/new', { indexUid: 'a b' }, 400, 'invalid_alias_index_uid'],
      ['/aliases/new', { indexUid: 'taken', x: 1 }, 400, 'bad_request'],
      ['/aliases/a.b', { indexUid: 'taken' }, 400, 'invalid_index_uid'],
    ];
    for (const [path, body, status, code] of requests) {
      const { status: received, json } = await server.call('PUT', path, { body });
      assert.deepEqual([received, json.code], [status, code], path);
    }
    assert.equal((await server.call('GET', '/aliases?limit=x')).json.code, 'invalid_alias_limit');
    assert.equal((await server.call('GET', '/aliases?offset=x')).json.code, 'invalid_alias_offset');
    assert.equal((await server.call('GET', '/aliases/new')).status, 404);
  });

  it('keep their names: no index gets the name of an alias', async () => {
    await fill('kept', 'x');
    await put('kept-alias', 'kept');
    const tasks = [
      await server.finish('POST', '/indexes', { body: { uid: 'kept-alias' } }),
      await server.finish('PATCH', '/indexes/kept', { body: { uid: 'kept-alias' } }),
      await server.finish('POST', '/swap-indexes', {
        body: [{ indexes: ['kept', 'kept-alias'], rename: true }],
      }),
    ];
    for (const { status, error } of tasks) {
      assert.deepEqual([status, error?.code], ['failed', 'index_already_exists']);
    }
    for (const [method, body] of [
      ['DELETE', undefined],
      ['PATCH', { uid: 'other' }],
    ] as const) {
      const { status, json } = await server.call(method, '/indexes/kept-alias', { body });
      assert.deepEqual([status, json.code], [400, 'alias_not_allowed']);
    }
    assert.deepEqual(await titlesBy('kept-alias'), ['x']);
  });

  it('outlive their index, and then create none', async () => {
    await fill('short', 'x');
    await put('long', 'short');
    await server.finish('DELETE', '/indexes/short');
    assert.equal((await server.call('GET', '/aliases/long')).json.indexUid, 'short');
    const search = await server.call('POST', '/indexes/long/search', { body: {} });
    assert.deepEqual([search.status, search.json.code], [404, 'index_not_found']);
    const add = await server.call('POST', '/indexes/long/documents', { body: [{ id: 1 }] });
    assert.deepEqual([add.status, add.json.code], [404, 'index_not_found']);
    assert.equal((await server.call('GET', '/indexes/short')).status, 404);
    await fill('short', 'y');
    assert.deepEqual(await titlesBy('long'), ['y']);
  });

  it('are swapped as their indexes are', async () => {
    await fill('left', 'l');
    await fill('right', 'r');
    await put('left-alias', 'left');
    const swap = await server.finish('POST', '/swap-indexes', {
      body: [{ indexes: ['left-alias', 'right'] }],
    });
    assert.deepEqual(swap.details.swaps, [{ indexes: ['left', 'right'], rename: false }]);
    assert.deepEqual([await titlesBy('left-alias'), await titlesBy('left')], [['r'], ['r']]);
    const twice = await server.call('POST', '/swap-indexes', {
      body: [{ indexes: ['left-alias', 'left'] }],
    });
    assert.equal(twice.json.code, 'invalid_swap_duplicate_index_found');
  });

  it('work in multi-search and federation under the name that was asked for', async () => {
    await fill('multi', 'm');
    await put('multi-alias', 'multi');
    const queries = [{ indexUid: 'multi-alias', q: 'm' }];
    const { json } = await server.call('POST', '/multi-search', { body: { queries } });
    assert.deepEqual(
      json.results.map(({ indexUid, hits }: any) => [indexUid, hits.length]),
      [['multi-alias', 1]],
    );
    await server.finish('PATCH', '/indexes/multi/settings', {
      body: { filterableAttributes: ['shelf'] },
    });
    const federation = { facetsByIndex: { 'multi-alias': ['shelf'] } };
    const merged = (await server.call('POST', '/multi-search', { body: { federation, queries } }))
      .json;
    assert.equal(merged.hits[0]._federation.indexUid, 'multi-alias');
    assert.deepEqual(merged.facetsByIndex['multi-alias'].distribution, { shelf: { 0: 1 } });
  });

  it('select the tasks of their index, and their own', async () => {
    await fill('filtered', 'x');
    await put('filtered-alias', 'filtered');
    await server.finish('POST', '/indexes/filtered-alias/documents', { body: [{ id: 5 }] });
    const { json } = await server.call('GET', '/tasks?indexUids=filtered-alias');
    assert.deepEqual(
      json.results.map(({ type, indexUid }: any) => [type, indexUid]),
      [
        ['documentAdditionOrUpdate', 'filtered'],
        ['aliasUpdate', 'filtered'],
        ['documentAdditionOrUpdate', 'filtered'],
      ],
    );
  });

  describe('and keys', () => {
    before(async () => {
      await fill('open-1', 'a', 'b');
      await fill('secret-1', 's');
      await server.finish('PATCH', '/indexes/open-1/settings', {
        body: { filterableAttributes: ['shelf'] },
      });
      await put('open', 'open-1');
      await put('secret', 'secret-1');
    });

    it('are accessed like an index of that name', async () => {
      const { key } = await newKey(['*'], ['open']);
      const found = await as(key, 'POST', '/indexes/open/search', {});
      assert.equal(found.json.hits.length, 2);
      for (const uid of ['open-1', 'secret', 'secret-1']) {
        assert.equal((await as(key, 'POST', `/indexes/${uid}/search`, {})).status, 403, uid);
      }
      const added = await as(key, 'POST', '/indexes/open/documents', [{ id: 9 }]);
      assert.equal(added.json.indexUid, 'open-1');
      await server.ended(added.json.taskUid);
      // The caller sees its own task.
      assert.equal((await as(key, 'GET', `/tasks/${added.json.taskUid}`)).status, 200);
      const tasks = (await as(key, 'GET', '/tasks?limit=1000')).json.results;
      assert.ok(
        tasks.every(({ indexUid }: any) => indexUid === 'open-1'),
        JSON.stringify(tasks),
      );
      const listed = (await as(key, 'GET', '/aliases')).json.results;
      assert.deepEqual(
        listed.map(({ alias }: any) => alias),
        ['open'],
      );
      assert.equal((await as(key, 'GET', '/aliases/secret')).status, 403);
      assert.deepEqual((await as(key, 'GET', '/access')).json.indexes, ['open']);
      assert.deepEqual((await as(key, 'GET', '/indexes')).json.results, []);
      assert.deepEqual((await as(key, 'GET', '/stats')).json.indexes, {});
    });

    it('are no way to another index', async () => {
      const { key } = await newKey(['*'], ['open', 'mine*']);
      const stolen = await as(key, 'PUT', '/aliases/mine', { indexUid: 'secret-1' });
      assert.deepEqual([stolen.status, stolen.json.code], [403, 'invalid_api_key']);
      assert.equal((await as(key, 'PUT', '/aliases/other', { indexUid: 'open' })).status, 403);
      for (const [actions, method, status] of [
        [['aliases.get'], 'GET', 200],
        [['aliases.get'], 'DELETE', 403],
        [['aliases.update'], 'PUT', 202],
        [['aliases.update'], 'GET', 403],
        [['aliases.delete'], 'PUT', 403],
        [['*.get'], 'GET', 200],
        [['aliases.*'], 'DELETE', 202],
      ] as const) {
        const made = await newKey([...actions], ['open*']);
        const body = method === 'PUT' ? { indexUid: 'open-1' } : undefined;
        const response = await as(made.key, method, '/aliases/open', body);
        assert.equal(response.status, status, `${actions} ${method}`);
        if (status === 202) await server.ended(response.json.taskUid);
      }
      await put('open', 'open-1');
    });

    it('obey tenant tokens: the rules of the alias and of its index', async () => {
      const { key, uid } = await newKey(['search'], ['*']);
      const hits = async (rules: unknown): Promise<number> => {
        const token = jwt.sign({ searchRules: rules, apiKeyUid: uid }, key);
        const { status, json } = await as(token, 'POST', '/indexes/open/search', {
          filter: 'id < 2',
        });
        return status === 200 ? json.hits.length : -status;
      };
      await server.finish('PATCH', '/indexes/open-1/settings', {
        body: { filterableAttributes: ['shelf', 'id'] },
      });
      assert.equal(await hits({ open: null }), 2);
      assert.equal(await hits({ open: { filter: 'shelf = 1' } }), 1);
      assert.equal(await hits({ '*': null, 'open-1': { filter: 'shelf = 1' } }), 1);
      assert.equal(await hits({ '*': { filter: 'shelf = 1' } }), 1);
      assert.equal(
        await hits({ open: { filter: 'shelf = 0' }, 'open-1': { filter: 'shelf = 1' } }),
        0,
      );
      assert.equal(await hits({ 'open-1': null }), -403);
    });
  });

  it('let pins of their index, and of their own name, hold for searches by either', async () => {
    await fill('pinned', 'a', 'b', 'c');
    await put('pinned-alias', 'pinned');
    await server.call('PATCH', '/experimental-features', { body: { dynamicSearchRules: true } });
    const pin = (uid: string, indexUid: string, id: string): Promise<unknown> =>
      server.finish('PATCH', `/dynamic-search-rules/${uid}`, {
        body: { actions: [{ selector: { indexUid, id }, action: { type: 'pin', position: 0 } }] },
      });
    await pin('one', 'pinned', '2');
    assert.equal((await titlesBy('pinned-alias'))[0], 'c');
    await server.finish('DELETE', '/dynamic-search-rules/one');
    await pin('two', 'pinned-alias', '1');
    assert.equal((await titlesBy('pinned'))[0], 'b');
    assert.equal((await titlesBy('pinned-alias'))[0], 'b');
  });

  it('are carried by exports and migrations', async () => {
    const other = await startBuiltServer();
    try {
      const { url, masterKey } = other;
      await fill('carried', 'x');
      await put('carried-alias', 'carried');
      const { taskUid } = (
        await server.call('POST', '/export', {
          body: { url, apiKey: masterKey, indexes: { 'carried-alias': {} } },
        })
      ).json;
      const exported = await server.ended(taskUid);
      assert.deepEqual(Object.keys(exported.details.indexes), ['carried']);
      await other.idle();
      const shown = async (): Promise<unknown> =>
        (await other.call('GET', '/aliases/carried-alias')).json.indexUid;
      assert.equal(await shown(), 'carried');
      await other.finish('DELETE', '/aliases/carried-alias');
      await other.finish('DELETE', '/indexes/carried');
      const migrated = await runProgram(
        ['migrate', '--from', server.url, '--url', url, '--indexes', 'carried', '--skip-keys'],
        { env: { GANNET_KEY: masterKey } },
      );
      assert.equal(migrated.status, 0, migrated.complaints + migrated.output);
      assert.match(migrated.output, /aliases: 1 copied/);
      assert.equal(await shown(), 'carried');
    } finally {
      await other.close();
    }
  });

  it('survive kill -9', async () => {
    await fill('durable', 'd');
    await put('durable-alias', 'durable');
    await server.kill();
    await server.restart();
    assert.deepEqual(await titlesBy('durable-alias'), ['d']);
  });
});
