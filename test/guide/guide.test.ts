/**
 * Every command of the guide is run, page after page as a reader does, against a server that the
 * first page starts. Each page is run in one of the shells: every other one in the same, and which
 * begins is chosen at random.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HAS_ETCD } from '../support/etcd.ts';
import { freePort } from '../support/free-port.ts';
import { HAS_MARIADB, Mariadb } from '../support/mariadb.ts';
import { HAS_POSTGRES, Postgres } from '../support/postgres.ts';
import { type Block, blocksOf, difference, lastJson } from './pages.ts';

const GUIDE = 'docs/guide';
const TOOLS = ['curl', 'jq', 'openssl'];
const isInstalled = (tool: string): boolean =>
  spawnSync(tool, ['--version'], { stdio: 'ignore' }).error === undefined;
const SHELLS = ['bash', 'zsh'].filter(isInstalled);
const SEED = Number(process.env['GANNET_SEED'] ?? randomInt(1000));

/** In the order in which the list of the guide has them. */
function pages(): string[] {
  const list = readFileSync(join(GUIDE, 'README.md'), 'utf8');
  return [...list.matchAll(/\]\(([\w-]+\.md)\)/g)].map((match) => match[1]!);
}

describe(`The guide (GANNET_SEED=${SEED})`, function () {
  let dir: string;
  let env: NodeJS.ProcessEnv;
  let postgres: Postgres | null = null;
  let mariadb: Mariadb | null = null;

  before(async function () {
    if (SHELLS.length === 0 || !TOOLS.every(isInstalled) || !existsSync('dist/main.cjs'))
      this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-guide-'));
    if (HAS_POSTGRES) postgres = Postgres.start();
    if (HAS_MARIADB) mariadb = await Mariadb.start();
    env = {
      ...process.env,
      ...postgres?.env,
      ...mariadb?.env,
      GANNET_URL: `http://127.0.0.1:${await freePort()}`,
      OTHER_URL: `http://127.0.0.1:${await freePort()}`,
      ETCD_URL: `http://127.0.0.1:${await freePort()}`,
      ETCD_PEER_URL: `http://127.0.0.1:${await freePort()}`,
      NODE_1: `127.0.0.1:${await freePort()}`,
      NODE_2: `127.0.0.1:${await freePort()}`,
      NODE_3: `127.0.0.1:${await freePort()}`,
      DATA: join(dir, 'data'),
      GANNET_LOG_LEVEL: 'WARN',
      GANNET_DUMP_DIR: join(dir, 'dumps'),
      GANNET_SNAPSHOT_DIR: join(dir, 'snapshots'),
    };
  });

  after(async () => {
    postgres?.close();
    await mariadb?.close();
    if (dir === undefined) return;
    for (const name of readdirSync(dir).filter((file) => file.endsWith('.pid'))) {
      for (const pid of readFileSync(join(dir, name), 'utf8').split(/\s+/).filter(Boolean)) {
        try {
          process.kill(Number(pid), 'SIGKILL');
        } catch {
          // It has ended.
        }
      }
    }
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs the blocks of a page in one shell; what each prints, until one fails. */
  function run(
    shell: string,
    page: string,
    blocks: readonly Block[],
  ): Promise<{ status: number | null; printed: string }> {
    const parts = blocks.map(
      ({ commands, line }, n) =>
        `echo ${line} > '${dir}/at'\n{\n${commands}\n} > '${dir}/${n}.out' 2> '${dir}/err'\n`,
    );
    const script = join(dir, 'page.sh');
    writeFileSync(
      script,
      `set -eo pipefail\ntrap "jobs -p > '${dir}/${page}.pid'" EXIT\n${parts.join('')}`,
    );
    const child = spawn(shell, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => (printed += bytes.toString()));
    }
    // Servers that the page starts live on, so the pipes may stay open: the shell itself is
    // waited for.
    return new Promise((resolve) => child.once('exit', (status) => resolve({ status, printed })));
  }

  for (const [at, page] of pages().entries()) {
    const shell = SHELLS[(SEED + at) % SHELLS.length]!;
    it(`can be followed in ${shell}: ${page}`, async function () {
      if (page === 'cluster.md' && !HAS_ETCD) this.skip();
      if (page === 'postgresql.md' && !HAS_POSTGRES) {
        console.log('      skipped: PostgreSQL is not installed (Debian package postgresql)');
        this.skip();
      }
      if (page === 'mysql.md' && !HAS_MARIADB) {
        console.log('      skipped: MariaDB is not installed (Debian package mariadb-server)');
        this.skip();
      }
      const file = join(GUIDE, page);
      const blocks = blocksOf(file);
      assert.ok(blocks.length > 0);
      const { status, printed } = await run(shell, page, blocks);
      const read = (name: string): string =>
        existsSync(join(dir, name)) ? readFileSync(join(dir, name), 'utf8') : '';
      if (status !== 0) {
        const line = read('at').trim();
        const n = blocks.findIndex((block) => String(block.line) === line);
        assert.fail(`${file}:${line} failed\n${printed}${read('err')}${read(`${n}.out`)}`);
      }
      for (const [n, { line, shown }] of blocks.entries()) {
        if (shown === undefined) continue;
        const out = read(`${n}.out`);
        const response = lastJson(out);
        if (response === undefined) assert.fail(`${file}:${line} printed no JSON: ${out}`);
        const fault = difference(shown, response);
        assert.equal(fault, null, `${file}:${line}: ${fault}`);
      }
    });
  }
});

describe('The list of the guide', () => {
  it('has no page that its list leaves out, and shows commands in blocks that are run', () => {
    const files = readdirSync(GUIDE).filter((name) => name.endsWith('.md') && name !== 'README.md');
    assert.deepEqual(pages().toSorted(), files.toSorted());
    for (const name of files) {
      const text = readFileSync(join(GUIDE, name), 'utf8');
      const other = /^```(bash|shell|console|)$\n(?=.*\b(curl|gannet|ask|npm)\b)/m.exec(
        text.replaceAll(/^```(sh|json|js|html|nginx|toml|ini)\n[\s\S]*?^```$/gm, ''),
      );
      assert.equal(other, null, `${name} shows a command that is not run`);
    }
  });
});

describe('What the guide shows of a response', () => {
  it('is part of it', () => {
    const response = { hits: [{ id: 1, title: 'Dune' }], took: 3 };
    assert.equal(difference({ hits: [{ title: 'Dune' }] }, response), null);
    assert.match(difference({ hits: [{ title: 'Emma' }] }, response)!, /^\.hits\.0\.title/);
    assert.match(difference({ hits: [] }, response)!, /elements/);
    assert.match(difference({ none: 1 }, response)!, /^\.none/);
  });
});
