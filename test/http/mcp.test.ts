/** Assistants: the Model Context Protocol, spoken by the client of the official SDK. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import jwt from 'jsonwebtoken';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

type Transport = Parameters<Client['connect']>[0];

describe('Assistants', () => {
  let server: BuiltServer;
  const clients: Client[] = [];
  const children: ChildProcess[] = [];
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
    for (const child of children.splice(0)) child.kill();
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
          ['list_indexes', 'describe_index', 'search', 'passages', 'get_document', 'similar'],
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
          ...{ attributesToRetrieve: ['title'], limit: 5 },
        });
        assert.deepEqual(found.hits, [{ title: 'Aliens' }]);
        assert.deepEqual(found.facetDistribution, { genre: { action: 1 } });
        assert.equal(
          (await call(client, 'get_document', { indexUid: 'films', id: 3 })).title,
          'Heat',
        );
        const { passages } = await call(client, 'passages', { indexUid: 'films', q: 'heat' });
        assert.deepEqual([passages[0].id, passages[0].text], [3, 'Heat']);
        const { hits } = await call(client, 'similar', { indexUid: 'films', id: 1, embedder: 'e' });
        assert.equal(hits[0].title, 'Aliens');
      });

      it('say what is wrong', async () => {
        const client = await connect(server.masterKey);
        for (const [name, given, error] of [
          ['search', { indexUid: 'none' }, /index_not_found/],
          ['search', { indexUid: 'films', filter: 'title = x' }, /invalid_search_filter/],
          ['get_document', { indexUid: 'films', id: 9 }, /document_not_found/],
          ['similar', { indexUid: 'films', id: 1, embedder: 'x' }, /invalid_similar_embedder/],
        ] as const) {
          assert.match((await call(client, name, given)).error, error, name);
        }
        const films = { indexUid: 'films' };
        for (const [name, given, reason] of [
          ['search', { indexUid: '../keys' }, /only letters, digits/],
          ['search', { indexUid: '' }, /only letters, digits/],
          ['search', { indexUid: 7 }, /indexUid/],
          ['search', {}, /indexUid/],
          ['search', { indexUid: null }, /indexUid/],
          ['search', { ...films, showRankingScore: true }, /showRankingScore/],
          ['search', { ...films, limit: 101 }, /limit/],
          ['search', { ...films, limit: 0 }, /limit/],
          ['search', { ...films, limit: '5' }, /limit/],
          ['search', { ...films, limit: 1.5 }, /limit/],
          ['search', { ...films, sort: 'year:asc' }, /sort/],
          ['search', { ...films, hybrid: { embedder: 'e', ratio: 1 } }, /ratio/],
          ['search', { ...films, hybrid: {} }, /embedder/],
          ['list_indexes', { limit: 5 }, /limit/],
          ['describe_index', {}, /indexUid/],
          ['get_document', { id: 1 }, /indexUid/],
          ['get_document', films, /id/],
          ['get_document', { ...films, id: '1/x' }, /only letters, digits/],
          ['get_document', { ...films, id: [1] }, /id/],
          ['similar', { ...films, id: 1 }, /embedder/],
          ['similar', { ...films, id: 1, embedder: 'e', limit: 1_000 }, /limit/],
          ['add_documents', { ...films, documents: [{ id: 4 }] }, /There is no tool/],
          ['no_tool', {}, /There is no tool/],
        ] as const) {
          await assert.rejects(call(client, name, given), { code: -32602, message: reason }, name);
        }
        // Models send null for what they leave out.
        const found = await call(client, 'search', { ...films, filter: null, limit: null });
        assert.equal(found.hits.length, 3);
      });

      it('have exactly the rights of the key', async () => {
        const { key, uid } = await newKey(['search'], ['films']);
        const client = await connect(key);
        assert.equal((await call(client, 'search', { indexUid: 'films' })).hits.length, 3);
        for (const [name, given] of [
          ['search', { indexUid: 'secret' }],
          ['describe_index', { indexUid: 'secret' }],
          ['get_document', { indexUid: 'films', id: 1 }],
        ] as const) {
          assert.match((await call(client, name, given)).error, /invalid_api_key/, name);
        }
        assert.deepEqual(await call(client, 'list_indexes'), {
          indexes: [{ uid: 'films', numberOfDocuments: 3 }],
          total: 1,
        });
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
        assert.deepEqual((await call(tenant, 'list_indexes')).indexes, [
          { uid: 'films', numberOfDocuments: 1 },
        ]);
        const seen = await call(tenant, 'describe_index', { indexUid: 'films' });
        assert.deepEqual([seen.numberOfDocuments, seen.facets.genre], [1, { horror: 1 }]);
        assert.deepEqual(
          seen.examples.map(({ title }: any) => title),
          ['Alien'],
        );
      });
    });
  }

  for (const [way, connect] of [
    ['HTTP', overHttp],
    ['standard input and output', overStdio],
  ] as const) {
    it(`use every tool on an index with default settings, over ${way}`, async () => {
      const title = 'A plain document';
      await server.finish('POST', '/indexes/plain/documents', {
        body: Array.from({ length: 1_200 }, (_, id) => ({ id, title })),
      });
      await server.finish('PUT', '/aliases/simple', { body: { indexUid: 'plain' } });
      const { key, uid } = await newKey(['search'], ['plain']);
      const byAlias = await newKey(['search'], ['simple']);
      const token = jwt.sign({ searchRules: { plain: null }, apiKeyUid: uid }, key);
      for (const [who, credential, indexUid, readsAll] of [
        ['master key', server.masterKey, 'plain', true],
        ['key', key, 'plain', false],
        ['token', token, 'plain', false],
        ['key of an alias', byAlias.key, 'simple', false],
      ] as const) {
        const client = await connect(credential);
        const { tools } = await client.listTools();
        assert.equal(tools.length, 6, who);
        const { indexes } = await call(client, 'list_indexes');
        const listed = indexes.find((one: any) => one.uid === indexUid);
        // A search counts no further than `maxTotalHits`.
        const numberOfDocuments = readsAll ? 1_200 : 1_000;
        assert.equal(listed.numberOfDocuments, numberOfDocuments, who);
        if (!readsAll) assert.equal(indexes.length, 1, who);
        const described = await call(client, 'describe_index', { indexUid });
        assert.equal(described.error, undefined, who);
        assert.equal(described.numberOfDocuments, numberOfDocuments, who);
        assert.deepEqual(described.attributes, ['id', 'title'], who);
        assert.deepEqual(described.facets, {}, who);
        assert.equal(described.examples.length, 3, who);
        const found = await call(client, 'search', { indexUid, q: 'plain', limit: 100 });
        assert.equal(found.hits.length, 100, who);
        const { passages } = await call(client, 'passages', { indexUid, q: 'plain' });
        // The others repeat it.
        assert.deepEqual([passages.length, passages[0].text], [1, title], who);
        const document = await call(client, 'get_document', { indexUid, id: 7 });
        if (readsAll) assert.deepEqual(document, { id: 7, title });
        else assert.match(document.error, /invalid_api_key/, who);
        const similar = await call(client, 'similar', { indexUid, id: 7, embedder: 'none' });
        assert.match(similar.error, /invalid_similar_embedder/, who);
        await client.close();
      }
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

  const post = async (body: string): Promise<{ status: number; text: string; json: any }> => {
    const response = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.masterKey}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body,
    });
    const text = await response.text();
    return { status: response.status, text, json: text === '' ? null : JSON.parse(text) };
  };
  const searching = (id: number, given: object): object => ({
    ...{ jsonrpc: '2.0', id, method: 'tools/call' },
    params: { name: 'search', arguments: given },
  });
  const ping = (id: number): object => ({ jsonrpc: '2.0', id, method: 'ping' });

  it('may send anything: the server responses with an error of the protocol', async () => {
    for (const [body, status, code] of [
      ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 200, undefined],
      ['{"jsonrpc":"2.0","id":1,"method":"no/such"}', 200, -32601],
      [`{"jsonrpc":"2.0","id":1,"method":"ping"}${' '.repeat(300_000)}`, 200, undefined],
      ['{"x":1}', 400, -32600],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
      ['[]', 400, -32600],
      [JSON.stringify(Array.from({ length: 21 }, (_, id) => ping(id))), 400, -32600],
      ['3', 400, -32600],
      ['{', 400, -32700],
      ['{"jsonrpc":"2.0","id":1,', 400, -32700],
      ['', 400, -32700],
    ] as const) {
      const response = await post(body);
      assert.equal(response.status, status, body);
      assert.equal(response.json.jsonrpc, '2.0', body);
      assert.equal(response.json.error?.code, code, body);
    }
    const notification = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    assert.deepEqual([notification.status, notification.text], [202, '']);
  });

  it('answer each message of a list, and what is no message by itself', async () => {
    const { status, json } = await post(
      JSON.stringify([
        ping(1),
        { x: 1 },
        searching(1, { indexUid: 'films', limit: 1 }),
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        searching(2, {}),
        ping(3),
      ]),
    );
    assert.equal(status, 200);
    assert.deepEqual(
      json.map(({ id, error }: any) => [id, error?.code]),
      [
        [1, undefined],
        [null, -32600],
        [1, undefined],
        [2, -32602],
        [3, undefined],
      ],
    );
  });

  const stdio = (...options: string[]) => {
    const args = ['dist/main.cjs', 'mcp', '--url', server.url, '--key', server.masterKey];
    const child = spawn(process.execPath, [...args, ...options], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    return child;
  };

  // The client of the SDK rounds numbers, so these messages are written and read as text.
  it('get and send the numbers of documents as they are written', async () => {
    const id = '9007199254740993';
    const long = `{"id":${id},"n":[18446744073709551615,1.0],"t":"whale"}`;
    const child = stdio('--allow-writes');
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const overLines = async (message: string): Promise<string> => {
      child.stdin.write(`${message}\n`);
      return (await lines.next()).value;
    };
    const overPost = async (message: string): Promise<string> => (await post(message)).text;
    const use = (send: typeof overPost, name: string, given: string): Promise<string> =>
      send(
        `{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"${name}","arguments":{"indexUid":"exact",${given}}}}`,
      );
    const done = async (response: string): Promise<void> => {
      const task = await server.ended(JSON.parse(response).result.structuredContent.taskUid);
      assert.equal(task.status, 'succeeded');
    };
    await server.finish('PATCH', '/indexes/exact/settings', {
      body: { embedders: { e: { source: 'userProvided', dimensions: 1 } } },
    });
    const vectors = '"_vectors":{"e":[1]}';
    const added = `"documents":[${long.replace('}', `,${vectors}}`)},{"id":5,${vectors}}]`;
    await done(await use(overLines, 'add_documents', added));
    for (const send of [overLines, overPost]) {
      for (const [name, given, expected] of [
        ['get_document', `"id":${id}`, long],
        ['get_document', `"id":"${id}"`, long],
        ['get_document', '"id":5.0', '{"id":5}'],
        ['search', '"q":"whale","limit":5.0', `"hits":[${long}]`],
        ['passages', '"q":"whale"', `"id":${id},`],
        ['describe_index', '"indexUid":"exact"', long],
        ['similar', `"id":${id},"embedder":"e"`, '"hits":[{"id":5}]'],
      ] as const) {
        const response = await use(send, name, given);
        const [text, structure] = response.split('"structuredContent":');
        assert.ok(structure?.includes(expected), `${name}: ${response}`);
        assert.ok(text!.includes(JSON.stringify(expected).slice(1, -1)), `${name}: ${response}`);
      }
    }
    await done(await use(overLines, 'delete_documents', `"ids":[${id}]`));
    child.stdin.end();
    const left = await server.call('GET', '/indexes/exact/documents');
    assert.deepEqual(left.json.results, [{ id: 5 }]);
  });

  it('say in standard output what they could not read of standard input', async () => {
    const child = stdio();
    child.stdin.end(`{\n{"x":1}\n${JSON.stringify(ping(1))}\n`);
    const codes: unknown[] = [];
    for await (const line of createInterface(child.stdout)) {
      const { id, error } = JSON.parse(line);
      codes.push([id, error?.code]);
    }
    assert.deepEqual(codes, [
      [null, -32700],
      [null, -32600],
      [1, undefined],
    ]);
  });

  it('have bounded responses, also for many messages', async () => {
    const text = 'x'.repeat(60_000);
    await server.finish('POST', '/indexes/bounded/documents', {
      body: Array.from({ length: 4 }, (_, id) => ({ id, text })),
    });
    const messages = Array.from({ length: 20 }, (_, id) => searching(id, { indexUid: 'bounded' }));
    const { json, text: whole } = await post(JSON.stringify(messages));
    const isWhole = json.map(({ result }: any) => result.isError !== true);
    assert.deepEqual(isWhole.slice(0, 3), [true, true, false]);
    assert.match(json[19].result.content[0].text, /another request/);
    // The text and the structure of each result.
    assert.ok(whole.length < 3 * 512 * 1024, String(whole.length));
  });

  it('are refused when too many of their requests wait, and nobody else is', async () => {
    const messages = Array.from({ length: 20 }, (_, id) => searching(id, { indexUid: 'films' }));
    const body = JSON.stringify(messages);
    const { key } = await newKey(['search'], ['films']);
    const other = await overHttp(key);
    const all = Array.from({ length: 300 }, () => post(body));
    const found = await call(other, 'search', { indexUid: 'films' });
    assert.equal(found.hits.length, 3);
    const responses = await Promise.all(all);
    const statuses = new Set(responses.map(({ status }) => status));
    assert.deepEqual([...statuses].sort(), [200, 503]);
    assert.ok(responses.filter(({ status }) => status === 200).length >= 104);
    for (const { status, json } of responses) {
      if (status === 503) assert.equal(json.error.code, -32000);
      else assert.ok(json.every(({ result }: any) => result.structuredContent.hits.length === 3));
    }
    // Clients that go leave nothing behind.
    const ending = new AbortController();
    const closed = Array.from({ length: 50 }, () =>
      fetch(`${server.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.masterKey}`,
          'content-type': 'application/json',
        },
        body,
        signal: ending.signal,
      }).then((response) => response.text()),
    );
    await post(JSON.stringify(ping(1)));
    ending.abort();
    await Promise.allSettled(closed);
    assert.equal((await post(body)).status, 200);
  });
});
