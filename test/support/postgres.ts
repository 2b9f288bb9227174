/** A PostgreSQL (Debian package `postgresql`) with an empty database in a folder of its own. */
import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const VERSIONS = '/usr/lib/postgresql';
/** The newest that is installed; null when there is none. */
const BIN = existsSync(VERSIONS)
  ? (readdirSync(VERSIONS)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(VERSIONS, version, 'bin'))
      .find((folder) => existsSync(join(folder, 'initdb'))) ?? null)
  : null;

export const HAS_POSTGRES = BIN !== null;

export class Postgres {
  readonly #dir: string;
  readonly #data: string;

  private constructor(dir: string) {
    this.#dir = dir;
    this.#data = join(dir, 'data');
  }

  /** Reached by a socket in its folder only. */
  static start(): Postgres {
    const postgres = new Postgres(mkdtempSync(join(tmpdir(), 'gannet-postgres-')));
    if (process.getuid!() === 0) {
      const [uid, gid] = ['-u', '-g'].map((which) =>
        Number(spawnSync('id', [which, 'postgres'], { encoding: 'utf8' }).stdout),
      );
      chownSync(postgres.#dir, uid!, gid!);
    }
    postgres.#run('initdb', '-D', postgres.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8');
    const options = `-c listen_addresses='' -c fsync=off -k ${postgres.#dir}`;
    postgres.#run(
      'pg_ctl',
      '-D',
      postgres.#data,
      '-l',
      join(postgres.#dir, 'log'),
      '-w',
      '-o',
      options,
      'start',
    );
    return postgres;
  }

  /** What clients need to find it. */
  get env(): Record<string, string> {
    return { PGHOST: this.#dir, PGUSER: 'postgres', PGDATABASE: 'postgres' };
  }

  close(): void {
    this.#run('pg_ctl', '-D', this.#data, '-m', 'immediate', 'stop');
    rmSync(this.#dir, { recursive: true });
  }

  /** PostgreSQL refuses to run as root. */
  #run(program: string, ...argv: string[]): void {
    const command = [join(BIN!, program), ...argv];
    const [name, ...rest] =
      process.getuid!() === 0 ? ['runuser', '-u', 'postgres', '--', ...command] : command;
    const ended = spawnSync(name!, rest, {
      cwd: this.#dir,
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    });
    if (ended.status !== 0) throw new Error(`${program}: ${ended.stderr}`);
  }
}
