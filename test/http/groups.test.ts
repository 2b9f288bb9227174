/** `groupBy`, compared with a model that ranks all documents and groups them one by one. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';

interface Row {
  id: number;
  product?: unknown;
  price: number;
  size: string;
  title: string;
}

describe('groups of hits', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  let rows: Row[];

  before(async () => {
    server = await startBuiltServer();
    const seed = Number(process.env.GANNET_SEED ?? Math.floor(Math.random() * 1e6));
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    rows = Array.from({ length: 120 }, (_, id) => ({
      id,
      ...(random() < 0.9 && { product: pick<unknown>(['a b', 'B"\\c', 'é', 7, 8.5]) }),
      price: id,
      size: pick(['S', 'M', 'L']),
      title: pick(['red shirt', 'blue shirt', 'red hat']),
    }));
    const settings = {
      filterableAttributes: ['product', 'size', 'hidden'],
      sortableAttributes: ['price'],
      displayedAttributes: ['id', 'product', 'price', 'size', 'title'],
    };
    await server.finish('PATCH', '/indexes/a/settings', { body: settings });
    await server.finish('POST', '/indexes/a/documents', { body: rows });
  });
  after(() => server?.close());

  const search = (body: object) => server.call('POST', '/indexes/a/search', { body });

  /** Groups of these rows, in their order. */
  function grouped(ranked: readonly Row[]): { value: unknown; rows: Row[] }[] {
    const groups: { value: unknown; rows: Row[] }[] = [];
    for (const row of ranked) {
      const value = row.product ?? null;
      const group = value === null ? undefined : groups.find((one) => one.value === value);
      if (group === undefined) groups.push({ value, rows: [row] });
      else group.rows.push(row);
    }
    return groups;
  }

  it('are those of the model, page by page', async () => {
    const base = { q: 'red', sort: ['price:desc'], attributesToRetrieve: ['id', 'title'] };
    for (const filter of [null, 'size = S', 'size IN [M, L] AND product EXISTS']) {
      const all = await search({ ...base, filter, limit: 1000, attributesToRetrieve: ['*'] });
      const model = grouped(all.json.hits);
      for (const [limit, hits, page] of [
        [20, 3, 1],
        [2, 1, 2],
        [3, 100, 1],
        [5, 2, 9],
      ] as const) {
        const groupBy = { attribute: 'product', limit, hits, page };
        const { status, json } = await search({ ...base, filter, groupBy });
        assert.equal(status, 200, JSON.stringify(json));
        assert.equal(json.totalGroups, model.length);
        const shown = json.groups.map(({ value, totalHits, hits: found }: any) => ({
          ...{ value, totalHits },
          ids: found.map(({ id }: Row) => id),
        }));
        const expected = model.slice((page - 1) * limit, page * limit).map((group) => ({
          ...{ value: group.value, totalHits: group.rows.length },
          ids: group.rows.slice(0, hits).map(({ id }) => id),
        }));
        assert.deepEqual(shown, expected, JSON.stringify({ filter, groupBy }));
      }
    }
  });

  it('have facets per document or per group', async () => {
    const all = await search({ limit: 1000 });
    const count = (list: readonly Row[]): Record<string, number> => {
      const counts: Record<string, number> = {};
      for (const { size } of list) counts[size] = (counts[size] ?? 0) + 1;
      return counts;
    };
    const model = grouped(all.json.hits);
    const body = { groupBy: { attribute: 'product', limit: 1 }, facets: ['size'] };
    const documents = (await search(body)).json;
    assert.deepEqual(documents.facetDistribution.size, count(rows));
    const groups = (await search({ ...body, facetsPer: 'group' })).json;
    const best = model.map((group) => group.rows[0]!);
    assert.deepEqual(groups.facetDistribution.size, count(best));
  });

  /** The groups of a response, with the ids of their hits. */
  const shownIn = (json: any): unknown[] =>
    json.groups.map(({ value, totalHits, hits }: any) => ({
      ...{ value, totalHits },
      ids: hits.map(({ id }: Row) => id),
    }));
  const pageOf = (ranked: readonly Row[], limit: number, hits: number, page: number): unknown[] =>
    grouped(ranked)
      .slice((page - 1) * limit, page * limit)
      .map((group) => ({
        ...{ value: group.value, totalHits: group.rows.length },
        ids: group.rows.slice(0, hits).map(({ id }) => id),
      }));

  it('are those of each query of a multi-search', async () => {
    const sort = ['price:desc'];
    const groupBy = { attribute: 'product', limit: 2, hits: 2 };
    const queries = [
      { indexUid: 'a', q: 'red', sort, groupBy },
      { indexUid: 'a', q: 'hat', limit: 1 },
      { indexUid: 'a', q: 'shirt', sort, groupBy: { ...groupBy, page: 2 } },
    ];
    const { status, json } = await server.call('POST', '/multi-search', { body: { queries } });
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(
      json.results.map(({ indexUid }: any) => indexUid),
      ['a', 'a', 'a'],
    );
    assert.equal(json.results[1].hits.length, 1);
    for (const [n, q, page] of [
      [0, 'red', 1],
      [2, 'shirt', 2],
    ] as const) {
      const ranked = (await search({ q, sort, limit: 1000 })).json.hits;
      assert.deepEqual(shownIn(json.results[n]), pageOf(ranked, 2, 2, page));
      assert.equal(json.results[n].totalGroups, grouped(ranked).length);
    }
    const wrong = [queries[1], { indexUid: 'a', groupBy, limit: 1 }];
    const refused = await server.call('POST', '/multi-search', { body: { queries: wrong } });
    assert.equal(refused.json.code, 'invalid_search_group_by');
    assert.match(refused.json.message, /queries\[1\]/);
    const many = { queries: Array.from({ length: 11 }, () => queries[0]) };
    assert.equal((await server.call('POST', '/multi-search', { body: many })).status, 400);
  });

  it('are those of one list of several indexes', async () => {
    const half = rows.map((row) => ({ ...row, id: row.id + 1000, price: row.price + 0.5 }));
    const settings = {
      filterableAttributes: ['product', 'size'],
      sortableAttributes: ['price'],
    };
    await server.finish('PATCH', '/indexes/b/settings', { body: settings });
    await server.finish('POST', '/indexes/b/documents', { body: half.filter(({ id }) => id % 3) });
    const many = (body: object) => server.call('POST', '/multi-search', { body });
    for (const q of ['red', 'shirt', '']) {
      const queries = ['a', 'b'].map((indexUid) => ({ indexUid, q, sort: ['price:asc'] }));
      const all = (await many({ queries, federation: { limit: 1000 } })).json.hits;
      for (const [limit, hits, page] of [
        [20, 3, 1],
        [2, 1, 2],
        [3, 100, 1],
      ] as const) {
        const groupBy = { attribute: 'product', limit, hits, page };
        const only = { attributesToRetrieve: ['id'] };
        const given = await many({
          queries: queries.map((query) => ({ ...query, ...only })),
          federation: { groupBy, facetsByIndex: { b: ['size'] } },
        });
        assert.equal(given.status, 200, JSON.stringify(given.json));
        assert.deepEqual(shownIn(given.json), pageOf(all, limit, hits, page), q);
        assert.equal(given.json.totalGroups, grouped(all).length);
        const ofB = await server.call('POST', '/indexes/b/search', {
          body: { q, facets: ['size'] },
        });
        const { distribution } = given.json.facetsByIndex.b;
        assert.deepEqual(distribution, ofB.json.facetDistribution);
      }
    }
    const groupBy = { attribute: 'product' };
    const queries = [{ indexUid: 'a' }];
    for (const body of [
      { queries: [{ indexUid: 'a', groupBy }], federation: {} },
      { queries, federation: { groupBy, limit: 3 } },
      { queries, federation: { groupBy, distinct: 'size' } },
      { queries: [{ indexUid: 'a', distinct: 'size' }], federation: { groupBy } },
      { queries, federation: { groupBy: { attribute: 'hidden' } } },
    ]) {
      const { status, json } = await many(body);
      const codes = ['invalid_search_group_by', 'invalid_multi_search_distinct'];
      assert.ok(status === 400 && codes.includes(json.code), JSON.stringify([body, json]));
    }
  });

  it('of a hybrid search have words only if its query cannot be embedded', async () => {
    const embedders = {
      e: {
        source: 'rest',
        url: 'http://127.0.0.1:1',
        dimensions: 2,
        request: '{{text}}',
        response: '{{embedding}}',
      },
    };
    const settings = {
      embedders,
      filterableAttributes: ['product'],
      sortableAttributes: ['price'],
    };
    await server.finish('PATCH', '/indexes/c/settings', { body: settings });
    const vectors = rows.map((row) => ({ ...row, _vectors: { e: [row.id, 1] } }));
    await server.finish('POST', '/indexes/c/documents', { body: vectors });
    const path = '/indexes/c/search';
    const groupBy = { attribute: 'product', hits: 2 };
    const sort = ['price:asc'];
    const [hybrid, words] = await Promise.all(
      [{ embedder: 'e' }, null].map((given) =>
        server.call('POST', path, { body: { q: 'red', sort, groupBy, hybrid: given } }),
      ),
    );
    assert.equal(hybrid!.status, 200, JSON.stringify(hybrid!.json));
    assert.deepEqual(shownIn(hybrid!.json), shownIn(words!.json));
    const vector = { q: 'red', groupBy, hybrid: { embedder: 'e' }, vector: [1, 1] };
    const both = await server.call('POST', path, { body: vector });
    const hitsOf = ({ json }: any): number =>
      json.groups.reduce((sum: number, { totalHits }: any) => sum + totalHits, 0);
    assert.ok(hitsOf(both) > hitsOf(words), JSON.stringify([both, words]));
  });

  it('refuse what they do not support', async () => {
    const groupBy = { attribute: 'product' };
    for (const body of [
      { groupBy: { attribute: 'hidden' } },
      { groupBy, distinct: 'size' },
      { groupBy, limit: 3 },
      { groupBy, page: 2 },
      { groupBy, showPerformanceDetails: true },
      { groupBy: { attribute: 'product', hits: 101 } },
      { groupBy: { attribute: 'product', limit: 0 } },
      { groupBy: {} },
    ]) {
      const { status, json } = await search(body);
      const codes = ['invalid_search_group_by', 'bad_request'];
      assert.ok(status === 400 && codes.includes(json.code), JSON.stringify([body, json]));
    }
    const { json } = await search({ groupBy: { attribute: 'price' } });
    assert.equal(json.code, 'invalid_search_distinct');
    assert.equal((await server.call('GET', '/indexes/a/search?groupBy={}')).status, 400);
  });
});
