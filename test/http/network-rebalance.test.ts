/** Documents move to their owners after a change of the network. */
import assert from 'node:assert/strict';
import { Owners } from '../../src/network/owner.ts';
import type { BuiltServer } from '../support/built-server.ts';
import { type Cluster, startCluster } from './support/cluster.ts';

const UID = 'docs';
const PATH = `/indexes/${UID}/documents`;
const COUNT = 2500;

describe('After a change of the network', () => {
  let cluster: Cluster;

  before(async function () {
    this.timeout(60_000);
    cluster = await startCluster({ count: 3, sharding: true });
  });
  after(async () => cluster?.close());

  async function total(): Promise<number> {
    const body = { useNetwork: true, page: 1, hitsPerPage: 1000 };
    const { json } = await cluster.servers[0]!.call('POST', `/indexes/${UID}/search`, { body });
    assert.deepEqual(json.remoteErrors, {});
    const ids = new Set(json.hits.map(({ id }: { id: number }) => id));
    assert.equal(ids.size, json.hits.length, 'a document is there twice');
    return json.totalHits;
  }

  async function assertShared(names: readonly string[]): Promise<void> {
    const owners = new Owners(names);
    let sum = 0;
    for (const [n, server] of cluster.servers.entries()) {
      const { json } = await server.call('GET', `${PATH}?limit=10000&fields=id`);
      sum += json.total;
      for (const { id } of json.results) {
        assert.equal(owners.ownerOf(String(id)), cluster.names[n], `document ${id}`);
      }
    }
    assert.equal(sum, COUNT);
  }

  it('documents move to the servers that they belong to', async function () {
    this.timeout(240_000);
    const [first, , third] = cluster.servers as [BuiltServer, BuiltServer, BuiltServer];
    const { remotes } = (await first.call('GET', '/network')).json;
    for (const server of cluster.servers) {
      const settings = { pagination: { maxTotalHits: 10_000 } };
      await server.finish('PATCH', `/indexes/${UID}/settings`, { body: settings });
      await server.call('PATCH', '/network', { body: { remotes: { s2: null } } });
    }
    const body = Array.from({ length: COUNT }, (_, id) => ({ id, state: 'old' }));
    await first.finish('POST', PATH, { body });
    await cluster.idle();
    await assertShared(['s0', 's1']);
    for (const server of cluster.servers) {
      await server.call('PATCH', '/network', { body: { remotes: { s2: remotes.s2 } } });
    }
    const owners = new Owners(cluster.names);
    const [moving] = body.filter(({ id }) => owners.ownerOf(String(id)) === 's2');
    const newer = { id: moving!.id, state: 'new' };
    await first.finish('POST', PATH, { body: [newer] });
    await cluster.idle();
    // The document is on two servers; after the page it is not recognized as the same.
    assert.ok([COUNT, COUNT + 1].includes(await total()));

    const task = await first.finish('POST', '/network/rebalance');
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    assert.equal(task.type, 'networkTopologyChange');
    assert.equal(typeof task.network.remotes.s1.task_uid, 'number');
    await cluster.idle();
    await assertShared(cluster.names);
    assert.equal(await total(), COUNT);
    // Writes since the change are newer than the data of the old owner.
    assert.deepEqual((await third.call('GET', `${PATH}/${newer.id}`)).json, newer);
    const moved = body.filter(({ id }) => owners.ownerOf(String(id)) === 's2').length;
    const other = cluster.servers[1]!;
    const there = await other.call('GET', `/tasks/${task.network.remotes.s1.task_uid}`);
    assert.equal(task.details.movedDocuments + there.json.details.movedDocuments, moved);

    const again = await first.finish('POST', '/network/rebalance');
    assert.equal(again.details.movedDocuments, 0);
    await cluster.idle();
  });

  it('a server that cannot be asked ends the move, and nothing is lost', async function () {
    this.timeout(240_000);
    const [first] = cluster.servers as [BuiltServer];
    const { remotes } = (await first.call('GET', '/network')).json;
    const broken = { ...remotes.s2, writeApiKey: 'nobody' };
    await first.call('PATCH', '/network', { body: { remotes: { s2: null, s3: broken } } });
    const failed = await first.finish('POST', '/network/rebalance');
    assert.equal(failed.status, 'failed', JSON.stringify(failed));
    assert.equal(failed.error.code, 'remote_invalid_api_key');
    await first.call('PATCH', '/network', { body: { remotes: { s2: remotes.s2, s3: null } } });
    await cluster.idle();
    assert.equal(await total(), COUNT);
  });

  it('a network that is not sharded is refused', async () => {
    const [first] = cluster.servers as [BuiltServer];
    await first.call('PATCH', '/network', { body: { sharding: false } });
    const { status, json } = await first.call('POST', '/network/rebalance');
    assert.equal(status, 400);
    assert.equal(json.code, 'bad_request');
  });
});
