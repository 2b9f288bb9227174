#!/usr/bin/env node
// Makes a release from the build, in build/release/: an archive that needs nothing but glibc, a
// Debian package of it, packages of npm, the chart; for each a bill of materials; SHA256SUMS and
// its signature. Run after `npm run build`, which builds the addon with cmake.
//   node release.mjs [--no-package] [--image] [--sign KEY] [--build-dir build] [PLATFORM...]
//   --no-package  only the archive
//   --image       also the image, which docker builds
//   --sign        a private key of minisign or cosign
//   PLATFORM      of the packages of npm; this machine's if none is named
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { checkVersions, portableAddon } from './addon.mjs';
import { chartPackage, momentOf, packFolder, sign, writeSums } from './artefacts.mjs';
import {
  billOf,
  nativeComponents,
  nodeComponents,
  otherComponent,
  packageComponents,
  socketComponents,
} from './bill.mjs';
import { debianPackage } from './debian.mjs';
import { NODE_MAJOR, nodePackage, oldDebian, socketLibrary } from './fetch.mjs';
import { notices, socketNotices } from './notices.mjs';
import { librariesOf, portableLink } from './portable.mjs';
import { run } from './run.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const { values: GIVEN, positionals: PLATFORMS } = parseArgs({
  allowPositionals: true,
  options: {
    'no-package': { type: 'boolean', default: false },
    image: { type: 'boolean', default: false },
    sign: { type: 'string' },
    'build-dir': { type: 'string', default: 'build' },
  },
});
const OUT = 'build/release';
const CACHE = join(OUT, 'cache');
const PROJECT = JSON.parse(readFileSync('package.json', 'utf8'));
const NAME = `gannet-${PROJECT.version}-linux-x64`;

const say = (line) => process.stdout.write(`${line}\n`);

/**
 * Builds the addon of the package lmdb from source, because its prebuilt addon needs a newer glibc.
 */
function portableLmdb(folder, flags, headers) {
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const work = resolve(OUT, `lmdb-${version}`);
  const out = join(work, 'node.napi.glibc.node');
  if (existsSync(out)) return out;
  mkdirSync(work, { recursive: true });
  const binding = readFileSync(join(folder, 'binding.gyp'), 'utf8');
  const own = binding.slice(
    binding.indexOf('"sources"'),
    binding.indexOf(']', binding.indexOf('"sources"')),
  );
  const sources = [...own.matchAll(/"([\w/.-]+\.(?:c|cpp))"/g)].map((match) => match[1]);
  const library = 'dependencies/lmdb/libraries/liblmdb';
  sources.push(`${library}/mdb.c`, `${library}/midl.c`);
  const include = [headers, napiHeaders(folder), 'dependencies/lz4/lib', library].map(
    (path) => `-I${path}`,
  );
  // The definitions of its build, but with Node-API only: one file for all Node versions.
  const define = [
    'MDB_MAXKEYSIZE=0',
    'NAPI_DISABLE_CPP_EXCEPTIONS',
    'MDB_USE_ROBUST',
    'NAPI_VERSION=8',
  ].map((name) => `-D${name}`);
  const objects = sources.map((source) => {
    const object = join(work, `${basename(source)}.o`);
    const isC = source.endsWith('.c');
    const command = isC ? 'gcc' : 'g++';
    const standard = isC ? [] : ['-std=c++17'];
    const how = ['-O3', '-fPIC', '-w', '-fvisibility=hidden', '-ffunction-sections'];
    run(command, [...standard, ...how, ...define, ...include, '-c', source, '-o', object], {
      cwd: folder,
    });
    return object;
  });
  const part = `${out}.part`;
  run('g++', [
    '-shared',
    '-o',
    part,
    ...objects,
    ...flags,
    '-Wl,--exclude-libs,ALL',
    '-Wl,-z,now',
    '-pthread',
  ]);
  run('mv', [part, out]);
  return out;
}

function napiHeaders(folder) {
  const inner = join(folder, 'node_modules/node-addon-api');
  return resolve(existsSync(inner) ? inner : 'node_modules/node-addon-api');
}

/** The folders of a package and its dependencies, starting with `name` as resolved from `from`. */
function packageFolders(name, from = '.', found = new Set()) {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    if (existsSync(folder)) {
      if (found.has(folder)) return found;
      found.add(folder);
      const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      for (const other of Object.keys(dependencies)) packageFolders(other, folder, found);
      return found;
    }
    if (at === '.') throw new Error(`${name}, which ${from} needs, is not installed`);
  }
}

/** Copies the parts of a package needed at run time, without sources and documents. */
function copyPackage(folder, to) {
  cpSync(folder, to, {
    recursive: true,
    filter: (path) => {
      const inside = path.slice(folder.length + 1);
      return !/^(?:node_modules|src|dependencies|dict|test|tests|prebuilds|bin|benchmark)(?:\/|$)|\.(?:md|d\.ts|d\.cts|map|gyp)$/.test(
        inside,
      );
    },
  });
}

function assemble(root, parts) {
  rmSync(root, { recursive: true, force: true });
  const lib = join(root, 'lib');
  for (const folder of ['bin', 'lib/build/Release', 'lib/runtime', 'share/doc']) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  run('gcc', [
    '-O2',
    '-static',
    '-s',
    '-w',
    join(HERE, 'launcher.c'),
    '-o',
    join(root, 'bin/gannet'),
  ]);
  cpSync(join(parts.node, 'bin/node'), join(lib, 'node'));
  run('strip', [join(lib, 'node')]);
  cpSync(parts.addon, join(lib, 'build/Release/gannet.node'));
  cpSync('dist', join(lib, 'dist'), { recursive: true });
  const { name, version, license, imports } = PROJECT;
  writeFileSync(
    join(lib, 'package.json'),
    `${JSON.stringify({ name, version, license, imports }, null, 2)}\n`,
  );
  for (const folder of parts.packages) copyPackage(folder, join(lib, folder));
  const lmdb = join(lib, 'node_modules/@lmdb/lmdb-linux-x64');
  copyPackage('node_modules/@lmdb/lmdb-linux-x64', lmdb);
  for (const file of readdirSync(lmdb)) if (file.endsWith('.node')) rmSync(join(lmdb, file));
  cpSync(parts.lmdb, join(lmdb, 'node.napi.glibc.node'));
  copyPackage(parts.uws, join(lib, 'node_modules', parts.uwsName));
  for (const library of parts.libraries)
    cpSync(library, join(lib, 'runtime', basename(library)), { dereference: true });
  for (const file of filesBelow(lib)) {
    // Only the launcher runs these files; they are not executable.
    if (/\.(?:cjs|js)$/.test(file)) {
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^#!.*\n/, ''));
    }
    // The socket library is kept as published, because its checksum is verified at each start.
    if (file.endsWith('.node') && !file.endsWith('/uws.node')) {
      run('strip', ['--strip-unneeded', file]);
    }
  }
  const doc = join(root, 'share/doc');
  for (const path of ['README.md', 'LICENSE', 'docs'])
    cpSync(path, join(doc, path), { recursive: true });
  writeFileSync(join(doc, 'THIRD-PARTY-NOTICES'), parts.notices);
  run('chmod', ['-R', 'u=rwX,go=rX', root]);
  const programs = [join(root, 'bin/gannet'), join(lib, 'node')];
  for (const file of filesBelow(root)) chmodSync(file, programs.includes(file) ? 0o755 : 0o644);
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Throws if a file of the release needs a newer glibc than promised, or another library. */
function checkLibraries(root) {
  const known =
    /^(?:lib(?:c|m|dl|pthread|rt)\.so\.\d|ld-linux-x86-64\.so\.2|libstdc\+\+\.so\.6|libgcc_s\.so\.1)$/;
  for (const file of filesBelow(root)) {
    if (!/\.node$|\.so\.\d+$|\/node$/.test(file)) continue;
    checkVersions(file);
    const needed = librariesOf(file);
    const strange = needed.find((library) => !known.test(library));
    if (strange !== undefined) throw new Error(`${file} needs ${strange}`);
    if (file.endsWith('.node') && needed.includes('libstdc++.so.6')) {
      throw new Error(`${file} needs the C++ library of the machine`);
    }
  }
}

function main() {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error('A release is made on linux-x64.');
  if (!existsSync('dist/main.cjs')) throw new Error('There is no server: npm run build');
  mkdirSync(CACHE, { recursive: true });
  const flags = portableLink(resolve(OUT));
  const node = nodePackage(CACHE);
  const uwsName = `@uwsjs/linux-x64-${NODE_MAJOR}`;
  const uws = socketLibrary(CACHE, uwsName);
  const old = oldDebian(CACHE, ['libc6', 'libstdc++6', 'libgcc-s1', 'gcc-10-base']);
  const libraries = [
    'usr/lib/x86_64-linux-gnu/libstdc++.so.6',
    'lib/x86_64-linux-gnu/libgcc_s.so.1',
  ].map((path) => [join(old, path), join(old, 'usr', path)].find((file) => existsSync(file)));
  const packages = [...packageFolders('lmdb')].filter(
    (folder) => !folder.endsWith('node-addon-api'),
  );
  const bundled = JSON.parse(readFileSync('dist/packages.json', 'utf8'));
  const parts = {
    node,
    uws,
    uwsName,
    libraries,
    packages,
    addon: portableAddon(GIVEN['build-dir'], resolve(OUT, 'gannet.node')),
    lmdb: portableLmdb('node_modules/lmdb', flags, resolve(node, 'include/node')),
    notices: notices([...bundled, ...packages], {
      [`Node.js (${basename(node)})`]: readFileSync(join(node, 'LICENSE'), 'utf8'),
      ...socketNotices(),
      'libstdc++ and libgcc': readFileSync(
        join(old, 'usr/share/doc/gcc-10-base/copyright'),
        'utf8',
      ),
    }),
  };
  const root = join(OUT, NAME);
  assemble(root, parts);
  checkLibraries(root);
  const about = { version: PROJECT.version, moment: momentOf() };
  const archive = packFolder(root, `${root}.tar.gz`, about.moment);
  if (GIVEN['no-package']) return say(archive);
  const versions = JSON.parse(
    run(join(node, 'bin/node'), ['-p', 'JSON.stringify(process.versions)']),
  );
  const server = packageComponents(bundled);
  const alone = [
    ...server,
    ...packageComponents(packages),
    ...nativeComponents(),
    ...nodeComponents(versions),
    ...socketComponents(uwsName, JSON.parse(readFileSync(join(uws, 'package.json'))).version),
  ];
  const [chart, ...npm] = [chartPackage(OUT, about), ...npmPackages()];
  const made = [
    [archive, [...alone, otherComponent('libstdc++', gccVersion(old), 'GPL-3.0-or-later')]],
    [debianPackage(root, OUT, about), alone],
    [chart, []],
    // The first has the server, each other one the addon for a platform.
    ...npm.map((file, at) => [file, at === 0 ? server : nativeComponents()]),
  ];
  const files = made.flatMap(([file, parts]) => {
    const bill = `${file}.cdx.json`;
    writeFileSync(bill, billOf(file, { ...about, parts }));
    return [file, bill];
  });
  const sums = writeSums(OUT, files);
  const signature = GIVEN.sign === undefined ? [] : [sign(sums, GIVEN.sign)];
  for (const file of [...files, sums, ...signature]) say(file);
  if (GIVEN.image) buildImage();
}

/** Makes the packages of npm. @returns the files, in the folder of the release */
function npmPackages() {
  const out = join(OUT, 'npm');
  const how = ['--build-dir', GIVEN['build-dir'], '--out', out, ...PLATFORMS];
  const made = run(process.execPath, [join(HERE, 'npm.mjs'), ...how])
    .trim()
    .split('\n');
  return made.map((file) => {
    const here = join(OUT, basename(file));
    renameSync(file, here);
    return here;
  });
}

/** The version of the C++ library of the old Debian, from the newest entry of its changelog. */
function gccVersion(old) {
  const changes = readFileSync(join(old, 'usr/share/doc/gcc-10-base/changelog.Debian.gz'));
  return /^\S+ \(([^)]+)\)/.exec(gunzipSync(changes).toString('utf8'))[1];
}

function buildImage() {
  const tag = `gannet:${PROJECT.version}`;
  const stdio = ['ignore', 'inherit', 'inherit'];
  run('docker', ['build', '-f', 'docs/deploy/Dockerfile', '-t', tag, '.'], { stdio });
  say(tag);
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error.message}\n${error.stderr ?? ''}`);
  process.exitCode = 1;
}
