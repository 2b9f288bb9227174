/** Searches with `rerank`, against a service that is right, slow, cut off, wrong or full. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { type Asked, COUNT, items, Peer } from './support/reranker-peer.ts';

describe('Reranking', () => {
  const peer = new Peer();
  let server: BuiltServer;
  let reranker: Record<string, unknown>;

  const fill = async (on: BuiltServer, more: object = {}): Promise<void> => {
    // Only one test has little time.
    const rerankers = { r: reranker };
    const settings = { rerankers, filterableAttributes: ['id'], searchCutoffMs: 600_000, ...more };
    const set = await on.finish('PATCH', '/indexes/shop/settings', { body: settings });
    assert.equal(set.status, 'succeeded', JSON.stringify(set));
    await on.finish('POST', '/indexes/shop/documents?primaryKey=id', { body: items });
  };
  const search = async (more: object = {}, on = server): Promise<any> => {
    const body = { q: 'red shoe', rerank: { model: 'r', documents: 25 }, ...more };
    const { status, json } = await on.call('POST', '/indexes/shop/search', { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  const idsOf = ({ hits }: any): number[] => hits.map(({ id }: any) => id);
  const plain = Array.from({ length: COUNT }, (_, id) => id);
  const ranked = [
    ...plain.slice(0, 25).toSorted((a, b) => items[b]!.size - items[a]!.size),
    ...plain.slice(25),
  ];
  const refusal = async (path: string, body: object): Promise<string> => {
    const { status, json } = await server.call('POST', path, { body });
    assert.equal(status, 400, JSON.stringify(json));
    return json.code;
  };

  before(async () => {
    reranker = {
      ...{ source: 'rest', url: await peer.start(), apiKey: 'secret-of-the-service' },
      request: { query: '{{query}}', documents: ['{{text}}', '{{..}}'] },
      response: {
        results: [{ index: '{{index}}', relevance_score: '{{score}}' }, '{{..}}'],
      },
      documentTemplate: 'size: {{doc.size}}, {{doc.secret}}',
    };
    server = await startBuiltServer();
    await fill(server);
  });
  after(async () => {
    await server?.close();
    peer.stop();
  });
  beforeEach(() => {
    peer.respond = null;
    peer.asked.length = 0;
  });

  it('orders the first documents again, the same for every page', async () => {
    const whole = await search({ limit: COUNT });
    assert.deepEqual(idsOf(whole), ranked);
    assert.ok(!('degraded' in whole));
    const { body, authorization } = peer.asked[0]!;
    assert.equal(authorization, 'Bearer secret-of-the-service');
    assert.equal(body.query, 'red shoe');
    assert.deepEqual(
      body.documents,
      items.slice(0, 25).map(({ size, secret }) => `size: ${size}, ${secret}`),
    );
    for (const size of [1, 7, 25, 30]) {
      const found: number[] = [];
      const numbered: number[] = [];
      for (let offset = 0; offset < COUNT; offset += size) {
        const page = await search({ offset, limit: size });
        assert.deepEqual([page.offset, page.limit, page.estimatedTotalHits], [offset, size, COUNT]);
        found.push(...idsOf(page));
        const other = await search({ page: offset / size + 1, hitsPerPage: size });
        const totals = [other.page, other.hitsPerPage, other.totalPages, other.totalHits];
        assert.deepEqual(totals, [offset / size + 1, size, Math.ceil(COUNT / size), COUNT]);
        numbered.push(...idsOf(other));
      }
      assert.deepEqual(found, ranked, `${size}`);
      assert.deepEqual(numbered, ranked, `${size}`);
    }
  });

  it('shows hits, facets and metadata as without it', async () => {
    const more = {
      ...{ limit: 5, attributesToRetrieve: ['id'], attributesToHighlight: ['title'] },
      ...{ facets: ['id'], showRankingScore: true },
    };
    const found = await search(more);
    const other = await search({ ...more, rerank: null, filter: `id = ${ranked[0]}` });
    assert.deepEqual(found.hits[0], other.hits[0]);
    const all = await search({ ...more, rerank: null });
    assert.deepEqual(found.facetDistribution, all.facetDistribution);
    assert.deepEqual(Object.keys(found), Object.keys(all));
  });

  it('asks nobody where there is nothing to rerank', async () => {
    assert.deepEqual(idsOf(await search({ q: '', limit: 3 })), [0, 1, 2]);
    assert.deepEqual(idsOf(await search({ offset: 30, limit: 3 })), [30, 31, 32]);
    assert.deepEqual(idsOf(await search({ filter: 'id = 4' })), [4]);
    assert.deepEqual(idsOf(await search({ filter: 'id = 99' })), []);
    assert.deepEqual(idsOf(await search({ limit: 0 })), []);
    assert.equal(peer.asked.length, 0);
  });

  const failures: Record<string, (body: Asked, response: ServerResponse) => void> = {
    'is down': (_, response) => void response.destroy(),
    'is cut off': (_, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{"results":', () => response.destroy());
    },
    'takes no more than a document': (_, response) =>
      void response.writeHead(413).end('{"error":"batch size 25 exceeds 1"}'),
    'is full': (_, response) => void response.writeHead(429).end('{"error":"too many"}'),
    fails: (_, response) => void response.writeHead(500).end('no'),
    'sends no JSON': (_, response) => void response.end('hello'),
    'sends other JSON': (_, response) => void response.end('{"scores":[]}'),
    'scores too few documents': (_, response) =>
      void response.end('{"results":[{"index":0,"relevance_score":1}]}'),
    'scores a document twice': ({ documents }, response) =>
      void response.end(
        JSON.stringify({ results: documents.map(() => ({ index: 0, relevance_score: 1 })) }),
      ),
    'scores with words': ({ documents }, response) =>
      void response.end(
        JSON.stringify({ results: documents.map((_, index) => ({ index, relevance_score: 'x' })) }),
      ),
    'sends too much': (_, response) => void response.end(' '.repeat(4 << 20)),
  };
  for (const [name, respond] of Object.entries(failures)) {
    it(`leaves the order, and says so, if the service ${name}`, async () => {
      peer.respond = respond;
      const found = await search({ limit: COUNT });
      assert.deepEqual(idsOf(found), plain);
      assert.deepEqual(found.degraded, ['rerank']);
      assert.equal(peer.asked.length, 1, 'it is asked once');
    });
  }

  it('sends the beginning of a long query, however often the request repeats it', async () => {
    const path = '/indexes/shop/settings/rerankers';
    const pairs = { pairs: [{ q: '{{query}}', text: '{{text}}' }, '{{..}}'] };
    await server.finish('PATCH', path, { body: { pairs: { ...reranker, request: pairs } } });
    const sent: string[] = [];
    peer.respond = (body, response) => {
      sent.push(...(body as any).pairs.map((pair: any) => pair.q));
      response.end('{}');
    };
    // The longest character straddles the end.
    const q = `red shoe ${'x'.repeat(4086)}😀${'x'.repeat(4_000_000)}`;
    const found = await search({ q, rerank: { model: 'pairs', documents: 25 } });
    assert.deepEqual(found.degraded, ['rerank']);
    assert.deepEqual(sent, Array(25).fill(q.slice(0, 4095)));
    await server.finish('PATCH', path, { body: { pairs: null } });
  });

  it('ends the request to the service when the client disconnects', async () => {
    const threads = await startBuiltServer(['--http-threads', '2']);
    try {
      await fill(threads);
      for (const on of [server, threads]) {
        const client = new AbortController();
        const closed = new Promise((resolve) => {
          peer.respond = (_, response) => {
            response.on('close', resolve);
            client.abort();
          };
        });
        const body = JSON.stringify({ q: 'red shoe', rerank: { model: 'r' } });
        const headers = {
          'content-type': 'application/json',
          authorization: `Bearer ${on.masterKey}`,
        };
        const sent = { method: 'POST', headers, body, signal: client.signal };
        await assert.rejects(fetch(`${on.url}/indexes/shop/search`, sent), { name: 'AbortError' });
        // The time of the search is ten minutes.
        await closed;
      }
    } finally {
      await threads.close();
    }
  });

  it('does not wait longer than the time of the search', async () => {
    const cutoff = async (body: number | null): Promise<void> => {
      await server.finish('PUT', '/indexes/shop/settings/search-cutoff-ms', { body });
    };
    await cutoff(100);
    peer.respond = () => {};
    const found = await search({ offset: 3, limit: 4 });
    assert.deepEqual(idsOf(found), [3, 4, 5, 6]);
    assert.deepEqual(found.degraded, ['rerank']);
    await cutoff(600_000);
  });

  it('is available in a multi-search, and refused where lists are merged', async () => {
    const query = { indexUid: 'shop', q: 'red', rerank: { model: 'r', documents: 25 } };
    const { json } = await server.call('POST', '/multi-search', { body: { queries: [query] } });
    assert.deepEqual(idsOf(json.results[0]), ranked.slice(0, 20));
    const code = 'invalid_search_rerank';
    assert.equal(await refusal('/multi-search', { federation: {}, queries: [query] }), code);
    const path = '/indexes/shop/search';
    await server.call('PATCH', '/experimental-features', { body: { network: true } });
    for (const body of [
      { rerank: { model: 'other' } },
      { rerank: { model: 'r', documents: 0 } },
      { rerank: { model: 'r', documents: 201 } },
      { rerank: { documents: 3 } },
      { rerank: 'r' },
      { rerank: { model: 'r' }, useNetwork: true },
    ]) {
      assert.equal(await refusal(path, { q: 'red', ...body }), code, JSON.stringify(body));
    }
    const grouped = { q: 'red', rerank: { model: 'r' }, groupBy: { attribute: 'id' } };
    assert.equal(await refusal(path, grouped), 'invalid_search_group_by');
  });

  it('is described by a setting that keeps its secrets', async () => {
    const path = '/indexes/shop/settings/rerankers';
    const shown = async (): Promise<any> => (await server.call('GET', path)).json;
    const { r } = await shown();
    assert.ok(!JSON.stringify(r).includes('secret-of-the-service'));
    const { status } = await server.finish('PATCH', path, { body: { r } });
    assert.equal(status, 'succeeded');
    await search();
    assert.equal(peer.asked.at(-1)!.authorization, 'Bearer secret-of-the-service');
    const rest = { ...reranker };
    for (const wrong of [
      { ...rest, url: 'nowhere' },
      { ...rest, url: null },
      { ...rest, request: { query: '{{query}}', text: '{{text}}' } },
      { ...rest, request: { documents: ['{{text}}', '{{..}}'] } },
      { ...rest, response: [{ index: '{{index}}' }, '{{..}}'] },
      { ...rest, response: { index: '{{index}}', scores: ['{{score}}', '{{..}}'] } },
      { ...rest, documentTemplate: '{{' },
      { ...rest, documentTemplateMaxBytes: 0 },
      { ...rest, source: 'other' },
      { url: rest.url },
    ]) {
      const { status: refused, json } = await server.call('PATCH', path, { body: { x: wrong } });
      assert.equal(refused, 400, JSON.stringify(wrong));
      assert.equal(json.code, 'invalid_settings_rerankers');
    }
    await server.finish('PATCH', path, { body: { r: null } });
    assert.deepEqual(await shown(), {});
    await server.finish('PATCH', path, { body: { r: reranker } });
  });

  it('obeys the rules for addresses, and works in HTTP threads', async () => {
    const threads = await startBuiltServer(['--http-threads', '2']);
    const closed = await startBuiltServer(['--outbound-deny-private']);
    try {
      await fill(threads);
      assert.deepEqual(idsOf(await search({ limit: COUNT }, threads)), ranked);
      peer.respond = failures['fails']!;
      assert.deepEqual((await search({}, threads)).degraded, ['rerank']);
      peer.asked.length = 0;
      await fill(closed);
      const found = await search({ limit: COUNT }, closed);
      assert.deepEqual(idsOf(found), plain);
      assert.deepEqual(found.degraded, ['rerank']);
      assert.equal(peer.asked.length, 0);
    } finally {
      await threads.close();
      await closed.close();
    }
  });
});
