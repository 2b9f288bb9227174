import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

describe('zero, null and what is empty', function () {
  this.timeout(120_000);

  let server: BuiltServer;

  before(async () => {
    server = await startBuiltServer();
    await server.finish('PATCH', '/indexes/a/settings', {
      body: { filterableAttributes: ['n', 'a.b', 'o', 'o.x', '_geojson'] },
    });
    const task = await server.finish('POST', '/indexes/a/documents', {
      body: [
        { id: 1, n: 0, o: [{ x: null }, { x: 1 }] },
        { id: 2, n: -0, o: [], _geojson: null },
        { id: 3, n: 1, a: [{ b: null }, { b: [] }] },
        { id: 4, n: -1, _geojson: { type: 'Point', coordinates: [1, 1] } },
      ],
    });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
  });
  after(() => server?.close());

  const cases: [string, number[]][] = [
    ['n = -0', [1, 2]],
    ['n = -0.0', [1, 2]],
    ['n != -0', [3, 4]],
    ['n IN [-0]', [1, 2]],
    ['n >= -0', [1, 2, 3]],
    ['n < -0', [4]],
    ['n -0 TO 0', [1, 2]],
    ['a.b IS NULL', [3]],
    ['a.b IS EMPTY', [3]],
    ['o.x IS NULL', [1]],
    ['o IS EMPTY', [2]],
    ['_geoBoundingBox([2, 2], [0, 0])', [4]],
  ];
  for (const [filter, expected] of cases) {
    it(filter, async () => {
      const { json } = await server.call('POST', '/indexes/a/search', { body: { filter } });
      assert.deepEqual(
        json.hits?.map(({ id }: { id: number }) => id),
        expected,
        JSON.stringify(json),
      );
    });
  }

  it('keeps a `_geojson` that is null, also where the field becomes filterable later', async () => {
    await server.finish('POST', '/indexes/later/documents', { body: [{ id: 1, _geojson: null }] });
    const task = await server.finish('PATCH', '/indexes/later/settings', {
      body: { filterableAttributes: ['_geojson'] },
    });
    assert.equal(task.status, 'succeeded', JSON.stringify(task.error));
    const { json } = await server.call('GET', '/indexes/later/documents/1');
    assert.deepEqual(json, { id: 1, _geojson: null });
  });
});
