/**
 * Queries that a provider embeds: how similarities become scores, and what a slow provider delays.
 */
import assert from 'node:assert/strict';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { EmbeddingProvider } from '../support/embedding-provider.ts';
import { startCluster } from './support/cluster.ts';

describe('Queries that a provider embeds', () => {
  let server: BuiltServer;
  let provider: EmbeddingProvider;

  before(async () => {
    provider = await EmbeddingProvider.start();
    server = await startBuiltServer(['--experimental-nb-searches-per-core', '1']);
    await server.call('PATCH', '/experimental-features', { body: { compositeEmbedders: true } });
  });
  beforeEach(() => {
    provider.always = null;
  });
  after(async () => {
    await server.close();
    provider.stop();
  });

  describe('score by the distribution', () => {
    const openAi = (more: object): object => ({
      source: 'openAi',
      url: `${provider.url}/v1/embeddings`,
      apiKey: 'key',
      ...more,
    });
    const SMALL = { model: 'text-embedding-3-small', dimensions: 4 };
    const LARGE = { model: 'text-embedding-3-large', dimensions: 4 };
    const own = { mean: 0.5, sigma: 0.4 };
    const ROWS: [
      name: string,
      embedder: () => object,
      dimensions: number,
      mean: number,
      sigma: number,
    ][] = [
      ['ada-002', () => openAi({ model: 'text-embedding-ada-002' }), 1536, 0.9, 0.08],
      ['3-small', () => openAi(SMALL), 4, 0.75, 0.1],
      ['the default model', () => openAi({ dimensions: 4 }), 4, 0.75, 0.1],
      ['3-large', () => openAi(LARGE), 4, 0.7, 0.1],
      ['the embedder', () => openAi({ ...LARGE, distribution: own }), 4, 0.5, 0.4],
      [
        'the search part of a composite embedder',
        () => ({
          source: 'composite',
          searchEmbedder: openAi(SMALL),
          indexingEmbedder: openAi(LARGE),
        }),
        ...([4, 0.75, 0.1] as const),
      ],
      [
        'the indexing part where the search part has none',
        () => ({
          source: 'composite',
          searchEmbedder: {
            source: 'rest',
            url: `${provider.url}/rest/one`,
            request: { input: '{{text}}' },
            response: { embedding: '{{embedding}}' },
          },
          indexingEmbedder: openAi(LARGE),
        }),
        ...([4, 0.7, 0.1] as const),
      ],
    ];
    /** Similarities of the documents to the query, as cosines. */
    const COSINES = [1, 0.9, 0.8, 0.6, 0.45, 0.3, 0, -1];

    for (const [n, [name, embedder, dimensions, mean, sigma]] of ROWS.entries()) {
      it(`of ${name}`, async () => {
        const uid = `scores-${n}`;
        const set = await server.finish('PATCH', `/indexes/${uid}/settings/embedders`, {
          body: { e: embedder() },
        });
        assert.equal(set.status, 'succeeded', JSON.stringify(set.error));
        const vector = (cosine: number): number[] => {
          const numbers = Array<number>(dimensions).fill(0);
          numbers[0] = cosine;
          numbers[1] = Math.sqrt(1 - cosine * cosine);
          return numbers;
        };
        await server.finish('POST', `/indexes/${uid}/documents`, {
          body: COSINES.map((cosine, id) => ({ id, _vectors: { e: vector(cosine) } })),
        });
        const { json } = await server.call('POST', `/indexes/${uid}/search`, {
          body: {
            vector: vector(1),
            hybrid: { embedder: 'e', semanticRatio: 1 },
            showRankingScore: true,
          },
        });
        const scores = new Map<number, number>(
          json.hits.map(({ id, _rankingScore }: any) => [id, _rankingScore]),
        );
        for (const [id, cosine] of COSINES.entries()) {
          const shifted = 0.5 + (0.4 / sigma) * ((1 + cosine) / 2 - mean);
          const expected = shifted <= 0 ? 1.1920929e-7 : Math.min(1, shifted);
          assert.ok(
            Math.abs(scores.get(id)! - expected) < 1e-5,
            `cosine ${cosine}: ${scores.get(id)}, expected ${expected}`,
          );
        }
        // Built-in values are not shown.
        const shown = (await server.call('GET', `/indexes/${uid}/settings/embedders`)).json.e;
        assert.equal('distribution' in shown, name === 'the embedder');
      });
    }
  });

  it('hold up no other search while they wait for it', async () => {
    const uid = 'waiting';
    await server.finish('PATCH', `/indexes/${uid}/settings`, {
      body: {
        searchCutoffMs: 600_000,
        embedders: {
          e: {
            source: 'rest',
            url: `${provider.url}/rest/one`,
            request: { input: '{{text}}' },
            response: { embedding: '{{embedding}}' },
            dimensions: 4,
            documentTemplate: '{{ doc.title }}',
          },
        },
      },
    });
    await server.finish('POST', `/indexes/${uid}/documents`, {
      body: [{ id: 1, title: 'red wine' }],
    });
    let asked = 0;
    let allAsked = (): void => {};
    const all = new Promise<void>((resolve) => (allAsked = resolve));
    provider.always = () => {
      if (++asked === 9) allAsked();
      return 'silent';
    };
    const leave = new AbortController();
    let ended = 0;
    const ask = (path: string, body: unknown): Promise<unknown> =>
      fetch(server.url + path, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.masterKey}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
        signal: leave.signal,
      }).catch(() => ended++);
    const query = (q: string, semanticRatio: number): object => {
      return { q, hybrid: { embedder: 'e', semanticRatio } };
    };
    const waiting: Promise<unknown>[] = [];
    for (let n = 0; n < 3; n++) {
      waiting.push(ask(`/indexes/${uid}/search`, query(`meaning ${n}`, 1)));
      waiting.push(ask(`/indexes/${uid}/search`, query(`both ${n}`, 0.5)));
      const queries = [{ indexUid: uid, ...query(`merged ${n}`, 1) }];
      waiting.push(ask('/multi-search', { federation: {}, queries }));
    }
    await all;
    for (let n = 0; n < 5; n++) {
      const { status, json } = await server.call('POST', `/indexes/${uid}/search`, {
        body: { q: 'wine' },
      });
      assert.equal(status, 200);
      assert.equal(json.hits.length, 1);
    }
    assert.equal(ended, 0);
    leave.abort();
    await Promise.all(waiting);
    provider.always = null;
    const { json } = await server.call('POST', `/indexes/${uid}/search`, {
      body: query('another meaning', 1),
    });
    assert.equal(json.semanticHitCount, 1);
  });

  it('are answered by words where it fails, and the response says so', async () => {
    const network = await startCluster({ count: 2 });
    after(() => network.close());
    const servers = [server, ...network.servers];
    const embedders = {
      e: {
        source: 'rest',
        url: `${provider.url}/rest/one`,
        request: { input: '{{text}}' },
        response: { embedding: '{{embedding}}' },
        dimensions: 4,
        documentTemplate: '{{ doc.title }}',
      },
    };
    for (const one of servers) {
      const settings = { embedders, filterableAttributes: ['title'] };
      await one.finish('PATCH', '/indexes/cellar/settings', { body: settings });
      const body = [{ id: 1, title: 'red wine' }];
      await one.finish('POST', '/indexes/cellar/documents', { body });
    }
    provider.always = () => ({ status: 400 });
    const hybrid = { embedder: 'e', semanticRatio: 0.9 };
    const query = { q: 'wine', hybrid };
    const queries = [{ indexUid: 'cellar', ...query }];
    const degraded = async (on: BuiltServer, path: string, body: object): Promise<unknown> => {
      const { status, json } = await on.call('POST', path, { body });
      assert.equal(status, 200, JSON.stringify(json));
      return json.degraded;
    };
    const path = '/indexes/cellar/search';
    assert.deepEqual(await degraded(server, path, query), ['embedding']);
    const fused = { ...query, hybrid: { ...hybrid, fusion: 'rrf' } };
    assert.deepEqual(await degraded(server, path, fused), ['embedding']);
    const merged = { federation: {}, queries };
    assert.deepEqual(await degraded(server, '/multi-search', merged), ['embedding']);
    const [asked] = network.servers;
    const whole = { ...query, useNetwork: true };
    assert.deepEqual(await degraded(asked!, path, whole), ['embedding']);
    const facets = { ...query, facetName: 'title', hybrid: { ...hybrid, minScore: 0.5 } };
    const facetSearch = '/indexes/cellar/facet-search';
    assert.deepEqual(await degraded(server, facetSearch, facets), ['embedding']);
    const given = { ...facets, vector: [1, 0, 0, 0] };
    assert.equal(await degraded(server, facetSearch, given), undefined);
    const enough = { ...query, hybrid: { ...hybrid, semanticRatio: 0.1 }, limit: 1 };
    assert.equal(await degraded(server, path, enough), undefined, 'words are enough');
    assert.equal(await degraded(server, path, { ...query, vector: [1, 0, 0, 0] }), undefined);
  });
});
