import assert from 'node:assert/strict';
import { ADDED_FILTERS, ADDED_SETTINGS, assertAddedSettings } from '../support/added-settings.ts';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ArchiveWriter } from '../../src/archive/archive-writer.ts';
import { readArchive } from '../../src/archive/read-archive.ts';
import { freePort } from '../support/free-port.ts';
import { ServerFolder } from './support/server-folder.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess, verify } from './kill/support/server-process.ts';

describe('snapshots', function () {
  this.timeout(180_000);

  let dir: string;
  let folder: ServerFolder;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(() => {
    folder = new ServerFolder('gannet-snapshots-');
    ({ dir } = folder);
  });
  afterEach(async () => {
    await folder.remove();
  });

  const file = (): string => join(dir, 'snapshots', 'first.snapshot');

  const start = (db: string, ...args: string[]): Promise<ServerProcess> =>
    folder.start(db, ['--snapshot-dir', join(dir, 'snapshots'), ...args], 'MASTER_KEY_OF_TESTS');

  async function snapshot(server: ServerProcess): Promise<void> {
    const response = await server.client.call('POST', '/snapshots');
    assert.equal(response.status, 202);
    await settle(server.client);
    const task = await server.client.get<any>(`/tasks/${response.json<any>().taskUid}`);
    assert.equal(task.status, 'succeeded', JSON.stringify(task));
    assert.equal(task.details, null);
  }

  const books = (count: number): object[] =>
    Array.from({ length: count }, (_, id) => ({ id, title: `title ${id * 7}`, year: id % 100 }));

  it('hold everything, and what they hold is valid', async () => {
    const first = await start('first');
    const { client } = first;
    await client.call('PATCH', '/indexes/books/settings', {
      body: {
        ...ADDED_SETTINGS,
        sortableAttributes: ['year'],
        filterableAttributes: ADDED_FILTERS,
      },
    });
    await client.call('POST', '/indexes/books/documents', { body: books(3000) });
    await client.call('POST', '/indexes/books/documents/delete-batch', { body: [1, 2, 3] });
    await client.call('POST', '/indexes', { body: { uid: 'empty' } });
    await client.call('POST', '/keys', {
      body: { actions: ['search'], indexes: ['*'], expiresAt: null },
    });
    await client.call('PUT', '/aliases/library', { body: { indexUid: 'books' } });
    await settle(client);
    await snapshot(first);
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.equal(existsSync(join(dir, 'first', 'snapshot')), false);
    // Later changes are not in it.
    await client.call('DELETE', '/indexes/empty');
    await settle(client);

    const second = await start('second', '--import-snapshot', file());
    const { total } = await second.client.get<any>('/tasks');
    // Neither the deletion nor the task of the snapshot itself.
    assert.equal(total, (await first.client.get<any>('/tasks')).total - 2);
    assert.equal((await second.client.get<any>('/tasks?types=snapshotCreation')).total, 0);
    assert.equal((await second.client.get<any>('/tasks?statuses=enqueued,processing')).total, 0);
    assert.deepEqual(await second.client.get<any>('/keys'), await first.client.get<any>('/keys'));
    assert.equal((await second.client.get<any>('/stats')).indexes.books.numberOfDocuments, 2997);
    assert.equal((await second.client.get<any>('/stats')).indexes.empty.numberOfDocuments, 0);
    assert.equal((await second.client.get<any>('/aliases/library')).indexUid, 'books');
    assertAddedSettings(await second.client.get<any>('/indexes/books/settings'));
    const search = { body: { q: 'itl', matchingStrategy: 'last', sort: ['year:desc'], limit: 50 } };
    const hits = async (server: ServerProcess): Promise<unknown> =>
      (await server.client.call('POST', '/indexes/books/search', search)).json<any>().hits;
    const found = await hits(second);
    assert.equal((found as unknown[]).length, 50);
    assert.deepEqual(found, await hits(first));
    await second.stop();
    const { status, text } = await verify('--db-path', join(dir, 'second'));
    assert.equal(status, 0, text);
    assert.ok(!/unused|unrecorded/.test(text), text);
  });

  it('replace the one before, and hold waiting tasks with their payloads', async () => {
    const first = await start('first');
    await snapshot(first);
    const before = readFileSync(file());
    await first.stop();
    const idle = await start('first', '--experimental-max-number-of-batched-tasks', '0');
    // A payload in a file, and one in the store; registered before and after the snapshot.
    await idle.client.call('POST', '/indexes/large/documents', { body: books(4000) });
    await idle.client.call('POST', '/snapshots');
    await idle.client.call('POST', '/indexes/small/documents', { body: books(3) });
    await idle.client.call('POST', '/snapshots');
    await idle.stop();
    const again = await start('first');
    await settle(again.client);
    assert.notDeepEqual(readFileSync(file()), before);
    const second = await start('second', '--import-snapshot', file());
    await settle(second.client);
    const { indexes } = await second.client.get<any>('/stats');
    assert.equal(indexes.large.numberOfDocuments, 4000);
    assert.equal(indexes.small.numberOfDocuments, 3);
    const { results } = await second.client.get<any>('/tasks?types=snapshotCreation');
    // The task of the first snapshot; the two that made this one are not in it.
    assert.deepEqual(
      results.map(({ uid, status }: any) => [uid, status]),
      [[0, 'succeeded']],
    );
    const { taskUid } = (await second.client.call('POST', '/snapshots')).json<any>();
    assert.equal(taskUid, 4);
    await settle(second.client);
    await second.stop();
    assert.equal((await verify('--db-path', join(dir, 'second'))).status, 0);
  });

  it('are made while documents come in, every one of them valid', async () => {
    const first = await start('first');
    let stop = false;
    const writer = (async () => {
      for (let n = 0; !stop; n++) {
        const body = books(500).map((book, id) => ({ ...book, id: id + n * 100 }));
        await first.client.call('PUT', `/indexes/books-${n % 3}/documents`, { body });
      }
    })();
    for (let n = 0; n < 2; n++) {
      const { taskUid } = (await first.client.call('POST', '/snapshots')).json<any>();
      for (;;) {
        const { status } = await first.client.get<any>(`/tasks/${taskUid}`);
        if (status === 'succeeded') break;
        assert.notEqual(status, 'failed');
      }
      const imported = await start(`copy-${n}`, '--import-snapshot', file());
      await settle(imported.client);
      await imported.stop();
      const { status, text } = await verify('--db-path', join(dir, `copy-${n}`));
      assert.equal(status, 0, text);
    }
    stop = true;
    await writer;
  });

  it('are refused when cut off, damaged, foreign or of another version', async () => {
    const first = await start('first');
    await first.client.call('POST', '/indexes/books/documents', { body: books(500) });
    await settle(first.client);
    await snapshot(first);
    const bytes = readFileSync(file());
    const broken = join(dir, 'broken.snapshot');
    const refused = async (expected: RegExp): Promise<void> => {
      const { status, text } = await folder.failing('second', ['--import-snapshot', broken]);
      assert.equal(status, 1);
      assert.match(text, expected);
      assert.equal(existsSync(join(dir, 'second')), false);
    };
    for (const length of [0, bytes.length >> 1, bytes.length - 9]) {
      writeFileSync(broken, bytes.subarray(0, length));
      await refused(/damaged or cut off/);
    }
    const repacked = async (
      change: (path: string, bytes: Buffer) => string | Buffer | null | undefined,
    ): Promise<void> => {
      rmSync(broken);
      const archive = await ArchiveWriter.create(broken, { level: 1 });
      for await (const { path, body } of readArchive(file())) {
        const chunks: Buffer[] = [];
        for await (const chunk of body) chunks.push(chunk);
        const bytes = Buffer.concat(chunks);
        const content = change(path, bytes);
        if (content !== null) await archive.add(path, content ?? bytes);
      }
      await archive.finish();
    };
    await repacked((path) => (path === 'VERSION' ? '99.0.0\n' : undefined));
    await refused(/made by version 99\.0\.0/);
    await repacked((path) => (path.endsWith('index.mdb') ? null : undefined));
    await refused(/the index `books` is missing/);
    await repacked((path) => (path === 'store/data.mdb' ? null : undefined));
    await refused(/no store\/data\.mdb/);
    // Archives that unpack but cannot be valid.
    const garbage: [RegExp, (bytes: Buffer) => Buffer][] = [
      [/^store\/data\.mdb$/, () => Buffer.alloc(0)],
      [/^store\/data\.mdb$/, () => Buffer.from('garbage')],
      [/index\.mdb$/, (bytes) => Buffer.alloc(bytes.length, 'x')],
      [/segments\/\d+$/, (bytes) => bytes.fill(0x55, bytes.length >> 2, (bytes.length >> 2) + 64)],
    ];
    for (const [part, change] of garbage) {
      await repacked((path, bytes) => (part.test(path) ? change(bytes) : undefined));
      await refused(/is not a snapshot|damaged/);
    }
    // An empty store, with folders of indexes.
    const other = await start('other');
    await other.stop();
    const empty = readFileSync(join(dir, 'other', 'store', 'data.mdb'));
    await repacked((path) => (path === 'store/data.mdb' ? empty : undefined));
    await refused(/damaged: indexes\/|damaged: store\//);
    // The folder is unchanged, if it existed.
    mkdirSync(join(dir, 'second'));
    const { status } = await folder.failing('second', ['--import-snapshot', broken]);
    assert.equal(status, 1);
    assert.deepEqual(readdirSync(join(dir, 'second')), []);
    const fresh = await start('second');
    await fresh.stop();
    rmSync(join(dir, 'second'), { recursive: true });
    rmSync(broken);
    const foreign = await ArchiveWriter.create(broken, { level: 1 });
    await foreign.add('metadata.json', '{}');
    await foreign.finish();
    await refused(/is not a snapshot: it has an entry `metadata\.json`/);
    const kept = await folder.failing('first', ['--import-snapshot', file()]);
    assert.equal(kept.status, 1);
    assert.match(kept.text, /already has a database/);
    const missing = ['--import-snapshot', join(dir, 'none'), '--ignore-missing-snapshot'];
    await start('third', ...missing);
  });

  it('are whole or absent when the process is killed while they are made or imported', async () => {
    const first = await start('first');
    await first.client.call('POST', '/indexes/books/documents', { body: books(20_000) });
    await settle(first.client);
    await snapshot(first);
    await first.stop();
    for (let ms = 0; ms < 160; ms += 20) {
      const server = await start('first');
      await server.client.call('POST', '/snapshots');
      await new Promise((done) => setTimeout(done, ms));
      await server.kill();
      for await (const { body } of readArchive(file())) for await (const _ of body);
    }
    const again = await start('first');
    await settle(again.client);
    assert.equal(existsSync(join(dir, 'first', 'snapshot')), false);
    assert.deepEqual(readdirSync(join(dir, 'snapshots')), ['first.snapshot']);
    for (let ms = 100; !existsSync(join(dir, 'second', 'VERSION')); ms *= 1.15) {
      const importing = new ServerProcess({
        ...{ dir: join(dir, 'second'), port: await freePort() },
        args: ['--import-snapshot', file()],
      });
      await new Promise((done) => setTimeout(done, ms));
      await importing.kill();
    }
    const second = await start(
      ...(['second', '--import-snapshot', file(), '--ignore-snapshot-if-db-exists'] as const),
    );
    assert.equal((await second.client.get<any>('/stats')).indexes.books.numberOfDocuments, 20_000);
    await second.stop();
    assert.equal((await verify('--db-path', join(dir, 'second'))).status, 0);
  });

  it('are made at intervals', async () => {
    const first = await start('first', '--schedule-snapshot', '1');
    while (
      (await first.client.get<any>('/tasks?types=snapshotCreation&statuses=succeeded')).total < 2
    );
    assert.ok(existsSync(file()));
  });
});
