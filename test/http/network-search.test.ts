/**
 * Searches of three servers with a part of the documents each, compared with one server that has
 * all.
 */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? 1);
const ROUNDS = 3;
const SEARCHES = 60;
const DOCUMENTS = 90;

const random = mulberry(SEED);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
const some = <T>(list: readonly T[]): T[] => list.filter(() => random() < 0.5);
const chance = (share: number): boolean => random() < share;

const WORDS = [
  ...['red', 'blue', 'green', 'apple', 'orange', 'pear', 'plum', 'cherry', 'tree', 'bush'],
  ...['garden', 'small', 'large', 'old', 'winter', 'summer', 'market', 'river'],
];
/**
 * Words that are no derivation of another: the scores of those depend on the other documents of a
 * server.
 */
const MISSPELT = [...WORDS, 'aple', 'gardn', 'sumer', 'wint', 'herr', 'arke'];
const text = (words: number, of = WORDS): string =>
  Array.from({ length: words }, () => pick(of)).join(' ');

const SETTINGS = {
  searchableAttributes: ['title', 'text'],
  filterableAttributes: ['kind', 'size', 'tags'],
  substringAttributes: ['title', 'text'],
  sortableAttributes: ['id', 'size', 'name', 'tags', '_geo'],
  faceting: { maxValuesPerFacet: 4, sortFacetValuesBy: { tags: 'count', kind: 'count' } },
  // Neither the primary key nor the fields for sorting and distinct.
  displayedAttributes: ['id', 'title', 'text', 'kind', 'name', 'tags', '_geo'],
};

const keyOf = (id: number): string => `key-${id}`;

function documents(): Record<string, unknown>[] {
  return Array.from({ length: DOCUMENTS }, (_, id) => ({
    key: keyOf(id),
    id,
    title: text(1 + Math.floor(random() * 3)),
    text: text(Math.floor(random() * 12)),
    kind: pick(['fruit', 'Fruit', 'flower', 'wood', null]),
    size: pick([1, 2, 3, 5, 8, 'five', 'big', null]),
    name: pick(['Anna', 'ben', 'Çelik', 'Dora', undefined]),
    tags: some(['a', 'b', 'c', 'd', 'e', 'f']),
    ...(chance(0.7)
      ? { _geo: { lat: Math.floor(random() * 5), lng: Math.floor(random() * 5) } }
      : {}),
  }));
}

function search(): Record<string, unknown> {
  const paged = chance(0.3);
  return {
    ...(chance(0.8) ? { q: text(1 + Math.floor(random() * 3), MISSPELT) } : {}),
    ...(paged
      ? { page: 1 + Math.floor(random() * 3), hitsPerPage: 1 + Math.floor(random() * 12) }
      : { offset: Math.floor(random() * 10), limit: Math.floor(random() * 20) }),
    ...(chance(0.3) ? { filter: pick(['kind = fruit', 'size > 2', 'tags IN [a, b]']) } : {}),
    ...(chance(0.4)
      ? {
          sort: pick([
            ['size:asc'],
            ['size:desc', 'name:asc'],
            ['name:desc'],
            ['tags:asc'],
            ['_geoPoint(2, 2):asc'],
            ['_geoPoint(1, 3):desc', 'size:asc'],
          ]),
        }
      : {}),
    ...(chance(0.3) ? { facets: pick([['*'], ['size'], ['kind', 'tags']]) } : {}),
    ...(chance(0.2) ? { matchingStrategy: 'all' } : {}),
    ...(chance(0.3) ? { distinct: pick(['size', 'kind']) } : {}),
    ...(chance(0.2) ? { rankingScoreThreshold: random() } : {}),
    ...(chance(0.2) ? { attributesToHighlight: ['*'] } : {}),
    showRankingScore: true,
    showRankingScoreDetails: true,
  };
}

/** The details show only one of several points within a metre. */
interface Hit {
  id: number;
  _rankingScore: number;
  _rankingScoreDetails: Record<string, unknown>;
}

/**
 * The values that order hits: hits with the same values are in any order. `size` is not displayed.
 */
function rankOf({ _rankingScore, _rankingScoreDetails }: Hit, size?: unknown): string {
  const details = JSON.stringify(_rankingScoreDetails).replace(
    /"value":\{"lat":\d+,"lng":\d+\},"distance":(\d+).\d+/g,
    '"distance":$1',
  );
  return `${_rankingScore.toFixed(9)} ${details} ${JSON.stringify(size ?? null)}`;
}

/**
 * The hits of two responses agree, except for the order of equal ones, and which of them a page
 * starts or ends with.
 */
function assertSameHits(
  given: Hit[],
  wanted: Hit[],
  rank: (hit: Hit) => string,
  about: string,
): void {
  assert.equal(new Set(given.map(({ id }) => id)).size, given.length, about);
  const first = given[0] && rank(given[0]);
  const last = given.at(-1) && rank(given.at(-1)!);
  const inner = (hits: Hit[]): unknown[] =>
    hits
      .filter((hit) => rank(hit) !== first && rank(hit) !== last)
      .map((hit) => ({ ...hit, _rankingScoreDetails: rank(hit) }))
      .sort((a, b) => a.id - b.id);
  assert.deepEqual(inner(given), inner(wanted), about);
}

/**
 * Spellings of one facet value are one value; which of them is shown depends on the distribution of
 * documents.
 */
function unspelled(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null).replaceAll('"Fruit"', '"fruit"')) as unknown;
}

const TOTALS = [
  ...['estimatedTotalHits', 'totalHits', 'totalPages', 'page', 'hitsPerPage', 'limit', 'offset'],
  ...['facetDistribution', 'facetStats', 'query', 'semanticHitCount'],
];

describe('A server that is not among the remotes of its network', () => {
  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    await server.call('PATCH', '/experimental-features', { body: { network: true } });
    const remotes = { other: { url: 'http://127.0.0.1:1' } };
    await server.call('PATCH', '/network', { body: { self: 'me', remotes } });
    await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1, title: 'a' }] });
  });
  after(() => server.close());

  const search = (remote: string): Promise<{ status: number; json: any }> =>
    server.call('POST', '/multi-search', {
      body: { federation: {}, queries: [{ indexUid: 'books', federationOptions: { remote } }] },
    });

  it('runs a query for its own name itself', async () => {
    const { status, json } = await search('me');
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(json.remoteErrors, {});
    assert.deepEqual(
      json.hits.map(({ id, _federation }: any) => [id, _federation.remote]),
      [[1, 'me']],
    );
  });

  it('knows no other name', async () => {
    assert.equal((await search('nobody')).json.code, 'invalid_multi_search_remote');
  });
});

describe(`Searches of the whole network (seed ${SEED})`, () => {
  let cluster: Cluster;
  let whole: BuiltServer;

  before(async function () {
    this.timeout(60_000);
    [cluster, whole] = await Promise.all([startCluster({ count: 3 }), startBuiltServer()]);
  });
  after(async () => {
    await Promise.all([cluster?.close(), whole?.close()]);
  });

  for (let round = 0; round < ROUNDS; round++) {
    describe(`of random documents, number ${round}`, () => {
      const uid = `docs-${round}`;
      let all: Record<string, unknown>[];

      before(async function () {
        this.timeout(60_000);
        all = documents();
        const parts = cluster.servers.map((): typeof all => []);
        for (const document of all) pick(parts).push(document);
        const fill = async (server: BuiltServer, body: unknown[]): Promise<void> => {
          await server.finish('PATCH', `/indexes/${uid}/settings`, { body: SETTINGS });
          const path = `/indexes/${uid}/documents?primaryKey=key`;
          const task = await server.finish('POST', path, { body });
          assert.equal(task.status, 'succeeded', JSON.stringify(task));
        };
        await Promise.all([
          fill(whole, all),
          ...cluster.servers.map((server, n) => fill(server, parts[n]!)),
        ]);
      });

      it('find what one server finds', async function () {
        this.timeout(60_000);
        for (let n = 0; n < SEARCHES; n++) {
          const body = search();
          const path = `/indexes/${uid}/search`;
          const asked = pick(cluster.servers);
          const [given, wanted] = await Promise.all([
            asked.call('POST', path, { body: { ...body, useNetwork: true } }),
            whole.call('POST', path, { body }),
          ]);
          const about = JSON.stringify(body);
          assert.equal(given.status, 200, about + JSON.stringify(given.json));
          assert.deepEqual(given.json.remoteErrors, {}, about);
          const bySize = JSON.stringify(body['sort'] ?? null).includes('size');
          for (const hit of given.json.hits) delete hit._federation;
          const rank = (hit: Hit): string => rankOf(hit, bySize ? all[hit.id]!['size'] : null);
          const keys = [given, wanted].map(({ json }) => json.hits.map(rank));
          assert.deepEqual(keys[0], keys[1], about);
          // Any of the equal documents may represent their value.
          if (!('distinct' in body)) assertSameHits(given.json.hits, wanted.json.hits, rank, about);
          // Before the end of the list they are estimates, based on the documents examined.
          const isEnd = 'page' in body || wanted.json.hits.length < (body['limit'] as number);
          const isEstimate = 'rankingScoreThreshold' in body || 'distinct' in body;
          for (const name of isEstimate && !isEnd ? [] : TOTALS) {
            // Sums over the servers.
            if ('distinct' in body && name.startsWith('facet')) continue;
            const [left, right] = [given.json[name], wanted.json[name]].map(unspelled);
            assert.deepEqual(left, right, `${name} ${about}`);
          }
        }
      });

      it('cite passages of the documents that they find', async () => {
        for (let n = 0; n < SEARCHES / 4; n++) {
          const counts = {
            documents: 1 + Math.floor(random() * 20),
            maxTokens: pick([5, 40, 2_000]),
          };
          const query = {
            ...{ q: pick([text(2), text(1, MISSPELT)]), useNetwork: true },
            ...(chance(0.3) && { filter: 'size > 2' }),
          };
          const asked = pick(cluster.servers);
          const of = { matchingStrategy: 'natural', limit: counts.documents };
          const [cited, { json: found }] = await Promise.all([
            asked.call('POST', `/indexes/${uid}/passages`, { body: { ...query, ...counts } }),
            asked.call('POST', `/indexes/${uid}/search`, { body: { ...query, ...of } }),
          ]);
          const about = JSON.stringify([query, counts, cited.json]);
          assert.equal(cited.status, 200, about);
          const { passages, tokens, remoteErrors } = cited.json;
          assert.deepEqual(remoteErrors, {}, about);
          assert.equal(passages.length > 0, found.hits.length > 0, about);
          assert.ok(tokens <= counts.maxTokens, about);
          const isOf = (passage: any, hit: any): boolean =>
            Buffer.from(String(hit[passage.attribute])).toString(
              'utf8',
              passage.start,
              passage.start + passage.length,
            ) === passage.text;
          for (const passage of passages) {
            assert.ok(
              found.hits.some((hit: any) => isOf(passage, hit)),
              about,
            );
          }
          if (passages.length > 0) assert.ok(isOf(passages[0], found.hits[0]), about);
        }
      });

      it('count the values of a facet as one server does', async function () {
        this.timeout(60_000);
        for (let n = 0; n < SEARCHES / 4; n++) {
          const body = {
            facetName: pick(['kind', 'tags', 'size']),
            ...(chance(0.5) ? { facetQuery: pick(['f', 'wood', '', 'b']) } : {}),
            ...(chance(0.5) ? { q: pick(WORDS) } : {}),
            ...(chance(0.5) ? { filter: 'size > 2' } : {}),
            ...(chance(0.5) ? { mostFrequent: pick([1, 2, 50]) } : {}),
          };
          const path = `/indexes/${uid}/facet-search`;
          const [given, wanted] = await Promise.all([
            pick(cluster.servers).call('POST', path, { body: { ...body, useNetwork: true } }),
            whole.call('POST', path, { body }),
          ]);
          const [left, right] = [given, wanted].map(({ json }) => unspelled(json.facetHits));
          assert.deepEqual(left, right, JSON.stringify(body));
          assert.deepEqual(given.json.remoteErrors, {});
        }
      });

      it('group hits as one server does', async function () {
        this.timeout(60_000);
        const shown = ({ totalGroups, groups, facetDistribution }: any): unknown =>
          unspelled({
            ...{ totalGroups, facetDistribution },
            groups: groups.map(({ value, totalHits, hits }: any) => ({
              ...{ value, totalHits },
              ids: hits.map(({ id }: { id: number }) => id),
            })),
          });
        for (let n = 0; n < SEARCHES / 4; n++) {
          const { q, filter } = search();
          const query = {
            q,
            filter,
            sort: [pick(['id:asc', 'id:desc'])],
            attributesToRetrieve: ['id'],
          };
          const groupBy = {
            ...{ attribute: 'kind', hits: pick([1, 3, 50]) },
            ...{ limit: pick([1, 2, 20]), page: pick([1, 1, 2]) },
          };
          const facets = { ...(chance(0.5) && { facets: ['tags'] }) };
          const path = `/indexes/${uid}/search`;
          const body = { ...query, groupBy, ...facets };
          const asked = pick(cluster.servers);
          const one = { ...query, indexUid: uid, useNetwork: true };
          const [given, wanted, merged] = await Promise.all([
            asked.call('POST', path, { body: { ...body, useNetwork: true } }),
            whole.call('POST', path, { body }),
            asked.call('POST', '/multi-search', {
              body: { federation: { groupBy }, queries: [one] },
            }),
          ]);
          const about = JSON.stringify(body);
          assert.equal(given.status, 200, about + JSON.stringify(given.json));
          assert.deepEqual(shown(given.json), shown(wanted.json), about);
          assert.deepEqual(given.json.remoteErrors, {}, about);
          assert.equal(merged.status, 200, JSON.stringify(merged.json));
          const { facetDistribution: _, ...plain } = wanted.json;
          assert.deepEqual(shown(merged.json), shown(plain), about);
        }
      });

      it('have no pins, and hand none on', async () => {
        const [server] = cluster.servers as [BuiltServer];
        const own = await server.call('GET', `/indexes/${uid}/documents?limit=1000&fields=id`);
        const { id: pinned } = own.json.results.at(-1);
        const features = { dynamicSearchRules: true };
        await server.call('PATCH', '/experimental-features', { body: features });
        await server.call('PATCH', '/dynamic-search-rules/top', {
          body: {
            conditions: { query: { isEmpty: true } },
            actions: [
              {
                selector: { indexUid: uid, id: keyOf(pinned) },
                action: { type: 'pin', position: 0 },
              },
            ],
          },
        });
        await server.idle();
        const here = await server.call('POST', `/indexes/${uid}/search`, { body: {} });
        const body = { useNetwork: true, sort: ['id:desc'], limit: 1 };
        const { json } = await server.call('POST', `/indexes/${uid}/search`, { body });
        assert.equal(here.json.hits[0].id, pinned);
        assert.deepEqual(json.remoteErrors, {});
        assert.deepEqual(
          json.hits.map(({ id }: { id: number }) => id),
          [DOCUMENTS - 1],
        );
      });

      it('merge without showing what only merging needs', async () => {
        const body = {
          ...{ q: 'red', distinct: 'size', attributesToRetrieve: ['title'], sort: ['size:asc'] },
          ...{ attributesToHighlight: ['title'], facets: ['tags'], page: 1, hitsPerPage: 3 },
        };
        const [asked] = cluster.servers as [BuiltServer];
        const path = `/indexes/${uid}/search`;
        const of = async (one: object) => (await asked.call('POST', path, { body: one })).json;
        const [given, plain] = [await of({ ...body, useNetwork: true }), await of(body)];
        assert.deepEqual(Object.keys(given).sort(), [...Object.keys(plain), 'remoteErrors'].sort());
        assert.ok(given.hits.length > 1);
        const names = ['indexUid', 'queriesPosition', 'remote', 'weightedRankingScore'];
        for (const { _formatted, _federation, ...hit } of given.hits) {
          assert.deepEqual(Object.keys(hit), ['title']);
          assert.deepEqual(Object.keys(_federation).sort(), names);
          assert.equal(_federation.queriesPosition, 0);
          assert.ok(cluster.names.includes(_federation.remote));
          assert.deepEqual(Object.keys(_formatted), ['title']);
        }
        const { facets, page, hitsPerPage, ...query } = body;
        const federation = { page, hitsPerPage, facetsByIndex: { [uid]: facets } };
        const queries = [{ ...query, indexUid: uid, useNetwork: true }];
        const merged = { federation, queries };
        const { json } = await asked.call('POST', '/multi-search', { body: merged });
        assert.ok(json.hits.length > 1);
        for (const { _federation } of json.hits) {
          assert.deepEqual(Object.keys(_federation).sort(), names);
        }
        assert.deepEqual(Object.keys(json.facetsByIndex[uid]), ['distribution', 'stats']);
        assert.ok(!('furtherDistinctKeys' in json));
      });

      it('list the documents that one server lists', async function () {
        this.timeout(60_000);
        const name = ({ id }: { id: number }): number => id;
        for (let n = 0; n < SEARCHES / 4; n++) {
          const body = {
            limit: 1000,
            ...(chance(0.5) ? { filter: pick(['kind = fruit', 'size > 2']) } : {}),
            ...(chance(0.5) ? { fields: pick([['id'], ['id', 'tags'], ['id', '_geo']]) } : {}),
            ...(chance(0.2) ? { ids: [3, 5, 8, 13, 1000].map(keyOf) } : {}),
          };
          const path = `/indexes/${uid}/documents/fetch`;
          const asked = pick(cluster.servers);
          const all = await asked.call('POST', path, { body: { ...body, useNetwork: true } });
          const wanted = (await whole.call('POST', path, { body })).json;
          const about = JSON.stringify(body);
          assert.deepEqual(all.json.remoteErrors, {}, about);
          assert.equal(all.json.total, wanted.total, about);
          const byId = (list: any[]): any[] => list.toSorted((a, b) => a.id - b.id);
          assert.deepEqual(byId(all.json.results), byId(wanted.results), about);
          // Pages make up the list, whichever server receives each request.
          const pages: any[] = [];
          for (let offset = 0; offset < wanted.total; offset += 7) {
            const part = { ...body, offset, limit: 7, useNetwork: true };
            const { json } = await pick(cluster.servers).call('POST', path, { body: part });
            pages.push(...json.results);
          }
          assert.deepEqual(pages.map(name), all.json.results.map(name), about);
        }
      });

      it('list documents in the order of one server', async function () {
        this.timeout(60_000);
        for (const sort of [
          ['size:asc', 'id:asc'],
          ['size:desc', 'id:desc'],
          ['name:asc', 'id:asc'],
          ['tags:desc', 'id:asc'],
          ['_geoPoint(2, 2):asc', 'id:asc'],
        ]) {
          const body = { sort, offset: 10, limit: 30, fields: ['title'] };
          const path = `/indexes/${uid}/documents/fetch`;
          const [given, wanted] = await Promise.all([
            pick(cluster.servers).call('POST', path, { body: { ...body, useNetwork: true } }),
            whole.call('POST', path, { body }),
          ]);
          assert.deepEqual(given.json.results, wanted.json.results, sort.join());
        }
      });

      it('show a document wherever it is', async () => {
        const path = `/indexes/${uid}/documents`;
        const given = await cluster.servers[0]!.call(
          'GET',
          `${path}/${keyOf(7)}?useNetwork=true&fields=id`,
        );
        assert.deepEqual(given.json, { id: 7 });
        const missing = await cluster.servers[0]!.call(
          'GET',
          `${path}/${keyOf(1000)}?useNetwork=true`,
        );
        assert.equal(missing.json.code, 'document_not_found');
      });

      it('merge with others into one list as on one server', async function () {
        this.timeout(60_000);
        for (let n = 0; n < SEARCHES / 4; n++) {
          const query = (): Record<string, unknown> => ({
            indexUid: uid,
            q: text(2),
            showRankingScore: true,
            showRankingScoreDetails: true,
            federationOptions: { weight: pick([0.5, 1, 2]) },
          });
          const queries = [query(), query()];
          const federation = {
            ...{ limit: 15, facetsByIndex: { [uid]: ['kind', 'size', 'tags'] } },
            ...(chance(0.5) ? { mergeFacets: { maxValuesPerFacet: 3 } } : {}),
          };
          const [given, wanted] = await Promise.all([
            pick(cluster.servers).call('POST', '/multi-search', {
              body: { federation, queries: queries.map((one) => ({ ...one, useNetwork: true })) },
            }),
            whole.call('POST', '/multi-search', { body: { federation, queries } }),
          ]);
          const about = JSON.stringify(queries);
          assert.equal(given.status, 200, JSON.stringify(given.json));
          const scores = ({ hits }: { hits: any[] }): unknown[] =>
            hits.map(({ _federation }) => [
              _federation.queriesPosition,
              _federation.weightedRankingScore.toFixed(9),
            ]);
          assert.deepEqual(scores(given.json), scores(wanted.json), about);
          assert.equal(given.json.estimatedTotalHits, wanted.json.estimatedTotalHits, about);
          const [left, right] = [given.json, wanted.json].map(
            ({ facetsByIndex, facetDistribution, facetStats }) =>
              unspelled({ facetsByIndex, facetDistribution, facetStats }),
          );
          assert.deepEqual(left, right, about);
        }
      });
    });
  }

  describe('by vectors', () => {
    const uid = 'vectors';
    const path = `/indexes/${uid}`;

    before(async function () {
      this.timeout(60_000);
      const vector = (): number[] => [random() - 0.5, random() - 0.5, random() - 0.5];
      const all = Array.from({ length: 60 }, (_, id) => ({
        ...{ id, title: text(3), size: id % 7 },
        ...(id % 10 === 9 ? { _vectors: { own: null } } : { _vectors: { own: vector() } }),
      }));
      const parts = cluster.servers.map((): typeof all => []);
      for (const document of all) pick(parts).push(document);
      const fill = async (server: BuiltServer, body: unknown[]): Promise<void> => {
        const embedders = { own: { source: 'userProvided', dimensions: 3 } };
        await server.finish('PATCH', `${path}/settings`, {
          body: { embedders, filterableAttributes: ['size'] },
        });
        const added = `${path}/documents?primaryKey=id`;
        assert.equal((await server.finish('POST', added, { body })).status, 'succeeded');
      };
      await Promise.all([
        fill(whole, all),
        ...cluster.servers.map((server, n) => fill(server, parts[n]!)),
      ]);
    });

    const scores = ({ hits }: { hits: any[] }): unknown[] =>
      hits.map(({ id, _rankingScore }) => [id, _rankingScore.toFixed(6)]);

    it('find documents that are similar to one', async function () {
      this.timeout(60_000);
      for (const id of [0, 1, 2, 3, 4]) {
        const body = {
          ...{ id, embedder: 'own', offset: 2, limit: 10, showRankingScore: true },
          ...(id % 2 ? { filter: 'size > 1' } : {}),
        };
        const [given, wanted] = await Promise.all([
          cluster.servers[0]!.call('POST', `${path}/similar`, {
            body: { ...body, useNetwork: true },
          }),
          whole.call('POST', `${path}/similar`, { body }),
        ]);
        assert.deepEqual(scores(given.json), scores(wanted.json));
        assert.equal(given.json.estimatedTotalHits, wanted.json.estimatedTotalHits);
        assert.deepEqual(given.json.remoteErrors, {});
      }
      const body = { id: 1000, embedder: 'own', useNetwork: true };
      const missing = await cluster.servers[0]!.call('POST', `${path}/similar`, { body });
      assert.equal(missing.json.code, 'not_found_similar_id');
    });

    it('find what is nearest', async () => {
      const body = {
        ...{ vector: [0.1, 0.2, -0.4], hybrid: { embedder: 'own', semanticRatio: 1 } },
        ...{ showRankingScore: true, limit: 30 },
      };
      const [given, wanted] = await Promise.all([
        cluster.servers[1]!.call('POST', `${path}/search`, { body: { ...body, useNetwork: true } }),
        whole.call('POST', `${path}/search`, { body }),
      ]);
      assert.deepEqual(scores(given.json), scores(wanted.json));
      assert.equal(given.json.semanticHitCount, wanted.json.semanticHitCount);
    });

    it('group hits under those that `distinct` keeps', async function () {
      this.timeout(60_000);
      let asked = cluster.servers[0]!;
      const call = async (at: string, body: object): Promise<any> => {
        const { status, json } = await asked.call('POST', at, { body });
        assert.equal(status, 200, JSON.stringify([body, json]));
        assert.deepEqual(json.remoteErrors, {});
        return json;
      };
      for (let n = 0; n < SEARCHES / 4; n++) {
        // Equal hits of the server that is asked come first.
        asked = pick(cluster.servers);
        const query = {
          ...{ q: `${pick(WORDS)} ${pick(WORDS)}`, vector: [random() - 0.5, random() - 0.5, 0.1] },
          hybrid: {
            ...{ embedder: 'own', semanticRatio: pick([0.3, 0.7, 1]) },
            ...(chance(0.7) && { fusion: 'rrf' }),
          },
          ...{ showRankingScore: true, useNetwork: true },
        };
        const [limit, hits, page] = [pick([1, 3, 20]), pick([1, 2, 50]), pick([1, 1, 2])];
        const groupBy = { attribute: 'size', limit, hits, page };
        const window = { distinct: 'size', page, hitsPerPage: limit };
        const queries = [{ ...query, indexUid: uid }];
        for (const [grouped, kept] of [
          [
            await call(`${path}/search`, { ...query, groupBy }),
            await call(`${path}/search`, { ...query, ...window }),
          ],
          [
            await call('/multi-search', { queries, federation: { groupBy } }),
            await call('/multi-search', { queries, federation: window }),
          ],
        ]) {
          const about = JSON.stringify({ ...query, groupBy });
          const heads = grouped.groups.map((group: any) => group.hits[0]);
          assert.deepEqual(heads, kept.hits, about);
          assert.equal(grouped.totalGroups, kept.totalHits, about);
          for (const { totalHits, hits: shown } of grouped.groups) {
            assert.equal(new Set(shown.map(({ id }: any) => id)).size, shown.length, about);
            assert.equal(shown.length, Math.min(totalHits, hits), about);
          }
        }
      }
    });

    it('fuse by ranks what `natural` finds as when that is named', async () => {
      const hits = async (strategy: object, fusion?: string): Promise<object[]> => {
        const hybrid = { embedder: 'own', semanticRatio: 0.7, ...(fusion && { fusion }) };
        const body = {
          ...{ q: 'red apple', vector: [0.1, 0.2, -0.4], hybrid, ...strategy },
          ...{ useNetwork: true, showRankingScore: true, limit: 90 },
        };
        const { status, json } = await cluster.servers[1]!.call('POST', `${path}/search`, { body });
        assert.equal(status, 200, JSON.stringify(json));
        assert.deepEqual(json.remoteErrors, {});
        return json.hits;
      };
      const natural = { matchingStrategy: 'natural' };
      const named = await hits(natural, 'rrf');
      assert.deepEqual(await hits(natural), named);
      assert.notDeepEqual(await hits(natural, 'score'), named);
      const byScores = await hits({});
      assert.deepEqual(byScores, await hits({}, 'score'));
      const body = { defaultMatchingStrategy: 'natural' };
      for (const [n, server] of cluster.servers.entries()) {
        await server.finish('PATCH', `${path}/settings`, { body });
        // Each server fuses its own hits, by ranks only where its setting says so.
        const mixed = await hits({});
        for (const [of, name] of cluster.names.entries()) {
          const own = ({ _federation }: any): boolean => _federation.remote === name;
          const wanted = of <= n ? named : byScores;
          const first = mixed.filter(own);
          assert.deepEqual(first, wanted.filter(own).slice(0, first.length), name);
        }
      }
      for (const server of cluster.servers)
        await server.finish('PATCH', `${path}/settings`, {
          body: { defaultMatchingStrategy: null },
        });
    });

    it('count semantic hits only where this server was asked for some', async () => {
      const nearest = { vector: [0.1, 0.2, -0.4], hybrid: { embedder: 'own', semanticRatio: 1 } };
      const search = (local: object, remote: object): object => ({
        federation: {},
        queries: [
          { indexUid: uid, ...local, federationOptions: { remote: 's0' } },
          { indexUid: uid, ...remote, federationOptions: { remote: 's1' } },
        ],
      });
      const asked = cluster.servers[0]!;
      const counted = async (body: object): Promise<boolean> => {
        const { status, json } = await asked.call('POST', '/multi-search', { body });
        assert.equal(status, 200, JSON.stringify(json));
        assert.deepEqual(json.remoteErrors, {});
        return 'semanticHitCount' in json;
      };
      assert.equal(await counted(search({ q: 'red' }, nearest)), false);
      assert.equal(await counted(search(nearest, { q: 'red' })), true);
    });
  });
});
