#!/usr/bin/env node
// Makes the packages of npm from the build: `gannet` with the server, and for each platform one
// with the addon, which npm installs where it fits. Run after `npm run build`.
//   node npm.mjs [--build-dir build] [PLATFORM…]    this machine's platform unless some are named
// Writes build/npm/*.tgz and prints their names.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { checkVersions, crossAddon, PLATFORMS, portableAddon } from './addon.mjs';
import { notices, socketNotices } from './notices.mjs';
import { run } from './run.mjs';

const { values: GIVEN, positionals: NAMED } = parseArgs({
  options: {
    'build-dir': { type: 'string', default: 'build' },
    out: { type: 'string', default: 'build/npm' },
  },
  allowPositionals: true,
});
const OUT = GIVEN.out;
const CACHE = 'build/release/cache';
const PROJECT = JSON.parse(readFileSync('package.json', 'utf8'));
const { version, description, license, engines } = PROJECT;
/** Packages that the bundle does not contain, because they load binaries of their own. */
const LOADED = ['lmdb'];
const isLoaded = (name) => name.startsWith('@uwsjs/');

const packageOf = (platform) => `@gannet/${platform}`;

/** Makes the folder of a package. */
function begin(name, manifest) {
  const folder = join(OUT, name.replace('@gannet/', 'gannet-'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const common = { name, version, description, license, engines };
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...common, ...manifest }, null, 2)}\n`,
  );
  cpSync('LICENSE', join(folder, 'LICENSE'));
  return folder;
}

function pack(folder) {
  // Whatever the umask of the build.
  run('chmod', ['-R', 'u=rwX,go=rX', folder]);
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', resolve(OUT)], {
      cwd: folder,
    }),
  );
  process.stdout.write(`${join(OUT, filename)}\n`);
}

function serverPackage() {
  const { dependencies, optionalDependencies } = PROJECT;
  const folder = begin('gannet', {
    keywords: ['search', 'search-engine', 'full-text-search', 'meilisearch'],
    bin: PROJECT.bin,
    imports: { '#package': PROJECT.imports['#package'] },
    dependencies: Object.fromEntries(LOADED.map((name) => [name, dependencies[name]])),
    optionalDependencies: {
      ...Object.fromEntries(
        Object.entries(optionalDependencies).filter(([name]) => isLoaded(name)),
      ),
      ...Object.fromEntries(Object.keys(PLATFORMS).map((name) => [packageOf(name), version])),
    },
  });
  cpSync('dist', join(folder, 'dist'), { recursive: true });
  chmodSync(join(folder, PROJECT.bin.gannet), 0o755);
  for (const file of ['README.md', 'test/demo/books.ndjson']) {
    cpSync(file, join(folder, basename(file)));
  }
  const bundled = JSON.parse(readFileSync('dist/packages.json', 'utf8'));
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), notices(bundled, socketNotices()));
  pack(folder);
}

function addonPackage(platform) {
  const { os, cpu, libc } = PLATFORMS[platform];
  const folder = begin(packageOf(platform), {
    description: `The engine of gannet for ${platform}`,
    main: 'gannet.node',
    os: [os],
    cpu: [cpu],
    ...(libc === undefined ? {} : { libc: [libc] }),
  });
  const file = join(folder, 'gannet.node');
  cpSync(addonFor(platform), file);
  writeFileSync(join(folder, 'THIRD-PARTY-NOTICES'), notices([], {}));
  pack(folder);
}

/** The platform of this machine; glibc is assumed where Linux has both. */
const HERE = `${process.platform}-${process.arch}`;

function addonFor(platform) {
  const out = resolve(OUT, `${platform}.node`);
  if (platform !== HERE) {
    if (PLATFORMS[platform].zig === undefined) {
      throw new Error(`The addon for ${platform} is built on that platform.`);
    }
    cpSync(crossAddon(CACHE, platform), out);
    if (PLATFORMS[platform].libc === 'glibc') checkVersions(out);
    return out;
  }
  if (process.platform === 'linux') {
    portableAddon(GIVEN['build-dir'], out);
  } else {
    cpSync(join(GIVEN['build-dir'], 'Release/gannet.node'), out);
    run('strip', ['-x', out]);
  }
  return out;
}

function main() {
  const platforms = NAMED.length > 0 ? NAMED : [HERE];
  const unknown = platforms.find((name) => !Object.hasOwn(PLATFORMS, name));
  if (unknown !== undefined) {
    throw new Error(
      `There is no package for ${unknown}; known are ${Object.keys(PLATFORMS).join(', ')}.`,
    );
  }
  if (!existsSync('dist/main.cjs')) throw new Error('There is no server: npm run build');
  mkdirSync(OUT, { recursive: true });
  serverPackage();
  for (const platform of platforms) addonPackage(platform);
}

try {
  main();
} catch (error) {
  process.stderr.write(`${error.message}\n${error.stderr ?? ''}`);
  process.exitCode = 1;
}
