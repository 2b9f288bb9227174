import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Libraries of glibc that programs name; the loader is in the same folder. */
const LIBRARIES = ['libc', 'libm', 'libdl', 'libpthread', 'librt'];
const VERSIONS: Record<string, number> = { libc: 6, libm: 6, libdl: 2, libpthread: 0, librt: 1 };
const MOUNT =
  'mount --bind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot $USERSPEC "$0" "$@"';

export interface Ended {
  status: number | null;
  output: string;
  complaints: string;
}

/** Where a program runs. */
export interface Host {
  /** Starts a program; the signals that it gets are those of the process. */
  start(argv: readonly string[], env?: Record<string, string>, user?: string): ChildProcess;
}

/** This machine, where a program finds no other one. */
export const NOTHING_ON_PATH: Host = {
  start: ([program, ...argv], env = {}) =>
    spawn(program!, argv, { env: { PATH: '/nonexistent', ...env } }),
};

/** Runs a program to its end. */
export async function ran(
  host: Host,
  argv: readonly string[],
  env: Record<string, string> = {},
  user = '',
): Promise<Ended> {
  const child = host.start(argv, env, user);
  let output = '';
  let complaints = '';
  child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const status = await new Promise<number | null>((done) => child.once('close', done));
  return { status, output, complaints };
}

/** Why programs cannot be run in another root here; null when they can. */
export function whyNoRoot(): string | null {
  if (process.getuid?.() !== 0) return 'only root may change the root';
  const tried = spawnSync('unshare', ['--mount', 'true']);
  return tried.status === 0 ? null : 'unshare does not work here';
}

/** A folder that programs see as the root, apart from /dev and /proc. */
export class Root implements Host {
  readonly path: string;

  /** @param path one that is there already; it is not erased */
  constructor(path?: string) {
    this.path = path ?? mkdtempSync(join(tmpdir(), 'gannet-root-'));
    for (const name of ['dev', 'proc', 'tmp']) {
      mkdirSync(join(this.path, name), { recursive: true });
    }
  }

  /** Puts glibc into it. @param from a root of Debian that has one */
  addGlibc(from: string): void {
    const folder = join(this.path, 'lib/x86_64-linux-gnu');
    mkdirSync(folder, { recursive: true });
    mkdirSync(join(this.path, 'lib64'));
    const own = join(from, 'lib/x86_64-linux-gnu');
    for (const name of LIBRARIES) {
      const file = `${name}.so.${VERSIONS[name]!}`;
      // Younger ones have some of them no more.
      if (existsSync(join(own, file))) copyFileSync(join(own, file), join(folder, file));
    }
    const loader = 'ld-linux-x86-64.so.2';
    copyFileSync(join(own, loader), join(this.path, 'lib64', loader));
  }

  /** @param user `name:group`, else root */
  start(argv: readonly string[], env: Record<string, string> = {}, user = ''): ChildProcess {
    const userspec = user === '' ? '' : `--userspec=${user}`;
    return spawn('unshare', ['--mount', 'sh', '-c', MOUNT, this.path, ...argv], {
      env: { PATH: process.env.PATH!, USERSPEC: userspec, ...env },
    });
  }

  erase(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
