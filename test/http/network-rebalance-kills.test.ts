/** Servers are killed while documents are moved between them. */
import assert from 'node:assert/strict';
import { Owners } from '../../src/network/owner.ts';
import type { BuiltServer } from '../support/built-server.ts';
import { mulberry } from '../support/random.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const SEED = Number(process.env['GANNET_SEED'] ?? 1);
const UID = 'docs';
const PATH = `/indexes/${UID}/documents`;
/** So large that a move takes several steps. */
const COUNT = 3000;
const TEXT = 'word '.repeat(4800);
const KILLS = 3;

const random = mulberry(SEED);

describe(`While documents move (seed ${SEED})`, () => {
  let cluster: Cluster;
  let first: BuiltServer;
  let second: BuiltServer;
  let moving: number;

  before(async function () {
    this.timeout(120_000);
    cluster = await startCluster({ count: 2 });
    [first, second] = cluster.servers as [BuiltServer, BuiltServer];
    const owners = new Owners(cluster.names);
    const all = Array.from({ length: COUNT }, (_, id) => ({ id, text: TEXT }));
    moving = all.filter(({ id }) => owners.ownerOf(String(id)) === 's1').length;
    for (const server of cluster.servers) {
      const body = {
        ...{ searchableAttributes: ['id'], displayedAttributes: ['id'] },
        pagination: { maxTotalHits: 2 * COUNT },
      };
      await server.finish('PATCH', `/indexes/${UID}/settings`, { body });
    }
  });
  after(async () => cluster?.close());

  /** All documents are on the first server, and the network is about to be sharded. */
  async function gather(): Promise<void> {
    for (const server of cluster.servers) {
      assert.equal((await network(server, { sharding: false })).status, 200);
      await server.finish('DELETE', PATH);
    }
    for (let from = 0; from < COUNT; from += 1000) {
      const body = Array.from({ length: 1000 }, (_, n) => ({ id: from + n, text: TEXT }));
      await first.finish('POST', `${PATH}?primaryKey=id`, { body });
    }
    for (const server of cluster.servers) await network(server, { sharding: true });
  }

  const network = (server: BuiltServer, body: object) => server.call('PATCH', '/network', { body });

  async function idsOf(server: BuiltServer): Promise<number[]> {
    const { json } = await server.call('GET', `${PATH}?limit=${2 * COUNT}&fields=id`);
    return json.results.map(({ id }: { id: number }) => id);
  }

  /** Waits until this many documents have arrived, and some are still missing. */
  async function arrived(count: number): Promise<void> {
    for (;;) {
      const { json } = await second.call('GET', `${PATH}?limit=0`);
      if (json.total < count) continue;
      assert.ok(json.total < moving, 'all have moved already');
      return;
    }
  }

  async function assertRefused(): Promise<void> {
    const { status, json } = await network(first, { remotes: { s2: { url: 'http://s2' } } });
    assert.equal(status, 400, JSON.stringify(json));
    assert.equal(json.code, 'unprocessed_network_task');
  }

  async function assertFoundOnce(): Promise<void> {
    const body = { useNetwork: true, limit: 2 * COUNT };
    const { json } = await first.call('POST', `/indexes/${UID}/search`, { body });
    assert.deepEqual(json.remoteErrors, {});
    const ids = new Set(json.hits.map(({ id }: { id: number }) => id));
    assert.equal(ids.size, COUNT);
    assert.equal(json.hits.length, COUNT);
  }

  async function assertSharedOut(): Promise<void> {
    const owners = new Owners(cluster.names);
    const found: number[] = [];
    for (const [n, server] of cluster.servers.entries()) {
      for (const id of await idsOf(server)) {
        assert.equal(owners.ownerOf(String(id)), cluster.names[n], `document ${id}`);
        found.push(id);
      }
    }
    assert.deepEqual(
      found.sort((a, b) => a - b),
      Array.from({ length: COUNT }, (_, id) => id),
    );
    await assertFoundOnce();
  }

  it('the server they leave goes on after each kill; none is lost, and the network stays', async function () {
    this.timeout(240_000);
    await gather();
    const { json } = await first.call('POST', '/network/rebalance');
    await assertRefused();
    for (let kill = 0; kill < KILLS; kill++) {
      const { total } = (await second.call('GET', `${PATH}?limit=0`)).json;
      const wanted = Math.max(total, 1) + Math.floor(random() * (moving - total) * 0.3);
      if (wanted >= moving) break;
      await arrived(wanted);
      await first.kill();
      await first.restart();
      await assertRefused();
      await assertFoundOnce();
    }
    const task = await first.ended(json.taskUid);
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    await cluster.idle();
    await assertSharedOut();
    assert.equal((await network(first, { sharding: true })).status, 200);
  });

  it('the server they go to is missed; they go on with the next move, and none is lost', async function () {
    this.timeout(240_000);
    await gather();
    const { json } = await first.call('POST', '/network/rebalance');
    await arrived(1);
    await second.kill();
    const task = await first.ended(json.taskUid);
    assert.equal(task.status, 'failed', JSON.stringify(task));
    assert.equal(task.error.code, 'proxy_could_not_send_request');
    await second.restart();
    await cluster.idle();
    await assertFoundOnce();
    const again = await first.finish('POST', '/network/rebalance');
    assert.equal(again.status, 'succeeded', JSON.stringify(again));
    await cluster.idle();
    await assertSharedOut();
  });
});
