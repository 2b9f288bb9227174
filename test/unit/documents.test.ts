/**
 * What README.md and docs/ name in backticks exists: files, folders, identifiers, options, npm
 * scripts; so do the targets of links, and the tests of docs/internals/faults.md. A renamed
 * thing is found by the page that still has its old name.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { COMMANDS } from '../../src/commands/commands.ts';
import { OPTIONS } from '../../src/config.ts';
import { RESTORE_OPTIONS } from '../../src/cluster-commands.ts';
import { slug } from '../../src/tools/docs/pages.mjs';

const SELF = 'test/unit/documents.test.ts';

const FAULTS = 'docs/internals/faults.md';

/** Files that exist in a data folder, an archive or a user's folder and not in this repository. */
const ELSEWHERE: readonly RegExp[] = [
  /^(?:payloads|indexes|importing|imported|snapshot|warm-up|data|dumps|snapshots|scenarios)\//,
  /^(?:store|analytics)\/(?:data|lock)\.mdb$/,
  /^(?:lib|bin|share|dist|dead)\//,
  /^\w+\.mdb(?:-lock)?$/,
  /^(?:config|tokenizer)\.json$|^onnx\/|^config\.toml$|^build\/|^\.\//,
  /^FILE\b|^x\.test\.ts$|^data\.gannet|\.dump$|\.snapshot$/,
];

/** Identifiers of other programs, formats and languages. */
const FOREIGN = new Set([
  ...['MADV_RANDOM', 'MADV_COLLAPSE', 'RssAnon', 'read_ahead_kb', 'oom_kill', 'drop_caches'],
  ...['sched_switch', 'sched_waking', 'sd_notify', 'generateTenantToken'],
  ...['WatchdogSec', 'EXTEND_TIMEOUT_USEC', 'STOPPING', 'READY', 'STATUS', 'NotifyAccess'],
  ...[
    ...['FETCH_COUNT', 'json_build_object'],
    'LimitNOFILE',
    'AbortIncompleteMultipartUpload',
    'IdleConnTimeout',
    'client_max_body_size',
    'compact_revision',
    'proxy_http_version',
    'algoliasearch',
    'MSG_OOB',
    'node_register_module_v115',
  ],
  ...[
    '_v127',
    '_v137',
    '_v147',
    'extra_content',
    'uWebSockets',
    '_geoloc',
    'title_fr',
    'title_de',
    'allErrors',
  ],
]);

/** Options of other programs. */
const FOREIGN_OPTIONS = new Set(['import']);

/** A page whose tables have names of other programs in all columns but the first. */
const ONLY_FIRST_COLUMN_IS_OURS = 'docs/guide/migration.md';

const projectFiles = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard'],
  { encoding: 'utf8' },
)
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));

const pages = projectFiles.filter((file) => file === 'README.md' || /^docs\/.*\.md$/.test(file));

const folders = new Set(
  projectFiles.flatMap((file) => {
    const parts = file.split('/').slice(0, -1);
    return parts.map((_, n) => `${parts.slice(0, n + 1).join('/')}/`);
  }),
);

/** Sources by file, without comments, so that a comment does not keep a name alive. */
const sources = new Map(
  projectFiles
    .filter((file) => /\.(?:ts|tsx|mjs|cjs|js|cc|h|c|json|sh|yaml|toml|service)$/.test(file))
    .filter((file) => file !== SELF && !/^test\/(?:formats|golden)\/.*\.json$/.test(file))
    .map((file) => {
      const text = readFileSync(file, 'utf8');
      return [file, text.replaceAll(/\/\*[\s\S]*?\*\/|(?<![:\w'"`/\\])\/\/[^\n]*/g, ' ')] as const;
    }),
);

const words = new Set(
  [...sources.values()].flatMap((text) => text.match(/[A-Za-z_$][\w$]*/g) ?? []),
);

interface Named {
  page: string;
  line: number;
  text: string;
}

/** The lines of a page outside of its blocks of code. */
function prose(page: string): { line: number; text: string }[] {
  let isCode = false;
  return readFileSync(page, 'utf8')
    .split('\n')
    .map((text, n) => ({ line: n + 1, text }))
    .filter(({ text }) => {
      if (text.startsWith('```')) {
        isCode = !isCode;
        return false;
      }
      // A rehearsal of a recipe names what it added and took away again.
      return !isCode && !text.startsWith('    ') && !text.startsWith('*Rehearsed*');
    });
}

/** What stands in backticks, page by page. */
const spans: Named[] = pages.flatMap((page) =>
  prose(page).flatMap(({ line, text }) => {
    const isRow = text.startsWith('| ') && page === ONLY_FIRST_COLUMN_IS_OURS;
    const read = isRow ? text.split(' | ', 1)[0]! : text;
    return [...read.matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map((match) => ({
      page,
      line,
      text: match[1]!,
    }));
  }),
);

function faultsOf(named: readonly Named[], exists: (text: string) => boolean): string[] {
  return named
    .filter(({ text }) => !exists(text))
    .map(({ page, line, text }) => `${page}:${line} names ${text}`);
}

/** A file by its path, or by the end of its path, perhaps with stars. */
function fileExists(path: string): boolean {
  if (!path.includes('*')) {
    return projectFiles.some((file) => file === path || file.endsWith(`/${path}`));
  }
  const escaped = path.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('*', '[^/]*');
  const pattern = new RegExp(`(?:^|/)${escaped}$`);
  return projectFiles.some((file) => pattern.test(file));
}

const folderExists = (path: string): boolean =>
  folders.has(path) || [...folders].some((folder) => folder.endsWith(`/${path}`));

const isElsewhere = (path: string): boolean => ELSEWHERE.some((pattern) => pattern.test(path));

/** An identifier rather than a word of English: with an underscore or a capital. */
const isIdentifier = (word: string): boolean =>
  /^[A-Za-z_$][\w$]*$/.test(word) &&
  /[a-z0-9][A-Z]|[A-Za-z]_[A-Za-z]|^_[a-z]|^[A-Z][a-z]{2}/.test(word);

/** Variables of the environment that follow from an option. */
function isOptionVariable(word: string): boolean {
  const option = /^(?:GANNET|MEILI)_(\w+)$/.exec(word)?.[1];
  return option !== undefined && declared.has(option.toLowerCase().replaceAll('_', '-'));
}

/** Names whose prefix the program puts before them: variables of the environment, metrics. */
const withoutPrefix = (word: string): string => word.replace(/^(?:GANNET|MEILI|gannet)_/, '');

const declared = new Set([
  ...Object.keys(OPTIONS),
  ...Object.keys(RESTORE_OPTIONS),
  ...COMMANDS.flatMap(({ options }) => Object.keys(options)),
  ...['help', 'version'],
]);

/**
 * Options of the programs of test/, perf/ and src/tools/, which they read with `parseArgs` or by
 * hand.
 */
const toolOptions = new Set(
  [...sources]
    .filter(([file]) => /^(?:test|perf|src\/tools)\//.test(file))
    .flatMap(([, text]) => [
      ...[...text.matchAll(/^\s+'?([a-z][a-z-]*)'?: \{ type: '/gm)].map((match) => match[1]!),
      ...[...text.matchAll(/'--([a-z][a-z-]+)'/g)].map((match) => match[1]!),
    ]),
);

describe('The documents', () => {
  it('name files and folders that exist', () => {
    const paths = spans.filter(
      ({ text }) =>
        /^[\w.*-][\w.*/-]*\.(?:tsx?|cc|h|mjs|cjs|sh|md|gyp|txt|json|yaml|ndjson|mdb|service|c)$/.test(
          text,
        ) || /^[\w-][\w/-]*\/$/.test(text),
    );
    assert.ok(paths.length > 300);
    assert.deepEqual(
      faultsOf(
        paths,
        (path) => isElsewhere(path) || (path.endsWith('/') ? folderExists(path) : fileExists(path)),
      ),
      [],
    );
  });

  it('name identifiers that are in the sources', () => {
    const named = spans.flatMap(({ page, line, text }) => {
      if (!/^[\w$.:[\]…*]+(?:\(\))?$/.test(text) || text.includes('/')) return [];
      if (
        /\.(?:tsx?|cc|h|mjs|cjs|sh|md|gyp|txt|json|yaml|ndjson|mdb|toml|service|c|deb)$/.test(text)
      )
        return [];
      return text
        .replace('()', '')
        .split(/[.:[\]…*]+/)
        .filter(isIdentifier)
        .map((word) => ({ page, line, text: word }));
    });
    assert.ok(named.length > 500);
    assert.deepEqual(
      faultsOf(
        named,
        (word) =>
          words.has(word) ||
          words.has(withoutPrefix(word)) ||
          FOREIGN.has(word) ||
          isOptionVariable(word),
      ),
      [],
    );
  });

  it('name members of the types that have them', () => {
    const members = spans.filter(({ text }) => /^[A-Z]\w+::\w+(?:\(\))?$/.test(text));
    assert.ok(members.length > 2);
    assert.deepEqual(
      faultsOf(members, (text) => {
        const [type = '', member = ''] = text.replace('()', '').split('::');
        const declares = new RegExp(`\\b(?:class|struct|union) ${type}\\b`);
        const has = new RegExp(`\\b${member}\\b`);
        return [...sources].some(([, source]) => declares.test(source) && has.test(source));
      }),
      [],
    );
  });

  it('name options that are declared', () => {
    const inline = spans
      .filter(({ text }) => text.startsWith('--'))
      .flatMap(({ page, line, text }) =>
        [...text.matchAll(/--([a-z][a-z0-9-]*)/g)].map((match) => ({
          page,
          line,
          text: match[1]!,
        })),
      );
    const lines = pages.flatMap((page) =>
      readFileSync(page, 'utf8')
        .split('\n')
        .flatMap((text, n) => {
          const command =
            /(?:^|[\s`(])(?:gannet|npm start --|dist\/main\.cjs)((?: [^\s`|;&]+| "[^"]*")+)/.exec(
              text,
            );
          return [...(command?.[1] ?? '').matchAll(/(?<=\s)--([a-z][a-z0-9-]*)/g)].map((match) => ({
            page,
            line: n + 1,
            text: match[1]!,
          }));
        }),
    );
    assert.ok(inline.length > 80 && lines.length > 20);
    assert.deepEqual(
      [
        ...faultsOf(
          inline,
          (option) =>
            declared.has(option) || toolOptions.has(option) || FOREIGN_OPTIONS.has(option),
        ),
        ...faultsOf(lines, (option) => declared.has(option)),
      ],
      [],
    );
  });

  it('name npm scripts that exist, with options that they have', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      scripts: Record<string, string>;
    };
    const commands = pages.flatMap((page) =>
      readFileSync(page, 'utf8')
        .split('\n')
        .flatMap((text, n) =>
          [...text.matchAll(/\bnpm (?:run )?([a-z]+(?::[a-z]+)*)( -- [^`|]*)?/g)]
            .filter(
              (match) => !['ci', 'install', 'client', 'packages', 'or', 'and'].includes(match[1]!),
            )
            .map((match) => ({ page, line: n + 1, text: match[1]!, rest: match[2] ?? '' })),
        ),
    );
    assert.ok(commands.length > 30);
    const options = commands
      .filter(({ text }) => text !== 'start' && text !== 'run')
      .flatMap(({ page, line, rest }) =>
        [...rest.matchAll(/(?<=\s)--([a-z][a-z0-9-]*)/g)].map((match) => ({
          page,
          line,
          text: match[1]!,
        })),
      );
    assert.deepEqual(
      [
        ...faultsOf(commands, (script) => script in scripts || script === 'run'),
        ...faultsOf(options, (option) => toolOptions.has(option)),
      ],
      [],
    );
  });

  it('are free of phrases that read like a translation', () => {
    const phrases = [
      /\banew\b/i,
      /\bshall\b/i,
      /\bso (?:many|much) \w+ as\b/i,
      /\bfor so (?:many|long)\b/i,
      /\bby turns\b/i,
      /\b(?:is|are|was|were) told of\b/i,
      /\btells? of\b/i,
      /\bwhat there is to\b/i,
      /\bwhereof\b/i,
      /\bunder way\b/i,
      /\b(?:he|him|his)\b/i,
      /\bbeside (?:a|an|the|other|\d|many|few)\b/i,
      /\bbehind (?:a|the) (?:value|word|list|page|document|record)\b/i,
      /\bfrom [\d,]+(?: \w+)? on\b/i,
      /\bbroken off\b/i,
      /^(?:\| |- )?Of (?:a|an|the) \w+ (?:only|what|those)\b/,
    ];
    const faults = pages.flatMap((page) =>
      prose(page).flatMap(({ line, text }) =>
        phrases.flatMap((phrase) => {
          const match = phrase.exec(text.replaceAll(/`[^`]*`/g, ''));
          return match === null ? [] : [`${page}:${line}: ${match[0]}`];
        }),
      ),
    );
    assert.deepEqual(faults, []);
  });

  it('link to pages and headings that exist', () => {
    const links = pages.flatMap((page) =>
      prose(page).flatMap(({ line, text }) =>
        [...text.matchAll(/\]\(([^)\s]+)\)/g)]
          .filter((match) => !/^[a-z]+:/.test(match[1]!))
          .map((match) => ({ page, line, text: match[1]! })),
      ),
    );
    assert.ok(links.length > 60);
    const anchors = (page: string): string[] =>
      prose(page)
        .filter(({ text }) => /^#+ /.test(text))
        .map(({ text }) => slug(text.replace(/^#+ /, '')));
    const faults = links.flatMap(({ page, line, text }) => {
      const [path = '', anchor] = text.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      const isThere = existsSync(target);
      const isFine = isThere && (anchor === undefined || anchors(target).includes(anchor));
      return isFine ? [] : [`${page}:${line} links to ${text}`];
    });
    assert.deepEqual(faults, []);
  });

  it('have each page linked or named from another one', () => {
    const texts = new Map(pages.map((page) => [page, readFileSync(page, 'utf8')] as const));
    const lonely = pages
      .filter((page) => page !== 'README.md')
      .filter((page) => {
        const name = basename(page) === 'README.md' ? basename(dirname(page)) : basename(page);
        return ![...texts].some(([other, text]) => other !== page && text.includes(name));
      });
    assert.deepEqual(lonely, []);
  });

  it('name the tests of each fault', () => {
    const lines = prose(FAULTS).filter(({ text }) => /^[-|]/.test(text));
    assert.ok(lines.length > 30);
    const without = lines
      .filter(({ text }) => !/^- `[\w/.-]+(?:\.test\.ts|_test\.cc|\/\w+\.ts)`[,:]/.test(text))
      .map(({ line, text }) => `${FAULTS}:${line}: ${text}`);
    assert.deepEqual(without, []);
  });

  it('say nothing in two versions, one below the other', () => {
    const BEGINNING = 80;
    const twice = pages.flatMap((page) => {
      const lines = readFileSync(page, 'utf8').split('\n');
      return lines.flatMap((line, i) => {
        const begin = line.slice(0, BEGINNING);
        const isVersion = begin.length === BEGINNING && lines[i - 1]?.startsWith(begin);
        return isVersion === true ? [`${page}:${i + 1}: ${begin}`] : [];
      });
    });
    assert.deepEqual(twice, []);
  });

  it('have at most 45,000 words for users, and 15,000 for those who change the code', () => {
    const shelf = { users: 0, internals: 0 };
    for (const page of pages.filter((name) => name.startsWith('docs/'))) {
      const count = readFileSync(page, 'utf8').split(/\s+/).filter(Boolean).length;
      shelf[page.startsWith('docs/internals/') ? 'internals' : 'users'] += count;
    }
    const { users, internals } = shelf;
    assert.ok(users <= 45_000, `docs: ${users} words`);
    assert.ok(internals <= 15_000, `docs/internals: ${internals} words`);
  });
});
