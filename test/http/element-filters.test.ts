/** Filters that test one element of an array: `items[price < 5 AND colour = red]`. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { foundIds, searchBy } from '../support/found-ids.ts';

describe('conditions on one element', function () {
  this.timeout(120_000);

  let server: BuiltServer;
  const elements = (attributePatterns: string[], more: object = {}): object => ({
    attributePatterns,
    features: { filter: { elements: true, ...more } },
  });

  before(async () => {
    server = await startBuiltServer();
    const dates = {
      attributePatterns: ['items.sold'],
      features: { filter: { date: true } },
    };
    const filterableAttributes = [elements(['items', 'orders']), dates, 'shop'];
    await server.finish('PATCH', '/indexes/a/settings', { body: { filterableAttributes } });
    const line = (sku: string, qty: number): object => ({ sku, qty });
    await server.finish('POST', '/indexes/a/documents', {
      body: [
        {
          id: 1,
          items: [
            { price: 3, colour: 'Red', sold: '2026-01-01' },
            { price: 9, colour: 'blue', tags: ['new', 'big'] },
          ],
        },
        { id: 2, items: [{ price: 9, colour: 'red' }, { price: 3 }] },
        { id: 3, items: { price: 4, colour: 'red', _geo: { lat: 48.85, lng: 2.35 } } },
        { id: 4, items: ['red', null, []], shop: 'x' },
        { id: 5, shop: 'x' },
        { id: 6, orders: [{ open: true, lines: [line('A', 1), line('B', 5)] }] },
        {
          id: 7,
          orders: [
            { open: false, lines: [line('A', 5)] },
            { open: true, lines: [line('A', 3)] },
          ],
        },
      ],
    });
    await server.call('PATCH', '/experimental-features', { body: { containsFilter: true } });
  });
  after(() => server?.close());

  const search = (filter: unknown) => searchBy(server, 'a', filter);
  const found = (filter: unknown) => foundIds(server, 'a', filter);

  it('hold for the same element', async () => {
    assert.deepEqual(await found('items[price < 5 AND colour = "red"]'), [1, 3]);
    assert.deepEqual(await found('items[price < 5 AND NOT colour = red]'), [2]);
    assert.deepEqual(await found('NOT items[price < 5 AND colour = red]'), [2, 4, 5, 6, 7]);
    assert.deepEqual(await found('items[colour NOT EXISTS]'), [2]);
    assert.deepEqual(await found('items[colour != red]'), [1, 2]);
    assert.deepEqual(await found('items[price IN [3, 4] AND colour EXISTS]'), [1, 3]);
    assert.deepEqual(await found('items[tags CONTAINS ig AND tags = new]'), [1]);
    assert.deepEqual(await found('items[sold < now AND price 3 TO 4]'), [1]);
    assert.deepEqual(await found('items[_geoRadius(48.85, 2.35, 10) AND price = 4]'), [3]);
    assert.deepEqual(await found([['items[price = 9 AND colour = red]', 'shop = x']]), [2, 4, 5]);
  });

  it('nest', async () => {
    assert.deepEqual(await found('orders[lines[sku = A AND qty > 2] AND open = true]'), [7]);
    assert.deepEqual(
      await found('orders[lines[sku = A] AND lines[qty > 2] AND open = true]'),
      [6, 7],
    );
    assert.deepEqual(await found('orders.lines[sku = B AND qty = 5]'), [6]);
  });

  it('need the feature, and then every field may be used, but only in brackets', async () => {
    for (const [filter, reason] of [
      ['shop[a = 1]', '`shop[...]` needs the feature `elements`'],
      ['items.price < 5', 'The attribute `items.price` is not filterable'],
      ['items[price < 5', 'The bracket `[` is not closed'],
    ] as const) {
      const { status, json } = await search(filter);
      assert.deepEqual([status, json.code], [400, 'invalid_search_filter'], filter);
      assert.ok(json.message.includes(reason), json.message);
    }
  });

  it('work in listings and deletions', async () => {
    const filter = 'items[price = 9 AND colour = red]';
    const listed = await server.call('POST', '/indexes/a/documents/fetch', { body: { filter } });
    assert.deepEqual(
      listed.json.results.map(({ id }: { id: number }) => id),
      [2],
    );
    await server.finish('POST', '/indexes/a/documents/delete', { body: { filter } });
    assert.deepEqual(await found('items[price = 9]'), [1]);
  });
});
