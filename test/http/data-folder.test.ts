/** Who may read the files of the server, and that its folder is its own. */
import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readdirSync, rmSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { ServerFolder } from './support/server-folder.ts';
import { settle } from './kill/support/compare.ts';
import { addonIsBuilt, type ServerProcess, verify } from './kill/support/server-process.ts';

describe('the data folder', function () {
  this.timeout(60_000);
  let folder: ServerFolder;

  before(function () {
    if (!addonIsBuilt()) this.skip();
  });
  beforeEach(() => (folder = new ServerFolder('gannet-folder-')));
  afterEach(() => folder.remove());

  /**
   * A folder and everything in it. Files that disappear meanwhile, such as the socket of the
   * warm-up, are left out.
   */
  function entriesOf(dir: string): [path: string, entry: Stats][] {
    const paths = ['', ...(readdirSync(dir, { recursive: true }) as string[])];
    return paths.flatMap((path) => {
      const entry = lstatSync(join(dir, path), { throwIfNoEntry: false });
      return entry === undefined ? [] : [[path, entry]];
    });
  }

  for (const umask of [0, 0o022, 0o777]) {
    it(`holds files that its user alone may read, with the umask ${umask.toString(8)}`, async () => {
      const before = process.umask(umask);
      const warms = process.env['GANNET_WARM_UP_SEARCHES'];
      delete process.env['GANNET_WARM_UP_SEARCHES'];
      try {
        const options = ['--dump-dir', join(folder.dir, 'dumps')];
        options.push('--snapshot-dir', join(folder.dir, 'snapshots'));
        const server = await folder.start('data', options);
        const { client } = server;
        const lines = Array.from({ length: 20_000 }, (_, id) => `${id},some text`);
        const text = `id,text\n${lines.join('\n')}\n`;
        const send = async ({ port }: ServerProcess): Promise<void> => {
          const sent = await fetch(`http://127.0.0.1:${port}/indexes/b/documents`, {
            ...{ method: 'POST', body: text, headers: { 'content-type': 'text/csv' } },
          });
          assert.equal(sent.status, 202);
        };
        await client.call('POST', '/indexes/a/documents', { body: [{ id: 1 }] });
        await send(server);
        await client.call('POST', '/dumps');
        await client.call('POST', '/snapshots');
        await settle(client);
        await server.kill();
        const idle = ['--experimental-max-number-of-batched-tasks', '0'];
        // Keeps a payload in the folder.
        const waiting = await folder.start('data', [...options, ...idle]);
        await send(waiting);
        for (const part of ['data', 'dumps', 'snapshots']) {
          const found = entriesOf(join(folder.dir, part));
          if (part === 'data') assert.ok(found.some(([path]) => /payloads.\d/.test(path)));
          for (const [path, entry] of found) {
            // Folders, and the socket by which the server warms itself up, may be entered.
            const expected = entry.isFile() ? '600' : '700';
            assert.equal((entry.mode & 0o7777).toString(8), expected, `${part}/${path}`);
          }
        }
      } finally {
        if (warms !== undefined) process.env['GANNET_WARM_UP_SEARCHES'] = warms;
        process.umask(before);
      }
    });
  }

  it('is held although somebody removes the file `lock`', async () => {
    const server = await folder.start('data', []);
    await server.client.call('POST', '/indexes/a/documents', { body: [{ id: 1 }] });
    await settle(server.client);
    const dir = join(folder.dir, 'data');
    rmSync(join(dir, 'lock'));
    // Files that a second server would erase.
    mkdirSync(join(dir, 'snapshot'));
    const { status, text } = await folder.failing('data', []);
    assert.equal(status, 1);
    assert.match(text, /in use by another process: it has locked store\/data\.mdb/);
    assert.ok(statSync(join(dir, 'snapshot')).isDirectory());
    rmSync(join(dir, 'lock'));
    assert.match((await verify('--db-path', dir)).text, /in use by another process/);
    await server.stop();
    assert.equal((await verify('--db-path', dir)).status, 0);
    await folder.start('data', []);
  });
});
