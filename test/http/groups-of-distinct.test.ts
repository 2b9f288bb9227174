/**
 * Groups of random searches, of one index and merged: their best hits are those that `distinct`
 * keeps.
 */
import assert from 'node:assert/strict';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? Math.floor(Math.random() * 1e6));
const DOCUMENTS = 90;
const SEARCHES = 150;
const WORDS = ['red', 'blue', 'green', 'apple', 'pear', 'plum'];

const random = mulberry(SEED);
const number = (end: number): number => Math.floor(random() * end);
const pick = <T>(list: readonly T[]): T => list[number(list.length)]!;
const chance = (share: number): boolean => random() < share;
const vector = (): number[] => [random() - 0.5, random() - 0.5, random() - 0.5];
const words = (count: number): string => Array.from({ length: count }, () => pick(WORDS)).join(' ');

type Value = string | number;
interface Row {
  id: number;
  kind?: Value;
  tags: Value[];
}

const documents = Array.from({ length: DOCUMENTS }, (_, id) => ({
  ...{ id, title: words(1 + number(3)), size: number(5) },
  ...(chance(0.9) && { kind: pick<Value>(['a', 'B', 'é', 7, 8.5, 'f', 'g']) }),
  tags: Array.from({ length: number(3) }, () => `t${number(30)}`),
  _vectors: { e: chance(0.125) ? null : vector() },
}));

const valuesOf = (row: Row, attribute: 'kind' | 'tags'): Value[] => [
  ...new Set([row[attribute] ?? []].flat() as Value[]),
];

interface Body {
  q: string;
  hybrid?: { embedder: string; semanticRatio: number; minScore?: number; fusion?: 'rrf' };
  [option: string]: unknown;
}

function search(): Body {
  const isHybrid = chance(0.7);
  return {
    q: chance(0.1) ? '' : words(1 + number(2)) + (chance(0.1) ? ' -plum' : ''),
    ...(isHybrid && {
      vector: vector(),
      hybrid: {
        ...{ embedder: 'e', semanticRatio: pick([0.1, 0.3, 0.5, 0.7, 1]) },
        ...(chance(0.2) && { minScore: 0.6 }),
        ...(chance(0.4) && { fusion: 'rrf' as const }),
      },
    }),
    ...(chance(0.3) && { sort: [pick(['size:asc', 'size:desc'])] }),
    ...(chance(0.2) && { rankingScoreThreshold: pick([0.3, 0.6]) }),
    ...(chance(0.3) && { filter: 'size > 0' }),
    ...(chance(0.3) && { matchingStrategy: pick(['all', 'natural', 'frequency']) }),
    ...(chance(0.2) && { attributesToSearchOn: ['title'] }),
    ...{ showRankingScore: true, showRankingScoreDetails: true, facets: ['kind', 'size'] },
  };
}

describe(`groups and distinct (GANNET_SEED=${SEED})`, function () {
  this.timeout(240_000);

  let server: BuiltServer;
  before(async () => {
    server = await startBuiltServer();
    const settings = {
      filterableAttributes: ['kind', 'tags', 'size', 'g'],
      sortableAttributes: ['size'],
      embedders: { e: { source: 'userProvided', dimensions: 3 } },
    };
    await server.finish('PATCH', '/indexes/things/settings', { body: settings });
    await server.finish('POST', '/indexes/things/documents', { body: documents });
    // Other documents with the same values, some with the same ids.
    await server.finish('PATCH', '/indexes/others/settings', { body: settings });
    await server.finish('POST', '/indexes/others/documents', {
      body: documents.slice(20).map((row) => ({ ...row, id: row.id + 30, title: words(2) })),
    });
  });
  after(() => server?.close());

  const call = async (body: object, uid = 'things'): Promise<any> => {
    const { status, json } = await server.call('POST', `/indexes/${uid}/search`, { body });
    assert.equal(status, 200, JSON.stringify([body, json]));
    return json;
  };

  /** The list without distinct, of words alone if these are enough for a page of `limit`. */
  async function listOf(body: Body, attribute: string, limit: number): Promise<any> {
    const { hybrid, vector: _, ...byWords } = body;
    const all = { page: 1, hitsPerPage: 1000 };
    const ratio = hybrid?.semanticRatio ?? 1;
    if (hybrid === undefined || ratio === 1 || body.q === '') return call({ ...body, ...all });
    const isFused = hybrid.fusion === 'rrf' || body['matchingStrategy'] === 'natural';
    if (hybrid.minScore !== undefined || isFused) return call({ ...body, ...all });
    const page = { distinct: attribute, page: 1, hitsPerPage: limit };
    const { hits } = await call({ ...byWords, ...page });
    const isEnough =
      hits.length === limit &&
      hits.every(({ _rankingScore: score }: any) => score * (1 - ratio) >= 0.45);
    return call({ ...(isEnough ? byWords : body), ...all });
  }

  it('are the same hits, with the same scores, counted in the same list', async () => {
    for (let n = 0; n < SEARCHES; n++) {
      const body = search();
      const attribute = pick(['kind', 'tags'] as const);
      const [limit, hits, page] = [1 + number(8), pick([1, 2, 3, 100]), 1 + number(3)];
      const groupBy = { attribute, limit, hits, page };
      const at = JSON.stringify({ ...body, groupBy });
      const grouped = await call({ ...body, groupBy });
      const kept = await call({ ...body, distinct: attribute, page, hitsPerPage: limit });
      assert.equal(grouped.totalGroups, kept.totalHits, at);
      assert.deepEqual(
        grouped.groups.map((group: any) => group.hits[0]),
        kept.hits,
        at,
      );
      const perGroup = await call({ ...body, groupBy, facetsPer: 'group' });
      assert.deepEqual(perGroup.facetDistribution, kept.facetDistribution, at);
      const list = await listOf(body, attribute, limit);
      assert.deepEqual(grouped.facetDistribution, list.facetDistribution, at);
      assert.deepEqual(grouped.facetStats, list.facetStats, at);
      for (const { value, totalHits, hits: shown } of grouped.groups) {
        const [best] = shown;
        const own = valuesOf(best, attribute);
        assert.deepEqual(value, own.length > 1 ? own : (own[0] ?? null), at);
        const further = list.hits.filter(
          (hit: Row) =>
            hit.id !== best.id && valuesOf(hit, attribute).some((one) => own.includes(one)),
        );
        assert.equal(totalHits, further.length + 1, at);
        const ids = (some: Row[]): number[] => some.map(({ id }) => id);
        assert.deepEqual(ids(shown.slice(1)), ids(further.slice(0, hits - 1)), at);
      }
    }
  });

  it('are the same hits of merged lists', async () => {
    const merged = async (queries: object[], federation: object): Promise<any> => {
      const body = { queries, federation };
      const { status, json } = await server.call('POST', '/multi-search', { body });
      assert.equal(status, 200, JSON.stringify([body, json]));
      return json;
    };
    for (let n = 0; n < SEARCHES; n++) {
      const attribute = pick(['kind', 'tags'] as const);
      const [limit, hits, page] = [1 + number(8), pick([1, 2, 3, 100]), 1 + number(3)];
      const sort = pick([{}, { sort: ['size:asc'] }]);
      const queries = Array.from({ length: 1 + number(3) }, () => {
        const { facets: _, sort: _sort, ...query } = search();
        // A list of all documents cannot be compared with one that is ordered by words.
        query.q ||= pick(WORDS);
        // Words are never enough.
        const { hybrid } = query;
        if (hybrid?.fusion === undefined && hybrid?.minScore === undefined && hybrid) {
          hybrid.semanticRatio = pick([0.7, 1]);
        }
        const federationOptions = { weight: pick([1, 1, 0.5]) };
        return { ...query, ...sort, indexUid: pick(['things', 'others']), federationOptions };
      });
      const facets = { facetsByIndex: { [queries[0]!.indexUid]: ['kind', 'size'] } };
      const groupBy = { attribute, limit, hits, page };
      const at = JSON.stringify({ queries, groupBy });
      const grouped = await merged(queries, { groupBy, ...facets });
      const window = { distinct: attribute, page, hitsPerPage: limit };
      const kept = await merged(queries, { ...window, ...facets });
      assert.equal(grouped.totalGroups, kept.totalHits, at);
      assert.deepEqual(
        grouped.groups.map((group: any) => group.hits[0]),
        kept.hits,
        at,
      );
      const perGroup = await merged(queries, { groupBy, ...facets, facetsPer: 'group' });
      assert.deepEqual(perGroup.facetsByIndex, kept.facetsByIndex, at);
      const list = await merged(queries, { page: 1, hitsPerPage: 1000, ...facets });
      assert.deepEqual(grouped.facetsByIndex, list.facetsByIndex, at);
      for (const { value, totalHits, hits: shown } of grouped.groups) {
        const [best] = shown;
        const own = valuesOf(best, attribute);
        assert.deepEqual(value, own.length > 1 ? own : (own[0] ?? null), at);
        const nameOf = ({ id, _federation }: any): string => `${_federation.indexUid} ${id}`;
        const further = list.hits.filter(
          (hit: Row) =>
            nameOf(hit) !== nameOf(best) &&
            valuesOf(hit, attribute).some((one) => own.includes(one)),
        );
        assert.equal(totalHits, further.length + 1, at);
        assert.deepEqual(shown.slice(1).map(nameOf), further.slice(0, hits - 1).map(nameOf), at);
        if (list.hits.length < 1000) {
          assert.deepEqual(shown.slice(1), further.slice(0, hits - 1), at);
        }
      }
    }
  });

  it('are the same where ranks of the groups alone differ', async () => {
    const small = [
      { id: 1, t: 'x', g: 'a', v: [-1, 0] },
      { id: 2, t: 'y', g: 'a', v: [0.2, 1] },
      { id: 3, t: 'y', g: 'b', v: [1, 0] },
      { id: 4, t: 'y', g: 'c', v: [1, 0.1] },
      { id: 5, t: 'y', g: 'd', v: [1, 0.2] },
    ].map(({ v, ...document }) => ({ ...document, _vectors: { v } }));
    const settings = {
      filterableAttributes: ['g'],
      embedders: { v: { source: 'userProvided', dimensions: 2 } },
    };
    await server.finish('PATCH', '/indexes/small/settings', { body: settings });
    await server.finish('POST', '/indexes/small/documents', { body: small });
    for (const fusion of ['rrf', 'score']) {
      const hybrid = { embedder: 'v', semanticRatio: 0.5, fusion };
      const body = { q: 'x', vector: [1, 0], hybrid, showRankingScore: true };
      const kept = await call({ ...body, distinct: 'g', hitsPerPage: 20 }, 'small');
      const { groups } = await call({ ...body, groupBy: { attribute: 'g' } }, 'small');
      assert.deepEqual(
        groups.map(({ hits }: any) => hits[0]),
        kept.hits,
      );
    }
  });
});
