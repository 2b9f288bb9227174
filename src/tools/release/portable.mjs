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

/** Yields the symbols of a shared object with their glibc versions. */
function* symbolsOf(file) {
  for (const line of run('objdump', ['-T', file]).split('\n')) {
    const match =
      /^[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+\(?GLIBC_([\d.]+)\)?\s+(?:\.\w+ )?(\S+)$/.exec(line);
    if (match === null) continue;
    const [, flags, section, version, name] = match;
    yield {
      name,
      version,
      isNeeded: section === '*UND*',
      isFunction: flags.endsWith('F') || flags.includes('i'),
    };
  }
}

/** The newest glibc version that a shared object or program needs, and the symbol that needs it. */
export function glibcOf(file) {
  let newest = { version: '0', name: '' };
  for (const { name, version, isNeeded } of symbolsOf(file)) {
    if (isNeeded && compareVersions(version, newest.version) > 0) newest = { version, name };
  }
  return newest;
}

/** Functions whose newest version is too new, each with its newest version that is not. */
function oldVersions() {
  const old = new Map();
  const isTooYoung = new Set();
  for (const library of LIBRARIES) {
    const file = run('gcc', [`-print-file-name=${library}`]).trim();
    for (const { name, version, isNeeded, isFunction } of symbolsOf(file)) {
      if (isNeeded || !isFunction) continue;
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
  return [...objects, ...wraps, '-static-libstdc++', '-Wl,--gc-sections'];
}
