/** The binary of uWebSockets.js is loaded only when it is the declared one. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import binaries from '../../src/http/socket-binaries.json' with { type: 'json' };
import { freePort } from '../support/free-port.ts';

const DECLARED: Readonly<Record<string, { version: string; bytes: number; sha256: string }>> =
  binaries;
const NAME = `@uwsjs/${process.platform}-${process.arch}-${process.versions.node.split('.')[0]}`;
const INSTALLED = join('node_modules', NAME);

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

describe('The socket library', () => {
  it('is pinned for every Node: version, checksum of the file, checksum of the package', () => {
    const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    const wanted = Object.keys(optionalDependencies).filter((name) => name.startsWith('@uwsjs/'));
    assert.ok(wanted.length > 0);
    assert.deepEqual(Object.keys(DECLARED).toSorted(), wanted.toSorted());
    for (const name of wanted) {
      const { version, integrity } = packages[`node_modules/${name}`];
      assert.equal(version, optionalDependencies[name], name);
      assert.equal(DECLARED[name]!.version, version, name);
      assert.match(integrity, /^sha512-/, name);
      assert.match(DECLARED[name]!.sha256, /^[0-9a-f]{64}$/, name);
    }
  });

  describe('as it is installed', () => {
    let folder: string;
    let binary: string;

    before(function () {
      if (!existsSync(INSTALLED)) {
        console.log(`      skipped: ${NAME} is not installed`);
        return this.skip();
      }
      folder = mkdtempSync(join(tmpdir(), 'gannet-library-'));
      binary = join(folder, 'node_modules', NAME, 'uws.node');
      cpSync('dist', join(folder, 'dist'), { recursive: true });
      cpSync('package.json', join(folder, 'package.json'));
      symlinkSync(resolve('build'), join(folder, 'build'));
      mkdirSync(join(folder, 'node_modules/@uwsjs'), { recursive: true });
      symlinkSync(resolve('node_modules/lmdb'), join(folder, 'node_modules/lmdb'));
      cpSync(INSTALLED, join(folder, 'node_modules', NAME), { recursive: true });
    });
    after(() => {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    });

    const argv = (port: number, more: readonly string[]): string[] => [
      ...[join(folder, 'dist/main.cjs'), '--db-path', join(folder, 'data')],
      ...['--http-addr', `127.0.0.1:${port}`, ...more],
    ];

    /** The output of a server until it responds. */
    async function started(more: readonly string[]): Promise<string> {
      const port = await freePort();
      const server = spawn(process.execPath, argv(port, more));
      let printed = '';
      server.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      const ended = new Promise((done) => server.once('exit', done));
      try {
        for (;;) {
          assert.equal(server.exitCode, null, printed);
          const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
          if (response?.ok) return printed;
          await new Promise((done) => setTimeout(done, 10));
        }
      } finally {
        server.kill('SIGTERM');
        await ended;
      }
    }

    it('is the declared file, and serves', async () => {
      const bytes = readFileSync(binary);
      assert.equal(sha256(bytes), DECLARED[NAME]!.sha256);
      assert.equal(bytes.length, DECLARED[NAME]!.bytes);
      assert.match(await started([]), /uWebSockets\.js/);
      rmSync(join(folder, 'data'), { recursive: true });
    });

    it('is refused at the start when one byte of it differs, and node:http serves', async () => {
      const original = readFileSync(binary);
      const changed = Buffer.from(original);
      // Above every program that is run: such a file would be loaded.
      changed[changed.length - 1]! ^= 1;
      writeFileSync(binary, changed);
      try {
        const ended = spawnSync(process.execPath, argv(await freePort(), []), {
          encoding: 'utf8',
          timeout: 60_000,
        });
        assert.equal(ended.status, 1, ended.stderr);
        for (const expected of [
          binary,
          sha256(changed),
          sha256(original),
          '--http-transport node',
        ]) {
          assert.ok(ended.stderr.includes(expected), ended.stderr);
        }
        assert.equal(existsSync(join(folder, 'data')), false);
        assert.match(await started(['--http-transport', 'node']), /node:http/);
      } finally {
        writeFileSync(binary, original);
      }
    });

    it('is not looked for elsewhere: without the package node:http serves', async () => {
      rmSync(join(folder, 'node_modules/@uwsjs'), { recursive: true });
      assert.match(await started([]), /node:http/);
    });
  });
});
