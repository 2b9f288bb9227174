/** Pages of hybrid searches: each hit is on exactly one page, and totals are the same on all. */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? 4);
const DOCUMENTS = 80;
const SEARCHES = 60;
const WORDS = ['red', 'blue', 'green', 'apple', 'pear', 'plum'];
const SETTINGS = {
  filterableAttributes: ['kind', 'tags', 'size'],
  sortableAttributes: ['size'],
  embedders: { e: { source: 'userProvided', dimensions: 3 } },
};

const random = mulberry(SEED);
const number = (end: number): number => Math.floor(random() * end);
const pick = <T>(list: readonly T[]): T => list[number(list.length)]!;
const chance = (share: number): boolean => random() < share;
const vector = (): number[] => [random() - 0.5, random() - 0.5, random() - 0.5];
const words = (count: number): string => Array.from({ length: count }, () => pick(WORDS)).join(' ');

const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({
  ...{ id, title: words(1 + number(3)), kind: pick(['a', 'b', 'c', 'd', 'e']), size: number(5) },
  // None, one or several: distinct drops several documents because of one.
  tags: Array.from({ length: number(4) }, () => `t${number(25)}`),
  // One in eight is found by words alone.
  _vectors: { e: chance(0.125) ? null : vector() },
}));

/** The index `tagged` has a distinct attribute. */
async function fill(server: BuiltServer, body: unknown): Promise<void> {
  for (const [uid, more] of [
    ['things', {}],
    ['tagged', { distinctAttribute: 'tags' }],
  ] as const) {
    await server.finish('PATCH', `/indexes/${uid}/settings`, { body: { ...SETTINGS, ...more } });
    const { status } = await server.finish('POST', `/indexes/${uid}/documents`, { body });
    assert.equal(status, 'succeeded');
  }
}

interface Body {
  q: string;
  vector: number[];
  hybrid: { embedder: string; semanticRatio: number; minScore?: number; fusion?: 'rrf' };
  [option: string]: unknown;
}

function search(): Body {
  return {
    ...{ q: words(1 + number(2)), vector: vector() },
    hybrid: {
      ...{ embedder: 'e', semanticRatio: pick([0.1, 0.3, 0.5, 0.7]) },
      ...(chance(0.15) ? { minScore: 0.6 } : {}),
      ...(chance(0.4) ? { fusion: 'rrf' as const } : {}),
    },
    ...(chance(0.3) ? { sort: [pick(['size:asc', 'size:desc'])] } : {}),
    ...(chance(0.4) ? { distinct: pick(['kind', 'tags', 'tags']) } : {}),
    ...(chance(0.2) ? { rankingScoreThreshold: pick([0.3, 0.6]) } : {}),
    ...(chance(0.2) ? { filter: 'kind != a' } : {}),
  };
}

interface Pages {
  ids: string[];
  totals: Set<number>;
  /** Facets and their statistics, as text. */
  facets: Set<string>;
}

const FACETS = ['kind', 'size', 'tags'] as const;

function facetsText(counts: object, stats: object): string {
  const sorted = (_: string, value: unknown): unknown =>
    value !== null && typeof value === 'object'
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value;
  return JSON.stringify([counts, stats], sorted);
}

/** The facets of documents, counted one by one. */
function countedFacets(ids: readonly string[]): string {
  const found = documents.filter(({ id }) => ids.includes(String(id)));
  const counts = Object.fromEntries(
    FACETS.map((name) => {
      const values: Record<string, number> = {};
      for (const document of found)
        for (const value of new Set([document[name]].flat().map(String)))
          values[value] = (values[value] ?? 0) + 1;
      return [name, values];
    }),
  );
  const sizes = found.map(({ size }) => size);
  const stats =
    sizes.length === 0 ? {} : { size: { min: Math.min(...sizes), max: Math.max(...sizes) } };
  return facetsText(counts, stats);
}

/** All pages of a list. `read` reads one. */
async function pagesOf(
  size: number,
  numbered: boolean,
  read: (window: Record<string, number>) => Promise<any>,
): Promise<Pages> {
  const ids: string[] = [];
  const totals = new Set<number>();
  const facets = new Set<string>();
  for (let page = 0; ; page++) {
    const { hits, totalHits, estimatedTotalHits, ...body } = await read(
      numbered ? { page: page + 1, hitsPerPage: size } : { offset: page * size, limit: size },
    );
    totals.add(numbered ? totalHits : estimatedTotalHits);
    facets.add(facetsText(body.facetDistribution, body.facetStats));
    if (hits.length === 0) return { ids, totals, facets };
    ids.push(...hits.map(({ id }: { id: number }) => String(id)));
    assert.ok(ids.length <= DOCUMENTS, 'the pages have no end');
  }
}

function check({ ids, totals, facets }: Pages, exact: boolean, what: string): void {
  assert.equal(new Set(ids).size, ids.length, `a hit is on two pages: ${ids}; ${what}`);
  assert.equal(totals.size, 1, `totals ${[...totals]}; ${what}`);
  assert.equal(facets.size, 1, `facets ${[...facets].join(' ')}; ${what}`);
  if (!exact) return;
  assert.equal([...totals][0], ids.length, `the total of ${ids}; ${what}`);
  assert.equal([...facets][0], countedFacets(ids), `the facets of ${ids}; ${what}`);
}

describe(`pages of hybrid searches (GANNET_SEED=${SEED})`, function () {
  this.timeout(240_000);

  let server: BuiltServer;
  let network: Cluster;
  before(async () => {
    server = await startBuiltServer();
    await fill(server, documents);
  });
  after(() => server?.close());
  after(() => network?.close());

  const call = async (on: BuiltServer, path: string, body: unknown): Promise<any> => {
    const { status, json } = await on.call('POST', path, { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };

  it('hold each hit once, with the same total', async () => {
    for (let i = 0; i < SEARCHES; i++) {
      const [body, size, numbered] = [{ ...search(), facets: FACETS }, 1 + number(9), chance(0.5)];
      const uid = pick(['things', 'tagged']);
      const pages = await pagesOf(size, numbered, (window) =>
        call(server, `/indexes/${uid}/search`, { ...body, ...window }),
      );
      // Hits that a threshold or distinct drops after the first page are counted.
      const drops = uid === 'tagged' || 'distinct' in body || 'rankingScoreThreshold' in body;
      const exact = numbered || !drops || body.hybrid.minScore !== undefined;
      check(pages, exact, JSON.stringify({ ...body, uid, size, numbered }));
    }
  });

  it('count on every page what the pages show, where one document drops several', async () => {
    const small = [
      { id: 1, t: 'x', g: ['a', 'b'], v: [0, 1] },
      { id: 2, t: 'x', g: ['a'], v: [0.5, 1] },
      { id: 3, t: 'x', g: ['b'], v: [0.4, 1] },
      { id: 4, t: 'x', g: ['z'], v: [1, 0] },
    ].map(({ v, ...document }) => ({ ...document, _vectors: { v } }));
    const settings = {
      filterableAttributes: ['g'],
      embedders: { v: { source: 'userProvided', dimensions: 2 } },
    };
    await server.finish('PATCH', '/indexes/small/settings', { body: settings });
    await server.finish('POST', '/indexes/small/documents', { body: small });
    const body = { q: 'x', vector: [1, 0], hybrid: { embedder: 'v', semanticRatio: 0.9 } };
    for (const hitsPerPage of [1, 2, 3]) {
      for (const page of [0, 1, 2, 3, 4]) {
        const { totalHits, facetDistribution } = await call(server, '/indexes/small/search', {
          ...{ ...body, distinct: 'g', facets: ['g'], hitsPerPage, page },
        });
        const at = `page ${page} of ${hitsPerPage}`;
        assert.equal(totalHits, 3, at);
        assert.deepEqual(facetDistribution, { g: { a: 1, b: 1, z: 1 } }, at);
      }
    }
  });

  it('show words alone on all pages if these fill the first page well', async () => {
    const body = { q: 'red', vector: [1, 0, 0], hybrid: { embedder: 'e', semanticRatio: 0.1 } };
    const alone = await call(server, '/indexes/things/search', { q: 'red', limit: DOCUMENTS });
    for (const numbered of [false, true]) {
      const { ids, totals } = await pagesOf(2, numbered, (window) =>
        call(server, '/indexes/things/search', { ...body, ...window }),
      );
      assert.deepEqual(
        ids,
        alone.hits.map(({ id }: { id: number }) => String(id)),
      );
      assert.deepEqual([...totals], [alone.hits.length]);
    }
  });

  it('hold each hit once in a federated search', async () => {
    for (let i = 0; i < SEARCHES / 2; i++) {
      const [size, numbered] = [1 + number(9), chance(0.5)];
      const federation = {
        ...(chance(0.4) ? { distinct: pick(['kind', 'tags']) } : {}),
        ...{ facetsByIndex: { things: FACETS }, mergeFacets: {} },
      };
      // Lists with and without a sort cannot be compared, and only one distinct may be given.
      const queries = [search(), search()].map(({ distinct, ...query }) => ({
        ...query,
        sort: undefined,
        ...(distinct === undefined || 'distinct' in federation ? {} : { distinct }),
        indexUid: 'things',
        federationOptions: { weight: pick([1, 0.5]) },
      }));
      const pages = await pagesOf(size, numbered, (window) =>
        call(server, '/multi-search', { federation: { ...federation, ...window }, queries }),
      );
      check(pages, numbered, JSON.stringify({ queries, federation, size, numbered }));
    }
  });

  it('hold each hit once over several servers', async () => {
    network = await startCluster({ count: 2 });
    const [asked] = network.servers;
    for (const [n, one] of network.servers.entries()) {
      await fill(
        one,
        documents.filter(({ id }) => id % 2 === n),
      );
    }
    for (let i = 0; i < SEARCHES / 2; i++) {
      const [body, size, numbered] = [search(), 1 + number(9), chance(0.5)];
      const pages = await pagesOf(size, numbered, (window) =>
        call(asked!, '/indexes/things/search', { ...body, ...window, useNetwork: true }),
      );
      pages.facets = new Set([countedFacets(pages.ids)]); // sums of those of the servers
      check(pages, numbered, JSON.stringify({ ...body, size, numbered }));
    }
  });
});
