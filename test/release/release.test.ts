/**
 * What `npm run release` makes, run where there is nothing else; skipped with a word where it
 * cannot be made.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { Root, whyNoRoot } from './root.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const OUT = 'build/release';
const NAME = `gannet-${version}-linux-x64`;
const ARCHIVE = `${OUT}/${NAME}.tar.gz`;
const PACKAGE = `${OUT}/gannet_${version}_amd64.deb`;
/** Debian roots are made once. */
const DEBIAN_ROOT = `${OUT}/cache/installed`;
const KEY = 'a master key of tests';

const has = (command: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${command}`]).status === 0;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('A release', function () {
  this.timeout(900_000);

  /** Why there is none. */
  let missing: string | null = null;

  before(function () {
    const build = process.env.GANNET_BUILD_DIR ?? 'build';
    const argv = ['run', '--silent', 'release', '--', '--build-dir', build];
    const made = spawnSync('npm', argv, { encoding: 'utf8' });
    if (made.status === 0) return;
    missing = made.stderr.trim().split('\n')[0] ?? 'npm run release has failed';
    // What a machine lacks is no fault of the release; that it needs too young a glibc is.
    assert.doesNotMatch(
      missing,
      /needs glibc|needs the C\+\+ library|does not tell its licence|SHA-256/,
    );
    console.log(`      skipped: no release can be made here: ${missing}`);
  });

  /** Starts the server of a root, and returns it once it answers. */
  async function serve(
    root: Root,
    program: string,
    argv: readonly string[],
    env: Record<string, string>,
    user = '',
  ): Promise<{ url: string; server: ChildProcess }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = root.start([program, '--http-addr', `127.0.0.1:${port}`, ...argv], env, user);
    let printed = '';
    server.stderr!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    for (;;) {
      assert.equal(server.exitCode, null, printed);
      const health = await root.run([program, 'health', '--url', url]);
      if (health.status === 0) break;
      await pause(100);
    }
    // Its checksum still holds in the archive.
    assert.match(printed, /uWebSockets\.js/);
    return { url, server };
  }

  async function stopped(server: ChildProcess): Promise<number | null> {
    const ended = new Promise<number | null>((done) => server.once('exit', done));
    server.kill('SIGTERM');
    return ended;
  }

  async function firstTitle(url: string, key: string): Promise<string> {
    const response = await fetch(`${url}/indexes/books/search`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ q: 'dostoyevski crime' }),
    });
    const { hits } = (await response.json()) as { hits: { title: string }[] };
    return hits[0]!.title;
  }

  it('runs in an empty root that has an old glibc alone', async function () {
    const why = missing ?? whyNoRoot();
    if (why !== null) {
      console.log(`      skipped: ${why}`);
      return this.skip();
    }
    const root = new Root();
    try {
      root.addGlibc(`${OUT}/cache/debian-bullseye`);
      mkdirSync(join(root.path, 'opt'));
      assert.equal(spawnSync('tar', ['-C', join(root.path, 'opt'), '-xzf', ARCHIVE]).status, 0);
      copyFileSync('test/demo/books.ndjson', join(root.path, 'books.ndjson'));
      const program = `/opt/${NAME}/bin/gannet`;
      assert.equal((await root.run([program, '--version'])).output, `gannet ${version}\n`);
      const { url, server } = await serve(root, program, ['--db-path', '/data'], {
        GANNET_MASTER_KEY: KEY,
      });
      const imported = await root.run(
        [program, 'import', '/books.ndjson', '--index', 'books', '--url', url],
        { GANNET_KEY: KEY },
      );
      assert.equal(imported.status, 0, imported.complaints);
      assert.match(await firstTitle(url, KEY), /Crime and Punishment/);
      assert.equal(await stopped(server), 0);
      const verified = await root.run([program, 'verify', '--db-path', '/data']);
      assert.match(verified.output, /Everything is valid/);
      assert.equal(verified.status, 0);
    } finally {
      root.erase();
    }
  });

  it('has the licences of everything in it', function () {
    if (missing !== null) return this.skip();
    const notices = readFileSync(`${OUT}/${NAME}/share/doc/THIRD-PARTY-NOTICES`, 'utf8');
    const names = ['lmdb', 'pino', 'undici', 'preact', 'simdjson', 'roaring', 'usearch', 'Node.js'];
    for (const name of [...names, 'uWebSockets.js', 'libstdc\\+\\+']) {
      assert.match(notices, new RegExp(`^${name}(?: |$)`, 'm'), name);
    }
    assert.match(notices, /OpenLDAP Public License/);
  });

  it('is a package that lintian finds no fault with', function () {
    if (missing !== null) return this.skip();
    const info = spawnSync('dpkg-deb', ['--info', PACKAGE], { encoding: 'utf8' });
    assert.match(info.stdout, /^ Package: gannet$/m);
    assert.match(info.stdout, /^ Depends: libc6 \(>= 2\.28\)/m);
    const contents = spawnSync('dpkg-deb', ['--contents', PACKAGE], { encoding: 'utf8' }).stdout;
    for (const line of contents.trim().split('\n')) assert.match(line, / root\/root /);
    if (!has('lintian')) {
      console.log('      skipped: lintian is not installed');
      return this.skip();
    }
    const argv = [
      '--allow-root',
      '--fail-on',
      'error,warning',
      '--tag-display-limit',
      '0',
      PACKAGE,
    ];
    const checked = spawnSync('lintian', argv, { encoding: 'utf8' });
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
  });

  it('is installed, run as a user of its own, and removed, in a root of Debian', async function () {
    const why =
      missing ?? whyNoRoot() ?? (has('debootstrap') ? null : 'debootstrap is not installed');
    if (why !== null) {
      console.log(`      skipped: ${why}`);
      return this.skip();
    }
    if (!existsSync(`${DEBIAN_ROOT}/done`)) {
      spawnSync('rm', ['-rf', DEBIAN_ROOT]);
      const made = spawnSync('debootstrap', ['--variant=minbase', 'bookworm', DEBIAN_ROOT]);
      if (made.status !== 0) {
        console.log('      skipped: debootstrap reaches no mirror');
        return this.skip();
      }
      writeFileSync(`${DEBIAN_ROOT}/done`, '');
    }
    const root = new Root(DEBIAN_ROOT);
    copyFileSync(PACKAGE, join(root.path, 'gannet.deb'));
    copyFileSync('test/demo/books.ndjson', join(root.path, 'books.ndjson'));
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' };
    const environment = join(root.path, 'etc/gannet/environment');
    let kept: string | undefined;
    try {
      const installed = await root.run(['dpkg', '-i', '/gannet.deb'], env);
      assert.equal(installed.status, 0, installed.output + installed.complaints);
      assert.equal(statSync(environment).mode & 0o777, 0o600);
      kept = readFileSync(environment, 'utf8');
      const key = kept.trim().split('=')[1]!;
      assert.ok(key.length >= 16);
      // The unit's command, user and variables.
      const { url, server } = await serve(
        root,
        'gannet',
        ['--config-file-path', '/etc/gannet/config.toml'],
        { ...env, GANNET_MASTER_KEY: key },
        'gannet:gannet',
      );
      const imported = await root.run(
        ['gannet', 'import', '/books.ndjson', '--index', 'books', '--url', url],
        { ...env, GANNET_KEY: key },
      );
      assert.equal(imported.status, 0, imported.complaints);
      assert.match(await firstTitle(url, key), /Crime and Punishment/);
      assert.equal(await stopped(server), 0);
      const data = join(root.path, 'var/lib/gannet/data.gannet');
      assert.notEqual(statSync(data).uid, 0);
      const again = await root.run(['dpkg', '-i', '/gannet.deb'], env);
      assert.equal(again.status, 0, again.complaints);
      assert.match(readFileSync(environment, 'utf8'), new RegExp(key));
    } finally {
      const purged = await root.run(['dpkg', '--purge', 'gannet'], env);
      assert.equal(purged.status, 0, purged.complaints);
    }
    assert.equal(existsSync(join(root.path, 'usr/bin/gannet')), false);
    // The data stays, and the key as long as the data.
    assert.ok(existsSync(join(root.path, 'var/lib/gannet/data.gannet')));
    assert.equal(readFileSync(environment, 'utf8'), kept);
    assert.equal(existsSync(join(root.path, 'etc/gannet/config.toml')), false);
    spawnSync('rm', ['-rf', join(root.path, 'var/lib/gannet/data.gannet')]);
    for (const action of [
      ['-i', '/gannet.deb'],
      ['--purge', 'gannet'],
    ]) {
      const ended = await root.run(['dpkg', ...action], env);
      assert.equal(ended.status, 0, ended.complaints);
    }
    assert.equal(existsSync(join(root.path, 'etc/gannet')), false);
    assert.equal(existsSync(join(root.path, 'var/lib/gannet')), false);
  });

  it('has a unit that systemd understands, and that may do little', function () {
    if (!has('systemd-analyze')) {
      console.log('      skipped: systemd-analyze is not installed');
      return this.skip();
    }
    const file = 'docs/deploy/gannet.service';
    const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
    const complaints = verified.stderr
      .split('\n')
      .filter((line) => line.includes('gannet.service') && !line.includes('is not executable'));
    assert.deepEqual(complaints, []);
    const argv = ['security', '--offline=true', '--threshold=25', file];
    const secure = spawnSync('systemd-analyze', argv, { encoding: 'utf8' });
    assert.equal(secure.status, 0, secure.stdout.split('\n').at(-2));
  });

  it('is what the image is made of', () => {
    const file = readFileSync('docs/deploy/Dockerfile', 'utf8');
    const steps =
      /^RUN npm ci && npm run build && npm run release -- --no-package && mv build\/release\/gannet-\*-linux-x64 \/opt\/gannet$/m;
    assert.match(file, steps);
    assert.match(file, /^USER 7700:7700$/m);
    assert.match(file, /^HEALTHCHECK .*CMD \["gannet", "health"\]$/m);
  });
});
