/** Assistants: the Model Context Protocol, spoken by the client of the official SDK. */
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import jwt from 'jsonwebtoken';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

type Transport = Parameters<Client['connect']>[0];

describe('Assistants', () => {
  let server: BuiltServer;
  const clients: Client[] = [];
  before(async () => {
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/films/settings', {
      body: {
        filterableAttributes: ['genre', 'year'],
        sortableAttributes: ['year'],
        embedders: { e: { source: 'userProvided', dimensions: 2 } },
      },
    });
    await server.finish('POST', '/indexes/films/documents', {
      body: [
        { id: 1, title: 'Alien', genre: 'horror', year: 1979, _vectors: { e: [1, 0] } },
        { id: 2, title: 'Aliens', genre: 'action', year: 1986, _vectors: { e: [0.9, 0.1] } },
        { id: 3, title: 'Heat', genre: 'action', year: 1995, _vectors: { e: [0, 1] } },
      ],
    });
    await server.finish('POST', '/indexes/secret/documents', { body: [{ id: 1, x: 'y' }] });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  after(() => server.close());

  async function connected(transport: Transport): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' });
    clients.push(client);
    await client.connect(transport);
    return client;
  }
  function overHttp(key: string, url = server.url): Promise<Client> {
    const headers = { authorization: `Bearer ${key}` };
    return connected(
      new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
        requestInit: { headers },
      }) as Transport,
    );
  }
  function overStdio(key: string, ...options: string[]): Promise<Client> {
    const args = ['dist/main.cjs', 'mcp', '--url', server.url, '--key', key, ...options];
    return connected(new StdioClientTransport({ command: process.execPath, args }));
  }
  async function call(client: Client, name: string, given: object = {}): Promise<any> {
    const result: any = await client.callTool({ name, arguments: { ...given } });
    return result.isError === true ? { error: result.content[0].text } : result.structuredContent;
  }
  async function newKey(
    actions: string[],
    indexes: string[],
  ): Promise<{ key: string; uid: string }> {
    const body = { actions, indexes, expiresAt: null };
    return (await server.call('POST', '/keys', { body })).json;
  }

  it('need the feature, and a key that may search', async () => {
    await assert.rejects(overHttp(server.masterKey), /feature_not_enabled/);
    await server.call('PATCH', '/experimental-features', { body: { mcp: true } });
    await assert.rejects(overHttp('no key'), /invalid_api_key/);
    const { key } = await newKey(['documents.get'], ['*']);
    await assert.rejects(overHttp(key), /invalid_api_key/);
    assert.equal((await server.call('GET', '/mcp')).status, 405);
  });

  for (const [way, connect] of [
    ['HTTP', overHttp],
    ['standard input and output', overStdio],
  ] as const) {
    describe(`over ${way}`, () => {
      it('find, describe and read what the key may read', async () => {
        const client = await connect(server.masterKey);
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map(({ name }) => name),
          ['list_indexes', 'describe_index', 'search', 'get_document', 'similar'],
        );
        const { indexes } = await call(client, 'list_indexes');
        const uids = indexes.map(({ uid }: any) => uid);
        assert.ok(uids.includes('films') && uids.includes('secret'), String(uids));
        const described = await call(client, 'describe_index', { indexUid: 'films' });
        assert.equal(described.numberOfDocuments, 3);
        assert.deepEqual(described.facets.genre, { action: 2, horror: 1 });
        assert.deepEqual(described.facetStats.year, { min: 1979, max: 1995 });
        assert.deepEqual(described.sortableAttributes, ['year']);
        assert.deepEqual(described.embedders, ['e']);
        assert.ok(described.attributes.includes('title'));
        assert.equal(described.examples.length, 3);
        const found = await call(client, 'search', {
          ...{ indexUid: 'films', q: 'alien', filter: 'year > 1980', facets: ['genre'] },
          ...{ attributesToRetrieve: ['title'], limit: 5, showRankingScore: true },
        });
        assert.deepEqual(found.hits, [{ title: 'Aliens' }]);
        assert.deepEqual(found.facetDistribution, { genre: { action: 1 } });
        assert.equal(
          (await call(client, 'get_document', { indexUid: 'films', id: 3 })).title,
          'Heat',
        );
        const { hits } = await call(client, 'similar', { indexUid: 'films', id: 1, embedder: 'e' });
        assert.equal(hits[0].title, 'Aliens');
      });

      it('say what is wrong', async () => {
        const client = await connect(server.masterKey);
        for (const [name, given, error] of [
          ['search', { indexUid: 'none' }, /index_not_found/],
          ['search', { indexUid: 'films', filter: 'title = x' }, /invalid_search_filter/],
          ['search', { indexUid: '../keys' }, /only letters, digits/],
          ['search', {}, /only letters, digits/],
          ['get_document', { indexUid: 'films', id: 9 }, /document_not_found/],
          ['get_document', { indexUid: 'films', id: '1/x' }, /only letters, digits/],
          ['similar', { indexUid: 'films', id: 1, embedder: 'x' }, /invalid_similar_embedder/],
          ['add_documents', { indexUid: 'films', documents: [{ id: 4 }] }, /There is no tool/],
        ] as const) {
          assert.match((await call(client, name, given)).error, error, name);
        }
      });

      it('have exactly the rights of the key', async () => {
        const { key, uid } = await newKey(['search'], ['films']);
        const client = await connect(key);
        assert.equal((await call(client, 'search', { indexUid: 'films' })).hits.length, 3);
        for (const [name, given] of [
          ['search', { indexUid: 'secret' }],
          ['describe_index', { indexUid: 'secret' }],
          ['list_indexes', {}],
          ['get_document', { indexUid: 'films', id: 1 }],
        ] as const) {
          assert.match((await call(client, name, given)).error, /invalid_api_key/, name);
        }
        const described = await call(client, 'describe_index', { indexUid: 'films' });
        assert.equal(described.filterableAttributes, undefined);
        assert.deepEqual(described.facets.genre, { action: 2, horror: 1 });

        const rules = { films: { filter: 'genre = horror' } };
        const tenant = await connect(jwt.sign({ searchRules: rules, apiKeyUid: uid }, key));
        const { hits } = await call(tenant, 'search', { indexUid: 'films' });
        assert.deepEqual(
          hits.map(({ title }: any) => title),
          ['Alien'],
        );
        const seen = await call(tenant, 'describe_index', { indexUid: 'films' });
        assert.deepEqual([seen.numberOfDocuments, seen.facets.genre], [1, { horror: 1 }]);
        assert.deepEqual(
          seen.examples.map(({ title }: any) => title),
          ['Alien'],
        );
      });
    });
  }

  it('write where that is allowed, if the key may', async () => {
    const writer = await overStdio(server.masterKey, '--allow-writes');
    const { tools } = await writer.listTools();
    assert.deepEqual(
      tools.slice(-2).map(({ name }) => name),
      ['add_documents', 'delete_documents'],
    );
    const added = await call(writer, 'add_documents', {
      indexUid: 'notes',
      documents: [{ id: 1 }, { id: 2 }],
    });
    await server.ended(added.taskUid);
    const deleted = await call(writer, 'delete_documents', { indexUid: 'notes', ids: [1] });
    await server.ended(deleted.taskUid);
    assert.equal((await server.call('GET', '/indexes/notes/stats')).json.numberOfDocuments, 1);
    const { key } = await newKey(['search'], ['*']);
    const reader = await overStdio(key, '--allow-writes');
    const refused = await call(reader, 'add_documents', { indexUid: 'notes', documents: [] });
    assert.match(refused.error, /invalid_api_key/);
    const open = await startBuiltServer(['--mcp-allow-writes']);
    try {
      await open.call('PATCH', '/experimental-features', { body: { mcp: true } });
      const client = await overHttp(open.masterKey, open.url);
      const task = await call(client, 'add_documents', { indexUid: 'n', documents: [{ id: 1 }] });
      assert.equal((await open.ended(task.taskUid)).status, 'succeeded');
      await client.close();
    } finally {
      await open.close();
    }
  });

  it('get no response that is too long for a model', async () => {
    await server.finish('POST', '/indexes/long/documents', {
      body: Array.from({ length: 50 }, (_, id) => ({ id, text: 'x'.repeat(10_000) })),
    });
    for (const connect of [overHttp, overStdio]) {
      const client = await connect(server.masterKey);
      const { hits } = await call(client, 'search', { indexUid: 'long', limit: 3 });
      assert.equal(hits.length, 3);
      const { error } = await call(client, 'search', { indexUid: 'long', limit: 50 });
      assert.match(error, /long|large|bytes/);
    }
  });

  it('may send anything: the server answers with an error of the protocol', async () => {
    for (const [body, status] of [
      ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 200],
      ['{"jsonrpc":"2.0","id":1,"method":"no/such"}', 200],
      ['{"x":1}', 400],
      ['[]', 400],
      ['{', 400],
      ['3', 400],
    ] as const) {
      const response = await fetch(`${server.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.masterKey}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body,
      });
      await response.text();
      assert.equal(response.status, status, body);
    }
  });
});
