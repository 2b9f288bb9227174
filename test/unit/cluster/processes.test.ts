/** Nodes with a real etcd and a real folder, the parts that the simulation replaces. */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Blobs } from '../../../src/cluster/blobs/blobs.ts';
import { DirectoryBlobs } from '../../../src/cluster/blobs/directory-blobs.ts';
import { EncryptedBlobs } from '../../../src/cluster/blobs/encrypted-blobs.ts';
import { EtcdLog } from '../../../src/cluster/log/etcd-log.ts';
import { ClusterNode } from '../../../src/cluster/node.ts';
import { ClusterSecret } from '../../../src/cluster/secret.ts';
import { systemRuntime } from '../../../src/cluster/system-runtime.ts';
import { OutboundClient } from '../../../src/outbound/outbound-client.ts';
import { Host, NO_FAULTS, SimulatedReplica } from '../../simulation/host.ts';
import * as model from '../../simulation/model.ts';
import { localFile, proposal } from '../../simulation/quiet.ts';
import { Scheduler } from '../../simulation/scheduler.ts';
import { Etcd, HAS_ETCD } from '../../support/etcd.ts';

const SECRET = new ClusterSecret('master key');

/** A node with databases in memory, and a listener at its URL while it lives. */
class RealNode {
  readonly node: ClusterNode;
  readonly replica: SimulatedReplica;
  readonly #server: Server;
  readonly #scheduler: Scheduler;
  #isRunning = true;

  private constructor(name: string, server: Server, log: EtcdLog, blobs: Blobs) {
    this.#server = server;
    this.#scheduler = new Scheduler(1);
    const host = new Host(name, this.#scheduler, { ...NO_FAULTS });
    this.replica = new SimulatedReplica(host, () => {});
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const runtime = systemRuntime(() => {});
    this.node = new ClusterNode(
      {
        ...{ cluster: 'real', name, url, token: `${name}-${Math.random()}`.replace('.', '') },
        proofOf: (salt) => SECRET.proofOf(salt),
        ...{ join: false, leaseMs: 30_000, retentionMs: 0 },
        ...{ inlineBytesMax: 1000, checkpointLogBytes: 5000, maintenanceMs: 200 },
      },
      { log, blobs, replica: this.replica, runtime },
    );
    void this.#runDisk();
  }

  static async start(name: string, log: EtcdLog, blobs: Blobs): Promise<RealNode> {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const real = new RealNode(name, server, log, blobs);
    await real.node.start();
    return real;
  }

  /** Runs the events that the disk of a simulated host needs. */
  async #runDisk(): Promise<void> {
    while (this.#isRunning) {
      while (!this.#scheduler.isIdle) await this.#scheduler.step();
      await delay(1);
    }
  }

  /** Looks like a kill from outside: nobody listens, and etcd is not notified. */
  async die(client: OutboundClient): Promise<void> {
    await client.close();
    await this.closePort();
  }

  closePort(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  async stop(): Promise<void> {
    await this.node.stop();
    this.#isRunning = false;
    if (this.#server.listening) await this.closePort();
  }
}

describe('Nodes over etcd and a folder', () => {
  let etcd: Etcd;
  let dir = '';
  const clients: OutboundClient[] = [];

  before(async function () {
    if (!HAS_ETCD) {
      console.log('      skipped: etcd (Debian package etcd-server) is not installed');
      this.skip();
    }
    etcd = await Etcd.start();
    dir = mkdtempSync(join(tmpdir(), 'gannet-cluster-'));
  });
  after(async () => {
    for (const client of clients) await client.close();
    await etcd?.stop();
    if (dir !== '') rmSync(dir, { recursive: true });
  });

  async function start(name: string): Promise<RealNode & { client: OutboundClient }> {
    const client = new OutboundClient({ denyPrivate: false, allow: [] });
    clients.push(client);
    const log = new EtcdLog('real', { endpoints: [etcd.url] }, client, SECRET);
    const blobs = new EncryptedBlobs(new DirectoryBlobs(dir), SECRET);
    const real = await RealNode.start(name, log, blobs);
    return Object.assign(real, { client });
  }

  async function until(isDone: () => boolean): Promise<void> {
    while (!isDone()) await delay(5);
  }

  it('commit, follow, replace a leader that dies, and let a new node catch up', async () => {
    const all = [await start('a'), await start('b'), await start('c')];
    const leads = ({ node }: RealNode): boolean => node.route(false).kind === 'here';
    await until(() => all.some(leads));
    const leader = all.find(leads)!;
    for (let n = 0; n < 40; n++) {
      const files = n % 3 === 0 ? await leader.node.upload([localFile(`f${n}`)]) : [];
      const text = n % 7 === 0 ? `${n}`.padEnd(1500, '.') : String(n);
      assert.equal(await leader.node.commit(() => proposal(text, files)), n + 1);
    }
    await until(() => all.every(({ node }) => node.applied === 40));
    for (const { replica } of all) assert.ok(model.isSame(replica.view, leader.replica.view));
    const { nodes } = await leader.node.status();
    assert.equal(nodes.length, 3);
    // Gives all nodes time to see the leader alive.
    await delay(1500);
    const died = performance.now();
    await leader.die(leader.client);
    const rest = all.filter((one) => one !== leader);
    await until(() => rest.some(leads));
    const next = rest.find(leads)!;
    assert.equal(await next.node.commit(() => proposal('after')), 41);
    console.log(`      writes again after ${(performance.now() - died).toFixed(0)} ms`);
    const joined = await start('d');
    await until(() => joined.node.applied === 41);
    assert.ok(model.isSame(joined.replica.view, next.replica.view));
    for (const one of [...rest, joined]) await one.stop();
    await leader.stop();
  });
});
