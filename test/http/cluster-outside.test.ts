/**
 * What a cluster needs besides its nodes, as in production: etcd with client certificates and a
 * user who may use the keys of the cluster alone, and an S3 service over TLS.
 */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createServer, type Server } from 'node:tls';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { Etcd, HAS_ETCD } from '../support/etcd.ts';
import { policyOfGuide, S3Server } from '../support/s3-server.ts';
import { VERSITY_GATEWAY, VersityGateway } from '../support/versity-gateway.ts';

const PROGRAM = 'dist/main.cjs';
const PASSWORD = 'a-password-of-etcd';

describe('A cluster over etcd with client certificates, and TLS between its nodes', function () {
  let dir: string;
  let etcd: Etcd;
  let gateway: VersityGateway | null = null;
  /** The store without a gateway, and its address. */
  let s3: S3Server | null = null;
  let storeUrl: string;
  let log: string[];
  /** Speak TLS before the nodes, for other nodes. */
  const fronts: Server[] = [];
  let servers: BuiltServer[] = [];

  before(async function () {
    dir = mkdtempSync(join(tmpdir(), 'gannet-outside-'));
    const [certificate, key] = [join(dir, 'c.pem'), join(dir, 'k.pem')];
    const made = spawnSync('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/O=gannet'],
      ...['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
    ]);
    if (!HAS_ETCD || made.status !== 0) {
      console.log('    skipped: etcd (Debian package etcd-server) or openssl is not installed');
      this.skip();
    }
    etcd = await Etcd.startWithTls(certificate, key);
    const prefixes = ['gannet/shop/', 'gannet/none/'];
    etcd.demandPassword({ name: 'gannet', password: PASSWORD, prefixes });
    if (VERSITY_GATEWAY === null) s3 = await S3Server.start();
    else gateway = await VersityGateway.start();
    storeUrl = await front(() => Number(new URL((s3 ?? gateway!).url).port));
    log = [
      ...['--cluster-etcd', etcd.url, '--cluster-name', 'shop', '--cluster-etcd-ca', certificate],
      ...['--cluster-etcd-cert', certificate, '--cluster-etcd-key', key],
    ];
    servers = await Promise.all([0, 1].map((n) => startNode(n)));
  });

  after(async () => {
    for (const server of servers) await server.close();
    await etcd?.stop();
    await gateway?.stop();
    await s3?.stop();
    for (const front of fronts) front.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const storeOptions = (): string[] => [
    ...['--cluster-store', `s3://${gateway?.bucket ?? 'bucket'}/shop`],
    ...['--cluster-store-endpoint', storeUrl, '--cluster-ca', join(dir, 'c.pem')],
  ];
  const credentials = (): Record<string, string> => ({
    GANNET_CLUSTER_ETCD_USER: `gannet:${PASSWORD}`,
    GANNET_CLUSTER_STORE_ACCESS_KEY: gateway?.accessKeyId ?? 'access',
    GANNET_CLUSTER_STORE_SECRET_KEY: gateway?.secretAccessKey ?? 'secret',
  });
  /** Speaks TLS before a port. @returns its address */
  async function front(portOf: () => number): Promise<string> {
    const [cert, key] = ['c.pem', 'k.pem'].map((name) => readFileSync(join(dir, name)));
    const made = createServer({ cert, key }, (socket) => {
      const behind = connect(portOf(), '127.0.0.1');
      socket.pipe(behind).pipe(socket);
      socket.on('error', () => behind.destroy());
      behind.on('error', () => socket.destroy());
    });
    fronts.push(made);
    await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
    return `https://127.0.0.1:${(made.address() as AddressInfo).port}`;
  }
  async function startNode(
    n: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<BuiltServer> {
    let port = 0;
    const nodeUrl = await front(() => port);
    return startBuiltServer(
      (url) => {
        port = Number(new URL(url).port);
        const node = ['--node-name', `node-${n}`, '--node-url', nodeUrl];
        return [...log, ...storeOptions(), ...node];
      },
      { ...credentials(), GANNET_CHECKPOINT_BYTES: '6000', ...env },
    );
  }
  interface Outcome {
    readonly status: number;
    readonly text: string;
  }
  /** Runs a command, while this process serves what the nodes send each other. */
  const run = (...argv: string[]): Promise<Outcome> => {
    const env = {
      ...process.env,
      ...credentials(),
      GANNET_MASTER_KEY: servers[0]!.masterKey,
    };
    return new Promise((resolve) => {
      execFile(process.execPath, [PROGRAM, ...argv], { env }, (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : Number(error.code), text: stdout + stderr });
      });
    });
  };

  async function write(server: BuiltServer, path: string, body: unknown): Promise<any> {
    for (;;) {
      const { status, json } = await server.call('POST', path, { body });
      if (status === 202) return server.ended(json.taskUid);
      assert.equal(status, 503, JSON.stringify(json));
      await delay(50);
    }
  }

  const documents = (from: number): object[] =>
    Array.from({ length: 1000 }, (_, n) => ({ id: from + n, title: `title ${'x'.repeat(100)}` }));

  async function expectDocuments(server: BuiltServer, count: number): Promise<void> {
    for (;;) {
      const { json } = await server.call('GET', '/indexes/books/stats');
      if (json.numberOfDocuments === count) return;
      await delay(20);
    }
  }

  it('replicates, brings in a node, and restores', async () => {
    const [a, b] = servers as [BuiltServer, BuiltServer];
    for (let n = 0; n < 4; n++) {
      const task = await write(servers[n % 2]!, '/indexes/books/documents', documents(n * 1000));
      assert.equal(task.status, 'succeeded', JSON.stringify(task));
    }
    for (const server of [a, b]) await expectDocuments(server, 4000);
    const added = await startNode(2);
    servers.push(added);
    await expectDocuments(added, 4000);
    const restored = join(dir, 'restored');
    const { status, text } = await run('restore', '--db-path', restored, ...storeOptions(), ...log);
    assert.equal(status, 0, text);
    const verified = await run('verify', '--db-path', restored);
    assert.equal(verified.status, 0, verified.text);
    assert.match(verified.text, /4000 documents/);
  });

  const onStore = (action: string): Promise<Outcome> =>
    run('cluster', action, ...storeOptions(), ...log);

  it('is shown and checked by commands', async () => {
    const shown = await run('cluster', 'status', ...log);
    assert.match(shown.text, /^leader: node-\d, commits: \d+\n/);
    for (const n of [0, 1, 2]) {
      assert.match(shown.text, new RegExp(`^node-${n}  http\\S+  at \\d+, .* fit to lead$`, 'm'));
    }
    assert.equal(shown.status, 0, shown.text);
    const { text } = await onStore('check');
    for (const found of [
      ...[/a read takes [\d.]+ ms/, /version \d\S+, \d+ MB of data/, /no alarm/],
      ...[/: \d+ MB of memory/, /its clock is -?[01] s ahead/, /conditional writes, .* work/],
    ]) {
      assert.match(text, found);
    }
    // A busy machine is slow, which the command reports.
    const mends = text.match(/(?<=Mend: ).*/g)?.filter((mend) => !mend.includes('faster disk'));
    assert.deepEqual(mends ?? [], [], text);
    const none = await run('cluster', 'status', ...log.with(3, 'none'));
    assert.deepEqual([none.status, none.text], [1, 'etcd has no cluster of this name.\n']);
    assert.equal((await run('cluster', 'dance', ...log)).status, 2);
    assert.equal((await run('cluster', 'status', ...log, 'node-1')).status, 2);
  });

  it('has its objects verified, and damaged ones mended', async function () {
    const whole = await onStore('verify-store');
    assert.deepEqual([whole.status, /^\d+ objects were read\.\n$/.test(whole.text)], [0, true]);
    // The objects of a bucket are damaged by other tests.
    if (s3 === null) return;
    for (const [key, bytes] of s3.objects) {
      if (key.startsWith('shop/files/')) s3.objects.set(key, bytes.subarray(0, 40));
    }
    const { status, text } = await onStore('verify-store');
    assert.equal(status, 1, text);
    assert.match(text, /^The object files\/\S+ is damaged or missing/m);
    // What only earlier checkpoints name stays damaged until they are removed.
    while ((await run('cluster', 'status', ...log)).text.includes('is damaged')) await delay(200);
    await expectDocuments(servers[2]!, 4000);
  });

  const statusOf = async (server: BuiltServer): Promise<string> =>
    (await server.call('GET', '/health')).json.status;
  const leader = async (): Promise<string> =>
    /^leader: (\S+),/.exec((await run('cluster', 'status', ...log)).text)![1]!;

  it('lets the node lead that an operator names', async () => {
    const next = (await leader()) === 'node-1' ? 'node-0' : 'node-1';
    const transferred = await run('cluster', 'transfer-leader', ...log, next);
    assert.deepEqual([transferred.status, transferred.text], [0, `The node ${next} leads.\n`]);
    assert.equal(await leader(), next);
    assert.equal((await run('cluster', 'transfer-leader', ...log, next)).status, 0);
    const unknown = await run('cluster', 'transfer-leader', ...log, 'node-9');
    assert.equal(unknown.status, 1);
    assert.match(unknown.text, /no node node-9\. It has: node-0, node-1, node-2\./);
    const away = log.with(1, 'https://127.0.0.1:1');
    const unreachable = await run('cluster', 'transfer-leader', ...away, next);
    assert.equal(unreachable.status, 1, unreachable.text);
    assert.equal((await run('cluster', 'transfer-leader', ...log, next, '--undo')).status, 2);
  });

  it('drains a node that leads: no request fails, and balancers leave it', async () => {
    const name = await leader();
    const server = servers[Number(name.at(-1))]!;
    const { status, text } = await run('cluster', 'drain', ...log, name);
    assert.equal(status, 0, text);
    assert.notEqual(await leader(), name);
    while ((await statusOf(server)) !== 'drained') await delay(20);
    const { json } = await server.call('GET', '/indexes/books/stats');
    assert.equal(json.numberOfDocuments, 4000);
    assert.equal((await write(server, '/indexes/books/documents', [])).status, 'succeeded');
    assert.match(
      (await run('cluster', 'status', ...log)).text,
      new RegExp(`^${name} .*, drained$`, 'm'),
    );
    const refused = await run('cluster', 'transfer-leader', ...log, name);
    assert.match(refused.text, /is drained: take it back/);
    const undone = await run('cluster', 'drain', ...log, '--undo', name);
    assert.deepEqual([undone.status, undone.text], [0, `The node ${name} is in service.\n`]);
    while ((await statusOf(server)) !== 'available') await delay(20);
  });

  it('takes a drained node back when it starts again, and keeps the last node in service', async () => {
    const names = ['node-0', 'node-1'];
    for (const name of names) assert.equal((await run('cluster', 'drain', ...log, name)).status, 0);
    const last = await run('cluster', 'drain', ...log, 'node-2');
    assert.deepEqual(
      [last.status, last.text],
      [1, 'The node node-2 stays in service: no other one is.\n'],
    );
    await servers[0]!.kill();
    for (;;) {
      const dead = await run('cluster', 'drain', ...log, 'node-0');
      if (dead.text === 'The node node-0 does not run.\n') break;
      await delay(100);
    }
    await servers[0]!.restart();
    assert.equal(await statusOf(servers[0]!), 'available');
    await run('cluster', 'drain', ...log, '--undo', 'node-1');
  });

  it('forgets a node that is removed, but none that runs', async () => {
    const removed = servers.pop()!;
    const running = await run('cluster', 'remove-node', ...log, 'node-2');
    assert.deepEqual(
      [running.status, running.text],
      [1, 'The node node-2 is running: stop it first.\n'],
    );
    await removed.close();
    const { status, text } = await run('cluster', 'remove-node', ...log, 'node-2');
    assert.deepEqual([status, text], [0, 'The cluster has forgotten the node node-2.\n']);
    assert.match(
      (await run('cluster', 'remove-node', ...log, 'node-2')).text,
      /It has: node-0, node-1\./,
    );
  });

  it('uses no permission of the bucket but those that the guide shows', () => {
    if (s3 === null) return;
    for (const action of s3.actions()) assert.ok(policyOfGuide().includes(action), action);
  });

  it('is refused by etcd without the password, at once and with the reason', async () => {
    const started = startNode(3, { GANNET_CLUSTER_ETCD_USER: 'gannet:another-password' });
    await assert.rejects(started, ({ message }: Error) => {
      assert.match(message, /etcd does not accept the name and password/);
      assert.doesNotMatch(message, /another-password/);
      return true;
    });
    const elsewhere = await run('cluster', 'status', ...log.with(3, 'another'));
    assert.equal(elsewhere.status, 1);
    assert.match(
      elsewhere.text,
      /user of etcd may not read and write the keys that begin with `gannet\/`/,
    );
  });

  it('is refused by etcd with a certificate that names a user besides the password', async () => {
    const [request, named, key] = ['r.pem', 'named.pem', 'named-key.pem'].map((name) =>
      join(dir, name),
    );
    const [authority, authorityKey] = [join(dir, 'c.pem'), join(dir, 'k.pem')];
    const asked = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=gannet', '-keyout', key!];
    const signed = ['-req', '-in', request!, '-CA', authority, '-CAkey', authorityKey];
    for (const args of [
      ['req', '-new', ...asked, '-out', request!],
      ['x509', ...signed, '-CAcreateserial', '-days', '2', '-out', named!],
    ]) {
      assert.equal(spawnSync('openssl', args).status, 0, args.join(' '));
    }
    const { status, text } = await run('cluster', 'status', ...log.with(7, named!).with(9, key!));
    assert.equal(status, 1, text);
    assert.match(text, /no client certificate that has a CommonName/);
  });

  it('is refused without the certificate, and the secrets are in no message', async () => {
    const { status, text } = await run('cluster', 'remove-node', ...log.slice(0, 6), 'node-1');
    assert.equal(status, 1, text);
    assert.doesNotMatch(text, new RegExp(`PRIVATE KEY|a-secret-of-the-store|${PASSWORD}`));
    const half = await run('cluster', 'remove-node', ...log.slice(0, 8), 'node-1');
    assert.match(half.text, /must be given together/);
  });
});
