/**
 * What `npm run release` makes, run where there is nothing else; skipped with a word where it
 * cannot be made.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { NOTHING_ON_PATH, type Host, ran, Root, whyNoRoot } from './root.ts';
import { IN_SOCKET_LIBRARY } from './socket-library.ts';

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
    missing = made.stderr.trim().split('\n')[0]!;
    // What a machine lacks is no fault of the release; everything else is.
    assert.match(
      missing,
      /^(?:A release is made on|There is no build of the addon by cmake|apt knows no site|Command failed: (?:npm pack|apt-get) )/,
    );
    console.log(`      skipped: no release can be made here: ${missing}`);
  });

  /** Starts a server, and returns it once it answers. */
  async function serve(
    host: Host,
    program: string,
    argv: readonly string[],
    env: Record<string, string>,
    user = '',
  ): Promise<{ url: string; server: ChildProcess }> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = host.start([program, '--http-addr', `127.0.0.1:${port}`, ...argv], env, user);
    let printed = '';
    server.stderr!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    for (;;) {
      assert.equal(server.exitCode, null, printed);
      const health = await ran(host, [program, 'health', '--url', url], env);
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

  /**
   * Starts the unpacked archive, fills it, searches and verifies. @param base what `host` calls
   * the folder
   */
  async function works(host: Host, base: string): Promise<void> {
    const program = join(base, NAME, 'bin/gannet');
    const data = join(base, 'data');
    assert.equal((await ran(host, [program, '--version'])).output, `gannet ${version}\n`);
    const { url, server } = await serve(host, program, ['--db-path', data], {
      GANNET_MASTER_KEY: KEY,
    });
    const books = join(base, 'books.ndjson');
    const imported = await ran(host, [program, 'import', books, '--index', 'books', '--url', url], {
      GANNET_KEY: KEY,
    });
    assert.equal(imported.status, 0, imported.complaints);
    assert.match(await firstTitle(url, KEY), /Crime and Punishment/);
    assert.equal(await stopped(server), 0);
    const verified = await ran(host, [program, 'verify', '--db-path', data]);
    assert.match(verified.output, /Everything is valid/);
    assert.equal(verified.status, 0);
  }

  function unpack(folder: string): void {
    mkdirSync(folder, { recursive: true });
    assert.equal(spawnSync('tar', ['-C', folder, '-xzf', ARCHIVE]).status, 0);
    copyFileSync('test/demo/books.ndjson', join(folder, 'books.ndjson'));
  }

  it('has checksums, and for each file a bill of materials with what is in it', function () {
    if (missing !== null) return this.skip();
    const argv = ['--check', '--strict', 'SHA256SUMS'];
    const checked = spawnSync('sha256sum', argv, { cwd: OUT, encoding: 'utf8' });
    assert.equal(checked.status, 0, checked.stdout + checked.stderr);
    const names = readFileSync(`${OUT}/SHA256SUMS`, 'utf8').match(/\S+$/gm)!;
    const files = names.filter((name) => !name.endsWith('.cdx.json'));
    const endings = ['-linux-x64.tar.gz', '_amd64.deb', `gannet-chart-${version}.tgz`];
    for (const ending of [...endings, `gannet-${version}.tgz`, `gannet-linux-x64-${version}.tgz`]) {
      assert.ok(
        files.some((name) => name.endsWith(ending)),
        ending,
      );
    }
    const partsOf = (name: string): string[] => {
      const bill = JSON.parse(readFileSync(`${OUT}/${name}.cdx.json`, 'utf8')) as {
        components?: { name: string; version?: string }[];
      };
      return (bill.components ?? []).map((part) => `${part.name} ${part.version ?? ''}`);
    };
    for (const name of files) assert.ok(names.includes(`${name}.cdx.json`), name);
    const inArchive = partsOf(`${NAME}.tar.gz`).join('\n');
    for (const name of [
      'node',
      'openssl',
      'LMDB',
      'CRoaring',
      'simdjson',
      'libstdc\\+\\+',
      'pino',
    ]) {
      assert.match(inArchive, new RegExp(`^${name} \\d`, 'm'), name);
    }
    assert.match(partsOf(`gannet-linux-x64-${version}.tgz`).join('\n'), /^usearch \d/m);
  });

  it('runs from its archive without Node or anything else on the PATH', async function () {
    if (missing !== null) return this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'gannet-archive-'));
    try {
      unpack(folder);
      await works(NOTHING_ON_PATH, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('runs in an empty root that has an old glibc alone', async function () {
    const why = missing ?? whyNoRoot();
    if (why !== null) {
      console.log(`      skipped: ${why}`);
      return this.skip();
    }
    const root = new Root();
    try {
      root.addGlibc(`${OUT}/cache/debian-bullseye`);
      unpack(join(root.path, 'opt'));
      await works(root, '/opt');
    } finally {
      root.erase();
    }
  });

  it('has the licences of everything in it', function () {
    if (missing !== null) return this.skip();
    const notices = readFileSync(`${OUT}/${NAME}/share/doc/THIRD-PARTY-NOTICES`, 'utf8');
    const names = ['lmdb', 'pino', 'undici', 'preact', 'simdjson', 'roaring', 'usearch', 'Node.js'];
    for (const name of [...names, ...Object.keys(IN_SOCKET_LIBRARY), 'libstdc\\+\\+']) {
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

  /** A minimal Debian; null, with a word, where there can be none. */
  function debianRoot(): Root | null {
    const why =
      missing ?? whyNoRoot() ?? (has('debootstrap') ? null : 'debootstrap is not installed');
    if (why !== null) {
      console.log(`      skipped: ${why}`);
      return null;
    }
    if (!existsSync(`${DEBIAN_ROOT}/done`)) {
      rmSync(DEBIAN_ROOT, { recursive: true, force: true });
      const made = spawnSync('debootstrap', ['--variant=minbase', 'bookworm', DEBIAN_ROOT]);
      if (made.status !== 0) {
        console.log('      skipped: debootstrap reaches no mirror');
        return null;
      }
      writeFileSync(`${DEBIAN_ROOT}/done`, '');
    }
    return new Root(DEBIAN_ROOT);
  }

  it('is installed, run as a user of its own, and removed, in a root of Debian', async function () {
    const root = debianRoot();
    if (root === null) return this.skip();
    copyFileSync(PACKAGE, join(root.path, 'gannet.deb'));
    copyFileSync('test/demo/books.ndjson', join(root.path, 'books.ndjson'));
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' };
    const environment = join(root.path, 'etc/gannet/environment');
    let kept: string | undefined;
    try {
      const installed = await ran(root, ['dpkg', '-i', '/gannet.deb'], env);
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
      const imported = await ran(
        root,
        ['gannet', 'import', '/books.ndjson', '--index', 'books', '--url', url],
        { ...env, GANNET_KEY: key },
      );
      assert.equal(imported.status, 0, imported.complaints);
      assert.match(await firstTitle(url, key), /Crime and Punishment/);
      assert.equal(await stopped(server), 0);
      const data = join(root.path, 'var/lib/gannet/data.gannet');
      assert.notEqual(statSync(data).uid, 0);
      const again = await ran(root, ['dpkg', '-i', '/gannet.deb'], env);
      assert.equal(again.status, 0, again.complaints);
      assert.match(readFileSync(environment, 'utf8'), new RegExp(key));
    } finally {
      const purged = await ran(root, ['dpkg', '--purge', 'gannet'], env);
      assert.equal(purged.status, 0, purged.complaints);
    }
    assert.equal(existsSync(join(root.path, 'usr/bin/gannet')), false);
    // The data stays, and the key as long as the data.
    assert.ok(existsSync(join(root.path, 'var/lib/gannet/data.gannet')));
    assert.equal(readFileSync(environment, 'utf8'), kept);
    assert.equal(existsSync(join(root.path, 'etc/gannet/config.toml')), false);
    rmSync(join(root.path, 'var/lib/gannet/data.gannet'), { recursive: true });
    for (const action of [
      ['-i', '/gannet.deb'],
      ['--purge', 'gannet'],
    ]) {
      const ended = await ran(root, ['dpkg', ...action], env);
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

  /** Lines of the Dockerfile's last stage, with continued ones joined. */
  function imageLines(): string[] {
    const file = readFileSync('docs/deploy/Dockerfile', 'utf8').replaceAll(/\s*\\\n\s*/g, ' ');
    return file.slice(file.lastIndexOf('\nFROM ')).trim().split('\n');
  }

  function instruction(name: string): string {
    const found = imageLines().filter((line) => line.startsWith(`${name} `));
    assert.equal(found.length, 1, name);
    return found[0]!.slice(name.length + 1);
  }

  it('is what the image is made of', () => {
    const file = readFileSync('docs/deploy/Dockerfile', 'utf8');
    const steps =
      /^RUN npm ci && npm run build && npm run release -- --no-package && mv build\/release\/gannet-\*-linux-x64 \/opt\/gannet$/m;
    assert.match(file, steps);
    assert.match(file, /^HEALTHCHECK .*CMD \["gannet", "health"\]$/m);
  });

  // Docker is not needed for it: a root of Debian, and what the Dockerfile says of the last stage.
  it('runs as the image runs it', async function () {
    const root = debianRoot();
    if (root === null) return this.skip();
    const opt = join(root.path, 'opt/gannet');
    const path = '/usr/sbin:/usr/bin:/sbin:/bin';
    // A removed package leaves its user, as Debian's packages do; an image begins without one.
    await ran(root, ['userdel', 'gannet'], { PATH: path });
    try {
      assert.match(instruction('COPY'), / \/opt\/gannet$/);
      cpSync(`${OUT}/${NAME}`, opt, { recursive: true });
      const prepared = await ran(root, ['sh', '-ec', instruction('RUN')], { PATH: path });
      assert.equal(prepared.status, 0, prepared.complaints);
      const port = await freePort();
      const env: Record<string, string> = {
        GANNET_MASTER_KEY: KEY,
        // A container has the port of the image for itself.
        GANNET_URL: `http://127.0.0.1:${port}`,
      };
      for (const [, name, value] of instruction('ENV').matchAll(/(\w+)=(\S+)/g)) {
        env[name!] = value!.replace('$PATH', path).replace('7700', String(port));
      }
      const user = instruction('USER');
      const [program] = JSON.parse(instruction('ENTRYPOINT')) as [string];
      const server = root.start([program], env, user);
      let printed = '';
      server.stderr!.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      const health = JSON.parse(/CMD (\[.*\])$/.exec(instruction('HEALTHCHECK'))![1]!) as string[];
      while ((await ran(root, health, env, user)).status !== 0) {
        assert.equal(server.exitCode, null, printed);
        await pause(100);
      }
      assert.equal(await stopped(server), 0);
      assert.equal(statSync(join(root.path, 'data/data.gannet')).uid, 7700);
    } finally {
      await ran(root, ['userdel', 'gannet'], { PATH: path });
      for (const folder of [opt, join(root.path, 'data')])
        rmSync(folder, { recursive: true, force: true });
    }
  });
});
