// The addon for a release: the built one, linked again for an older glibc, or one for another
// platform, compiled by zig, which has the headers and libraries of every platform.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { GLIBC, portableLink, tooYoung } from './portable.mjs';
import { run } from './run.mjs';

/**
 * The platforms that have a package of npm with the addon. `zig` is the name of a platform that zig
 * compiles for; without it the addon is built on that platform (.github/workflows/release.yml).
 */
export const PLATFORMS = {
  'linux-x64': { os: 'linux', cpu: 'x64', libc: 'glibc', zig: `x86_64-linux-gnu.${GLIBC}` },
  'linux-x64-musl': { os: 'linux', cpu: 'x64', libc: 'musl', zig: 'x86_64-linux-musl' },
  'linux-arm64': { os: 'linux', cpu: 'arm64', libc: 'glibc', zig: `aarch64-linux-gnu.${GLIBC}` },
  'linux-arm64-musl': { os: 'linux', cpu: 'arm64', libc: 'musl', zig: 'aarch64-linux-musl' },
  'darwin-arm64': { os: 'darwin', cpu: 'arm64' },
};

/** A package of PyPI, which has the compiler as a program. */
const ZIG = {
  version: '0.17.1',
  sha256: 'ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54',
};

/**
 * Links the addon that is built in a folder again, for an older glibc. Throws if it needs more than
 * is promised all the same.
 * @returns `out`
 */
export function portableAddon(buildDir, out) {
  const [command, folder] = linkCommand(buildDir);
  const output = /\s-o (\S*gannet\.node)\s/;
  if (!output.test(command)) throw new Error('the command that links the addon has no output');
  const part = `${out}.part`;
  const again = command.replace(output, () => ` -o ${quoted(part)} `);
  const flags = portableLink(dirname(out)).map(quoted);
  run('sh', ['-c', `${again} ${flags.join(' ')}`], { cwd: folder });
  run('strip', ['--strip-unneeded', part]);
  checkVersions(part);
  renameSync(part, out);
  return out;
}

/** A word for the shell: a folder may have spaces in its name. */
const quoted = (word) => `'${word.replaceAll("'", `'\\''`)}'`;

/** Throws if a shared object or program needs younger libraries than promised. */
export function checkVersions(file) {
  const faults = tooYoung(file);
  if (faults.length === 0) return;
  throw new Error(`${file} needs ${faults.join(', ')}; glibc ${GLIBC} is promised`);
}

/** The command that links the addon in the build, and its folder. */
function linkCommand(folder) {
  if (existsSync(join(folder, 'build.ninja'))) {
    const lines = run('ninja', ['-C', folder, '-t', 'commands', 'gannet']).trim().split('\n');
    // Ninja adds steps before and after it.
    const steps = lines
      .at(-1)
      .split(' && ')
      .map((step) => step.trim());
    return [steps.find((step) => / -o \S*gannet\.node\s/.test(step)) ?? '', folder];
  }
  const file = join(folder, 'CMakeFiles/gannet.dir/link.txt');
  if (existsSync(file)) return [readFileSync(file, 'utf8').trim(), folder];
  throw new Error('There is no build of the addon by cmake: npm run build');
}

/**
 * Compiles the addon for a platform of `PLATFORMS` other than this machine's.
 * @param cache a folder that keeps the compiler and the objects for the next time
 * @returns the file
 */
export function crossAddon(cache, platform) {
  const { os, cpu, zig } = PLATFORMS[platform];
  const work = resolve(cache, `addon-${platform}`);
  const compilers = crossCompilers(cache, work, zig);
  const defines = {
    CMAKE_BUILD_TYPE: 'Release',
    CMAKE_SYSTEM_NAME: os === 'linux' ? 'Linux' : 'Darwin',
    CMAKE_SYSTEM_PROCESSOR: cpu === 'x64' ? 'x86_64' : 'aarch64',
    CMAKE_TRY_COMPILE_TARGET_TYPE: 'STATIC_LIBRARY',
    CMAKE_C_COMPILER: compilers.cc,
    CMAKE_CXX_COMPILER: compilers['c++'],
    CMAKE_AR: compilers.ar,
    CMAKE_RANLIB: compilers.ranlib,
    // Without symbols that only a debugger reads.
    CMAKE_SHARED_LINKER_FLAGS: '-s',
    CMAKE_JS_INC: ['node-api-headers/include', 'node-addon-api']
      .map((folder) => resolve('node_modules', folder))
      .join(';'),
  };
  const folder = join(work, 'build');
  const flags = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`);
  const env = { ...process.env, CCACHE_COMPILERTYPE: 'clang' };
  const options = { env, stdio: 'pipe' };
  run('cmake', ['-S', '.', '-B', folder, ...flags], options);
  run('cmake', ['--build', folder, '--target', 'gannet', '--parallel', '2'], options);
  return join(folder, 'gannet.node');
}

/** Programs for cmake that call zig for a platform. */
function crossCompilers(cache, work, target) {
  const zig = zigProgram(cache);
  mkdirSync(work, { recursive: true });
  const programs = { cc: `-target ${target}`, 'c++': `-target ${target}`, ar: '', ranlib: '' };
  return Object.fromEntries(
    Object.entries(programs).map(([name, more]) => {
      const file = join(work, name);
      const text = `#!/bin/sh\nexec '${zig}' ${name} ${more} "$@"\n`;
      // ccache takes a compiler with another time for another compiler.
      if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
      chmodSync(file, 0o755);
      return [name, file];
    }),
  );
}

/** Fetches the compiler once. Throws if pip cannot, or if its checksum differs. */
function zigProgram(cache) {
  const folder = resolve(cache, `zig-${ZIG.version}`);
  const program = join(folder, 'ziglang/zig');
  if (existsSync(program)) return program;
  const part = `${folder}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true });
  const wanted = join(part, 'requirements.txt');
  writeFileSync(wanted, `ziglang==${ZIG.version} --hash=sha256:${ZIG.sha256}\n`);
  const how = ['--quiet', '--no-deps', '--require-hashes', '--only-binary', ':all:'];
  run('python3', ['-m', 'pip', 'install', ...how, '--target', part, '-r', wanted]);
  renameSync(part, folder);
  return program;
}
