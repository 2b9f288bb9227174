/** A tenant token hides documents, whichever route searches. */
import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import OpenAI from 'openai';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { call, type ChatProvider, finish, startChatProvider } from './support/chat-provider.ts';

/** Content of documents and indexes outside the token. */
const SECRET = /Secret/;

describe('A search with a tenant token', () => {
  let server: BuiltServer;
  let provider: ChatProvider;
  let token: string;

  before(async () => {
    provider = await startChatProvider();
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', {
      body: { foreignKeys: true, chatCompletions: true },
    });
    const settings = {
      filterableAttributes: ['tenant', 'title', 'ref'],
      embedders: { e: { source: 'userProvided', dimensions: 2 } },
      chat: { description: 'Documents', documentTemplate: '{{ doc.title }}' },
    };
    const _vectors = { e: [1, 0] };
    const documents = {
      open: [
        { id: 1, tenant: 1, title: 'Seen', ref: 7, _vectors },
        { id: 2, tenant: 2, title: 'Secret of another', ref: 7, _vectors },
        { id: 3, tenant: 1, title: 'Seen too', ref: 7, _vectors },
      ],
      hidden: [{ id: 7, tenant: 1, title: 'Secret of all', _vectors }],
    };
    const keys = { foreignKeys: [{ foreignIndexUid: 'hidden', fieldName: 'ref' }] };
    for (const [uid, added] of Object.entries(documents)) {
      const body = uid === 'open' ? { ...settings, ...keys } : settings;
      await server.finish('PATCH', `/indexes/${uid}/settings`, { body });
      await server.finish('POST', `/indexes/${uid}/documents`, { body: added });
    }
    await server.call('PATCH', '/chats/c/settings', {
      body: { source: 'vLlm', baseUrl: provider.url, apiKey: 'a-provider-key' },
    });
    const { json: key } = await server.call('POST', '/keys', {
      body: { actions: ['search', 'chatCompletions'], indexes: ['*'], expiresAt: null },
    });
    const payload = { apiKeyUid: key.uid, searchRules: { open: { filter: 'tenant = 1' } } };
    token = jwt.sign(payload, key.key, { expiresIn: 600 });
  });

  after(async () => {
    await server.close();
    await provider.close();
  });

  async function ask(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; text: string }> {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  }

  type Asked = [name: string, method: string, path: string, body?: object];
  const multi = (queries: object[], federation?: object): object => ({
    queries,
    ...(federation === undefined ? {} : { federation }),
  });
  /** All ways to search an index. */
  const searchesOf = (uid: string): Asked[] => {
    const semantic = { vector: [1, 0], hybrid: { embedder: 'e', semanticRatio: 1 } };
    return [
      ['a search', 'POST', `/indexes/${uid}/search`, { facets: ['title'] }],
      ['a search by vector', 'POST', `/indexes/${uid}/search`, semantic],
      ['a search by GET', 'GET', `/indexes/${uid}/search?q=s`],
      ['a facet search', 'POST', `/indexes/${uid}/facet-search`, { facetName: 'title' }],
      ['similar documents', 'POST', `/indexes/${uid}/similar`, { id: 1, embedder: 'e' }],
      ['similar documents by GET', 'GET', `/indexes/${uid}/similar?id=1&embedder=e`],
      ['several searches', 'POST', '/multi-search', multi([{ indexUid: uid }, { indexUid: uid }])],
      ['a merged search', 'POST', '/multi-search', multi([{ indexUid: uid }], {})],
      [
        'facets of a merged search',
        'POST',
        '/multi-search',
        multi([{ indexUid: uid }], { facetsByIndex: { [uid]: ['title'] } }),
      ],
    ];
  };

  it('is refused on an index that the token does not cover', async () => {
    const also: Asked[] = [
      [
        'one of several',
        'POST',
        '/multi-search',
        multi([{ indexUid: 'open' }, { indexUid: 'hidden' }]),
      ],
      [
        'facets of an index of no query',
        'POST',
        '/multi-search',
        multi([{ indexUid: 'open' }], { facetsByIndex: { hidden: ['title'] } }),
      ],
    ];
    for (const [name, method, path, body] of [...searchesOf('hidden'), ...also]) {
      const { status, text } = await ask(method, path, body);
      assert.equal(status, 403, `${name}: ${text}`);
      assert.equal((JSON.parse(text) as { code: string }).code, 'invalid_api_key', name);
      assert.doesNotMatch(text, SECRET, name);
    }
  });

  it('finds only what its rule lets pass, and no document of a hidden index', async () => {
    for (const [name, method, path, body] of searchesOf('open')) {
      const { status, text } = await ask(method, path, body);
      assert.equal(status, 200, `${name}: ${text}`);
      assert.match(text, /Seen/, name);
      assert.doesNotMatch(text, SECRET, name);
    }
    const { status } = await ask('POST', '/indexes/open/similar', { id: 2, embedder: 'e' });
    assert.equal(status, 400, 'what is not seen is like nothing');
  });

  it('selects nothing by conditions on a hidden index', async () => {
    const filter = '_foreign(ref, title = "Secret of all")';
    const bodies: [path: string, body: object][] = [
      ['/indexes/open/search', { filter }],
      ['/indexes/open/facet-search', { facetName: 'title', filter }],
      ['/indexes/open/similar', { id: 1, embedder: 'e', filter }],
      ['/multi-search', multi([{ indexUid: 'open', filter }])],
      ['/multi-search', multi([{ indexUid: 'open', filter }], {})],
    ];
    for (const [path, body] of bodies) {
      const { status, text } = await ask('POST', path, body);
      assert.ok(status === 400 || status === 404, `${path}: ${text}`);
      assert.doesNotMatch(text, /Seen/, path);
    }
  });

  it('in a conversation sees no more', async () => {
    const tenant = new OpenAI({ apiKey: token, baseURL: `${server.url}/chats/c`, maxRetries: 0 });
    for (const uid of ['open', 'hidden']) {
      provider.script([call('c1', { index_uid: uid, q: '', filter: '' }), finish('tool_calls')]);
      const stream = await tenant.chat.completions.create({
        ...{ model: 'm', stream: true },
        messages: [{ role: 'user', content: 'What is there?' }],
      });
      const read = async (): Promise<void> => {
        for await (const _ of stream);
      };
      if (uid === 'open') await read();
      else await assert.rejects(read, /not covered by the tenant token/);
    }
    const sent = JSON.stringify(provider.requests);
    assert.match(sent, /Seen/);
    assert.doesNotMatch(sent, SECRET);
  });
});
