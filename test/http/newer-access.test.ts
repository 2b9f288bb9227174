/** Who may use the newer routes, and whose documents searches with foreign keys show. */
import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

interface Key {
  key: string;
  uid: string;
}

describe('Access to the newer routes', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', {
      body: {
        chatCompletions: true,
        dynamicSearchRules: true,
        foreignKeys: true,
        getTaskDocumentsRoute: true,
        renderRoute: true,
        taskQueueCompactionRoute: true,
      },
    });
    const authors = [
      { id: 'a1', name: 'Herbert', tenant: 1, country: 'us' },
      { id: 'a2', name: 'Lem', tenant: 2, country: 'pl' },
    ];
    const books = [
      { id: 1, title: 'Dune', author: 'a1' },
      { id: 2, title: 'Solaris', author: 'a2' },
    ];
    await server.finish('PATCH', '/indexes/authors/settings', {
      body: { filterableAttributes: ['tenant', 'country'] },
    });
    await server.finish('PATCH', '/indexes/books/settings', {
      body: {
        filterableAttributes: ['author'],
        foreignKeys: [{ foreignIndexUid: 'authors', fieldName: 'author' }],
      },
    });
    await server.finish('POST', '/indexes/authors/documents', { body: authors });
    await server.finish('POST', '/indexes/books/documents', { body: books });
    await server.finish('PATCH', '/dynamic-search-rules/known', { body: {} });
  });
  after(() => server.close());

  async function newKey(actions: string[], indexes: string[]): Promise<Key> {
    const body = { actions, indexes, expiresAt: null };
    return (await server.call('POST', '/keys', { body })).json;
  }

  const tokenOf = ({ key, uid }: Key, searchRules: unknown): string =>
    jwt.sign({ searchRules, apiKeyUid: uid }, key);

  async function as(
    key: string | null,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; json: any }> {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        ...(key !== null && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? null : JSON.parse(text) };
  }

  const ROUTES: [method: string, path: string, body: unknown, actions: string[], status: number][] =
    [
      ['POST', '/indexes/books/fields', {}, ['fields.post'], 200],
      ['POST', '/indexes/books/compact', undefined, ['indexes.compact'], 202],
      ['GET', '/indexes/books/settings/foreign-keys', undefined, ['settings.get'], 200],
      ['PUT', '/indexes/books/settings/foreign-keys', null, ['settings.update'], 202],
      ['DELETE', '/indexes/books/settings/foreign-keys', undefined, ['settings.update'], 202],
      ['GET', '/indexes/books/stats?sizeFormat=human', undefined, ['stats.get'], 200],
      [
        'POST',
        '/render-template',
        { template: { kind: 'chatDocumentTemplate', indexUid: 'books' } },
        ['settings.get', 'documents.get'],
        200,
      ],
      ['POST', '/tasks/compact', undefined, ['tasks.compact'], 200],
      ['POST', '/dynamic-search-rules', {}, ['dynamicSearchRules.get'], 200],
      ['GET', '/dynamic-search-rules/known', undefined, ['dynamicSearchRules.get'], 200],
      ['PATCH', '/dynamic-search-rules/x', {}, ['dynamicSearchRules.update'], 202],
      ['DELETE', '/dynamic-search-rules/x', undefined, ['dynamicSearchRules.delete'], 202],
      ['DELETE', '/dynamic-search-rules', undefined, ['dynamicSearchRules.delete'], 202],
    ];

  for (const [method, path, body, actions, status] of ROUTES) {
    it(`${method} ${path} needs ${actions.join(' and ')}`, async () => {
      const names = (uid: string): string => path.replace('books', uid);
      const ofIndex = path.includes('/indexes/') || path === '/render-template';
      const right = await newKey(actions, ['books']);
      const everywhere = await newKey(actions, ['*']);
      const elsewhere = await newKey(actions, ['authors']);
      const wildcard = await newKey(['*'], ['authors']);
      const unrelated = await newKey(['search', 'documents.add', 'indexes.get'], ['*']);
      const rows: [string | null, number, string | null][] = [
        [null, 401, 'missing_authorization_header'],
        ['no key at all', 403, 'invalid_api_key'],
        [unrelated.key, 403, 'invalid_api_key'],
        [tokenOf(right, ['*']), 403, 'invalid_api_key'],
        [tokenOf(everywhere, ['*']), 403, 'invalid_api_key'],
        // A route without an index requires a key that names its action.
        ofIndex ? [elsewhere.key, 403, 'invalid_api_key'] : [elsewhere.key, status, null],
        [wildcard.key, 403, 'invalid_api_key'],
        [right.key, status, null],
        [everywhere.key, status, null],
        [server.masterKey, status, null],
      ];
      for (const missing of actions.length > 1 ? actions : []) {
        const partly = await newKey(
          actions.filter((action) => action !== missing),
          ['*'],
        );
        rows.push([partly.key, 403, 'invalid_api_key']);
      }
      for (const [n, [key, expected, code]] of rows.entries()) {
        const received = await as(key, method, names('books'), body);
        assert.equal(received.status, expected, `row ${n}: ${JSON.stringify(received.json)}`);
        if (code !== null) assert.equal(received.json.code, code, `row ${n}`);
        // A refusal reveals nothing about existing documents.
        if (code === null || key === null) continue;
        const other = await as(key, method, names('no-such-index'), body);
        assert.equal(other.json.code, code, `row ${n}`);
      }
      await server.finish('PUT', '/indexes/books/settings/foreign-keys', {
        body: [{ foreignIndexUid: 'authors', fieldName: 'author' }],
      });
      await server.finish('PATCH', '/dynamic-search-rules/known', { body: {} });
    });
  }

  it('POST /render-template refuses a key that lacks one action before it reads the body', async () => {
    for (const action of ['settings.get', 'documents.get']) {
      const { key } = await newKey([action], ['*']);
      for (const body of [{}, { template: { kind: 'none' } }, undefined]) {
        const { status, json } = await as(key, 'POST', '/render-template', body);
        assert.deepEqual([status, json.code], [403, 'invalid_api_key'], action);
      }
    }
  });

  it('POST /render-template takes null in an optional field as absent', async () => {
    const template = {
      ...{ kind: 'inlineDocumentTemplate', inline: '{{ doc.a }}', indexUid: null, embedder: null },
      ...{ fragment: null, documentTemplateMaxBytes: null },
    };
    const input = { kind: 'inlineDocument', inline: { a: 'b' }, indexUid: null, id: null };
    const { status, json } = await as(server.masterKey, 'POST', '/render-template', {
      ...{ template, input },
    });
    assert.deepEqual([status, json.rendered], [200, 'b'], JSON.stringify(json));
    const missing = { template: { ...template, inline: null }, input };
    const refused = await as(server.masterKey, 'POST', '/render-template', missing);
    assert.equal(refused.json.code, 'invalid_render_template');
  });

  it('the documents of a task are shown to who sees the task', async () => {
    const { json: task } = await server.call('POST', '/indexes/books/documents', { body: [] });
    const path = `/tasks/${task.taskUid}/documents`;
    const own = await newKey(['tasks.get'], ['books']);
    const other = await newKey(['tasks.get'], ['authors']);
    const unrelated = await newKey(['documents.get'], ['*']);
    await server.finish('POST', '/indexes/books/documents', { body: [] });
    assert.equal((await as(own.key, 'GET', path)).json.code, 'task_file_not_found');
    assert.equal((await as(other.key, 'GET', path)).json.code, 'task_not_found');
    assert.equal((await as(unrelated.key, 'GET', path)).json.code, 'invalid_api_key');
    assert.equal((await as(tokenOf(own, ['*']), 'GET', path)).json.code, 'invalid_api_key');
    assert.equal((await as(null, 'GET', path)).status, 401);
  });

  it('tasks on rules are not seen by keys that are limited to indexes', async () => {
    const task = await server.finish('PATCH', '/dynamic-search-rules/known', { body: {} });
    const limited = await newKey(['tasks.get', 'dynamicSearchRules.get'], ['books', 'authors']);
    const all = await newKey(['tasks.get'], ['*']);
    const types = '/tasks?types=dsrUpdate,dsrClear';
    assert.equal((await as(limited.key, 'GET', `/tasks/${task.uid}`)).json.code, 'task_not_found');
    assert.equal((await as(limited.key, 'GET', types)).json.total, 0);
    assert.equal((await as(all.key, 'GET', `/tasks/${task.uid}`)).status, 200);
    assert.ok((await as(all.key, 'GET', types)).json.total > 0);
  });

  describe('foreign documents', () => {
    const HERBERT = { id: 'a1', name: 'Herbert', tenant: 1, country: 'us' };
    const LEM = { id: 'a2', name: 'Lem', tenant: 2, country: 'pl' };
    const ACTIONS = ['search', 'documents.get'];
    const CONDITION = '_foreign(author, country = us)';

    /** What each way of reading shows of the authors of both books. */
    async function shown(key: string): Promise<unknown[][]> {
      const search = await as(key, 'POST', '/indexes/books/search', {});
      const get = await as(key, 'GET', '/indexes/books/search');
      const queries = [{ indexUid: 'books' }];
      const multi = await as(key, 'POST', '/multi-search', { queries });
      const merged = await as(key, 'POST', '/multi-search', { queries, federation: {} });
      const lists = [search.json, get.json, multi.json.results[0], merged.json];
      return lists.map(({ hits }) => hits.map((hit: any) => hit.author));
    }

    /** The books, or the error, that a condition on the authors selects in each way. */
    async function selected(key: string, filter = CONDITION): Promise<unknown[]> {
      const found: unknown[] = [];
      const queries = [{ indexUid: 'books', filter }];
      const add = ({ json }: { json: any }, list: any[] | undefined): void => {
        found.push(list === undefined ? json.code : list.map(({ id }) => id));
      };
      const search = await as(key, 'POST', '/indexes/books/search', { filter });
      add(search, search.json.hits);
      const get = await as(
        key,
        'GET',
        `/indexes/books/search?filter=${encodeURIComponent(filter)}`,
      );
      add(get, get.json.hits);
      const multi = await as(key, 'POST', '/multi-search', { queries });
      add(multi, multi.json.results?.[0].hits);
      const merged = await as(key, 'POST', '/multi-search', { queries, federation: {} });
      add(merged, merged.json.hits);
      return found;
    }

    async function listed(key: string): Promise<unknown[]> {
      const fetched = await as(key, 'POST', '/indexes/books/documents/fetch', {
        filter: CONDITION,
      });
      const filter = encodeURIComponent(CONDITION);
      const got = await as(key, 'GET', `/indexes/books/documents?filter=${filter}`);
      return [fetched, got].map(({ json }) => json.results?.map(({ id }: any) => id) ?? json.code);
    }

    const times = <T>(count: number, value: T): T[] => Array<T>(count).fill(value);

    it('are shown to keys that may search both indexes', async () => {
      for (const { key } of [
        await newKey(ACTIONS, ['*']),
        await newKey(ACTIONS, ['books', 'a*']),
      ]) {
        assert.deepEqual(await shown(key), times(4, [HERBERT, LEM]));
        assert.deepEqual(await selected(key), times(4, [1]));
        assert.deepEqual(await listed(key), times(2, [1]));
      }
    });

    it('are not there for keys that may not, and neither is their index', async () => {
      const { key } = await newKey(ACTIONS, ['books']);
      assert.deepEqual(await shown(key), times(4, ['a1', 'a2']));
      assert.deepEqual(await selected(key), times(4, 'index_not_found'));
      assert.deepEqual(await listed(key), times(2, 'index_not_found'));
    });

    it('follow the rules of a tenant token, also in its own filter', async () => {
      const key = await newKey(ACTIONS, ['*']);
      const own = tokenOf(key, { books: null });
      assert.deepEqual(await shown(own), times(4, ['a1', 'a2']));
      assert.deepEqual(await selected(own), times(4, 'index_not_found'));

      const filtered = tokenOf(key, { books: null, authors: { filter: 'tenant = 2' } });
      assert.deepEqual(await shown(filtered), times(4, [{}, LEM]));
      assert.deepEqual(await selected(filtered), times(4, []));
      assert.deepEqual(await selected(filtered, `NOT ${CONDITION}`), times(4, [1, 2]));
      assert.deepEqual(await selected(filtered, '_foreign(author, country = pl)'), times(4, [2]));

      const within = tokenOf(key, { books: { filter: CONDITION }, authors: null });
      assert.deepEqual(await shown(within), times(4, [HERBERT]));
      const cut = tokenOf(key, { books: { filter: CONDITION } });
      const { json } = await as(cut, 'POST', '/indexes/books/search', {});
      assert.equal(json.code, 'index_not_found');
    });

    it('show what their index displays, to whoever searches', async () => {
      await server.finish('PATCH', '/indexes/authors/settings', {
        body: { displayedAttributes: ['name'] },
      });
      const { key } = await newKey(ACTIONS, ['*']);
      assert.deepEqual(await shown(key), times(4, [{ name: 'Herbert' }, { name: 'Lem' }]));
      await server.finish('DELETE', '/indexes/authors/settings/displayed-attributes');
    });
  });
});
