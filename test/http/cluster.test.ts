/**
 * Three servers that are one cluster, over a real etcd and a folder: what one takes, all have; any
 * of them may die.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EtcdLog } from '../../src/cluster/log/etcd-log.ts';
import { recordOf } from '../../src/cluster/record.ts';
import { ClusterSecret } from '../../src/cluster/secret.ts';
import { OutboundClient } from '../../src/outbound/outbound-client.ts';
import { STORE } from '../../src/replica/server-replica.ts';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { clusterOptions } from '../support/cluster-options.ts';
import { CLUSTER, ClusterStage } from '../support/cluster-stage.ts';

const NODES = 3;
const LEASE_SECONDS = 2;
const ENTRY_BYTES_MAX = 2000;
const TASKS = 5;

describe('A cluster of servers', function () {
  let stage: ClusterStage;
  let snapshots: string;
  let servers: BuiltServer[] = [];

  before(async function () {
    stage = await ClusterStage.open(this, {
      leaseSeconds: LEASE_SECONDS,
      // Not so often that a node which starts is left behind by two of them.
      env: { GANNET_CHECKPOINT_BYTES: '30000' },
    });
    snapshots = mkdtempSync(join(tmpdir(), 'gannet-snapshots-'));
    servers = await Promise.all(Array.from({ length: NODES }, (_, n) => startNode(n)));
  });

  after(async () => {
    await stage?.close();
    if (snapshots !== undefined) rmSync(snapshots, { recursive: true, force: true });
  });

  const startNode = (n: number): Promise<BuiltServer> =>
    stage.start(`node-${n}`, ['--snapshot-dir', snapshots]);

  /** Repeats a write until it succeeds: nobody leads for a moment after a death. */
  async function write(
    server: BuiltServer,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ uid: number; commit: string }> {
    for (;;) {
      const response = await send(server, method, path, body);
      const json: any = await response.json();
      if (response.status === 202) {
        return { uid: json.taskUid, commit: response.headers.get('gannet-commit')! };
      }
      assert.equal(response.status, 503, JSON.stringify(json));
      await delay(50);
    }
  }

  function send(
    { url, masterKey }: BuiltServer,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${masterKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  const cluster = async (server: BuiltServer): Promise<any> =>
    (await server.call('GET', '/cluster')).json;

  async function leader(): Promise<BuiltServer> {
    for (;;) {
      for (const server of servers) {
        try {
          const { leader: name } = await cluster(server);
          if (name !== null) return servers[Number(name.slice('node-'.length))]!;
        } catch {
          // It is dead.
        }
      }
      await delay(50);
    }
  }

  /** Resolves once every node has applied what any has. A node looks at the log now and then. */
  async function level(): Promise<void> {
    const states = await Promise.all(servers.map(cluster));
    const last = Math.max(1, ...states.flatMap(({ head, applied }) => [head, applied]));
    for (const server of servers) {
      while ((await cluster(server)).applied < last) await delay(20);
    }
  }

  const documents = (from: number, count: number, size = 10): object[] =>
    Array.from({ length: count }, (_, n) => ({
      id: from + n,
      title: `title ${from + n} ${'x'.repeat(size)}`,
      color: n % 2 === 0 ? 'red' : 'green',
    }));

  it('finds on every node what any node has taken', async () => {
    for (const [n, server] of servers.entries()) {
      const { uid, commit } = await write(
        server,
        'POST',
        '/indexes/movies/documents',
        documents(n * 10, 10),
      );
      // The one that has taken it shows the task at once.
      const seen = await send(server, 'GET', `/tasks/${uid}`, undefined, {
        'gannet-wait-for': commit,
      });
      assert.equal(seen.status, 200);
      assert.equal((await server.ended(uid)).status, 'succeeded');
    }
    await level();
    for (const server of servers) {
      const { json } = await server.call('POST', '/indexes/movies/search', {
        body: { q: 'title', limit: 100 },
      });
      assert.equal(json.hits.length, NODES * 10);
      const passages = await server.call('POST', '/indexes/movies/passages', {
        body: { q: 'title 11', maxTokens: 5 },
      });
      assert.deepEqual(
        passages.json.passages.map(({ id }: any) => id),
        [11],
      );
      const stats = (await server.call('GET', '/stats')).json;
      assert.equal(stats.indexes.movies.numberOfDocuments, NODES * 10);
    }
  });

  it('keeps a small task in three small entries of etcd', async () => {
    const [server] = servers as [BuiltServer];
    const { applied } = await cluster(server);
    for (let n = 0; n < TASKS; n++) {
      const { uid } = await write(server, 'POST', '/indexes/movies/documents', documents(n, 1));
      await server.ended(uid);
    }
    const client = new OutboundClient({ denyPrivate: false, allow: [] });
    const log = new EtcdLog(
      CLUSTER,
      { endpoints: [stage.etcd.url] },
      client,
      new ClusterSecret(server.masterKey),
    );
    const entries = await log.read(applied + 1, 100);
    const sizes = entries.map(({ body }) => body.length);
    const records = await Promise.all(entries.map((one) => recordOf(one, async () => one.body)));
    await client.close();
    // A task is registered, indexed and ended. Merges are commits of the index too. The end cannot
    // be part of the index's commit: a record is one transaction of one database.
    const ofStore = records.filter(({ database }) => database === STORE);
    assert.ok(ofStore.length <= 2 * TASKS && sizes.length >= 2 * TASKS, `${sizes}`);
    assert.ok(Math.max(...sizes) < ENTRY_BYTES_MAX, `${sizes}`);
  });

  it('lets a read wait for the end of a task', async () => {
    const [a, b] = servers as [BuiltServer, BuiltServer];
    const { uid } = await write(a, 'POST', '/indexes/waiting/documents', documents(0, 3));
    const path = '/indexes/waiting/stats';
    const read = await send(b, 'GET', path, undefined, { 'gannet-wait-for': `task:${uid}` });
    assert.equal(((await read.json()) as any).numberOfDocuments, 3);
    const refused = await send(b, 'GET', path, undefined, { 'gannet-wait-for': `batch:${uid}` });
    assert.equal(refused.status, 400);
    // It ends when the client goes away; else with 503 after ten seconds.
    await assert.rejects(
      fetch(b.url + path, {
        headers: { authorization: `Bearer ${b.masterKey}`, 'gannet-wait-for': `task:${uid + 999}` },
        signal: AbortSignal.timeout(300),
      }),
      { name: 'TimeoutError' },
    );
    await write(a, 'DELETE', '/indexes/waiting');
    await level();
  });

  it('takes large payloads, settings, keys, swaps and deletions', async () => {
    const [a, b, c] = servers as [BuiltServer, BuiltServer, BuiltServer];
    const large = await write(b, 'POST', '/indexes/books/documents', documents(0, 2000, 200));
    assert.equal((await b.ended(large.uid)).status, 'succeeded');
    const settings = { filterableAttributes: ['color'], sortableAttributes: ['id'] };
    await a.ended((await write(c, 'PATCH', '/indexes/books/settings', settings)).uid);
    await write(a, 'POST', '/swap-indexes', [{ indexes: ['books', 'movies'] }]);
    await c.ended((await write(c, 'DELETE', '/indexes/books')).uid);
    const made = await c.call('POST', '/keys', {
      body: { actions: ['search'], indexes: ['movies'], expiresAt: null, name: 'shop' },
    });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    await level();
    for (const server of servers) {
      const found = await fetch(`${server.url}/indexes/movies/search`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${made.json.key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ filter: 'color = red', sort: ['id:desc'], limit: 1 }),
      });
      const json: any = await found.json();
      assert.equal(json.estimatedTotalHits, 1000, JSON.stringify(json));
      assert.equal(json.hits[0].id, 1998);
      assert.equal((await server.call('GET', '/indexes/books')).status, 404);
      assert.deepEqual(
        (await server.call('GET', '/tasks?limit=100')).json,
        (await a.call('GET', '/tasks?limit=100')).json,
      );
    }
  });

  it('makes branches on each node, and repeats writes in those that follow', async () => {
    const server = servers[1]!;
    const send = async (...[path, body]: [string, object]): Promise<void> => {
      const { uid } = await write(server, 'POST', path, body);
      const task = await server.ended(uid);
      assert.equal(task.status, 'succeeded', JSON.stringify(task));
    };
    await send('/indexes/shop/documents', documents(0, 30));
    await send('/indexes/shop/branch', { uid: 'draft', follow: true });
    await send('/indexes/shop/documents', documents(100, 3));
    await server.idle();
    await level();
    for (const one of servers) {
      for (const uid of ['shop', 'draft']) {
        const { json } = await one.call('POST', `/indexes/${uid}/search`, { body: { q: 'title' } });
        assert.equal(json.estimatedTotalHits, 33, uid);
      }
      const listed = (await one.call('GET', '/indexes/shop/branches')).json;
      assert.deepEqual([listed.total, listed.results[0].origin], [1, 'shop']);
    }
  });

  it('loses nothing when the leader is killed, and goes on', async () => {
    const dead = await leader();
    const others = servers.filter((server) => server !== dead);
    const acknowledged: number[] = [];
    let next = 0;
    let killed = 0;
    let again = 0;
    for (let n = 0; n < 30; n++) {
      if (n === 10) {
        await dead.kill();
        killed = performance.now();
      }
      const server = n < 10 ? servers[n % NODES]! : others[n % 2]!;
      const { uid } = await write(server, 'POST', '/indexes/orders/documents', documents(next, 5));
      if (n === 10) again = performance.now() - killed;
      next += 5;
      acknowledged.push(uid);
    }
    console.log(`      writes were accepted again after ${Math.round(again)} ms`);
    for (const uid of acknowledged) assert.equal((await others[0]!.ended(uid)).status, 'succeeded');
    await dead.restart();
    await level();
    for (const server of servers) {
      const stats = (await server.call('GET', '/indexes/orders/stats')).json;
      assert.equal(stats.numberOfDocuments, next);
      for (const uid of acknowledged) {
        assert.equal((await server.call('GET', `/tasks/${uid}`)).json.status, 'succeeded');
      }
    }
  });

  it('brings in a new node by a checkpoint', async () => {
    const before = readdirSync(join(stage.store, 'checkpoints')).length;
    for (let n = 0; readdirSync(join(stage.store, 'checkpoints')).length <= before; n++) {
      await write(servers[n % NODES]!, 'POST', '/indexes/orders/documents', documents(n, 5, 300));
    }
    await servers[0]!.idle();
    const added = await startNode(NODES);
    servers.push(added);
    await level();
    const all = (await servers[0]!.call('GET', '/stats')).json;
    const { indexes } = (await added.call('GET', '/stats')).json;
    for (const uid of ['movies', 'orders']) {
      assert.equal(indexes[uid].numberOfDocuments, all.indexes[uid].numberOfDocuments);
    }
    assert.deepEqual(
      (await added.call('GET', '/tasks?limit=200')).json,
      (await servers[0]!.call('GET', '/tasks?limit=200')).json,
    );
    const search = { body: { filter: 'color = red', sort: ['id:desc'], limit: 3 } };
    assert.deepEqual(
      (await added.call('POST', '/indexes/movies/search', search)).json.hits,
      (await servers[0]!.call('POST', '/indexes/movies/search', search)).json.hits,
    );
  });

  it('refuses a second node of the same name', async () => {
    const second = await startNode(1);
    const { status, printed } = await second.exited();
    assert.equal(status, 1, printed);
    assert.match(printed, /Another process is the node node-1/);
    await second.close();
  });

  it('begins with the data of a server, which cannot be used alone any more', async () => {
    let options: 'alone' | 'join' = 'alone';
    const joined = mkdtempSync(join(tmpdir(), 'gannet-store-'));
    const shared = (url: string, node: string): string[] =>
      clusterOptions({ cluster: 'joined', etcd: [stage.etcd.url], store: joined, node, url });
    const first = await startBuiltServer((url) =>
      options === 'alone' ? [] : [...shared(url, 'first'), '--cluster-join'],
    );
    let second: BuiltServer | null = null;
    try {
      await first.finish('POST', '/indexes/movies/documents', { body: documents(0, 50) });
      await first.kill();
      options = 'join';
      await first.restart();
      second = await startBuiltServer((url) => shared(url, 'second'));
      const { uid } = await write(second, 'POST', '/indexes/movies/documents', documents(50, 5));
      assert.equal((await second.ended(uid)).status, 'succeeded');
      for (const server of [first, second]) {
        const { json } = await server.call('GET', '/indexes/movies/stats');
        assert.equal(json.numberOfDocuments, 55);
      }
      await first.kill();
      options = 'alone';
      await assert.rejects(first.restart(), /is that of a node of a cluster/);
    } finally {
      await second?.close();
      await first.close();
      rmSync(joined, { recursive: true, force: true });
    }
  });

  it('makes a snapshot that a single server takes over, and folders that are valid', async () => {
    const { uid } = await write(servers[1]!, 'POST', '/snapshots');
    assert.equal((await servers[1]!.ended(uid)).status, 'succeeded');
    const [name] = readdirSync(snapshots);
    const single = await startBuiltServer(['--import-snapshot', join(snapshots, name!)]);
    try {
      for (const index of ['movies', 'orders']) {
        const path = `/indexes/${index}/documents?limit=5000`;
        const { json } = await servers[0]!.call('GET', path);
        assert.ok(json.total > 0);
        assert.deepEqual((await single.call('GET', path)).json, json);
      }
      const added = { body: documents(1_000_000, 1) };
      const task = await single.finish('POST', '/indexes/orders/documents', added);
      assert.equal(task.status, 'succeeded');
      const verified = await single.verify();
      assert.ok(verified.valid, verified.text);
    } finally {
      await single.close();
    }
    const verified = await servers[2]!.verify();
    assert.ok(verified.valid, verified.text);
  });
});
