/** Attributes and points that settings enable. */
import assert from 'node:assert/strict';
import { type TestResponse, useServer } from './support/real-server.ts';

describe('Attributes and points that settings enable', function () {
  this.timeout(60_000);
  const { send, done, idsOf } = useServer();

  it('searches attributes that a pattern matches below a searchable one', async () => {
    const settings = { searchableAttributes: ['chef'] };
    await done('PATCH', '/indexes/chefs/settings', settings);
    const chefs = [{ id: 1, chef: { city: 'lyon' }, mayor: { city: 'paris' } }];
    await done('POST', '/indexes/chefs/documents', chefs);
    const search = (q: string, attribute: string): Promise<TestResponse> =>
      send('POST', '/indexes/chefs/search', { q, attributesToSearchOn: [attribute] });
    assert.deepEqual(idsOf(await search('lyon', '*.city')), [1]);
    assert.deepEqual(idsOf(await search('paris', '*.city')), []);
    for (const attribute of ['*.name', 'mayor.*', 'mayor.city']) {
      const { body } = await search('lyon', attribute);
      assert.equal(body.code, 'invalid_search_attributes_to_search_on', attribute);
    }
  });

  it('enables points only where every stored one is valid', async () => {
    const cases: [string, unknown, string][] = [
      ['_geo', { lat: 1 }, 'invalid_document_geo_field'],
      ['_geojson', { type: 'x' }, 'invalid_document_geojson_field'],
      ['_geojson', 5, 'invalid_document_geojson_field'],
    ];
    for (const [n, [name, value, expected]] of cases.entries()) {
      for (const more of [{}, { stopWords: ['the'] }]) {
        const path = `/indexes/places-${n}-${Object.keys(more).length}`;
        await done('POST', `${path}/documents`, [{ id: 'first' }, { id: 'wrong', [name]: value }]);
        const task = await done('PATCH', `${path}/settings`, {
          filterableAttributes: [name],
          ...more,
        });
        assert.equal(task.error?.code, expected, `${name} ${JSON.stringify(value)}`);
        assert.match(task.error.message, /wrong/);
        const { body } = await send('GET', `${path}/settings`);
        assert.deepEqual([body.filterableAttributes, body.stopWords], [[], []]);
        await done('DELETE', `${path}/documents/wrong`, undefined);
        const again = await done('PATCH', `${path}/settings`, {
          filterableAttributes: [name],
          ...more,
        });
        assert.equal(again.status, 'succeeded');
      }
    }
  });

  it('lets every text start with what is empty once it is normalised', async () => {
    await done('PATCH', '/indexes/starts/settings', { filterableAttributes: ['v'] });
    const values = ['word', 3, [], null, { inner: 1 }];
    const documents = [...values.map((v, id) => ({ id, v })), { id: 5 }];
    await done('POST', '/indexes/starts/documents', documents);
    for (const prefix of ['', ' ', '\t\n', '\u3000']) {
      const search = async (operator: string): Promise<number[]> =>
        idsOf(
          await send('POST', '/indexes/starts/search', { filter: `v ${operator} "${prefix}"` }),
        );
      assert.deepEqual(await search('STARTS WITH'), [0, 1, 2, 3, 4], JSON.stringify(prefix));
      assert.deepEqual(await search('NOT STARTS WITH'), [5], JSON.stringify(prefix));
    }
  });
});
