/** `rerank` together with what else changes the hits of a search, or hides some of them. */
import assert from 'node:assert/strict';
import jwt from 'jsonwebtoken';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { COUNT, items, Peer } from './support/reranker-peer.ts';

const SHOP = '/indexes/shop';
const DOCUMENTS = 25;

const bySize = (ids: number[]): number[] => ids.toSorted((a, b) => items[b]!.size - items[a]!.size);
const idsOf = ({ hits }: any): number[] => hits.map(({ id }: any) => id);

describe('Reranking with other features', () => {
  const peer = new Peer();
  let server: BuiltServer;

  const search = async (more: object = {}): Promise<any> => {
    const rerank = { model: 'r', documents: DOCUMENTS };
    const body = { q: 'red shoe', limit: COUNT, rerank, ...more };
    const { status, json } = await server.call('POST', `${SHOP}/search`, { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  /** A search with another key than the master key. */
  const searchAs = async (key: string, path: string, body: object): Promise<any> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(server.url + path, sent)).json();
  };
  const keyFor = async (indexes: string[]): Promise<any> => {
    const body = { actions: ['search'], indexes, expiresAt: null };
    return (await server.call('POST', '/keys', { body })).json;
  };
  /** The first hits by their size, the others as they were. */
  const expected = (before: number[]): number[] => [
    ...bySize(before.slice(0, DOCUMENTS)),
    ...before.slice(DOCUMENTS),
  ];

  before(async () => {
    const url = await peer.start();
    server = await startBuiltServer();
    const features = { foreignKeys: true, dynamicSearchRules: true };
    await server.call('PATCH', '/experimental-features', { body: features });
    const settings = {
      rerankers: {
        r: {
          ...{ source: 'rest', url, documentTemplate: 'size: {{doc.size}}, {{doc.secret}}' },
          request: { query: '{{query}}', documents: ['{{text}}', '{{..}}'] },
          response: {
            results: [{ index: '{{index}}', relevance_score: '{{score}}' }, '{{..}}'],
          },
        },
      },
      // No test has little time.
      searchCutoffMs: 600_000,
      filterableAttributes: ['id', 'size'],
      embedders: { e: { source: 'userProvided', dimensions: 2 } },
      foreignKeys: [{ foreignIndexUid: 'makers', fieldName: 'maker' }],
    };
    const set = await server.finish('PATCH', `${SHOP}/settings`, { body: settings });
    assert.equal(set.status, 'succeeded', JSON.stringify(set));
    const documents = items.map((item) => {
      const angle = ((item.id * 7) % COUNT) / COUNT;
      return { ...item, maker: item.id % 3, _vectors: { e: [Math.cos(angle), Math.sin(angle)] } };
    });
    const makers = [0, 1, 2].map((id) => ({ id, name: `maker ${id}` }));
    await server.finish('POST', '/indexes/makers/documents?primaryKey=id', { body: makers });
    await server.finish('POST', `${SHOP}/documents?primaryKey=id`, { body: documents });
  });
  after(async () => {
    await server?.close();
    peer.stop();
  });
  beforeEach(() => {
    peer.respond = null;
    peer.asked.length = 0;
  });

  it('sends no document that the filter of a tenant token hides', async () => {
    const { uid, key } = await keyFor(['*']);
    const searchRules = { shop: { filter: 'size < 20' } };
    const token = jwt.sign({ apiKeyUid: uid, searchRules }, key, { expiresIn: 600 });
    const seen = items.filter(({ size }) => size < 20).map(({ id }) => id);
    const query = { q: 'red shoe', limit: COUNT, rerank: { model: 'r', documents: COUNT } };
    assert.deepEqual(idsOf(await searchAs(token, `${SHOP}/search`, query)), bySize(seen));
    const queries = [{ indexUid: 'shop', ...query }];
    const { results } = await searchAs(token, '/multi-search', { queries });
    assert.deepEqual(idsOf(results[0]), bySize(seen));
    assert.equal(peer.asked.length, 2);
    for (const { body } of peer.asked) {
      assert.deepEqual(
        body.documents,
        seen.map((id) => `size: ${items[id]!.size}, ${items[id]!.secret}`),
      );
    }
  });

  it('is not available to a key of other indexes', async () => {
    const { key } = await keyFor(['makers']);
    const query = { q: 'red shoe', rerank: { model: 'r' } };
    const one = await searchAs(key, `${SHOP}/search`, query);
    assert.equal(one.code, 'invalid_api_key');
    const queries = [{ indexUid: 'shop', ...query }];
    assert.equal((await searchAs(key, '/multi-search', { queries })).code, 'invalid_api_key');
    assert.equal(peer.asked.length, 0);
    const own = (await keyFor(['shop'])).key;
    const found = await searchAs(own, `${SHOP}/search`, { ...query, limit: COUNT });
    assert.deepEqual(idsOf(found), bySize(items.map(({ id }) => id)));
  });

  it('leaves pinned hits where they are', async () => {
    const pins = new Map([
      [0, 33],
      [4, 7],
      [30, 2],
    ]);
    const actions = [...pins].map(([position, id]) => ({
      selector: { indexUid: 'shop', id: String(id) },
      action: { type: 'pin', position },
    }));
    const path = '/dynamic-search-rules/pins';
    const rule = await server.finish('PATCH', path, { body: { active: true, actions } });
    assert.equal(rule.status, 'succeeded', JSON.stringify(rule));
    const before = idsOf(await search({ rerank: null }));
    for (const [position, id] of pins) assert.equal(before[position], id);
    const moved = before.slice(0, DOCUMENTS).filter((_, position) => !pins.has(position));
    const best = bySize(moved);
    const after = before.map((id, at) => (at < DOCUMENTS && !pins.has(at) ? best.shift()! : id));
    assert.deepEqual(idsOf(await search()), after);
    await server.finish('DELETE', path);
  });

  it('orders the hits of hybrid and of semantic searches', async () => {
    for (const semanticRatio of [0.3, 0.7, 1]) {
      const more = { hybrid: { embedder: 'e', semanticRatio }, vector: [1, 0] };
      const before = await search({ ...more, rerank: null });
      const found = await search(more);
      assert.deepEqual(idsOf(found), expected(idsOf(before)), `${semanticRatio}`);
      assert.ok(!('degraded' in found));
      peer.respond = (_, response) => void response.writeHead(500).end();
      const failed = await search(more);
      assert.deepEqual(idsOf(failed), idsOf(before));
      assert.deepEqual(failed.degraded, ['rerank']);
      peer.respond = null;
    }
  });

  it('ranks each query of a multi-search by itself', async () => {
    const rerank = { model: 'r', documents: DOCUMENTS };
    const query = { indexUid: 'shop', q: 'red shoe', limit: COUNT };
    const queries = [
      { ...query, rerank },
      query,
      { ...query, q: 'shoe', filter: 'id < 9', rerank },
      { ...query, q: 'red', rerank },
    ];
    peer.respond = ({ query: q, documents }, response) => {
      if (q === 'red') return void response.writeHead(500).end();
      const results = documents.map((_, index) => ({ index, relevance_score: index }));
      response.end(JSON.stringify({ results }));
    };
    const { json } = await server.call('POST', '/multi-search', { body: { queries } });
    const plain = items.map(({ id }) => id);
    const last = plain.slice(0, DOCUMENTS).toReversed();
    assert.deepEqual(json.results.map(idsOf), [
      [...last, ...plain.slice(DOCUMENTS)],
      plain,
      plain.slice(0, 9).toReversed(),
      plain,
    ]);
    const degraded = json.results.map((result: any) => result.degraded);
    assert.deepEqual(degraded, [undefined, undefined, undefined, ['rerank']]);
    assert.deepEqual(peer.asked.map(({ body }) => body.query).toSorted(), [
      'red',
      'red shoe',
      'shoe',
    ]);
  });

  it('gives hits the documents that they refer to', async () => {
    const found = await search({ limit: 10 });
    assert.deepEqual(idsOf(found), expected(items.map(({ id }) => id)).slice(0, 10));
    for (const { id, maker } of found.hits) {
      assert.deepEqual(maker, { id: id % 3, name: `maker ${id % 3}` });
    }
  });
});
