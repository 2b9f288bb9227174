import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, ServerProcess, verify } from './kill/support/server-process.ts';

const PORT = 7891;

/** Names and contents of everything in a folder. */
function digest(dir: string): Map<string, string> {
  return new Map(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      // A reader is entered in the lock file of the store.
      .filter((name) => statSync(join(dir, name)).isFile() && name !== 'store/lock.mdb')
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(dir, name)))
          .digest('hex'),
      ]),
  );
}

describe('gannet verify', function () {
  this.timeout(120_000);

  let dir: string;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-verify-'));
    const server = await ServerProcess.start({ dir, port: PORT });
    const { client } = server;
    await client.call('PATCH', '/indexes/books/settings', {
      body: { filterableAttributes: ['genre'], sortableAttributes: ['year'] },
    });
    for (let n = 0; n < 3; n++) {
      await client.call('POST', '/indexes/books/documents', {
        body: Array.from({ length: 200 }, (_, i) => ({
          id: n * 100 + i,
          title: `title ${n} word${i}`,
          genre: ['a', `g${i % 7}`],
          year: 1900 + i,
        })),
      });
      await settle(client);
    }
    await client.call('POST', '/indexes/empty/documents', { body: [] });
    await settle(client);
    const busy = await verify('--db-path', dir);
    assert.equal(busy.status, 2, busy.text);
    assert.match(busy.text, /in use by another process/);
    await server.stop();
  });

  after(() => {
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  const indexFolder = (): string =>
    readdirSync(join(dir, 'indexes'))
      .map((name) => join(dir, 'indexes', name))
      .find((path) => readdirSync(join(path, 'segments')).length > 0)!;

  /** Verifies while a file has other bytes, or is missing. */
  async function withFile(path: string, bytes: Buffer | null): ReturnType<typeof verify> {
    const whole = readFileSync(path);
    rmSync(path);
    if (bytes !== null) writeFileSync(path, bytes);
    try {
      return await verify('--db-path', dir);
    } finally {
      writeFileSync(path, whole);
    }
  }

  it('says that a folder which a server has left is valid, and changes nothing in it', async () => {
    const before = digest(dir);
    const { status, text } = await verify(`--db-path=${dir}`);
    assert.equal(status, 0, text);
    assert.match(text, /`books`\): 400 documents/);
    assert.match(text, /Everything is valid\.\n$/);
    assert.deepEqual(digest(dir), before);
  });

  it('ends with status 1 and names the section when a byte of a segment has changed', async () => {
    const segments = join(indexFolder(), 'segments');
    const path = join(segments, readdirSync(segments)[0]!);
    const bytes = Buffer.from(readFileSync(path));
    bytes[40]! ^= 1;
    const { status, text } = await withFile(path, bytes);
    assert.equal(status, 1, text);
    assert.match(text, /damaged: indexes\/[-\w]+\/segments\/\d+: row data: the checksum/);
    assert.match(text, /\d+ faults\.\n$/);
  });

  it('reports a segment that is missing', async () => {
    const segments = join(indexFolder(), 'segments');
    const { status, text } = await withFile(join(segments, readdirSync(segments)[0]!), null);
    assert.equal(status, 1, text);
    assert.match(text, /damaged: indexes\/[-\w]+\/segments\/\d+: .*missing/);
  });

  it('survives a database whose pages make no sense', async () => {
    const path = join(indexFolder(), 'index.mdb');
    const noise = Buffer.from(readFileSync(path));
    noise.fill(0xa5, 8192);
    for (const bytes of [noise, Buffer.alloc(0), Buffer.from('no database')]) {
      const { status, text } = await withFile(path, bytes);
      assert.equal(status, 1, text);
      assert.match(text, /damaged: indexes\/[-\w]+\/index\.mdb: /);
    }
    const store = join(dir, 'store', 'data.mdb');
    const torn = Buffer.from(readFileSync(store));
    torn.fill(0xa5, 8192);
    const { status, text } = await withFile(store, torn);
    assert.equal(status, 1, text);
    assert.match(text, /damaged: store\/data\.mdb: /);
  });

  it('and a start report a store that is missing, or is the database of an index', async () => {
    const store = join(dir, 'store', 'data.mdb');
    const ofIndex = readFileSync(join(indexFolder(), 'index.mdb'));
    for (const bytes of [null, Buffer.alloc(0), ofIndex]) {
      const whole = readFileSync(store);
      rmSync(store);
      if (bytes !== null) writeFileSync(store, bytes);
      try {
        const server = new ServerProcess({ dir, port: PORT });
        assert.equal(await server.exited, 1, server.stderr);
        assert.match(server.stderr, /store.*(missing or damaged|database of an index)/);
        // After a refused start as well.
        const { status, text } = await verify('--db-path', dir);
        assert.equal(status, 1, text);
        assert.match(text, /damaged: store\/data\.mdb: /);
      } finally {
        writeFileSync(store, whole);
      }
    }
  });

  it('reports a segment swapped for another', async () => {
    const [path, other] = readdirSync(join(indexFolder(), 'segments')).map((name) =>
      join(indexFolder(), 'segments', name),
    );
    const { status, text } = await withFile(path!, readFileSync(other!));
    assert.equal(status, 1, text);
    assert.match(text, /damaged: indexes\/[-\w]+\/segments\/\d+: file: it is another one/);
  });

  it('ends with status 2 where there is no data folder, and makes none', async () => {
    const nowhere = join(dir, 'nowhere');
    const { status, text } = await verify('--db-path', nowhere);
    assert.equal(status, 2, text);
    assert.match(text, /There is no data folder/);
    assert.equal(statSync(nowhere, { throwIfNoEntry: false }), undefined);
    assert.equal((await verify('--bd-path', dir)).status, 2);
  });

  it('finds no fault in a batch that the index has and the store does not know of yet', async () => {
    const start = (args: string[]): Promise<ServerProcess> =>
      ServerProcess.start({ dir, port: PORT, args });
    const path = join(dir, 'store', 'data.mdb');
    const waiting = await start(['--experimental-max-number-of-batched-tasks', '0']);
    const body = [{ id: 9001, title: 'one more' }];
    await waiting.client.call('POST', '/indexes/books/documents', { body });
    await waiting.stop();
    const before = readFileSync(path);
    const server = await start([]);
    await settle(server.client);
    await server.stop();
    writeFileSync(path, before);

    const { status, text } = await verify('--db-path', dir);
    assert.equal(status, 0, text);
    assert.match(text, /unrecorded: indexes\/[-\w]+: batch \d+; recorded at the next start/);
    assert.match(text, /`books`\): 401 documents/);
    const again = await start([]);
    await settle(again.client);
    await again.stop();
    const recorded = await verify('--db-path', dir);
    assert.equal(recorded.status, 0, recorded.text);
    assert.doesNotMatch(recorded.text, /unrecorded/);
  });

  it('finds nothing once everything is back', async () => {
    const { status, text } = await verify('--db-path', dir);
    assert.equal(status, 0, text);
  });
});
