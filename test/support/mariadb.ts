/** A MariaDB (Debian package `mariadb-server`) without databases, in a folder of its own. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAM = '/usr/sbin/mariadbd';

export const HAS_MARIADB = existsSync(PROGRAM);

const START_MS_MAX = 120_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class Mariadb {
  readonly #dir: string;
  readonly #child: ChildProcess;

  private constructor(dir: string, child: ChildProcess) {
    this.#dir = dir;
    this.#child = child;
  }

  /** Reached by a socket in its folder only, by everybody. */
  static async start(): Promise<Mariadb> {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-mariadb-'));
    const data = `--datadir=${join(dir, 'data')}`;
    const made = spawnSync(
      'mariadb-install-db',
      ['--no-defaults', data, '--skip-test-db', '--auth-root-authentication-method=normal'],
      { encoding: 'utf8' },
    );
    if (made.status !== 0) throw new Error(`mariadb-install-db: ${made.stdout}${made.stderr}`);
    const options = [
      '--skip-networking',
      '--skip-grant-tables',
      '--innodb-flush-log-at-trx-commit=0',
    ];
    // As root it runs only if the user is named.
    const user = process.getuid!() === 0 ? ['--user=root'] : [];
    const socket = `--socket=${join(dir, 'socket')}`;
    const child = spawn(PROGRAM, ['--no-defaults', data, socket, ...options, ...user], {
      stdio: 'ignore',
    });
    const mariadb = new Mariadb(dir, child);
    // The option file of the system names the socket of another server.
    writeFileSync(join(dir, 'my.cnf'), `[client]\nsocket = ${join(dir, 'socket')}\n`);
    const ping = (): boolean =>
      spawnSync('mysqladmin', ['ping'], { env: { ...process.env, ...mariadb.env } }).status === 0;
    for (const begun = Date.now(); !ping(); await pause(100)) {
      if (child.exitCode === null && Date.now() - begun < START_MS_MAX) continue;
      child.kill('SIGKILL');
      throw new Error('mariadbd did not start');
    }
    return mariadb;
  }

  /** What clients need to find it. */
  get env(): Record<string, string> {
    return { MYSQL_HOME: this.#dir, MYSQL_UNIX_PORT: join(this.#dir, 'socket') };
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
    rmSync(this.#dir, { recursive: true });
  }
}
