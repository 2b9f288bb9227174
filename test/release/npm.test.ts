/**
 * The packages of npm that `npm run package` makes, installed into an empty folder on a machine
 * without a compiler; skipped with a word where npm reaches no registry.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { FOREIGN, foreignRoot, whyNoForeign } from './foreign-root.ts';
import { IN_SOCKET_LIBRARY } from './socket-library.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const PLATFORM = `${process.platform}-${process.arch}`;
const packed = (name: string): string => resolve(`build/npm/${name}-${version}.tgz`);
const BOOKS = resolve('test/demo/books.ndjson');
/** What an install may call, and no compiler. */
const PROGRAMS = ['node', 'npm', 'sh', 'env'];

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

type Start = (argv: readonly string[]) => ChildProcess;

interface Watched {
  child: ChildProcess;
  ended: Promise<number | null>;
  printed(): string;
}

function watched(child: ChildProcess): Watched {
  let text = '';
  child.stdout!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return { child, ended, printed: () => text };
}

describe('The packages of npm', function () {
  this.timeout(600_000);

  let dir: string;
  let env: NodeJS.ProcessEnv;

  before(function () {
    const build = process.env.GANNET_BUILD_DIR ?? 'build';
    const argv = ['run', '--silent', 'package', '--', '--build-dir', build];
    const made = spawnSync('npm', argv, { encoding: 'utf8' });
    if (made.status !== 0) {
      assert.match(made.stderr, /There is no (?:build of the addon by cmake|server|package for)/);
      console.log(`      skipped: ${made.stderr.trim()}`);
      return this.skip();
    }
    dir = mkdtempSync(join(tmpdir(), 'gannet-npm-'));
    const bin = join(dir, 'bin');
    mkdirSync(bin);
    for (const name of PROGRAMS) {
      const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
      symlinkSync(realpathSync(found.stdout.trim()), join(bin, name));
    }
    env = { PATH: bin, HOME: process.env.HOME };
  });

  after(() => {
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  /** Installs packed files into an empty folder; null: npm reaches no registry. */
  function installed(name: string, files: readonly string[]): string | null {
    const folder = join(dir, name);
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{"private": true}\n');
    const argv = ['install', '--no-audit', '--no-fund', '--prefer-offline', ...files];
    const ended = spawnSync('npm', argv, { cwd: folder, env, encoding: 'utf8' });
    if (
      /\b(?:ENOTFOUND|ECONN\w+|ETIMEDOUT|EAI_AGAIN|ERR_SOCKET\w*|FETCH_ERROR|E429|E5\d\d)\b/.test(
        ended.stderr,
      )
    ) {
      console.log('      skipped: npm reaches no registry');
      return null;
    }
    assert.equal(ended.status, 0, ended.stderr);
    return folder;
  }

  const gannet = (folder: string, ...argv: string[]): SpawnSyncReturns<string> =>
    spawnSync(join(folder, 'node_modules/.bin/gannet'), argv, { env, encoding: 'utf8' });

  /** Starts a server, fills it, searches, and checks the data. @returns what the server printed */
  async function serves(
    start: Start,
    data: string,
    { verifies = true, books = BOOKS } = {},
  ): Promise<string> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const server = watched(start(['--db-path', data, '--http-addr', `127.0.0.1:${port}`]));
    try {
      while (!(await fetch(`${url}/health`).catch(() => null))?.ok) {
        assert.equal(server.child.exitCode, null, server.printed());
        await pause(50);
      }
      const imported = watched(start(['import', books, '--index', 'books', '--url', url]));
      assert.equal(await imported.ended, 0, imported.printed());
      const response = await fetch(`${url}/indexes/books/search?q=dostoyevski%20crime`);
      const { hits } = (await response.json()) as { hits: { title: string }[] };
      assert.match(hits[0]!.title, /Crime and Punishment/);
    } finally {
      server.child.kill('SIGTERM');
    }
    assert.equal(await server.ended, 0, server.printed());
    if (!verifies) return server.printed();
    const verified = watched(start(['verify', '--db-path', data]));
    assert.equal(await verified.ended, 0, verified.printed());
    return server.printed();
  }

  it('has no compiler in its way', () => {
    for (const name of ['cc', 'gcc', 'g++', 'clang', 'make', 'cmake', 'python3']) {
      assert.notEqual(spawnSync('sh', ['-c', `command -v ${name}`], { env }).status, 0, name);
    }
  });

  it('serve, take documents and find them', async function () {
    const folder = installed('whole', [packed('gannet'), packed(`gannet-${PLATFORM}`)]);
    if (folder === null) return this.skip();
    assert.equal(gannet(folder, '--version').stdout, `gannet ${version}\n`);
    const program = join(folder, 'node_modules/.bin/gannet');
    const books = join(folder, 'node_modules/gannet/books.ndjson');
    await serves((argv) => spawn(program, argv, { env }), join(folder, 'data'), { books });
  });

  for (const platform of FOREIGN) {
    it(`do the same on ${platform}`, async function () {
      const file = packed(`gannet-${platform}`);
      const why = existsSync(file) ? whyNoForeign() : `npm run package -- ${platform}`;
      if (why !== null) {
        console.log(`      skipped: ${why}`);
        return this.skip();
      }
      const [os, cpu, libc = 'glibc'] = platform.split('-');
      const folder = installed(platform, [
        // Both look at this machine all the same: npm, and the scripts of packages.
        ...['--force', '--ignore-scripts'],
        ...[`--os=${os}`, `--cpu=${cpu}`, `--libc=${libc}`, packed('gannet'), file],
      ]);
      if (folder === null) return this.skip();
      const { root, command } = foreignRoot(platform);
      try {
        cpSync(folder, join(root.path, 'app'), { recursive: true, dereference: true });
        copyFileSync(BOOKS, join(root.path, 'books.ndjson'));
        const program = '/app/node_modules/gannet/dist/main.cjs';
        const start = (argv: readonly string[]): ChildProcess =>
          root.start([
            ...command,
            program,
            ...argv.map((one) => one.replace(BOOKS, '/books.ndjson')),
          ]);
        // Under qemu no program can start another one, as the check of the data does.
        const printed = await serves(start, '/data', { verifies: cpu === 'x64' });
        assert.match(printed, /node:http/);
      } finally {
        root.erase();
      }
    });
  }

  it('name the package that is missing where there is none for the platform', function () {
    const folder = installed('alone', [packed('gannet')]);
    if (folder === null) return this.skip();
    rmSync(join(folder, 'node_modules/@gannet'), { recursive: true, force: true });
    const { status, stderr } = gannet(folder, '--db-path', join(folder, 'data'));
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(`install the package @gannet/${PLATFORM}`));
    assert.equal(existsSync(join(folder, 'data')), false);
  });

  it('have the licences of everything in them', () => {
    const read = (name: string): string =>
      readFileSync(join(dirname(packed('gannet')), name, 'THIRD-PARTY-NOTICES'), 'utf8');
    for (const name of ['pino', 'undici', 'preact', ...Object.keys(IN_SOCKET_LIBRARY)]) {
      assert.match(read('gannet'), new RegExp(`^${name} `, 'm'), name);
    }
    for (const name of ['simdjson', 'roaring', 'usearch', 'lmdb']) {
      assert.match(read(`gannet-${PLATFORM}`), new RegExp(`^${name} `, 'm'), name);
    }
  });
});
