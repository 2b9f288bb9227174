#!/usr/bin/env node
// Adds to package-lock.json an entry for every optional dependency that the registry does not have
// for any platform, so that `npm ci` accepts the lock file. npm drops such packages when it writes
// the lock, then refuses the lock because they are missing. Run this after every change of
// dependencies:
//   npm install --package-lock-only && node native/tools/complete-lock.mjs
import { readFileSync, writeFileSync } from 'node:fs';

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const known = new Set(
  Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, '')),
);
const operatingSystems = ['darwin', 'linux', 'win32', 'freebsd', 'android', 'openharmony'];
const processors = ['x64', 'arm64', 'arm', 'ia32', 'ppc64', 's390x', 'riscv64'];
let added = 0;
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (known.has(name)) continue;
    const words = name.split(/[-/]/);
    const os = operatingSystems.filter((word) => words.includes(word));
    const cpu = processors.filter((word) => words.includes(word));
    const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined;
    lock.packages[`node_modules/${name}`] = {
      version: version.replace(/^[~^]/, ''),
      optional: true,
      os: os.length ? os : ['none'],
      ...(cpu.length && { cpu }),
      ...(libc && { libc }),
    };
    known.add(name);
    added++;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)),
);
writeFileSync('package-lock.json', JSON.stringify(lock, null, 2) + '\n');
console.log(`${added} optional packages added to the lock file`);
