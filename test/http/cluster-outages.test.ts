/**
 * What clients and operators see of a cluster whose leader, etcd or object store does not respond,
 * or is not its own.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { clusterOptions } from '../support/cluster-options.ts';
import { CLUSTER, ClusterStage } from '../support/cluster-stage.ts';
import { Etcd } from '../support/etcd.ts';

const LEASE_SECONDS = 2;

describe('A cluster with something that does not respond', function () {
  let stage: ClusterStage;
  let servers: BuiltServer[] = [];
  const folders: string[] = [];

  before(async function () {
    stage = await ClusterStage.open(this, { leaseSeconds: LEASE_SECONDS });
    servers = await Promise.all([0, 1].map((n) => stage.start(`node-${n}`)));
    await write(servers[0]!, [{ id: 1, title: 'one' }]);
  });

  after(async () => {
    await stage?.close();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  function folder(): string {
    const made = mkdtempSync(join(tmpdir(), 'gannet-outage-'));
    folders.push(made);
    return made;
  }

  const add = (server: BuiltServer, documents: object[]) =>
    server.call('POST', '/indexes/books/documents', { body: documents });

  /** Repeats a write until it is taken. */
  async function write(server: BuiltServer, documents: object[]): Promise<void> {
    for (;;) {
      const { status, json } = await add(server, documents);
      if (status === 202) return void (await server.ended(json.taskUid));
      assert.equal(status, 503, JSON.stringify(json));
      await delay(50);
    }
  }

  /** The leader, and the other node. */
  async function roles(): Promise<{ leader: BuiltServer; follower: BuiltServer }> {
    for (;;) {
      const { json } = await servers[0]!.call('GET', '/cluster');
      const names = json.nodes.map(({ name }: { name: string }) => name);
      if (json.leader !== null && names.length === 2) {
        const leader = servers[Number(json.leader.slice('node-'.length))]!;
        return { leader, follower: servers.find((server) => server !== leader)! };
      }
      await delay(50);
    }
  }

  async function health(server: BuiltServer, status: string): Promise<number> {
    for (;;) {
      const response = await server.call('GET', '/health');
      if (response.json.status === status) return response.status;
      await delay(50);
    }
  }

  it('ends a write that was sent to a leader which hangs, and another one takes the next', async () => {
    const { leader, follower } = await roles();
    process.kill(leader.pid, 'SIGSTOP');
    try {
      const { status, json } = await add(follower, [{ id: 2, title: 'two' }]);
      assert.equal(status, 503, JSON.stringify(json));
      assert.equal(json.code, 'cluster_unavailable');
      await write(follower, [{ id: 3, title: 'three' }]);
    } finally {
      process.kill(leader.pid, 'SIGCONT');
    }
    await roles();
  });

  it('ends writes with an error while etcd is gone, and says what is wrong', async () => {
    const { leader, follower } = await roles();
    const writes = (n: number): Promise<{ status: number; json: any }[]> =>
      Promise.all([leader, follower].map((server) => add(server, [{ id: n, title: 'x' }])));
    const sent = writes(10);
    await stage.etcd.kill();
    for (const { status, json } of await sent) {
      assert.ok(status === 202 || status === 503, JSON.stringify(json));
    }
    for (const { status, json } of await writes(11)) {
      assert.equal(status, 503, JSON.stringify(json));
      assert.ok(['no_leader', 'cluster_unavailable'].includes(json.code), json.code);
    }
    for (const server of servers) assert.equal(await health(server, 'etcd_unavailable'), 503);
    stage.etcd.restart();
    for (const server of servers) assert.equal(await health(server, 'available'), 200);
    await write(follower, [{ id: 12, title: 'twelve' }]);
  });

  it('answers searches from a node that starts without etcd, which joins again later', async () => {
    const { follower } = await roles();
    for (;;) {
      const { json } = await follower.call('GET', '/cluster');
      if (json.applied === json.head && json.head > 0) break;
      await delay(20);
    }
    await stage.etcd.kill();
    await follower.kill();
    await follower.restart();
    const found = await follower.call('GET', '/indexes/books/search?q=one');
    assert.deepEqual(found.json.hits, [{ id: 1, title: 'one' }]);
    assert.equal(await health(follower, 'etcd_unavailable'), 503);
    const refused = await add(follower, [{ id: 20, title: 'twenty' }]);
    assert.equal(refused.status, 503, JSON.stringify(refused.json));
    assert.equal(refused.json.code, 'no_leader');
    stage.etcd.restart();
    assert.equal(await health(follower, 'available'), 200);
    await write(follower, [{ id: 20, title: 'twenty' }]);
  });

  it('does not let a request without a key wait', async () => {
    const headers = { 'gannet-wait-for': '999999' };
    const response = await fetch(`${servers[0]!.url}/health`, { headers });
    assert.equal(response.status, 200);
  });

  it('shows a node that cannot use the store, and refuses other stores', async () => {
    const { json } = await servers[0]!.call('GET', '/cluster');
    for (const node of json.nodes) assert.equal(node.storeFault, null);
    const start = (node: string, store: string): Promise<BuiltServer> =>
      stage.start(node, [], store);
    const unmounted = folder();
    const missing = join(folder(), 'missing');
    for (const [store, message] of [
      [unmounted, /The object store has no owner.*may not be mounted/],
      [missing, /the folder .* does not exist/],
    ] as const) {
      await assert.rejects(start('node-2', store), message);
    }
    assert.deepEqual(
      readdirSync(unmounted).filter((name) => name === 'files'),
      [],
    );
    assert.ok(!readdirSync(join(missing, '..')).includes('missing'));
  });

  it('refuses the store of another cluster, and leaves it as it is', async () => {
    const objects = (): string[] =>
      readdirSync(stage.store, { recursive: true, encoding: 'utf8' }).toSorted();
    /** The processes that wrote the files. */
    const writers = (names: string[]): string[] =>
      [...new Set(names.map((name) => name.split('-')[1] ?? name))].toSorted();
    const before = objects();
    const etcd = await Etcd.start();
    try {
      const options = (cluster: string) => (url: string) =>
        clusterOptions({
          ...{ cluster, etcd: [etcd.url], store: stage.store, node: 'node-0', url },
        });
      for (const cluster of [CLUSTER, 'another']) {
        await assert.rejects(startBuiltServer(options(cluster)), /belongs to the cluster shop/);
      }
    } finally {
      await etcd.stop();
    }
    const after = objects();
    assert.deepEqual(
      after.filter((name) => before.includes(name)),
      before,
    );
    // The cluster itself may merge files meanwhile.
    assert.deepEqual(writers(after), writers(before));
  });
});
