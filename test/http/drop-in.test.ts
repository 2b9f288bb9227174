import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../support/free-port.ts';

/** The program with the start script of another server, as its users would run it. */
describe('A start script of the reference', function () {
  this.timeout(120_000);

  const KEY = 'a key of another server';
  let dir: string;
  let url: string;
  let port: number;
  let child: ChildProcess | null;
  let log: string;

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-drop-in-'));
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    child = null;
    log = '';
  });
  afterEach(async () => {
    if (child !== null && child.exitCode === null) {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    }
    rmSync(dir, { recursive: true });
  });

  function begin(env: Record<string, string>, ...argv: string[]): ChildProcess {
    const { GANNET_MASTER_KEY: _, MEILI_MASTER_KEY: __, ...inherited } = process.env;
    child = spawn(process.execPath, [join(process.cwd(), 'dist/main.cjs'), ...argv], {
      cwd: dir,
      env: { ...inherited, ...env },
    });
    child.stderr!.on('data', (chunk: Buffer) => (log += chunk.toString()));
    return child;
  }

  async function responding(): Promise<void> {
    for (;;) {
      if (child!.exitCode !== null) throw new Error(log);
      const response = await fetch(`${url}/health`).catch(() => null);
      if (response?.status === 200) return;
      await delay(20);
    }
  }

  /** Lines of the log may arrive after the first response. */
  async function logged(text: string): Promise<void> {
    while (!log.includes(text)) await delay(20);
  }

  const status = async (key: string | null): Promise<number> => {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    return (await fetch(`${url}/indexes`, { headers })).status;
  };

  it('protects the server with its master key, and one line of the log names what was used', async () => {
    const env = {
      MEILI_MASTER_KEY: KEY,
      MEILI_DB_PATH: join(dir, 'data'),
      MEILI_HTTP_ADDR: `127.0.0.1:${port}`,
      MEILI_NO_ANALYTICS: 'true',
    };
    begin(env, '--experimental-replication-parameters');
    await responding();
    assert.deepEqual(
      [await status(null), await status('wrong'), await status(KEY)],
      [401, 403, 200],
    );
    await logged('The option experimental-replication-parameters has no effect.');
    const names = Object.keys(env).toSorted().join(', ');
    await logged(names);
    assert.equal(log.split(names).length, 2, log);
    assert.equal(log.includes(KEY), false);
  });

  it('may be a configuration file', async () => {
    const path = join(dir, 'theirs.toml');
    writeFileSync(
      path,
      `master_key = "${KEY}"\nhttp_addr = "127.0.0.1:${port}"\ndb_path = "./data"\nmax_index_size = "1 GiB"\n`,
    );
    begin({ MEILI_CONFIG_FILE_PATH: path });
    await responding();
    assert.deepEqual([await status(null), await status(KEY)], [401, 200]);
    await logged('The option max-index-size has no effect.');
  });

  it('does not start with an empty master key', async () => {
    const [code] = await once(
      begin({ MEILI_MASTER_KEY: '', MEILI_HTTP_ADDR: `127.0.0.1:${port}` }),
      'close',
    );
    assert.equal(code, 2);
    assert.match(log, /The master key is empty/);
  });
});
