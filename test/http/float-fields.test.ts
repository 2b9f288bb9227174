/**
 * Fields that hold fractions: whole numbers in them are written with `.0`, so that typed clients
 * distinguish them from integers.
 */
import assert from 'node:assert/strict';
import { type Cluster, startCluster } from './support/cluster.ts';

const DOCUMENTS = [
  {
    id: 1,
    text: 'red',
    size: 1,
    shape: 2.0,
    _geo: { lat: 3, lng: 4 },
    _vectors: { e: [1, 0], d: [1, 0] },
  },
  {
    id: 2,
    text: 'blue',
    size: 3,
    big: 1e3,
    _geo: { lat: 5, lng: 6 },
    _vectors: { e: [0, 1], d: [0, 1] },
  },
];

/** The text of each number after `"name":`, those of a list one by one. */
function numbersOf(text: string, name: string): string[] {
  const found = text.matchAll(new RegExp(`"${name}":(\\[*[-+.\\deE,\\]\\[]*)`, 'g'));
  return [...found].flatMap(([, list]) => list!.split(/[[\],]/).filter((one) => one !== ''));
}

function assertFloats(text: string, ...names: string[]): void {
  for (const name of names) {
    const numbers = numbersOf(text, name);
    assert.ok(numbers.length > 0, `no \`${name}\` in ${text}`);
    for (const number of numbers) assert.match(number, /[.eE]/, `\`${name}\` in ${text}`);
  }
}

describe('Whole numbers in fields of fractions', function () {
  this.timeout(120_000);
  let cluster: Cluster;

  async function raw(method: string, path: string, body?: unknown): Promise<string> {
    const { url, masterKey } = cluster.servers[0]!;
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${text}`);
    return text;
  }

  before(async () => {
    cluster = await startCluster({ count: 2 });
    const settings = {
      filterableAttributes: ['size'],
      sortableAttributes: ['size', '_geo'],
      embedders: {
        e: { source: 'userProvided', dimensions: 2 },
        d: { source: 'userProvided', dimensions: 2, distribution: { mean: 1, sigma: 1 } },
      },
      chat: {
        searchParameters: { hybrid: { embedder: 'e', semanticRatio: 1 }, rankingScoreThreshold: 0 },
      },
    };
    for (const server of cluster.servers) {
      await server.call('PATCH', '/experimental-features', { body: { chatCompletions: true } });
      await server.call('PATCH', '/indexes/i/settings', { body: settings });
    }
    for (const [n, server] of cluster.servers.entries()) {
      const text = JSON.stringify([DOCUMENTS[n]])
        .replace('"shape":2', '"shape":2.0')
        .replace('1000', '1e3');
      await server.call('POST', '/indexes/i/documents', { text });
    }
    // A similar document is on the same server.
    await cluster.servers[0]!.call('POST', '/indexes/i/documents', {
      body: [{ id: 3, _vectors: { e: [1, 0], d: null } }],
    });
    await cluster.idle();
  });

  after(() => cluster?.close());

  const hybrid = { embedder: 'e', semanticRatio: 1 };
  const whole = {
    ...{ vector: [1, 0], hybrid, retrieveVectors: true, facets: ['size'] },
    ...{ showRankingScore: true, showRankingScoreDetails: true },
  };

  for (const useNetwork of [false, true]) {
    const where = useNetwork ? 'of a network' : 'of one server';
    it(`are written as such in searches ${where}`, async () => {
      const search = (body: object): Promise<string> =>
        raw('POST', '/indexes/i/search', { ...body, useNetwork });
      const vectors = await search(whole);
      assertFloats(
        vectors,
        'queryVector',
        'embeddings',
        '_rankingScore',
        'similarity',
        'min',
        'max',
      );
      const sorted = await search({
        ...{ sort: ['size:asc', '_geoPoint(3, 4):asc'], attributesToRetrieve: ['id'] },
        showRankingScoreDetails: true,
      });
      assertFloats(sorted, 'value', 'lat', 'lng', 'distance');
      assert.match(sorted, /"_geoPoint\(3, 4\):asc"/);
      const near = await search({ sort: ['_geoPoint(3, 4):asc'] });
      assert.match(near, /"_geoDistance":0[,}]/);
    });

    it(`are written as such in federated searches ${where}`, async () => {
      const { facets: _, ...query } = whole;
      const federated = await raw('POST', '/multi-search', {
        federation: { facetsByIndex: { i: ['size'] } },
        queries: [{ ...query, indexUid: 'i', useNetwork, federationOptions: { weight: 2 } }],
      });
      assertFloats(federated, 'weightedRankingScore', 'embeddings', 'min', 'max', '0');
      const merged = await raw('POST', '/multi-search', {
        federation: { facetsByIndex: { i: ['size'] }, mergeFacets: {} },
        queries: [{ indexUid: 'i', useNetwork }],
      });
      assertFloats(merged, 'weightedRankingScore', 'min', 'max');
    });

    it(`are written as such in similar documents ${where}`, async () => {
      const similar = await raw('POST', '/indexes/i/similar', {
        ...{ id: 1, embedder: 'e', retrieveVectors: true, showRankingScore: true, useNetwork },
      });
      assertFloats(similar, 'embeddings', '_rankingScore');
    });

    it(`are written as such in listings ${where}`, async () => {
      const listed = await raw('POST', '/indexes/i/documents/fetch', {
        ...{ retrieveVectors: true, useNetwork },
      });
      assertFloats(listed, 'embeddings');
    });
  }

  it('are written as such between servers', async () => {
    const { url, masterKey } = cluster.servers[0]!;
    const response = await fetch(`${url}/multi-search`, {
      method: 'POST',
      headers: {
        ...{ authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' },
        'meili-proxy-search': 'true',
      },
      body: JSON.stringify({
        federation: {},
        queries: [
          {
            ...{ indexUid: 'i', q: 'red', sort: ['size:asc', '_geoPoint(3, 4):asc'] },
            federationOptions: { queryPosition: 0 },
          },
        ],
      }),
    });
    const text = await response.text();
    assertFloats(text, 'weightedScore', 'value', 'distance');
  });

  it('are written as such in a document', async () => {
    const text = await raw('GET', '/indexes/i/documents/1?retrieveVectors=true');
    assertFloats(text, 'embeddings');
    assert.match(text, /"shape":2\.0/);
    assert.match(text, /"size":1,/);
    assert.match(text, /"_geo":\{"lat":3,"lng":4\}/);
  });

  it('are written as such in settings', async () => {
    const names = ['mean', 'sigma', 'semanticRatio', 'rankingScoreThreshold'];
    assertFloats(await raw('GET', '/indexes/i/settings'), ...names);
    assertFloats(await raw('GET', '/indexes/i/settings/embedders'), 'mean', 'sigma');
    assertFloats(await raw('GET', '/indexes/i/settings/chat'), 'semanticRatio');
    assert.match(await raw('GET', '/indexes/i/settings'), /"dimensions":2[,}]/);
  });

  it('are written as such in the details of tasks and batches', async () => {
    const names = ['mean', 'sigma', 'semanticRatio', 'rankingScoreThreshold'];
    const list = await raw('GET', '/tasks?types=settingsUpdate');
    assertFloats(list, ...names);
    const { uid, batchUid } = (JSON.parse(list) as { results: { uid: number; batchUid: number }[] })
      .results[0]!;
    assertFloats(await raw('GET', `/tasks/${uid}`), ...names);
    assertFloats(await raw('GET', `/batches/${batchUid}`), ...names);
    assertFloats(await raw('GET', `/batches?batchUids=${batchUid}`), ...names);
  });
});
