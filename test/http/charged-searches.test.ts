/** What requests are charged, by the searches that they run. */
import assert from 'node:assert/strict';
import type { BuiltServer } from '../support/built-server.ts';
import {
  call,
  type ChatProvider,
  finish,
  say,
  startChatProvider,
} from './support/chat-provider.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const COLORS = ['red', 'blue', 'green', 'white'];

describe('A request is charged for each search that it runs', () => {
  let cluster: Cluster;
  let server: BuiltServer;
  let provider: ChatProvider;

  before(async function () {
    this.timeout(120_000);
    provider = await startChatProvider();
    cluster = await startCluster({ count: 2, options: ['--chat-allow-non-streaming'] });
    server = cluster.servers[0]!;
    const features = { chatCompletions: true, mcp: true, foreignKeys: true };
    await server.call('PATCH', '/experimental-features', { body: features });
    await server.call('PATCH', '/chats/c/settings', {
      body: { source: 'vLlm', baseUrl: provider.url, apiKey: 'a-provider-key' },
    });
    for (const each of cluster.servers) {
      await each.finish('PATCH', '/indexes/i/settings', {
        body: {
          filterableAttributes: ['color', 'size', 'maker'],
          suggestions: { attributes: ['color', 'size', 'maker'] },
          embedders: { e: { source: 'userProvided', dimensions: 2 } },
        },
      });
      await each.finish('POST', '/indexes/i/documents', {
        body: COLORS.map((color, id) => ({
          ...{ id, color, size: 'large', maker: 'm' },
          _vectors: { e: [1, id] },
        })),
      });
    }
    const foreignKeys = [{ fieldName: 'maker', foreignIndexUid: 'makers' }];
    await server.finish('PATCH', '/indexes/joined/settings', {
      body: { filterableAttributes: ['maker'], foreignKeys },
    });
    await server.finish('PATCH', '/indexes/makers/settings', {
      body: { filterableAttributes: ['country'] },
    });
    await server.finish('POST', '/indexes/makers/documents', { body: [{ id: 'm', country: 'x' }] });
    await server.finish('POST', '/indexes/joined/documents', { body: [{ id: 1, maker: 'm' }] });
  });
  after(async () => {
    await cluster?.close();
    await provider?.close();
  });

  const newKey = async (indexes: string[]): Promise<string> => {
    const rateLimit = { requestsPerSecond: 1 };
    const body = { actions: ['*'], indexes, expiresAt: null, rateLimit };
    return (await server.call('POST', '/keys', { body })).json.key;
  };

  /** Sends a request with a new key of one request a second, and compares what it has cost. */
  async function costs(
    expected: number,
    method: string,
    path: string,
    body?: object,
    indexes = ['*'],
  ): Promise<any> {
    const authorization = `Bearer ${await newKey(indexes)}`;
    const begun = performance.now();
    const response = await fetch(server.url + path, {
      method,
      headers: {
        authorization,
        accept: 'application/json, text/event-stream',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const seconds = Math.floor((performance.now() - begun) / 1000);
    const name = `${method} ${path} ${JSON.stringify(body)}: ${text}`;
    assert.equal(response.status, 200, name);
    // The seconds after which nothing is owed: the cost, less what was filled again meanwhile.
    const reset = Number(response.headers.get('ratelimit-reset'));
    assert.ok(reset <= expected && expected <= reset + seconds, `${reset}, ${seconds} s: ${name}`);
    return JSON.parse(text);
  }
  const multi = (expected: number, queries: object[], federation?: object): Promise<any> =>
    costs(expected, 'POST', '/multi-search', { queries, ...(federation && { federation }) });
  const of = (count: number, query: object = {}): object[] =>
    Array.from({ length: count }, () => ({ indexUid: 'i', ...query }));

  it('of one index', async () => {
    await costs(1, 'GET', '/indexes/i/search');
    await costs(1, 'POST', '/indexes/i/search', {});
    await costs(1, 'POST', '/indexes/i/facet-search', { facetName: 'color' });
    await costs(1, 'POST', '/indexes/i/similar', { id: 1, embedder: 'e' });
    await costs(1, 'GET', '/indexes/i/similar?id=1&embedder=e');
    await costs(1, 'POST', '/indexes/i/search', { groupBy: { attribute: 'color' } });
  });

  it('for suggestions: one for each attribute', async () => {
    await costs(3, 'POST', '/indexes/i/suggest', { q: '' });
  });

  it('in a multi-search', async () => {
    await multi(1, []);
    await multi(1, of(1));
    await multi(7, of(7));
    await multi(3, [...of(2), ...of(1, { groupBy: { attribute: 'color' } })]);
    await multi(1, [], {});
    await multi(7, of(7), {});
    const groupBy = { attribute: 'color' };
    await multi(2, of(2), { groupBy });
    await multi(2, of(2), { groupBy, facetsByIndex: { i: ['size'] } });
  });

  it('in a multi-search that fails, up to there', async () => {
    const key = await newKey(['*']);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const queries = [...of(1), { indexUid: 'nowhere' }, ...of(200)];
    const begun = performance.now();
    const response = await fetch(`${server.url}/multi-search`, {
      ...{ method: 'POST', headers, body: JSON.stringify({ queries }) },
    });
    assert.equal(response.status, 400);
    const bound = 20 + (performance.now() - begun) / 1000;
    assert.ok(Number(response.headers.get('ratelimit-reset')) < bound);
  });

  it('of a network, wherever it runs', async () => {
    const useNetwork = true;
    await costs(1, 'POST', '/indexes/i/search', { useNetwork });
    await costs(1, 'POST', '/indexes/i/facet-search', { facetName: 'color', useNetwork });
    await costs(1, 'POST', '/indexes/i/similar', { id: 1, embedder: 'e', useNetwork });
    await multi(3, of(3, { useNetwork }));
    await multi(3, of(3, { useNetwork }), {});
    await multi(3, of(3, { federationOptions: { remote: 's1' } }), {});
    await multi(5, [...of(3, { federationOptions: { remote: 's1' } }), ...of(2)], {});
    const groupBy = { attribute: 'color' };
    // The best hits, and the hits of all groups.
    await costs(2, 'POST', '/indexes/i/search', { groupBy, useNetwork });
    const facets = ['size'];
    await costs(2, 'POST', '/indexes/i/search', { groupBy, useNetwork, facets });
  });

  it('and for each look-up of documents of other indexes; a listing is no search', async () => {
    const filter = '_foreign(maker, country = x)';
    await costs(1, 'POST', '/indexes/joined/search', { q: 'nothing' });
    const { hits } = await costs(2, 'POST', '/indexes/joined/search', {});
    assert.equal(hits[0].maker.country, 'x');
    await costs(3, 'POST', '/indexes/joined/search', { filter });
    await costs(1, 'GET', '/indexes/joined/documents');
    await costs(1, 'POST', '/indexes/joined/documents/fetch', { filter });
    const twice = `${filter} AND _foreign(maker, country != y)`;
    await costs(2, 'POST', '/indexes/joined/documents/fetch', { filter: twice });
  });

  it('of a conversation: those that describe the indexes, and those of the model', async () => {
    const converse = (expected: number, indexes: string[]): Promise<any> => {
      const body = { model: 'm', stream: false, messages: [{ role: 'user', content: 'Which?' }] };
      return costs(expected, 'POST', '/chats/c/chat/completions', body, indexes);
    };
    const search = { index_uid: 'i', q: '', filter: '' };
    provider.script([say('None.'), finish('stop')]);
    await converse(1, ['i']);
    provider.script([say('None.'), finish('stop')]);
    await converse(2, ['i', 'makers']);
    const calls = Array.from({ length: 5 }, (_, n) => call(`c${n}`, search, n));
    provider.script([...calls, finish('tool_calls')], [say('All.'), finish('stop')]);
    await converse(6, ['i']);
  });

  it('of an assistant: one for each request to another route', async () => {
    const assist = (expected: number, name: string, given: object): Promise<any> =>
      costs(expected, 'POST', '/mcp', {
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name, arguments: given },
      });
    await costs(1, 'POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const found = await assist(1, 'search', { indexUid: 'i' });
    assert.equal(found.result.structuredContent.hits.length, COLORS.length);
    await assist(1, 'get_document', { indexUid: 'i', id: 1 });
    await assist(1, 'similar', { indexUid: 'i', id: 1, embedder: 'e' });
    await assist(2, 'search', { indexUid: 'joined' });
  });

  it('and not refused half-way: the next request is', async () => {
    const key = await newKey(['*']);
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const send = (path: string, body: object): Promise<Response> =>
      fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const queries = of(10, { useNetwork: true });
    const groups = { queries, federation: { groupBy: { attribute: 'color' } } };
    const accepted = await send('/multi-search', groups);
    assert.equal(accepted.status, 200, await accepted.text());
    const refused = await send('/indexes/i/search', {});
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 10, '20 searches');
  });
});
