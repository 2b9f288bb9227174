// Shared objects that run with an older glibc than that of the machine they are linked on.
//
// A symbol of glibc has a version for each way it has ever worked, and the linker takes the newest.
// Each symbol that had a version in 2.28 already is bound to that instead: the linker turns calls
// of it into calls of a stub (--wrap), which jumps to the old version. What did not exist at all is
// in glibc-shims.c. What of both is not needed is left out again.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The oldest glibc that a release runs with: that which Node itself needs. */
export const GLIBC = '2.28';

const HERE = dirname(fileURLToPath(import.meta.url));
/** Their names in other libraries mean the same. */
const LIBRARIES = ['libc.so.6', 'libm.so.6'];

const run = (command, args) =>
  execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'inherit'],
  });

/** Of versions such as `2.28`. */
export function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Symbols of a shared object and their versions of glibc. */
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

/** The newest glibc that a shared object or program needs, and for what. */
export function glibcOf(file) {
  let newest = { version: '0', name: '' };
  for (const { name, version, isNeeded } of symbolsOf(file)) {
    if (isNeeded && compareVersions(version, newest.version) > 0) newest = { version, name };
  }
  return newest;
}

/** Functions whose newest version is too young, and the version of each that is not. */
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

/** Writes what is linked in, into a folder. Returns arguments of the compiler that links. */
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
