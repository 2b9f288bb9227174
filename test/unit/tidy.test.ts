/**
 * What the documents say of the tree, held to be true by reading the tree: who may include whom,
 * which library has which door, that both builds know every source, and that the lists in docs/ are
 * complete.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { ERROR_CATALOGUE, isErrorCode } from '../../src/contract/errors.ts';
import { assertGenerated } from '../support/generated.ts';

/**
 * Below `native/`: a folder may include those before it, but siblings in one row see none of each
 * other.
 */
const NATIVE_LAYERS: readonly (readonly string[])[] = [
  ['base'],
  ['text', 'fst', 'bitmap', 'store', 'vector', 'filter'],
  ['segment'],
  ['index'],
  ['indexing', 'search'],
  ['addon'],
];

/**
 * Below `native/search/`: a folder may include those before it; what lies in no folder (''), any.
 */
const SEARCH_LAYERS = [
  ...['matching', 'query', 'vectors', 'results', 'natural', 'ranking'],
  '',
  'federation',
];

/** Below `src/`: a folder may import those before it. */
const SRC_LAYERS = [
  ...[
    'base',
    'records',
    'relevance',
    'outbound',
    'cluster',
    'archive',
    'rhai',
    'templates',
    'contract',
    'engine',
    'store',
    'auth',
    'audit',
  ],
  ...[
    'analytics',
    'network',
    'embedding',
    'tasks',
    'replica',
    'dump',
    'snapshot',
    'export',
    'search',
    'mcp',
    'chat',
    'http',
  ],
  ...['web', 'commands', 'parts'],
];

/** Pairs of folders of `src/` that do not meet although the order would allow it. */
const SRC_STRANGERS: readonly (readonly [string, string])[] = [
  ['http', 'tasks'],
  ['http', 'dump'],
  ['search', 'dump'],
  ['http', 'snapshot'],
  ['search', 'snapshot'],
  ['http', 'export'],
  ['search', 'export'],
  ['search', 'tasks'],
  ['commands', 'engine'],
  ['commands', 'store'],
  ['commands', 'tasks'],
  ['commands', 'http'],
];

/** Headers of libraries, and the folders that may include them. */
const NATIVE_DOORS: readonly (readonly [header: RegExp, folders: readonly string[]])[] = [
  [/^roaring/, ['bitmap']],
  [/^lmdb/, ['store']],
  [/^napi|^node_api/, ['addon']],
  [/^usearch/, ['vector']],
  [/^lz4/, ['segment']],
  [/^xxhash/, ['base']],
  [/^libstemmer/, ['text']],
  [/^simdjson/, ['base', 'filter', 'indexing']],
];

/** Packages, and the folders that may import them. */
const SRC_DOORS: readonly (readonly [name: RegExp, folders: readonly string[]])[] = [
  [/^ajv/, ['contract']],
  [/^@sinclair\/typebox/, ['contract']],
  [/^lmdb$/, ['store']],
  [/^pino/, ['base']],
  [/^undici/, ['outbound']],
  [/^aws4fetch/, ['cluster']],
  [/^tar-stream/, ['archive']],
  [/^liquidjs/, ['templates']],
  [/^jsonwebtoken/, ['auth']],
  [/^js-tiktoken/, ['embedding']],
  [/^preact/, ['web']],
  [/^cli-progress/, ['commands']],
  [/uws|uWebSockets/i, ['http']],
];

/** Files that the project itself consists of, tracked or about to be. */
function projectFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  return listed.split('\n').filter((file) => file !== '' && existsSync(file));
}

/** Files below a folder whose names end so, ascending. */
function filesBelow(folder: string, ...endings: readonly string[]): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => endings.some((ending) => file.endsWith(ending)))
    .toSorted();
}

interface Reference {
  file: string;
  /** Folder of the file below `native/` or `src/`; empty for files directly there. */
  folder: string;
  target: string;
}

function references(files: readonly string[], root: string, pattern: RegExp): Reference[] {
  return files.flatMap((file) => {
    const below = relative(root, file);
    const folder = below.includes('/') ? below.slice(0, below.indexOf('/')) : '';
    const text = readFileSync(file, 'utf8');
    return [...text.matchAll(pattern)].map((match) => ({ file, folder, target: match[1]! }));
  });
}

function assertNone(faults: readonly string[]): void {
  assert.deepEqual(faults, []);
}

/** The text of C++ with comments, literals and directives blanked, line by line the same. */
function bareCode(text: string): string {
  return text.replaceAll(
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"(\w*)\([\s\S]*?\)\1"|"(?:[^"\\\n]|\\[\s\S])*"|(?<!\w)'(?:[^'\\\n]|\\.)+'|^#(?:[^\n]*\\\n)*[^\n]*/gm,
    (match) => match.replaceAll(/[^\n]/g, ' '),
  );
}

/** Functions of C++ of more than `max` lines, lambdas within them counted as part. */
function longFunctions(text: string, max: number): string[] {
  const code = bareCode(text);
  const found: string[] = [];
  /** Where the present declaration begins. */
  let head = 0;
  /** Where the function that is open begins, and how deep. */
  let open: { begin: number; depth: number } | null = null;
  let depth = 0;
  for (const { 0: mark, index } of code.matchAll(/[{};]/g)) {
    if (mark === '{') {
      const declaration = code.slice(head, index).trimStart();
      const isFunction =
        declaration.includes(')') && !/^(?:namespace|class|struct|enum|union)\b/.test(declaration);
      if (open === null && isFunction) open = { begin: index - declaration.length, depth };
      depth++;
    } else if (mark === '}') {
      depth--;
      if (open !== null && depth === open.depth) {
        const lines = code.slice(open.begin, index).split('\n');
        if (lines.length > max) found.push(`${lines[0]!.trim()}: ${lines.length} lines`);
        open = null;
      }
    }
    if (open === null) head = index + 1;
  }
  return found;
}

describe('The tree of native/', () => {
  const files = filesBelow('native', '.h', '.cc');
  const layerOf = (folder: string): number =>
    NATIVE_LAYERS.findIndex((layer) => layer.includes(folder));

  it('includes only folders that stand before it', () => {
    const faults = references(files, 'native', /^#include "([^"]+)"/gm).flatMap(
      ({ file, folder, target }) => {
        const other = target.slice(0, target.indexOf('/'));
        if (other === folder) return [];
        if (layerOf(other) >= 0 && layerOf(other) < layerOf(folder)) return [];
        return [`${file} includes ${target}`];
      },
    );
    assertNone(faults);
  });

  it('includes in search/ only folders that stand before it', () => {
    const folderOf = (path: string): string => /^search\/(\w+)\//.exec(path)?.[1] ?? '';
    const faults = references(files, 'native', /^#include "(search\/[^"]+)"/gm).flatMap(
      ({ file, target }) => {
        const folder = folderOf(relative('native', file));
        const other = folderOf(target);
        if (folder === '' || folder === other) return [];
        const position = SEARCH_LAYERS.indexOf(other);
        if (position >= 0 && position < SEARCH_LAYERS.indexOf(folder)) return [];
        return [`${file} includes ${target}`];
      },
    );
    assertNone(faults);
  });

  it('gives every library one door', () => {
    const faults = references(files, 'native', /^#include <([^>]+)>/gm)
      .filter(({ folder, target }) => {
        const door = NATIVE_DOORS.find(([header]) => header.test(target));
        return door !== undefined && !door[1].includes(folder);
      })
      .map(({ file, target }) => `${file} includes <${target}>`);
    assertNone(faults);
  });

  it('is listed in sources.txt, file by file', () => {
    const lines = readFileSync('native/sources.txt', 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    assert.equal(new Set(lines).size, lines.length, 'a source is listed twice');
    assert.deepEqual(lines.toSorted(), filesBelow('native', '.cc'));
  });

  it('has no function of more than 80 lines', () => {
    const body = '  if (a) {\n    b("}");\n  }\n'.repeat(26);
    const example = (lines: string): string =>
      `namespace a {\nclass B {\n int C() const {\n${body}${lines}}\n};\n}\n`;
    assert.deepEqual(longFunctions(example(''), 80), []);
    assert.deepEqual(longFunctions(example('\n'), 80), ['int C() const {: 81 lines']);
    assertNone(
      files.flatMap((file) =>
        longFunctions(readFileSync(file, 'utf8'), 80).map((fault) => `${file}: ${fault}`),
      ),
    );
  });

  it('has every header guarded against a second inclusion', () => {
    const headers = [...filesBelow('native', '.h'), ...filesBelow('test/native', '.h')];
    assertNone(headers.filter((file) => !readFileSync(file, 'utf8').includes('#pragma once')));
  });
});

describe('The tree of src/', () => {
  const files = filesBelow('src', '.ts', '.tsx');
  const imports = references(files, 'src', /(?:\bfrom|\bimport|\bimport\() ?'([^']+)'/g);

  it('imports only folders that stand before it', () => {
    const faults = imports.flatMap(({ file, folder, target }) => {
      if (!target.startsWith('.')) return [];
      const path = relative('src', normalize(join(dirname(file), target)));
      if (path === 'config.ts') return folder === '' ? [] : [`${file} imports ${path}`];
      const other = path.slice(0, path.indexOf('/'));
      if (folder === '' || other === folder) return [];
      // The page runs elsewhere: it knows the server by its routes and their types alone.
      if (folder === 'web') {
        return ['records', 'relevance', 'contract'].includes(other)
          ? []
          : [`${file} imports ${path}`];
      }
      const allowed =
        SRC_LAYERS.includes(other) &&
        SRC_LAYERS.indexOf(other) < SRC_LAYERS.indexOf(folder) &&
        !SRC_STRANGERS.some(([from, to]) => from === folder && to === other);
      return allowed ? [] : [`${file} imports ${path}`];
    });
    assertNone(faults);
  });

  it('waits for a disk only while the server starts', () => {
    const starting =
      /^src\/(base|dump\/import|snapshot\/import|store\/data-folder|replica\/(install|restore)|tasks\/task-system)\b/;
    const users = files.filter((file) => /\bsyncFolder\b/.test(readFileSync(file, 'utf8')));
    assert.ok(users.length > 3);
    assertNone(users.filter((file) => !starting.test(file)));
  });

  it('gives the page nothing but types of the contract', () => {
    const values = /^import (?!type )[^;]*? from '[./]+\/contract\/[^']+'/gm;
    const faults = filesBelow('src/web', '.ts', '.tsx').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(values)].map(([found]) => `${file}: ${found}`),
    );
    assertNone(faults);
  });

  it('names the files it imports with their extension', () => {
    const faults = imports.filter(
      ({ target }) => target.startsWith('.') && !/\.(?:tsx?|json)$/.test(target),
    );
    assertNone(faults.map(({ file, target }) => `${file} imports ${target}`));
  });

  it('gives every package one door', () => {
    const faults = imports
      .filter(({ folder, target }) => {
        const door = SRC_DOORS.find(([name]) => name.test(target));
        return door !== undefined && !target.startsWith('.') && !door[1].includes(folder);
      })
      .map(({ file, target }) => `${file} imports ${target}`);
    assertNone(faults);
  });

  it('loads the addon in one file', () => {
    const loaders = files.filter((file) => readFileSync(file, 'utf8').includes("'#addon'"));
    assert.deepEqual(loaders, ['src/engine/addon.ts']);
  });

  it('has no exception to the length of functions, except lists that say so', () => {
    const rule = 'max-lines-per-function';
    const { overrides } = JSON.parse(readFileSync('.oxlintrc.json', 'utf8')) as {
      overrides: { files: string[]; rules: Record<string, unknown> }[];
    };
    const excepted = overrides
      .filter((override) => override.rules[rule] !== undefined)
      .flatMap((override) => override.files.filter((file) => file.startsWith('src/')));
    const disabled = files.filter((file) =>
      new RegExp(`oxlint-disable.*${rule}(?! -- a list of )`).test(readFileSync(file, 'utf8')),
    );
    assertNone([...excepted, ...disabled]);
  });

  it('has no default exports', () => {
    assertNone(files.filter((file) => /^export default /m.test(readFileSync(file, 'utf8'))));
  });
});

describe('The files of the project', () => {
  /** What tells of the machine or the way that a file was made on, and not of the project. */
  const FOREIGN: readonly RegExp[] = [
    /(?<![\w.~])\/(?:home|Users|root|work)\/\w/,
    /\bhelper sessions?\b/i,
    /https?:\/\/(?:registry\.|[\w.-]*(?:artifactory|nexus|verdaccio|jfrog))/i,
  ];
  const SELF = 'test/unit/tidy.test.ts';
  const BYTES_MAX = 1_000_000;

  it('speak of the project alone: no paths of a machine, no addresses of a registry', () => {
    const faults = projectFiles()
      .filter((file) => file !== SELF)
      .flatMap((file) => {
        const text = readFileSync(file, 'latin1');
        return FOREIGN.flatMap((pattern) => {
          const match = pattern.exec(text);
          return match === null ? [] : [`${file}: ${match[0]}`];
        });
      });
    assertNone(faults);
  });

  it('are small', () => {
    assertNone(projectFiles().filter((file) => readFileSync(file).length > BYTES_MAX));
  });

  it('at the root are few', () => {
    const roots = new Set(projectFiles().map((file) => file.split('/', 1)[0]!));
    const known = [
      ...['native', 'src', 'test', 'perf', 'docs', '.ci', '.github'],
      ...['binding.gyp', 'CMakeLists.txt', 'package.json', 'package-lock.json', 'tsconfig.json'],
      ...['README.md', 'LICENSE', '.gitignore', '.npmrc', '.mocharc.json'],
      ...['.clang-format', '.oxlintrc.json', '.prettierrc', '.prettierignore'],
    ];
    assertNone([...roots].filter((name) => !known.includes(name)));
  });

  it('have no comment wider than 100 columns, except commands to copy', () => {
    const sources = filesBelow('src', '.ts', '.tsx').concat(
      filesBelow('native', '.h', '.cc'),
      filesBelow('test', '.ts', '.h', '.cc'),
      filesBelow('perf', '.ts'),
    );
    const faults = sources.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.length > 100 && /^ *(?:\/\/|\/?\*)(?! {2})/.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    );
    assertNone(faults);
  });

  it('that the documents name exist', () => {
    const faults = ['README.md', ...filesBelow('docs', '.md')].flatMap((document) => {
      const named = readFileSync(document, 'utf8').matchAll(
        /`((?:native|src|test|perf|docs)\/[\w./-]+\.(?:ts|cc|h|md|json|ndjson))`/g,
      );
      return [...named]
        .map((match) => match[1]!)
        .filter((path) => !existsSync(path))
        .map((path) => `${document} names ${path}`);
    });
    assertNone(faults);
  });
});

describe('docs/internals/architecture.md', () => {
  it('leads through files that exist', () => {
    const [, ways] = readFileSync('docs/internals/architecture.md', 'utf8').split(
      /^## (?:The two ways|Where decisions).*/m,
    );
    const names = [...ways!.matchAll(/`([\w-]+(?:\/[\w-]*)*(?:\.(?:ts|cc))?)`/g)]
      .map((match) => match[1]!)
      .filter((name) => /[/.]/.test(name));
    assert.ok(names.length > 40);
    // A name without a folder is in the folder of the name before it.
    let folder = '';
    const faults = names.filter((name) => {
      const paths = [name, `src/${name}`, `native/${name}`];
      const own = name.replace(/\/$/, '').includes('/') ? [] : [join(folder, name)];
      const path = [...own, ...paths].find((one) => existsSync(one));
      if (path !== undefined) folder = name.endsWith('/') ? path : dirname(path);
      return path === undefined;
    });
    assertNone(faults);
  });
});

describe('README.md', () => {
  const text = readFileSync('README.md', 'utf8');

  it('shows commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = [
      ...text.matchAll(
        /\bnpm (?:run )?((?:test|start|demo|build|lint|format|coverage|fuzz)[\w:]*)/g,
      ),
    ];
    assert.ok(named.length > 5);
    assertNone(named.map((match) => match[1]!).filter((name) => scripts[name] === undefined));
  });
});

describe('docs/lifecycle.md', () => {
  it('lists the error codes of the catalogue under their status and type', () => {
    const listed = new Map<string, string[]>();
    for (const [code, { status, type }] of [...ERROR_CATALOGUE].toSorted()) {
      const heading = `### ${status} \`${type}\``;
      listed.set(heading, [...(listed.get(heading) ?? []), `\`${code}\``]);
    }
    const sections = [...listed]
      .toSorted()
      .map(([heading, codes]) => `${heading}\n\n${codes.join(' ')}\n`);
    assertGenerated('docs/lifecycle.md', (page) =>
      page.replace(/(?<=^## All codes\n[^#]*)###[^]*/m, () => sections.join('\n')),
    );
  });

  it('tells of no code that the catalogue does not have', () => {
    const diagram = readFileSync('docs/lifecycle.md', 'utf8').split('```')[1]!;
    const named = [...diagram.matchAll(/\b[a-z]+(?:_[a-z]+)+\b/g)].map((match) => match[0]);
    assert.ok(named.length > 10);
    assertNone(named.filter((code) => !isErrorCode(code)));
  });
});

describe('docs/internals/format.md', () => {
  it('lists every section of a segment file', () => {
    const layout = readFileSync('native/segment/layout.h', 'utf8');
    const ids = [...layout.matchAll(/SectionId k\w+ = (\d+);/g)].map((match) => match[1]!);
    const document = readFileSync('docs/internals/format.md', 'utf8');
    assert.ok(ids.length > 8);
    assertNone(ids.filter((id) => !document.includes(`\n| ${id} | `)));
  });
});
