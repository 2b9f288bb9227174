/**
 * Semantic, hybrid and similar search through the `meilisearch` client, from embedders to tenant
 * tokens.
 */
import assert from 'node:assert/strict';
import { Meilisearch, type Index } from 'meilisearch';
import { generateTenantToken } from 'meilisearch/token';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';

interface Dish {
  id: number;
  title: string;
  kind: string;
  price: number;
}

/** Two components each: the angle determines the similarity. */
const DISHES: (Dish & { _vectors: unknown })[] = [
  { id: 1, title: 'Lemon tart', kind: 'dessert', price: 5, _vectors: { taste: [1, 0] } },
  { id: 2, title: 'Lime sorbet', kind: 'dessert', price: 4, _vectors: { taste: [0.9, 0.1] } },
  { id: 3, title: 'Chocolate tart', kind: 'dessert', price: 6, _vectors: { taste: [0.5, 0.5] } },
  { id: 4, title: 'Espresso', kind: 'drink', price: 2, _vectors: { taste: [0, 1] } },
  { id: 5, title: 'Lemonade', kind: 'drink', price: 3, _vectors: { taste: [[0.8, 0.2], [-1, -1]] } }, // prettier-ignore
  { id: 6, title: 'Water', kind: 'drink', price: 1, _vectors: { taste: null } },
];
const lemony = { vector: [1, 0], hybrid: { embedder: 'taste', semanticRatio: 1 } };
/** Members of a response that the types of the client lack. */
const semanticHits = (response: object): number | undefined =>
  (response as { semanticHitCount?: number }).semanticHitCount;
const ids = (response: { hits: { id: number }[] }): number[] => response.hits.map(({ id }) => id);

describe('Searching by vectors', () => {
  let server: BuiltServer;
  let client: Meilisearch;
  let index: Index<Dish>;

  before(async () => {
    server = await startBuiltServer();
    client = new Meilisearch({ host: server.url, apiKey: server.masterKey });
    index = client.index<Dish>('dishes');
    await client.createIndex('dishes', { primaryKey: 'id' }).waitTask();
    const settings = await index
      .updateSettings({
        embedders: { taste: { source: 'userProvided', dimensions: 2 } },
        filterableAttributes: ['kind'],
        sortableAttributes: ['price'],
      })
      .waitTask();
    assert.equal(settings.status, 'succeeded', JSON.stringify(settings.error));
    const added = await index.addDocuments(DISHES as unknown as Dish[]).waitTask();
    assert.equal(added.status, 'succeeded', JSON.stringify(added.error));
  });

  after(() => server?.close());

  it('orders by similarity, the best embedding of a document counts, those without come last', async () => {
    const response = await index.search(null, { ...lemony, showRankingScore: true });
    assert.deepEqual(ids(response), [1, 2, 5, 3, 4, 6]);
    assert.deepEqual([response.hits[0]!._rankingScore, response.hits[5]!._rankingScore], [1, 0]);
    assert.equal(semanticHits(response), 6);
    assert.equal(response.estimatedTotalHits, 6);
  });

  it('only among the documents that pass the filter', async () => {
    const response = await index.search(null, { ...lemony, filter: 'kind = drink', limit: 2 });
    assert.deepEqual(ids(response), [5, 4]);
    assert.equal(response.estimatedTotalHits, 3);
  });

  it('shows details, the vectors of documents and that of the query', async () => {
    const { hits, ...response } = await index.search(null, {
      ...lemony,
      ...{ limit: 1, retrieveVectors: true, showRankingScoreDetails: true },
    });
    assert.deepEqual((hits[0] as { _vectors?: unknown })._vectors, {
      taste: { embeddings: [[1, 0]], regenerate: false },
    });
    assert.deepEqual(hits[0]!._rankingScoreDetails, { vectorSort: { order: 0, similarity: 1 } });
    assert.deepEqual((response as { queryVector?: number[] }).queryVector, [1, 0]);
  });

  it('merges what words and what vectors find', async () => {
    const words = { embedder: 'taste', semanticRatio: 0.5 };
    const response = await index.search('tart', { vector: [0, 1], hybrid: words });
    assert.deepEqual(ids(response)[0], 4);
    assert.deepEqual(ids(response).toSorted(), [1, 2, 3, 4, 5, 6]);
    assert.ok(semanticHits(response)! > 0 && semanticHits(response)! < 6);
  });

  it('makes do with words where a query cannot be embedded, but not without them', async () => {
    const response = await index.search('tart', {
      hybrid: { embedder: 'taste', semanticRatio: 0.5 },
    });
    assert.deepEqual(ids(response).toSorted(), [1, 3]);
    assert.equal(semanticHits(response), 0);
    assert.ok(!('degraded' in response), 'this embedder makes no embeddings');
    await assert.rejects(
      index.search('tart', { hybrid: { embedder: 'taste', semanticRatio: 1 } }),
      (error: Error) => {
        assert.equal((error.cause as { code: string }).code, 'vector_embedding_error');
        return true;
      },
    );
  });

  it('has the same totals and facets on every page', async () => {
    for (const more of [{}, { rankingScoreThreshold: 0.6 }, { distinct: 'kind' }]) {
      const totals = new Set<string>();
      const found: number[] = [];
      for (const page of [1, 2, 3, 4, 5, 6]) {
        const response = await index.search('tart', {
          ...{ vector: [1, 0], hybrid: { embedder: 'taste', semanticRatio: 0.7 } },
          ...{ page, hitsPerPage: 1, facets: ['kind'], ...more },
        });
        totals.add(JSON.stringify([response.totalHits, response.facetDistribution]));
        found.push(...ids(response));
      }
      assert.equal(totals.size, 1, JSON.stringify(more));
      const [total, facets] = JSON.parse([...totals][0]!) as [
        number,
        { kind: Record<string, number> },
      ];
      assert.equal(new Set(found).size, total, JSON.stringify(more));
      assert.equal(
        Object.values(facets.kind).reduce((sum, count) => sum + count, 0),
        total,
      );
    }
  });

  it('leaves out what only vectors find below `minScore`', async () => {
    const hybrid = { embedder: 'taste', semanticRatio: 0.5, minScore: 0.97 };
    const pages = [0, 1, 2].map((offset) =>
      index.search('espresso', { vector: [1, 0], hybrid, offset, limit: 2, facets: ['kind'] }),
    );
    for (const response of await Promise.all(pages)) {
      assert.equal(response.estimatedTotalHits, 4);
      assert.deepEqual(response.facetDistribution, { kind: { dessert: 2, drink: 2 } });
    }
    const all = await index.search('espresso', { vector: [1, 0], hybrid });
    assert.deepEqual(ids(all).toSorted(), [1, 2, 4, 5]);
    const semantic = { embedder: 'taste', semanticRatio: 1, minScore: 0.97 };
    assert.deepEqual(
      ids(await index.search(null, { vector: [1, 0], hybrid: semantic })),
      [1, 2, 5],
    );
    const refused = await server.call('POST', '/indexes/dishes/search', {
      body: { vector: [1, 0], hybrid: { ...semantic, minScore: 2 } },
    });
    assert.deepEqual([refused.status, refused.json.code], [400, 'invalid_search_hybrid_query']);
    const path = 'search?vector=1,0&hybridEmbedder=taste&hybridSemanticRatio=1&hybridMinScore=0.97';
    assert.deepEqual(ids((await server.call('GET', `/indexes/dishes/${path}`)).json), [1, 2, 5]);
  });

  it('merges both lists by ranks with `fusion: "rrf"`', async () => {
    const request = {
      ...{ vector: [1, 0], showRankingScore: true, showRankingScoreDetails: true },
      hybrid: { embedder: 'taste', semanticRatio: 0.5, fusion: 'rrf' },
    };
    const words = ids(await index.search('tart', { limit: 9 }));
    const near = ids(
      await index.search(null, {
        ...{ vector: [1, 0], hybrid: { embedder: 'taste', semanticRatio: 1, minScore: 0.1 } },
      }),
    );
    const share = (list: readonly number[], id: number): number =>
      list.includes(id) ? (0.5 * 61) / (61 + list.indexOf(id)) : 0;
    const response = await index.search<any>('tart', request as never);
    const { hits } = response;
    let before = 1;
    for (const hit of hits) {
      const score = share(words, hit.id) + share(near, hit.id);
      assert.ok(Math.abs(hit._rankingScore - score) < 1e-6, `${hit.id}: ${hit._rankingScore}`);
      assert.ok(hit._rankingScore <= before);
      before = hit._rankingScore;
      const { rrf, vectorSort, words: matched } = hit._rankingScoreDetails;
      assert.equal(rrf.wordsRank, words.includes(hit.id) ? words.indexOf(hit.id) + 1 : undefined);
      assert.equal(rrf.semanticRank, near.includes(hit.id) ? near.indexOf(hit.id) + 1 : undefined);
      assert.equal(vectorSort !== undefined, true);
      assert.equal(matched !== undefined, words.includes(hit.id));
    }
    assert.ok(semanticHits(response)! > 0);
    const path = 'search?q=tart&vector=1,0&hybridEmbedder=taste';
    const parameters = await server.call('GET', `/indexes/dishes/${path}&hybridFusion=rrf`);
    assert.deepEqual(ids(parameters.json), ids({ hits } as never));
    for (const [wrong, code] of [
      [`${path}&hybridFusion=sum`, 'invalid_search_hybrid_query'],
      ['search?q=tart&hybridFusion=rrf', 'invalid_search_hybrid_query'],
    ]) {
      const refused = await server.call('GET', `/indexes/dishes/${wrong}`);
      assert.deepEqual([refused.status, refused.json.code], [400, code]);
    }
  });

  it('fuses by ranks what `natural` finds, unless another fusion is named', async () => {
    const natural = { matchingStrategy: 'natural' };
    const request = { q: 'tart', vector: [1, 0], showRankingScore: true };
    const hybrid = (fusion?: string): object => ({
      ...{ embedder: 'taste', semanticRatio: 0.7 },
      ...(fusion !== undefined && { fusion }),
    });
    const page = { page: 1, hitsPerPage: 4, distinct: 'kind' };
    const one = async (body: object): Promise<object[]> => {
      const { status, json } = await server.call('POST', '/indexes/dishes/search', {
        body: { ...request, ...body },
      });
      assert.equal(status, 200, JSON.stringify(json));
      return json.hits;
    };
    const several = async (body: object, federation?: object): Promise<object[]> => {
      const query = { indexUid: 'dishes', ...request, ...body };
      const { status, json } = await server.call('POST', '/multi-search', {
        body: { queries: [query], ...(federation && { federation }) },
      });
      assert.equal(status, 200, JSON.stringify(json));
      return federation ? json.hits : json.results[0].hits;
    };
    const runs: ((body: object) => Promise<object[]>)[] = [
      (body) => one(body),
      (body) => one({ ...body, ...page }),
      (body) => several(body),
      (body) => several(body, {}),
      (body) => several(body, { page: 1, hitsPerPage: 3, distinct: 'kind' }),
    ];
    const check = async (strategy: object, isFused: boolean): Promise<void> => {
      for (const [n, run] of runs.entries()) {
        const [byDefault, score, rrf] = await Promise.all(
          [undefined, 'score', 'rrf'].map((fusion) => run({ ...strategy, hybrid: hybrid(fusion) })),
        );
        assert.notDeepEqual(score, rrf, `run ${n}`);
        assert.deepEqual(byDefault, isFused ? rrf : score, `run ${n}`);
      }
    };
    await check(natural, true);
    await check({}, false);
    await index.updateSettings({ defaultMatchingStrategy: 'natural' } as object).waitTask();
    await check({}, true);
    await check({ matchingStrategy: 'last' }, false);
    await index.updateSettings({ defaultMatchingStrategy: null } as object).waitTask();
  });

  it('sorts what is equally near, and sorts first where that rule comes first', async () => {
    const sort = ['price:asc'];
    assert.deepEqual(
      ids(await index.search(null, { ...lemony, vector: [0, 0], sort, limit: 3 })),
      [4, 5, 2],
    );
  });

  it('finds similar documents', async () => {
    const response = await index.searchSimilarDocuments({
      ...{ id: 1, embedder: 'taste', showRankingScore: true, limit: 3 },
    });
    assert.deepEqual(ids(response), [2, 5, 3]);
    assert.equal(response.estimatedTotalHits, 5);
    const near = await index.searchSimilarDocuments({
      ...{ id: 1, embedder: 'taste', rankingScoreThreshold: 0.95, filter: 'kind = dessert' },
    });
    assert.deepEqual(ids(near), [2]);
  });

  it('hides from a tenant what its rules hide, also as the document compared with', async () => {
    const { results } = await client.getKeys();
    const key = results.find(({ actions }) => actions.join() === 'search')!;
    const token = await generateTenantToken({
      apiKey: key.key,
      apiKeyUid: key.uid,
      searchRules: { dishes: { filter: 'kind = dessert' } },
    });
    const tenant = new Meilisearch({ host: server.url, apiKey: token }).index<Dish>('dishes');
    assert.deepEqual(ids(await tenant.search(null, lemony)), [1, 2, 3]);
    assert.deepEqual(
      ids(await tenant.searchSimilarDocuments({ id: 1, embedder: 'taste' })),
      [2, 3],
    );
    await assert.rejects(
      tenant.searchSimilarDocuments({ id: 4, embedder: 'taste' }),
      (error: Error) => {
        assert.equal((error.cause as { code: string }).code, 'not_found_similar_id');
        return true;
      },
    );
  });

  it('in several searches, apart and merged', async () => {
    const { results } = await client.multiSearch({
      queries: [
        { indexUid: 'dishes', ...lemony, limit: 1 },
        { indexUid: 'dishes', q: 'espresso' },
      ],
    });
    assert.deepEqual(
      results.map((response) => ids(response as unknown as { hits: Dish[] })),
      [[1], [4]],
    );
    const merged = await server.call('POST', '/multi-search', {
      body: {
        federation: { limit: 3 },
        queries: [
          { indexUid: 'dishes', ...lemony, retrieveVectors: true },
          { indexUid: 'dishes', q: 'espresso', federationOptions: { weight: 2 } },
        ],
      },
    });
    assert.deepEqual(ids(merged.json), [4, 1, 2]);
    assert.equal(merged.json.semanticHitCount, 2);
    assert.deepEqual(merged.json.queryVectors, { 0: [1, 0] });
  });

  it('filters by vectors', async () => {
    await server.call('PATCH', '/experimental-features', { body: { multimodal: true } });
    const missing = await index.search(null, { filter: '_vectors.taste NOT EXISTS' });
    assert.deepEqual(ids(missing), [6]);
    const given = await index.getDocuments({ filter: '_vectors EXISTS', fields: ['id'] });
    assert.equal(given.total, 5);
  });

  it('refuses vectors that do not fit', async () => {
    for (const [body, code] of [
      [{ ...lemony, vector: [1, 2, 3] }, 'invalid_vector_dimensions'],
      [{ ...lemony, vector: [1e300, 0] }, 'invalid_search_vector'],
      [{ ...lemony, hybrid: { embedder: 'smell' } }, 'invalid_search_embedder'],
      [{ vector: [1, 0] }, 'missing_search_hybrid'],
    ] as const) {
      const { status, json } = await server.call('POST', '/indexes/dishes/search', { body });
      assert.deepEqual([status, json.code], [400, code]);
    }
  });
});
