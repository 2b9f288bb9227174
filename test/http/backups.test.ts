/** Dumps and snapshots that are made by themselves, listed, downloaded, and kept in a bucket. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBuiltServer, type BuiltServer } from '../support/built-server.ts';
import { runProgram } from '../support/run-program.ts';
import { S3Server } from '../support/s3-server.ts';

describe('Backups', () => {
  let folder: string;
  const servers: BuiltServer[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gannet-backups-'));
  });
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(...options: string[]): Promise<BuiltServer> {
    const server = await startBuiltServer([
      ...['--dump-dir', join(folder, 'dumps'), '--snapshot-dir', join(folder, 'snapshots')],
      ...options,
    ]);
    servers.push(server);
    return server;
  }
  const dump = async (server: BuiltServer): Promise<string> =>
    (await server.finish('POST', '/dumps')).details.dumpUid;
  const listed = async (server: BuiltServer, query = ''): Promise<any> =>
    (await server.call('GET', `/dumps${query}`)).json;
  function download(server: BuiltServer, uid: string, headers = {}): Promise<Response> {
    return fetch(`${server.url}/dumps/${uid}`, {
      headers: { authorization: `Bearer ${server.masterKey}`, ...headers },
    });
  }

  it('are listed, newest first, and downloaded as they are', async () => {
    const server = await start();
    assert.deepEqual(await listed(server), { results: [], offset: 0, limit: 20, total: 0 });
    await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1, title: 'Dune' }] });
    const first = await dump(server);
    const second = await dump(server);
    writeFileSync(join(folder, 'dumps', 'else.dump'), 'x');
    const { results, total } = await listed(server);
    assert.deepEqual([results.map(({ uid }: any) => uid), total], [[second, first], 2]);
    const bytes = readFileSync(join(folder, 'dumps', `${first}.dump`));
    assert.equal(results[1].size, bytes.length);
    assert.equal(new Date(results[1].createdAt).toISOString(), results[1].createdAt);
    assert.deepEqual((await listed(server, '?offset=1&limit=1')).results, [results[1]]);

    for (const encoding of ['identity', 'gzip, br']) {
      const response = await download(server, first, { 'accept-encoding': encoding });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'application/gzip');
      assert.equal(response.headers.get('content-encoding'), null);
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
    }
    for (const uid of ['20200101-000000000', 'else', '..%2Felse', first.slice(1)]) {
      const response = await download(server, uid);
      const { code } = (await response.json()) as { code: string };
      assert.deepEqual([response.status, code], [404, 'dump_not_found'], uid);
    }
    assert.equal((await listed(server, '?limit=x')).code, 'invalid_dump_limit');
  });

  it('are for keys that name the action: a dump has everything in it', async () => {
    const server = await start();
    const uid = await dump(server);
    for (const [actions, status] of [
      [['dumps.get'], 200],
      [['dumps.*'], 200],
      [['dumps.create', '*.get'], 403],
    ] as const) {
      const body = { actions, indexes: ['*'], expiresAt: null };
      const { key } = (await server.call('POST', '/keys', { body })).json;
      for (const path of ['', `/${uid}`]) {
        const response = await fetch(`${server.url}/dumps${path}`, {
          headers: { authorization: `Bearer ${key}` },
        });
        await response.arrayBuffer();
        assert.equal(response.status, status, `${actions} ${path}`);
      }
    }
  });

  it('are kept as many as wanted', async () => {
    const server = await start('--keep-dumps', '2', '--keep-snapshots', '3');
    const uids: string[] = [];
    for (let n = 0; n < 4; n++) uids.push(await dump(server));
    assert.deepEqual(
      (await listed(server)).results.map(({ uid }: any) => uid),
      [uids[3], uids[2]],
    );
    const newest: Buffer[] = [];
    for (let n = 0; n < 5; n++) {
      await server.finish('POST', '/indexes/books/documents', { body: [{ id: n }] });
      await server.finish('POST', '/snapshots');
      newest.push(readFileSync(join(folder, 'snapshots', 'data.snapshot')));
    }
    const names = readdirSync(join(folder, 'snapshots')).sort();
    assert.equal(names.length, 3, names.join());
    assert.equal(names[2], 'data.snapshot');
    for (const name of names.slice(0, 2)) assert.match(name, /^data-\d{8}-\d{9}\.snapshot$/);
    assert.deepEqual(
      names.map((name) =>
        newest.findIndex((one) => one.equals(readFileSync(join(folder, 'snapshots', name)))),
      ),
      [2, 3, 4],
    );
  });

  it('make themselves on schedule', async () => {
    const server = await start('--schedule-dump', '1', '--keep-dumps', '1');
    const made = async (): Promise<number> =>
      (await server.call('GET', '/tasks?types=dumpCreation&statuses=succeeded')).json.total;
    while ((await made()) < 2) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal((await listed(server)).total, 1);
  });

  describe('in a bucket', () => {
    let s3: S3Server;
    before(async () => {
      s3 = await S3Server.start();
    });
    after(() => s3.stop());
    const keys = (): string[] => [
      ...['--s3-bucket-url', s3.url, '--s3-access-key', 'a', '--s3-secret-key', 's'],
    ];

    it('are written, listed, downloaded, kept and imported', async () => {
      const folders = ['--dump-dir', 's3://shop/all/dumps', '--snapshot-dir', 's3://shop/all'];
      const server = await start(
        ...folders,
        ...keys(),
        '--keep-dumps',
        '2',
        '--keep-snapshots',
        '2',
      );
      await server.finish('POST', '/indexes/books/documents', { body: [{ id: 1, title: 'Dune' }] });
      const uids: string[] = [];
      for (let n = 0; n < 3; n++) uids.push(await dump(server));
      const names = (): string[] => [...s3.objects.keys()].sort();
      assert.deepEqual(names(), [`all/dumps/${uids[1]}.dump`, `all/dumps/${uids[2]}.dump`]);
      const { results } = await listed(server);
      assert.deepEqual(
        results.map(({ uid }: any) => uid),
        [uids[2], uids[1]],
      );
      const bytes = s3.objects.get(`all/dumps/${uids[2]}.dump`)!;
      assert.equal(results[0].size, bytes.length);
      const response = await download(server, uids[2]!);
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
      assert.equal((await download(server, uids[0]!)).status, 404);

      for (let n = 0; n < 3; n++) {
        assert.equal((await server.finish('POST', '/snapshots')).status, 'succeeded');
      }
      const snapshots = names().filter((name) => name.endsWith('.snapshot'));
      assert.deepEqual(
        snapshots.map((name) => name.replace(/\d{8}-\d{9}/, 'DATE')),
        ['all/data-DATE.snapshot', 'all/data.snapshot'],
      );
      assert.equal(existsSync(join(folder, 'dumps')), false);
      assert.equal(existsSync(join(folder, 'snapshots')), false);

      for (const from of [
        ['--import-dump', `s3://shop/all/dumps/${uids[2]}.dump`],
        ['--import-snapshot', 's3://shop/all/data.snapshot'],
      ]) {
        const copy = await start(...from, ...keys());
        await copy.idle();
        assert.equal((await copy.call('GET', '/indexes/books/documents/1')).json.title, 'Dune');
      }
    });

    it('leave no parts in the bucket when the server is killed and starts again', async () => {
      const server = await start('--dump-dir', 's3://shop/killed', ...keys());
      const body = Array.from({ length: 24 }, (_, id) => ({
        id,
        text: randomBytes(2 ** 20).toString('base64'),
      }));
      await server.finish('POST', '/indexes', { body: { uid: 'large', primaryKey: 'id' } });
      const settings = { searchableAttributes: ['id'] };
      await server.finish('PATCH', '/indexes/large/settings', { body: settings });
      await server.finish('POST', '/indexes/large/documents', { body });
      s3.faults.hangsAfterParts = true;
      await server.call('POST', '/dumps');
      while (s3.uploads.size === 0 || [...s3.uploads.values()][0]!.size === 0) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      s3.uploads.set('of another server', new Map());
      await server.kill();
      s3.faults.hangsAfterParts = false;
      const [left] = s3.uploads.keys();
      await server.restart();
      while (s3.uploads.has(left!)) await new Promise((resolve) => setTimeout(resolve, 20));
      await server.idle();
      assert.deepEqual([...s3.uploads.keys()], ['of another server']);
      assert.equal((await listed(server)).total, 1);
    });

    it('have any characters in their prefix', async () => {
      const server = await start('--dump-dir', 's3://shop/backup+daily & (100%)', ...keys());
      const uid = await dump(server);
      const { results } = await listed(server);
      assert.deepEqual(
        results.map((one: any) => one.uid),
        [uid],
      );
      const bytes = s3.objects.get(`backup+daily & (100%)/${uid}.dump`)!;
      const response = await download(server, uid);
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), bytes);
    });

    it('fail their task when they cannot be sent, and leave nothing here', async () => {
      const server = await start('--dump-dir', 's3://shop/none', ...keys());
      s3.faults.fails = 1000;
      const task = await server.finish('POST', '/dumps');
      s3.faults.fails = 0;
      assert.deepEqual([task.status, task.error.code], ['failed', 's_3_snapshot_server_error']);
      assert.deepEqual((await listed(server)).results, []);
      assert.equal((await server.finish('POST', '/dumps')).status, 'succeeded');
    });

    it('need a service, and an archive that is there', async () => {
      const db = ['--db-path', join(folder, 'db'), '--no-analytics'];
      const without = await runProgram([...db, '--dump-dir', 's3://shop/x']);
      assert.notEqual(without.status, 0);
      assert.match(without.complaints + without.output, /dump-dir needs s3-bucket-url/);
      for (const location of ['s3://../x', 's3://shop/a/../x', 's3://shop/./x', 's3://shop/..']) {
        const outside = await runProgram([...db, '--dump-dir', location, ...keys()]);
        assert.notEqual(outside.status, 0, location);
        assert.match(outside.complaints + outside.output, /a path, or `s3:/, location);
      }
      const missing = await runProgram([...db, '--import-dump', 's3://shop/x.dump', ...keys()]);
      assert.notEqual(missing.status, 0);
      assert.match(missing.complaints + missing.output, /There is no dump s3:\/\/shop\/x\.dump/);
      assert.equal(existsSync(join(folder, 'db')), false);
    });
  });
});
