/** Percentiles and histograms of numbers (`facetStats`), and facets that are chosen (`auto`). */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const SEARCHES = 40;
const random = mulberry(SEED);
const number = (end: number): number => Math.floor(random() * end);
const pick = <T>(list: readonly T[]): T => list[number(list.length)]!;
const chance = (share: number): boolean => random() < share;

type Value = string | number | boolean;
type Doc = Record<string, Value | Value[]> & { id: number };

/** Prices repeat or not, are several, or texts; other attributes have few, many or no values. */
function documentOf(id: number): Doc {
  const price = (): Value =>
    chance(0.1) ? 'on request' : chance(0.5) ? number(20) : (random() - 0.3) * 1e4;
  return {
    id,
    price: chance(0.2) ? Array.from({ length: number(4) }, price) : price(),
    ...(chance(0.9) && { brand: pick(['a', 'b', 'c', 'D', 'd']) }),
    ...(chance(0.1) && { rare: pick(['x', 'y']) }),
    ...{ same: 'all', hidden: pick(['p', 'q']), auto: pick(['yes', 'no']), code: `c${id}` },
    tags: Array.from({ length: number(4) }, () => `t${number(40)}`),
    ...(chance(0.5) && { stock: id * 3 }),
    keep: pick([true, false]),
    _geo: [],
  };
}

const FILTERABLE = 'price brand rare same hidden auto code tags stock keep id'.split(' ');
/** Attributes that are never chosen. */
const UNCHOSEN = new Set(['id', 'hidden']);

function valuesOf(document: Doc, attribute: string): Value[] {
  const values = [document[attribute] ?? []].flat();
  const forms = new Map(
    values.map((value) => {
      const form = typeof value === 'number' ? value : String(value).toLowerCase();
      return [`${typeof form} ${form}`, form];
    }),
  );
  return [...forms.values()];
}

function numbersOf(documents: readonly Doc[], attribute: string): number[] {
  return documents
    .flatMap((document) => valuesOf(document, attribute))
    .filter((value) => typeof value === 'number')
    .sort((a, b) => a - b);
}

/** As docs/behaviour/facets.md defines it. */
function chosen(documents: readonly Doc[]): string[] {
  const found = FILTERABLE.filter((name) => !UNCHOSEN.has(name)).map((name) => {
    const counts = new Map<Value, number>();
    let valued = 0;
    for (const document of documents) {
      const values = valuesOf(document, name);
      if (values.length > 0) valued += 1;
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    const values = counts.size;
    const occurrences = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const isNumeric = [...counts.keys()].every((value) => typeof value === 'number');
    const divides =
      valued * 5 >= documents.length &&
      values >= 2 &&
      Math.max(...counts.values()) < documents.length &&
      (isNumeric || (occurrences > values && (values <= 100 || occurrences >= 2 * values)));
    return { name, valued, values, divides };
  });
  return found
    .filter(({ divides }) => divides)
    .sort((a, b) => b.valued - a.valued || a.values - b.values || (a.name < b.name ? -1 : 1))
    .slice(0, 10)
    .map(({ name }) => name);
}

interface Measures {
  percentiles?: number[];
  histogram?: { buckets: number };
}

/** Whole numbers count: 1.1 percent of 3000 are 33. */
function rankOf(percent: number, total: number): number {
  const [whole = '', decimals = ''] = String(percent).split('.');
  const divisor = 100n * 10n ** BigInt(decimals.length);
  return Number((BigInt(whole + decimals) * BigInt(total) + divisor - 1n) / divisor);
}

function checkMeasures(stats: any, numbers: readonly number[], wanted: Measures, context: string) {
  if (numbers.length === 0) return assert.equal(stats, undefined, context);
  const [min, max] = [numbers[0]!, numbers.at(-1)!];
  assert.deepEqual([stats.min, stats.max], [min, max], context);
  const percentiles = (wanted.percentiles ?? []).map((percent): [string, number] => {
    const rank = Math.max(1, rankOf(percent, numbers.length));
    return [String(percent), numbers[rank - 1]!];
  });
  const isMeasured = percentiles.length > 0;
  assert.deepEqual(
    stats.percentiles,
    isMeasured ? Object.fromEntries(percentiles) : undefined,
    context,
  );
  if (wanted.histogram === undefined) return assert.equal(stats.histogram, undefined, context);
  const { buckets } = wanted.histogram;
  const { histogram } = stats;
  assert.equal(histogram.length, min === max ? 1 : buckets, context);
  assert.equal(histogram[0].from, min, context);
  assert.equal(histogram.at(-1).to, max, context);
  for (const [i, { from, to, count }] of histogram.entries()) {
    const isLast = i === histogram.length - 1;
    if (!isLast) assert.equal(to, histogram[i + 1].from, context);
    const width = (max - min) / histogram.length;
    assert.ok(Math.abs(to - from - width) <= 1e-9 * Math.max(1, Math.abs(min), Math.abs(max)));
    const inside = numbers.filter((one) => one >= from && (isLast ? one <= to : one < to));
    assert.equal(count, inside.length, `${context}, bucket ${i}`);
  }
}

function measures(): Measures {
  return {
    ...(chance(0.8) && {
      percentiles: Array.from({ length: number(5) }, () =>
        pick([0, 1, 5, 25, 50, 75, 95, 99.5, 100]),
      ),
    }),
    ...(chance(0.7) && { histogram: { buckets: 1 + number(30) } }),
  };
}

describe('facets', function () {
  this.timeout(120_000);

  const documents = Array.from({ length: 260 }, (_, id) => documentOf(id));
  const others = Array.from({ length: 60 }, (_, id) => documentOf(id));
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    const filterableAttributes = [...FILTERABLE, '_geo'];
    const displayedAttributes = FILTERABLE.filter((name) => name !== 'hidden');
    for (const [uid, all] of [
      ['one', documents],
      ['two', others],
    ] as const) {
      const body = { filterableAttributes, displayedAttributes };
      await server.finish('PATCH', `/indexes/${uid}/settings`, { body });
      for (let begin = 0; begin < all.length; begin += 90) {
        const path = `/indexes/${uid}/documents?primaryKey=id`;
        const some = all.slice(begin, begin + 90).map(({ _geo, ...plain }) => plain);
        const { status } = await server.finish('POST', path, { body: some });
        assert.equal(status, 'succeeded');
      }
    }
  });
  after(() => server?.close());

  async function ok(path: string, body: Record<string, unknown>): Promise<Record<string, any>> {
    const { status, json } = await server.call('POST', path, { body });
    assert.equal(status, 200, JSON.stringify([body, json]));
    return json;
  }

  /** Some documents of an index, and the filter that finds them. */
  function some(all: readonly Doc[]): { found: Doc[]; filter: string } {
    const end = 1 + number(all.length);
    const brand = chance(0.3) ? pick(['a', 'D']) : null;
    const found = all.filter(
      (one) =>
        one.id < end && (brand === null || valuesOf(one, 'brand').includes(brand.toLowerCase())),
    );
    return { found, filter: `id < ${end}${brand === null ? '' : ` AND brand = ${brand}`}` };
  }

  it(`measure numbers as the naive model does (GANNET_SEED=${SEED})`, async () => {
    for (let n = 0; n < SEARCHES; n++) {
      const { found, filter } = some(documents);
      const wanted = { price: measures(), stock: measures() };
      const facets = pick([['*'], ['price'], null]);
      const body = { filter, facets, facetStats: wanted, limit: 0 };
      const json = await ok('/indexes/one/search', body);
      for (const name of ['price', 'stock'] as const) {
        const context = JSON.stringify([body, name]);
        checkMeasures(json['facetStats'][name], numbersOf(found, name), wanted[name], context);
        assert.ok(name in json['facetDistribution'], context);
      }
      const { facetStats: _, ...plain } = body;
      const without = await ok('/indexes/one/search', { ...plain, facets: ['price'] });
      for (const stats of Object.values(without['facetStats'] as object))
        assert.deepEqual(Object.keys(stats), ['min', 'max']);

      const two = some(others);
      const queries = [
        { indexUid: 'one', filter },
        { indexUid: 'two', filter: two.filter },
      ];
      const facetsByIndex = { one: ['price', 'stock'], two: chance(0.8) ? ['price', 'stock'] : [] };
      const federation = { limit: 0, facetsByIndex, facetStats: wanted };
      const apart = await ok('/multi-search', { queries, federation });
      const merged = await ok('/multi-search', {
        queries,
        federation: { ...federation, mergeFacets: {} },
      });
      const price = (of: { stats?: any }): any => of.stats?.price;
      const context = JSON.stringify([queries, federation]);
      checkMeasures(
        price(apart['facetsByIndex'].one),
        numbersOf(found, 'price'),
        wanted.price,
        context,
      );
      const both = facetsByIndex.two.length > 0 ? [...found, ...two.found] : found;
      checkMeasures(merged['facetStats'].price, numbersOf(both, 'price'), wanted.price, context);
    }
  });

  it(`are chosen by the share of hits that have them (GANNET_SEED=${SEED})`, async () => {
    for (let n = 0; n < SEARCHES; n++) {
      const { found, filter } = some(documents);
      const body = { filter, facets: 'auto', limit: 0 };
      const json = await ok('/indexes/one/search', body);
      const wanted = chosen(found);
      assert.deepEqual(Object.keys(json['facetDistribution']), wanted, filter);
      const named = await ok('/indexes/one/search', { ...body, facets: wanted });
      if (wanted.length > 0) {
        assert.deepEqual(json['facetDistribution'], named['facetDistribution'], filter);
        assert.deepEqual(json['facetStats'], named['facetStats'], filter);
      }
      const federation = { limit: 0, facetsByIndex: { one: 'auto' } };
      const queries = [{ indexUid: 'one', filter }];
      const { facetsByIndex } = await ok('/multi-search', { queries, federation });
      assert.deepEqual(Object.keys(facetsByIndex.one.distribution), wanted, filter);
    }
    const named = await ok('/indexes/one/search', {
      ...{ facets: 'auto', limit: 0, filter: 'id < 3' },
      facetStats: { price: { percentiles: [50] } },
    });
    assert.ok('price' in named['facetDistribution']);
    assert.ok('percentiles' in named['facetStats'].price);
  });

  it('name an attribute `auto` in a list, and are chosen by GET with `autoFacets`', async () => {
    const { facetDistribution } = await ok('/indexes/one/search', { facets: ['auto'], limit: 0 });
    assert.deepEqual(Object.keys(facetDistribution), ['auto']);
    const path = '/indexes/one/search?limit=0';
    const byList = await server.call('GET', `${path}&facets=auto`);
    assert.deepEqual(Object.keys(byList.json.facetDistribution), ['auto']);
    const { json } = await server.call('GET', `${path}&autoFacets=true`);
    assert.deepEqual(Object.keys(json.facetDistribution), chosen(documents));
    const both = await server.call('GET', `${path}&autoFacets=true&facets=brand`);
    assert.equal(both.json.code, 'invalid_search_facets');
  });

  it('are counted once per group, and of what a tenant may see', async () => {
    const groupBy = { attribute: 'brand', hits: 1 };
    const facetStats = { price: { percentiles: [50] } };
    const grouped = await ok('/indexes/one/search', { groupBy, facets: 'auto', facetStats });
    checkMeasures(
      grouped['facetStats'].price,
      numbersOf(documents, 'price'),
      facetStats.price,
      'groups',
    );
    assert.deepEqual(
      Object.keys(grouped['facetDistribution']).filter((name) => name !== 'price'),
      chosen(documents).filter((name) => name !== 'price'),
    );
  });

  it('are refused where they have no meaning', async () => {
    await server.call('PATCH', '/experimental-features', { body: { network: true } });
    const code = 'invalid_search_facet_stats';
    const price = { percentiles: [50] };
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`a${n}`, {}]));
    for (const [body, wanted] of [
      [{ facets: 'all' }, 'invalid_search_facets'],
      [{ facetStats: ['price'] }, code],
      [{ facetStats: { price: { percentiles: [101] } } }, code],
      [{ facetStats: { price: { percentiles: Array(21).fill(1) } } }, code],
      [{ facetStats: { price: { histogram: { buckets: 0 } } } }, code],
      [{ facetStats: { price: { histogram: { buckets: 101 } } } }, code],
      [{ facetStats: { price: { histogram: {} } } }, code],
      [{ facetStats: { price: { mean: true } } }, code],
      [{ facetStats: many }, code],
      [{ facetStats: { price }, useNetwork: true }, code],
      [{ facetStats: { nope: price } }, 'invalid_search_facets'],
      [{ facets: 'auto', useNetwork: true }, 'invalid_search_facets'],
    ] as const) {
      const { status, json } = await server.call('POST', '/indexes/one/search', { body });
      assert.equal(status, 400, JSON.stringify(body));
      assert.equal(json.code, wanted, JSON.stringify(body));
    }
    const query = { indexUid: 'one' };
    const far = { ...query, useNetwork: true };
    for (const [federation, of, wanted] of [
      [{}, { ...query, facetStats: { price } }, code],
      [{ facetStats: { price } }, far, code],
      [{ facetStats: { price } }, query, code],
      [
        { facetsByIndex: { one: ['brand', 'pri', '*pri', 'x*', '*rx*'] }, facetStats: { price } },
        query,
        code,
      ],
      [{ facetsByIndex: { one: 'auto' } }, far, 'invalid_search_facets'],
      [{ facetsByIndex: { one: 'all' } }, query, 'invalid_multi_search_facets_by_index'],
    ] as const) {
      const body = { federation, queries: [of] };
      const { json } = await server.call('POST', '/multi-search', { body });
      assert.equal(json.code, wanted, JSON.stringify(body));
    }
    for (const facets of [['*'], ['pri*'], ['*ce'], ['*ric*'], ['price']]) {
      const federation = { facetsByIndex: { one: facets }, facetStats: { price } };
      const { facetsByIndex } = await ok('/multi-search', { federation, queries: [query] });
      assert.ok('percentiles' in facetsByIndex.one.stats.price, facets[0]);
    }
  });
});
