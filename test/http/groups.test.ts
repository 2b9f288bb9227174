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
    const many = { queries: [{ indexUid: 'a', groupBy }] };
    assert.equal((await server.call('POST', '/multi-search', { body: many })).status, 400);
  });
});
