/** The setting `semanticCutoff`: which hits count that only vectors find. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { startCluster } from './support/cluster.ts';

const DIMENSIONS = 16;
const NEAR = 20;
const random = mulberry(11);
const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(6.283 * random());
const noise = (): number[] => Array.from({ length: DIMENSIONS }, normal);
/** The first documents are near to this direction, all others have random ones. */
const TARGET = [8, ...Array<number>(DIMENSIONS - 1).fill(0)];
const documents = Array.from({ length: 300 }, (_, id) => ({
  id,
  title: id === 299 ? 'lighthouse' : 'boat',
  kind: id < NEAR ? 'near' : 'far',
  _vectors: { e: noise().map((number, i) => number + (id < NEAR ? TARGET[i]! : 0)) },
}));
const embedders = { e: { source: 'userProvided', dimensions: DIMENSIONS } };

describe('The setting semanticCutoff', () => {
  let server: BuiltServer;
  const path = '/indexes/things';
  const dumps = mkdtempSync(join(tmpdir(), 'gannet-cutoff-'));

  const fill = async (on: BuiltServer, body: unknown[]): Promise<void> => {
    await on.finish('PATCH', `${path}/settings`, {
      body: { embedders, filterableAttributes: ['kind'] },
    });
    const { status } = await on.finish('POST', `${path}/documents`, { body });
    assert.equal(status, 'succeeded');
  };
  const set = async (body: unknown, on = server): Promise<void> => {
    const { status } = await on.finish('PUT', `${path}/settings/semantic-cutoff`, { body });
    assert.equal(status, 'succeeded');
  };
  const search = async (more: object = {}, on = server, at = `${path}/search`): Promise<any> => {
    const hybrid = { embedder: 'e', semanticRatio: 0.9 };
    const body = { q: 'lighthouse', vector: TARGET, hybrid, facets: ['kind'], limit: 300, ...more };
    const { status, json } = await on.call('POST', at, { body });
    assert.equal(status, 200, JSON.stringify(json));
    return json;
  };
  const idsOf = ({ hits }: any): number[] => hits.map(({ id }: any) => id).toSorted();

  before(async () => {
    server = await startBuiltServer(['--dump-dir', dumps]);
    await fill(server, documents);
  });
  after(async () => {
    await server?.close();
    rmSync(dumps, { recursive: true, force: true });
  });
  beforeEach(() => set('off'));

  it('is off unless it is set, and shown where it is set', async () => {
    const shown = async (): Promise<any> => (await server.call('GET', `${path}/settings`)).json;
    assert.ok(!('semanticCutoff' in (await shown())));
    assert.equal((await search()).estimatedTotalHits, 300);
    await set(0.9);
    assert.equal((await shown()).semanticCutoff, 0.9);
    for (const body of ['most', 2, -0.1, true]) {
      const { json } = await server.call('PUT', `${path}/settings/semantic-cutoff`, { body });
      assert.equal(json.code, 'invalid_settings_semantic_cutoff', String(body));
    }
    await server.finish('DELETE', `${path}/settings/semantic-cutoff`);
    assert.ok(!('semanticCutoff' in (await shown())));
  });

  it('leaves out what only vectors find below a number, as `hybrid.minScore` does', async () => {
    const hybrid = { embedder: 'e', semanticRatio: 0.9, minScore: 0.8 };
    const wanted = await search({ hybrid });
    await set(0.8);
    const found = await search();
    assert.deepEqual(idsOf(found), idsOf(wanted));
    assert.equal(found.estimatedTotalHits, wanted.estimatedTotalHits);
    assert.deepEqual(found.facetDistribution, wanted.facetDistribution);
    assert.ok(idsOf(found).includes(299), 'words find it');
    const all = await search({ hybrid: { ...hybrid, minScore: 0 } });
    assert.equal(all.estimatedTotalHits, 300, 'the request decides');
  });

  it('`auto` counts what is nearer than two documents usually are', async () => {
    await set('auto');
    const found = await search();
    const kinds = found.facetDistribution.kind;
    assert.equal(kinds.near, NEAR);
    assert.ok(kinds.far < 100, JSON.stringify(kinds));
    assert.equal(found.estimatedTotalHits, kinds.near + kinds.far);
    assert.equal(found.hits.length, found.estimatedTotalHits);
    assert.deepEqual(idsOf(await search()), idsOf(found), 'always the same');
    const semantic = await search({ q: null, hybrid: { embedder: 'e', semanticRatio: 1 } });
    assert.deepEqual(
      idsOf(semantic),
      idsOf(found).filter((id) => id !== 299),
    );
    const merged = await search(
      {
        ...{ q: undefined, vector: undefined, hybrid: undefined, facets: undefined },
        ...{ limit: undefined, federation: { limit: 300 } },
        queries: [
          {
            ...{ indexUid: 'things', q: 'lighthouse', vector: TARGET },
            hybrid: { embedder: 'e', semanticRatio: 0.9 },
          },
        ],
      },
      server,
      '/multi-search',
    );
    assert.deepEqual(idsOf(merged), idsOf(found));
    const { facetHits } = await search(
      { facetName: 'kind', facets: undefined, limit: undefined },
      server,
      `${path}/facet-search`,
    );
    assert.deepEqual(Object.fromEntries(facetHits.map((f: any) => [f.value, f.count])), kinds);
  });

  it('`auto` leaves all hits of a few documents', async () => {
    const few = '/indexes/few';
    await server.finish('PATCH', `${few}/settings`, {
      body: { embedders, semanticCutoff: 'auto' },
    });
    await server.finish('POST', `${few}/documents`, { body: documents.slice(0, 10) });
    assert.equal((await search({ facets: [] }, server, `${few}/search`)).estimatedTotalHits, 10);
  });

  it('counts on each server of a network, and in a dump', async () => {
    const network = await startCluster({ count: 2 });
    after(() => network.close());
    for (const [n, one] of network.servers.entries()) {
      await fill(
        one,
        documents.filter(({ id }) => id % 2 === n),
      );
      await set(0.8, one);
    }
    await set(0.8);
    const whole = await search({ useNetwork: true }, network.servers[0]);
    assert.deepEqual(idsOf(whole), idsOf(await search()));
    const { details } = await server.finish('POST', '/dumps');
    const restored = await startBuiltServer(['--import-dump', `${dumps}/${details.dumpUid}.dump`]);
    after(() => restored.close());
    const settings = await restored.call('GET', `${path}/settings`);
    assert.equal(settings.json.semanticCutoff, 0.8);
  });
});
