// Shared objects that run with an older glibc than that of the machine they are linked on.
//
// A glibc symbol has a version for each of its historical behaviours, and the linker takes the
// newest. Each symbol that already had a version in 2.28 is bound to that version instead: the
// linker replaces calls of it by calls of a stub (--wrap), which jumps to the old version.
// Functions that did not exist in 2.28 are in glibc-shims.c. Unused stubs and shims are removed by
// the linker.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The minimum glibc of a release, which is that of Node. */
export const GLIBC = '2.28';

/**
 * The newest versions of symbols that a release may need: of glibc, and of the C++ library of GCC
 * 5, which only Node needs from the machine.
 */
export const PROMISED = { GLIBC, GLIBCXX: '3.4.21', CXXABI: '1.3.9', GCC: '4.8.0' };

const HERE = dirname(fileURLToPath(import.meta.url));
/** Libraries of glibc whose symbols are bound to old versions. */
const LIBRARIES = ['libc.so.6', 'libm.so.6'];

const run = (command, args) =>
  execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Compares versions such as `2.28`. */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Yields the versioned symbols of a shared object: `family` is the library, such as `GLIBC`. */
function* symbolsOf(file) {
  for (const line of run('readelf', ['--dyn-syms', '--wide', file]).split('\n')) {
    const match =
      /^ *\d+: [0-9a-f]+ +\S+ (\S+) +\S+ +\S+ +(\S+) (\S+?)@@?([A-Z]+)_([\w.]+)(?: \(\d+\))?$/.exec(
        line,
      );
    if (match === null) continue;
    const [, type, section, name, family, version] = match;
    const isFunction = type === 'FUNC' || type === 'IFUNC';
    yield { name, family, version, isFunction, isNeeded: section === 'UND' };
  }
}

/** What a shared object or program needs beyond the promised versions: `GLIBC_2.34 for stat`. */
export function tooYoung(file, promised = PROMISED) {
  // Some have names, such as `GLIBC_PRIVATE`: nobody promises those.
  const isPromised = ({ family, version }) =>
    /^\d/.test(version) && compareVersions(version, promised[family] ?? '0') <= 0;
  return [...symbolsOf(file)]
    .filter((symbol) => symbol.isNeeded && !isPromised(symbol))
    .map(({ name, family, version }) => `${family}_${version} for ${name}`)
    .toSorted();
}

/** The libraries that a shared object or program names. */
export function librariesOf(file) {
  return [...run('readelf', ['--dynamic', '--wide', file]).matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(
    (match) => match[1],
  );
}

/** Functions whose newest version is too new, each with its newest version that is not. */
function oldVersions() {
  const old = new Map();
  const isTooYoung = new Set();
  for (const library of LIBRARIES) {
    const file = run('gcc', [`-print-file-name=${library}`]).trim();
    for (const { name, family, version, isNeeded, isFunction } of symbolsOf(file)) {
      if (isNeeded || !isFunction || family !== 'GLIBC') continue;
      if (compareVersions(version, GLIBC) > 0) isTooYoung.add(name);
      else if (compareVersions(version, old.get(name) ?? '0') > 0) old.set(name, version);
    }
  }
  return [...old].filter(([name]) => isTooYoung.has(name));
}

/** Writes the objects to link to a folder. Returns the arguments for the compiler that links. */
export function portableLink(folder) {
  const versions = oldVersions();
  const stubs = versions.map(
    ([name, version]) => `
  .symver old_${name}, ${name}@GLIBC_${version}
  .section .text.${name}, "ax", @progbits
  .globl __wrap_${name}
  .hidden __wrap_${name}
  .type __wrap_${name}, @function
__wrap_${name}:
  jmp old_${name}@PLT
  .size __wrap_${name}, . - __wrap_${name}
`,
  );
  const source = join(folder, 'glibc-stubs.s');
  writeFileSync(source, `${stubs.join('')}\n  .section .note.GNU-stack, "", @progbits\n`);
  const objects = [
    ['glibc-stubs.o', source],
    ['glibc-shims.o', join(HERE, 'glibc-shims.c')],
  ].map(([name, from]) => {
    const object = join(folder, name);
    run('gcc', [
      '-O2',
      '-fPIC',
      '-w',
      '-ffunction-sections',
      '-fno-builtin',
      '-c',
      from,
      '-o',
      object,
    ]);
    return object;
  });
  const wraps = versions.map(([name]) => `-Wl,--wrap=${name}`);
  // The linker makes the build's id from all it writes: without symbols, no folder is in that.
  return [...objects, ...wraps, '-static-libstdc++', '-Wl,--gc-sections', '-Wl,--strip-all'];
}
