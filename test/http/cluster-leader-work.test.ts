/**
 * What only a leader does goes on when another node leads: webhooks, and snapshots that are
 * scheduled.
 */
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { clusterOptions } from '../support/cluster-options.ts';
import { Etcd, HAS_ETCD } from '../support/etcd.ts';

const NODES = 2;
const TASKS = 10;

describe('The work of the leader of a cluster', function () {
  let etcd: Etcd;
  let dir: string;
  let receiver: Server;
  let servers: BuiltServer[] = [];
  /** How often the webhook was sent for each task. */
  const sent = new Map<number, number>();

  before(async function () {
    if (!HAS_ETCD) {
      console.log('    skipped: etcd is not installed (Debian package etcd-server)');
      this.skip();
    }
    dir = mkdtempSync(join(tmpdir(), 'gannet-leader-'));
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const lines = gunzipSync(Buffer.concat(chunks)).toString().trim().split('\n');
        for (const line of lines) {
          const { uid } = JSON.parse(line) as { uid: number };
          sent.set(uid, (sent.get(uid) ?? 0) + 1);
        }
        response.end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    etcd = await Etcd.start();
    mkdirSync(join(dir, 'store'));
    servers = await Promise.all(
      Array.from({ length: NODES }, (_, n) =>
        startBuiltServer((url) => [
          ...clusterOptions({
            ...{ cluster: 'work', etcd: [etcd.url], store: join(dir, 'store') },
            ...{ node: `node-${n}`, url, leaseSeconds: 2 },
          }),
          ...['--snapshot-dir', join(dir, 'snapshots'), '--schedule-snapshot', '1'],
        ]),
      ),
    );
  });

  after(async () => {
    for (const server of servers) await server.close();
    await etcd?.stop();
    receiver?.close();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  async function accepted(server: BuiltServer, path: string, body: unknown): Promise<any> {
    for (;;) {
      const { status, json } = await server.call('POST', path, { body });
      if (status < 300) return json;
      assert.equal(status, 503, JSON.stringify(json));
      await delay(50);
    }
  }

  async function addDocuments(server: BuiltServer): Promise<number[]> {
    const uids: number[] = [];
    for (let n = 0; n < TASKS; n++) {
      const { taskUid } = await accepted(server, '/indexes/books/documents', [{ id: n }]);
      uids.push(taskUid);
    }
    return uids;
  }

  async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isDone())) await delay(20);
  }

  const newestSnapshot = async (server: BuiltServer): Promise<number> => {
    const path = '/tasks?types=snapshotCreation&statuses=succeeded&limit=1';
    return (await server.call('GET', path)).json.results[0]?.uid ?? -1;
  };

  it('continues when it was killed: each webhook at least once, and further snapshots', async () => {
    let leader = '';
    await until(async () => {
      leader = (await servers[0]!.call('GET', '/cluster')).json.leader ?? '';
      return leader !== '';
    });
    const dead = servers[Number(leader.slice('node-'.length))]!;
    const other = servers.find((server) => server !== dead)!;
    const { port } = receiver.address() as AddressInfo;
    await accepted(other, '/webhooks', { url: `http://127.0.0.1:${port}/`, headers: {} });
    const before = await addDocuments(other);
    await until(() => before.every((uid) => sent.has(uid)));
    await until(async () => (await newestSnapshot(other)) >= 0);
    const during = await addDocuments(dead);
    // Without a change of leader, one node sends it, and once.
    assert.deepEqual(
      before.filter((uid) => sent.get(uid) !== 1),
      [],
    );
    await dead.kill();
    const after = await addDocuments(other);
    const last = await newestSnapshot(other);
    await until(() => [...during, ...after].every((uid) => sent.has(uid)));
    await until(async () => (await newestSnapshot(other)) > last);
  });
});
