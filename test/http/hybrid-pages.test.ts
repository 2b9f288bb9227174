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
  filterableAttributes: ['kind'],
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
  // One in eight is found by words alone.
  _vectors: { e: chance(0.125) ? null : vector() },
}));

async function fill(server: BuiltServer, body: unknown): Promise<void> {
  await server.finish('PATCH', '/indexes/things/settings', { body: SETTINGS });
  const { status } = await server.finish('POST', '/indexes/things/documents', { body });
  assert.equal(status, 'succeeded');
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
    ...(chance(0.2) ? { distinct: 'kind' } : {}),
    ...(chance(0.2) ? { rankingScoreThreshold: pick([0.3, 0.6]) } : {}),
    ...(chance(0.2) ? { filter: 'kind != a' } : {}),
  };
}

interface Pages {
  ids: string[];
  totals: Set<number>;
}

/** All pages of a list. `read` reads one. */
async function pagesOf(
  size: number,
  numbered: boolean,
  read: (window: Record<string, number>) => Promise<any>,
): Promise<Pages> {
  const ids: string[] = [];
  const totals = new Set<number>();
  for (let page = 0; ; page++) {
    const { hits, totalHits, estimatedTotalHits } = await read(
      numbered ? { page: page + 1, hitsPerPage: size } : { offset: page * size, limit: size },
    );
    totals.add(numbered ? totalHits : estimatedTotalHits);
    if (hits.length === 0) return { ids, totals };
    ids.push(...hits.map(({ id }: { id: number }) => String(id)));
    assert.ok(ids.length <= DOCUMENTS, 'the pages have no end');
  }
}

function check({ ids, totals }: Pages, exact: boolean, what: string): void {
  assert.equal(new Set(ids).size, ids.length, `a hit is on two pages: ${ids}; ${what}`);
  assert.equal(totals.size, 1, `totals ${[...totals]}; ${what}`);
  if (exact) assert.equal([...totals][0], ids.length, `the total of ${ids}; ${what}`);
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
      const [body, size, numbered] = [search(), 1 + number(9), chance(0.5)];
      const pages = await pagesOf(size, numbered, (window) =>
        call(server, '/indexes/things/search', { ...body, ...window }),
      );
      // Hits that a threshold or distinct drops after the first page are counted.
      const exact = numbered || !('distinct' in body || 'rankingScoreThreshold' in body);
      check(pages, exact, JSON.stringify({ ...body, size, numbered }));
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
      const federation = chance(0.2) ? { distinct: 'kind' } : {};
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
      check(pages, numbered, JSON.stringify({ ...body, size, numbered }));
    }
  });
});
