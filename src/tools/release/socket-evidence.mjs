#!/usr/bin/env node
// Prints evidence of the origin of the pinned socket library binaries, for docs/guide/security.md.
// Fetches each package, and fails if one does not match package-lock.json and socket-binaries.json.
// Needs binutils.
//   node src/tools/release/socket-evidence.mjs
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SOCKET_LIBRARIES, socketLibrary } from './fetch.mjs';

const CACHE = 'build/release/cache';
const readelf = (...args) =>
  execFileSync('readelf', args, { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: 'pipe' });

/** The path of the BoringSSL sources in a binary, which shows the folder of the build. */
function buildFolder(file) {
  const text = readFileSync(file, 'latin1');
  return /(\/[\w./-]+)\/uWebSockets\/uSockets\/boringssl\//.exec(text)?.[1];
}

for (const [name, { version, bytes, sha256 }] of Object.entries(SOCKET_LIBRARIES)) {
  const file = join(socketLibrary(CACHE, name), 'uws.node');
  if (statSync(file).size !== bytes) throw new Error(`${file} has not ${bytes} bytes`);
  const compilers = readelf('-p', '.comment', file).matchAll(/\]\s+(.*(?:GCC|clang).*)/g);
  const symbols = readelf('--dyn-syms', '-W', file).split('\n');
  const exported = new Set(
    symbols
      .map((line) => line.trim().split(/\s+/))
      .filter((part) => /^\d+$/.test(part[6]))
      .map((part) => part[7]),
  );
  const lines = {
    package: `${name} ${version}, ${bytes} bytes`,
    sha256,
    'build id': /Build ID: (\w+)/.exec(readelf('-n', file))?.[1],
    'built in': buildFolder(file),
    compilers: [...compilers].map((match) => match[1]).join('; '),
    exports: `${exported.size}, with ${[...exported].find((one) => one.startsWith('node_register_module'))}`,
    needs: [...readelf('-d', file).matchAll(/NEEDED.*\[(.*)\]/g)]
      .map((match) => match[1])
      .join(' '),
  };
  for (const [label, value] of Object.entries(lines)) process.stdout.write(`${label}: ${value}\n`);
  process.stdout.write('\n');
}
