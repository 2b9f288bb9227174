import assert from 'node:assert/strict';
import fs, { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DataFolderError, openDataFolder } from '../../../src/store/data-folder.ts';

/**
 * Tracks folders with a new name that no sync has made durable yet. Patches Node's `fs` for the
 * whole process until `remove`.
 */
class UnsyncedNames {
  readonly #unsynced = new Set<string>();
  readonly #opened = new Map<number, string>();
  readonly #real: Pick<typeof fs, 'mkdirSync' | 'renameSync' | 'openSync' | 'fsyncSync'>;
  /** Number of names made. */
  seen = 0;

  constructor() {
    const { mkdirSync, renameSync, openSync, fsyncSync } = fs;
    this.#real = { mkdirSync, renameSync, openSync, fsyncSync };
    Object.assign(fs, {
      mkdirSync: (path: string, options: fs.MakeDirectoryOptions) => {
        mkdirSync(path, options);
        this.#made(path);
      },
      renameSync: (from: string, to: string) => {
        renameSync(from, to);
        this.#made(to);
      },
      openSync: (path: string, flags: string) => {
        const descriptor = openSync(path, flags);
        this.#opened.set(descriptor, path);
        return descriptor;
      },
      fsyncSync: (descriptor: number) => {
        fsyncSync(descriptor);
        this.#unsynced.delete(this.#opened.get(descriptor)!);
      },
    });
    syncBuiltinESMExports();
  }

  #made(path: string): void {
    this.#unsynced.add(dirname(path));
    this.seen++;
  }

  folders(): string[] {
    return [...this.#unsynced];
  }

  remove(): void {
    Object.assign(fs, this.#real);
    syncBuiltinESMExports();
  }
}

describe('the data folder', () => {
  let dir: string;
  const ours = { version: '1.2.3', upgrade: false };

  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-folder-'))));
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  it('is created with its parts, a version and a permanent uid', async () => {
    const folder = await openDataFolder(join(dir, 'deep', 'data'), ours);
    assert.equal(readFileSync(join(folder.dir, 'VERSION'), 'utf8'), '1.2.3\n');
    assert.match(folder.instanceUid, /^[0-9a-f-]{36}$/);
    await folder.close();
    const again = await openDataFolder(folder.dir, ours);
    assert.equal(again.instanceUid, folder.instanceUid);
    await again.close();
  });

  it('makes every name that it creates durable', async () => {
    const names = new UnsyncedNames();
    try {
      const folder = await openDataFolder(join(dir, 'deep', 'data'), ours);
      assert.deepEqual(names.folders(), []);
      folder.markUpgraded();
      assert.deepEqual(names.folders(), []);
      assert.ok(names.seen >= 7);
      await folder.close();
    } finally {
      names.remove();
    }
  });

  it('can be open only once at a time, through any path', async () => {
    const folder = await openDataFolder(dir, ours);
    symlinkSync(dir, `${dir}-link`);
    try {
      await assert.rejects(openDataFolder(dir, ours), /in use by another process/);
      await assert.rejects(openDataFolder(`${dir}-link`, ours), /in use by another process/);
    } finally {
      rmSync(`${dir}-link`);
      await folder.close();
    }
    await (await openDataFolder(dir, ours)).close();
  });

  const ROWS: [string, boolean, string | RegExp | null][] = [
    ['1.2.3', false, null],
    ['1.2.9', false, null],
    ['1.2.0-dev', false, null],
    ['1.1.0-dev', true, '1.1.0-dev'],
    ['1.3.0-dev', false, /newer than this program/],
    ['1.2.0-', true, /is not a version/],
    ['1.1.0', false, /written by version 1\.1\.0, this program is 1\.2\.3.*--upgrade-db/s],
    ['0.9.9', false, /written by version 0\.9\.9/],
    ['1.1.0', true, '1.1.0'],
    ['1.3.0', false, /newer than this program/],
    ['2.0.0', true, /newer than this program/],
    ['banana', true, /contains `banana`, which is not a version/],
  ];
  for (const [found, upgrade, expected] of ROWS) {
    it(`written by ${found}, opened ${upgrade ? 'for an upgrade' : 'normally'}`, async () => {
      writeFileSync(join(dir, 'VERSION'), found);
      if (expected instanceof RegExp) {
        await assert.rejects(openDataFolder(dir, { ...ours, upgrade }), (error) => {
          assert.ok(error instanceof DataFolderError);
          assert.match(error.message, expected);
          return true;
        });
        assert.equal(readFileSync(join(dir, 'VERSION'), 'utf8'), found, 'it is left as it was');
        // The lock is free again.
        writeFileSync(join(dir, 'VERSION'), '1.2.3');
        await (await openDataFolder(dir, ours)).close();
        return;
      }
      const folder = await openDataFolder(dir, { ...ours, upgrade });
      assert.equal(folder.upgradedFrom, expected);
      if (expected !== null) {
        folder.markUpgraded();
        assert.equal(readFileSync(join(dir, 'VERSION'), 'utf8'), '1.2.3\n');
      }
      await folder.close();
    });
  }

  it('does not change a folder of Meilisearch of any version', async () => {
    for (const version of ['0.28.1', '1.0.0', '1.12.3']) {
      const dir = mkdtempSync(join(tmpdir(), 'gannet-folder-'));
      try {
        for (const name of ['auth', 'tasks', 'indexes']) fs.mkdirSync(join(dir, name));
        writeFileSync(join(dir, 'VERSION'), version);
        await assert.rejects(
          openDataFolder(dir, { version: '1.0.0', upgrade: true }),
          (error) => error instanceof DataFolderError && /import-dump/.test(error.message),
        );
        assert.deepEqual(fs.readdirSync(dir), ['VERSION', 'auth', 'indexes', 'tasks']);
        assert.equal(readFileSync(join(dir, 'VERSION'), 'utf8'), version);
      } finally {
        rmSync(dir, { recursive: true });
      }
    }
  });
});
