/**
 * Runs a small program with each published client whose toolchain is installed: it creates an
 * index, adds documents and searches them. If the client supports networks, another program
 * searches two servers as one. A client that cannot be fetched, or whose language is not installed,
 * is skipped with a message.
 */
import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';

/** Folder of fetched packages and builds, which is kept. */
const WORK = resolve('build/clients');
const FOLDER = 'test/clients';
const EXPECTED = '1 hits: Crime and Punishment';
const EXPECTED_OF_NETWORK = 'one of one,two: one,two';

interface Step {
  argv: readonly [string, ...string[]];
  cwd?: string;
}

interface Client {
  /** Required tools. */
  tools: readonly string[];
  /** Commands that fetch packages. If one fails, the client is skipped. */
  fetch: readonly Step[];
  build?: Step;
  /** The program; address and key are appended to its arguments. */
  run: Step;
  /** The network program, which also gets the address of another server with the same key. */
  network?: Step;
  /** Takes half a minute or more, so it runs only with `npm run test:clients`. */
  slow?: true;
}

const python = join(WORK, 'python');
const smokeGo = join(WORK, 'smoke-go');
const rust = join(WORK, 'rust');
const rustSource = join(WORK, 'rust-source');
const java = join(WORK, 'java');
const modfile = ['-modfile', join(WORK, 'go.mod')] as const;
const maven = [
  '-B',
  '-q',
  '-Dstyle.color=never',
  '-f',
  `${FOLDER}/java/pom.xml`,
  `-Dsmoke.target=${java}`,
] as const;

const CLIENTS: Record<string, Client> = {
  'npm meilisearch': {
    tools: ['node'],
    fetch: [],
    run: { argv: ['node', `${FOLDER}/npm/smoke.mjs`] },
    network: { argv: ['node', `${FOLDER}/npm/network.mjs`] },
  },
  'PyPI meilisearch': {
    tools: ['python3'],
    fetch: [
      { argv: ['python3', '-m', 'venv', python] },
      {
        argv: [
          join(python, 'bin/pip'),
          'install',
          '--quiet',
          '-r',
          `${FOLDER}/python/requirements.txt`,
        ],
      },
    ],
    run: { argv: [join(python, 'bin/python'), `${FOLDER}/python/smoke.py`] },
    network: { argv: [join(python, 'bin/python'), `${FOLDER}/python/network.py`] },
  },
  'Go meilisearch-go': {
    tools: ['go'],
    fetch: [{ argv: ['go', 'mod', 'download', ...modfile], cwd: `${FOLDER}/go` }],
    build: {
      argv: ['go', 'build', '-p', '1', '-mod=mod', ...modfile, '-o', smokeGo, '.'],
      cwd: `${FOLDER}/go`,
    },
    run: { argv: [smokeGo] },
    network: { argv: [smokeGo] },
  },
  'crates.io meilisearch-sdk': {
    tools: ['cargo'],
    fetch: [{ argv: ['cargo', 'fetch', '--quiet'], cwd: rustSource }],
    build: {
      argv: ['cargo', 'build', '--quiet', '--jobs', '1', '--target-dir', rust],
      cwd: rustSource,
    },
    run: { argv: [join(rust, 'debug/smoke')] },
    slow: true,
  },
  'Maven meilisearch-java': {
    tools: ['mvn', 'javac'],
    fetch: [{ argv: ['mvn', ...maven, 'dependency:resolve', 'dependency:resolve-plugins'] }],
    build: { argv: ['mvn', ...maven, 'compile'] },
    run: { argv: ['mvn', ...maven, 'exec:java'] },
    slow: true,
  },
};

/**
 * Clients on registries that are not used here (Packagist, RubyGems), of which Debian has no
 * packages.
 */
const NOT_PACKAGED = ['PHP meilisearch-php', 'Ruby meilisearch-ruby'];

function done({ argv, cwd }: Step): SpawnSyncReturns<string> {
  return spawnSync('nice', [...argv], { ...(cwd === undefined ? {} : { cwd }), encoding: 'utf8' });
}

describe('Published clients', function () {
  this.timeout(1_800_000);
  let server: BuiltServer;
  let other: BuiltServer;
  before(async () => {
    mkdirSync(WORK, { recursive: true });
    // Keeps files that tools write next to their sources out of the repository.
    spawnSync('cp', [`${FOLDER}/go/go.mod`, join(WORK, 'go.mod')]);
    spawnSync('cp', ['-rT', `${FOLDER}/rust`, rustSource]);
    [server, other] = await Promise.all([startBuiltServer(), startBuiltServer()]);
  });
  after(() => Promise.all([server?.close(), other?.close()]));

  for (const [name, { tools, fetch, build, run, network, slow }] of Object.entries(CLIENTS)) {
    it(`find what they have added: ${name}`, function () {
      const skip = (why: string): never => {
        console.log(`      skipped: ${why}`);
        return this.skip() as never;
      };
      if (slow && process.env['GANNET_CLIENTS'] !== 'all')
        skip('only npm run test:clients tries it');
      for (const tool of tools) {
        if (spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0) skip(`no ${tool} here`);
      }
      for (const step of fetch) {
        const ended = done(step);
        if (ended.status !== 0) skip(`${name} cannot be fetched: ${ended.stderr.slice(0, 300)}`);
      }
      if (build !== undefined) {
        const built = done(build);
        assert.equal(built.status, 0, built.stdout + built.stderr);
      }
      const [command, ...rest] = run.argv;
      const last = [server.url, server.masterKey];
      const argv =
        command === 'mvn' ? [...rest, `-Dexec.args='${last[0]}' '${last[1]}'`] : [...rest, ...last];
      const ended = spawnSync(command, argv, { encoding: 'utf8' });
      assert.equal(ended.status, 0, ended.stdout + ended.stderr);
      // Maven writes a colour reset at the end, even to a pipe.
      const printed = stripVTControlCharacters(ended.stdout).trim();
      assert.equal(printed.split('\n').at(-1), EXPECTED);
      if (network === undefined) return;
      const [program, ...given] = network.argv;
      const asked = spawnSync(program, [...given, ...last, other.url], { encoding: 'utf8' });
      assert.equal(asked.status, 0, asked.stdout + asked.stderr);
      assert.equal(asked.stdout.trim(), EXPECTED_OF_NETWORK);
    });
  }

  for (const name of NOT_PACKAGED) {
    it(`find what they have added: ${name}`, function () {
      console.log('      skipped: no registry that is used here has it');
      this.skip();
    });
  }
});
