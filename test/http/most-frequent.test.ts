/** `mostFrequent` of a facet search, compared with a model that counts the values of documents. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';

interface Row {
  id: number;
  tag: string;
  year: number;
}

describe('the most frequent values of a facet', () => {
  let server: BuiltServer;
  let rows: Row[];

  before(async () => {
    server = await startBuiltServer();
    const seed = Number(process.env.GANNET_SEED ?? Math.floor(Math.random() * 1e6));
    console.log(`      seed ${seed}`);
    const random = mulberry(seed);
    // Frequent values come last by name.
    rows = Array.from({ length: 2000 }, (_, id) => ({
      id,
      tag: `t${String(Math.floor(400 * Math.sqrt(random()))).padStart(3, '0')}`,
      year: 1900 + Math.floor(random() * 100),
    }));
    await server.finish('PATCH', '/indexes/a/settings', {
      body: { filterableAttributes: ['tag', 'year'] },
    });
    await server.finish('POST', '/indexes/a/documents', { body: rows });
  });
  after(() => server?.close());

  const ask = (body: object) =>
    server.call('POST', '/indexes/a/facet-search', { body: { facetName: 'tag', ...body } });

  function counted(kept: (row: Row) => boolean): { value: string; count: number }[] {
    const counts = new Map<string, number>();
    for (const row of rows.filter(kept)) counts.set(row.tag, (counts.get(row.tag) ?? 0) + 1);
    return [...counts]
      .map(([value, count]) => ({ value, count }))
      .toSorted((a, b) => b.count - a.count || (a.value < b.value ? 1 : -1));
  }

  it('come first, whatever the settings say', async () => {
    for (const sortFacetValuesBy of [{ '*': 'alpha' }, { tag: 'count' }]) {
      const faceting = { maxValuesPerFacet: 5, sortFacetValuesBy };
      await server.finish('PATCH', '/indexes/a/settings', { body: { faceting } });
      for (const mostFrequent of [1, 7, 1000]) {
        const { json } = await ask({ mostFrequent });
        assert.deepEqual(json.facetHits, counted(() => true).slice(0, mostFrequent));
      }
      const { json } = await ask({ mostFrequent: 20, facetQuery: 't2', filter: 'year < 1950' });
      const wanted = counted(({ tag, year }) => tag.startsWith('t2') && year < 1950);
      assert.deepEqual(json.facetHits, wanted.slice(0, 20));
    }
  });

  it('are 1 to 1,000; null means as in the settings', async () => {
    for (const mostFrequent of [0, -1, 1001, 1.5, '3', true]) {
      const { status, json } = await ask({ mostFrequent });
      assert.deepEqual([status, json.code], [400, 'invalid_facet_search_most_frequent']);
    }
    const [none, plain] = await Promise.all([ask({ mostFrequent: null }), ask({})]);
    assert.deepEqual(none.json.facetHits, plain.json.facetHits);
  });
});
