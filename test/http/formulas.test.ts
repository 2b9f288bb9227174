/** Formulas as sort criteria and ranking rules. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { startCluster } from './support/cluster.ts';

const random = mulberry(Number(process.env['GANNET_SEED'] ?? 3));
const DAY_MS = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const WORDS = ['red', 'green', 'blue'];
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;

interface Item {
  id: number;
  title: string;
  sales?: number;
  stock: number;
  released: string;
  _geo: { lat: number; lng: number };
}

const items = Array.from({ length: 120 }, (_, id): Item => ({
  ...{ id, title: `${pick(WORDS)} ${pick(WORDS)}`, stock: Math.floor(random() * 3) },
  ...(random() < 0.8 ? { sales: Math.floor(random() * 1000) } : {}),
  released: new Date(TODAY - Math.floor(random() * 90) * DAY_MS).toISOString(),
  _geo: { lat: 48 + random(), lng: 2 + random() },
}));
const settings = {
  filterableAttributes: ['stock', 'title'],
  sortableAttributes: ['sales', 'stock', 'released', '_geo'],
  rankingRules: ['sort', 'words', 'typo', 'exactness'],
};

const idsOf = ({ hits }: any): number[] => hits.map(({ id }: any) => id);

describe('Formulas', () => {
  let server: BuiltServer;
  const dumps = mkdtempSync(join(tmpdir(), 'gannet-formulas-'));

  const fill = async (on: BuiltServer, uid: string, body: unknown[], more = {}): Promise<void> => {
    await on.finish('PATCH', `/indexes/${uid}/settings`, { body: { ...settings, ...more } });
    const { status } = await on.finish('POST', `/indexes/${uid}/documents?primaryKey=id`, { body });
    assert.equal(status, 'succeeded');
  };
  const search = async (body: object, uid = 'items', on = server): Promise<any> => {
    const { status, json } = await on.call('POST', `/indexes/${uid}/search`, { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  /** The items by descending value, those without a value last. */
  const ordered = (value: (item: Item) => number): number[] =>
    items
      .map((item) => ({ id: item.id, value: value(item) }))
      .sort((x, y) =>
        Number.isNaN(x.value) || Number.isNaN(y.value)
          ? Number(Number.isNaN(x.value)) - Number(Number.isNaN(y.value)) || x.id - y.id
          : y.value - x.value || x.id - y.id,
      )
      .map(({ id }) => id);
  const popular = ({ sales = 0 }: Item): number => Math.log(1 + sales);

  before(async () => {
    server = await startBuiltServer(['--dump-dir', dumps]);
    await fill(server, 'items', items);
  });
  after(async () => {
    await server?.close();
    rmSync(dumps, { recursive: true, force: true });
  });

  it('order by popularity, stock and recency', async () => {
    const all = { limit: 120, showRankingScoreDetails: true };
    const sales = await search({ ...all, sort: ['log(1 + sales):desc'] });
    assert.deepEqual(idsOf(sales), ordered(popular));
    const stock = await search({ ...all, sort: ['if(stock > 0, 1, 0.5) * log(1 + sales):desc'] });
    assert.deepEqual(
      idsOf(stock),
      ordered((item) => (item.stock > 0 ? 1 : 0.5) * popular(item)),
    );
    const text = 'log(1 + sales) * decay(released, now, 30d)';
    const recent = await search({ ...all, sort: [`${text}:desc`] });
    const values = recent.hits.map((hit: any) => hit._rankingScoreDetails[`${text}:desc`].value);
    assert.deepEqual(
      values,
      values.toSorted((x: number, y: number) => y - x),
    );
    const now = Date.now();
    for (const [n, hit] of recent.hits.entries()) {
      const age = (now - Date.parse(hit.released)) / (30 * DAY_MS);
      const wanted = popular(hit) * 2 ** -age;
      assert.ok(Math.abs(values[n] - wanted) < 1e-3 * (1 + wanted), `${values[n]}, ${wanted}`);
    }
    const near = await search({ ...all, sort: ['decay(_geo, _geoPoint(48.5, 2.5), 5km):desc'] });
    const sorted = await search({ ...all, sort: ['_geoPoint(48.5, 2.5):asc'] });
    assert.deepEqual(idsOf(near).slice(0, 50), idsOf(sorted).slice(0, 50));
  });

  it('put documents without a value last in both directions', async () => {
    for (const [direction, sign] of [
      ['asc', -1],
      ['desc', 1],
    ] as const) {
      const found = await search({ limit: 120, sort: [`10 / stock:${direction}`] });
      assert.deepEqual(
        idsOf(found),
        ordered(({ stock }) => (stock === 0 ? NaN : (sign * 10) / stock)),
      );
    }
  });

  it('combine with the score of the other rules', async () => {
    const plain = await search({ q: 'red blue', limit: 120, showRankingScore: true });
    const scores = new Map(plain.hits.map((hit: any) => [hit.id, hit._rankingScore]));
    const text = '_rankingScore * log(2 + sales):desc';
    for (const matchingStrategy of ['last', 'natural']) {
      const more = { q: 'red blue', limit: 120, matchingStrategy, showRankingScore: true };
      const found = await search({ ...more, sort: [text], showRankingScoreDetails: true });
      const before = await search(more);
      const own = new Map(before.hits.map((hit: any) => [hit.id, hit._rankingScore]));
      assert.deepEqual(idsOf(found).toSorted(), idsOf(before).toSorted());
      let last = Infinity;
      for (const hit of found.hits) {
        const wanted = Number(own.get(hit.id)) * Math.log(2 + (hit.sales ?? 0));
        const { value } = hit._rankingScoreDetails[text];
        assert.ok(Math.abs(value - wanted) < 1e-5, `${hit.id}: ${value}, ${wanted}`);
        assert.ok(value <= last);
        last = value;
      }
    }
    assert.ok(scores.size > 20);
  });

  it('work page by page, in a federated search and over several servers', async () => {
    const sort = ['log(1 + sales):desc', 'stock + 0 * sales:asc'];
    const whole = idsOf(await search({ limit: 120, sort }));
    const pages: number[] = [];
    for (let offset = 0; offset < 120; offset += 7)
      pages.push(...idsOf(await search({ offset, limit: 7, sort })));
    assert.deepEqual(pages, whole);
    for (const [n, uid] of ['even', 'odd'].entries()) {
      await fill(
        server,
        uid,
        items.filter(({ id }) => id % 2 === n),
      );
    }
    const value = (id: number): [number, number] => [items[id]!.sales ?? 0, -items[id]!.stock];
    const wanted = whole.map(value);
    const queries = ['even', 'odd'].map((indexUid) => ({ indexUid, sort }));
    const { json } = await server.call('POST', '/multi-search', {
      body: { federation: { limit: 120 }, queries },
    });
    assert.deepEqual(idsOf(json).map(value), wanted);
    const network = await startCluster({ count: 2 });
    after(() => network.close());
    for (const [n, one] of network.servers.entries()) {
      await fill(
        one,
        'items',
        items.filter(({ id }) => id % 2 === n),
      );
    }
    const body = { limit: 120, sort, useNetwork: true };
    assert.deepEqual(idsOf(await search(body, 'items', network.servers[0])).map(value), wanted);
  });

  it('are ranking rules too, also in a dump', async () => {
    const rule = 'log(1 + sales) * if(stock > 0, 2, 1):desc';
    await fill(server, 'ruled', items, { rankingRules: [rule], sortableAttributes: [] });
    const wanted = ordered((item) => popular(item) * (item.stock > 0 ? 2 : 1));
    assert.deepEqual(idsOf(await search({ limit: 120 }, 'ruled')), wanted);
    const { details } = await server.finish('POST', '/dumps');
    const file = `${dumps}/${details.dumpUid}.dump`;
    const restored = await startBuiltServer(['--import-dump', file]);
    after(() => restored.close());
    assert.deepEqual(idsOf(await search({ limit: 120 }, 'ruled', restored)), wanted);
  });

  it('say what is wrong, and where', async () => {
    const refused = async (sort: string): Promise<string> => {
      const { status, json } = await server.call('POST', '/indexes/items/search', {
        body: { sort: [sort] },
      });
      assert.deepEqual([status, json.code], [400, 'invalid_search_sort'], sort);
      return json.message;
    };
    assert.match(await refused('log(1 + ):desc'), /at character 9: expected an attribute/);
    assert.match(await refused('log(1 + hidden):desc'), /`hidden` is not sortable/);
    assert.match(await refused('if(sales > 1, 1, 2):desc'), /sales/);
    assert.match(await refused('log(sales)'), /:desc/);
    const path = '/indexes/items/settings/ranking-rules';
    const { status, json } = await server.call('PUT', path, { body: ['words', '1 + :desc'] });
    assert.deepEqual([status, json.code], [400, 'invalid_settings_ranking_rules']);
    assert.match(json.message, /at character 5/);
    const whole = await server.call('PATCH', '/indexes/items/settings', {
      body: { rankingRules: ['pow(2):asc'] },
    });
    assert.equal(whole.json.code, 'invalid_settings_ranking_rules');
  });

  it('show no value that a hidden attribute gives away', async () => {
    const displayedAttributes = ['id', 'title'];
    await fill(server, 'shy', items.slice(0, 5), { displayedAttributes });
    const body = { sort: ['2 * sales:desc'], showRankingScoreDetails: true };
    const { hits } = await search(body, 'shy');
    assert.ok(!JSON.stringify(hits).includes('sales'), JSON.stringify(hits));
    assert.match(JSON.stringify(hits), /<hidden>/);
  });
});
