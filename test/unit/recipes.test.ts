/**
 * docs/internals/recipes.md, followed in a copy of src/: each change touches the files that its
 * recipe names and no others, compiles, and is where a request would meet it. The steps in the
 * engine are not made: a request reaches it unchanged.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Text after which a text is inserted, or a new file. */
type Edit = { after: string; insert: string } | { file: string };

interface Change {
  recipe: string;
  edits: readonly (readonly [path: string, edit: Edit])[];
}

const CODE: readonly [string, Edit] = [
  'src/contract/errors.ts',
  { after: "  'invalid_vectors_type',\n", insert: "  'invalid_wit',\n" },
];

const CHANGES: readonly Change[] = [
  {
    recipe: 'A setting of an index',
    edits: [
      CODE,
      [
        'src/contract/settings/registry.ts',
        {
          after: '  suggestions,\n  chat,\n',
          insert: `  setting({
    name: 'wit',
    group: 'Limits',
    explanation: 'How witty responses are.',
    methods: ['PUT'],
    code: 'invalid_wit',
    schema: { type: ['integer', 'null'], minimum: 0 },
    touches: [],
    initial: (): number => 3,
  }),
`,
        },
      ],
    ],
  },
  {
    recipe: 'An option',
    edits: [
      [
        'src/parts/search.ts',
        {
          after: 'export const OPTIONS = {\n',
          insert: "  wit: { kind: 'count', initial: '3', max: 9, help: 'How witty it is.' },\n",
        },
      ],
      [
        'src/parts/search.ts',
        {
          after: "    slowSearchMs: values['slow-search-ms'],\n",
          insert: '    wit: values.wit,\n',
        },
      ],
    ],
  },
  {
    recipe: 'A route',
    edits: [
      [
        'src/contract/suggest.ts',
        {
          after: 'export type SuggestRequest = Static<typeof SUGGEST>;\n',
          insert:
            "export const WIT = object({ joke: string({ 'x-code': 'invalid_suggest_q' }) });\n",
        },
      ],
      [
        'src/contract/responses.ts',
        {
          after: 'const ANY = declared<unknown>({});\n',
          insert: 'export const WIT_RESPONSE = object({ laughs: COUNT });\n',
        },
      ],
      [
        'src/http/routes/suggest.ts',
        {
          after: 'export const SUGGEST_ROUTES: readonly Route[] = [\n',
          insert: `  route({
    method: 'POST',
    path: '/indexes/:index_uid/wit',
    action: 'search',
    summary: 'Laughs.',
    body: bodyOf(WIT),
    success: 200,
    response: WIT_RESPONSE,
    handle: ({ body }) => json(200, { laughs: body.joke.length }),
  }),
`,
        },
      ],
      [
        'src/http/routes/suggest.ts',
        {
          after: "import { indexNotFound } from '../../contract/errors.ts';\n",
          insert:
            "import { WIT } from '../../contract/suggest.ts';\nimport { WIT_RESPONSE } from '../../contract/responses.ts';\n",
        },
      ],
    ],
  },
  {
    recipe: 'A parameter of a search',
    edits: [
      CODE,
      [
        'src/contract/search.ts',
        {
          after:
            "  cropMarker: string({ default: '…', 'x-code': 'invalid_search_crop_marker' }),\n",
          insert:
            "  wit: nullable(integer({ minimum: 0, default: 3, 'x-code': 'invalid_wit' })),\n",
        },
      ],
    ],
  },
  {
    recipe: 'A type of task',
    edits: [
      [
        'src/contract/task-types/wit.ts',
        {
          file: `import { ALONE, taskType } from './task-type.ts';

interface WitRequest {
  type: 'wit';
}

export const wit = taskType({
  name: 'wit',
  words: 'Laugh',
  code: 200,
  batching: ALONE,
  draft: ({ type }: WitRequest) => ({ indexUid: null, row: () => ({ type }) }),
  details: (_: WitRequest) => ({}),
  dump: {
    write: (_: WitRequest) => ({ type: 'wit', details: null }),
    read: { wit: () => ({ request: { type: 'wit' as const } }) },
  },
});
`,
        },
      ],
      ['src/contract/task-types/registry.ts', { after: '  aliasDeletion,\n', insert: '  wit,\n' }],
      [
        'src/contract/task-types/registry.ts',
        {
          after: "import { settingsUpdate } from './settings.ts';\n",
          insert: "import { wit } from './wit.ts';\n",
        },
      ],
      [
        'src/tasks/run/wit.ts',
        {
          file: `import { succeeded, type RunContext, type RunResult } from './run.ts';

export async function runWit({ batch, cancel, progress }: RunContext): Promise<RunResult> {
  progress.enter(1, 'laughing', 0, 1);
  cancel.check();
  return { ends: batch.uids.map((uid) => succeeded(uid, null)) };
}
`,
        },
      ],
      ['src/tasks/runners.ts', { after: '  indexSwap: runSwap,\n', insert: '  wit: runWit,\n' }],
      [
        'src/tasks/runners.ts',
        {
          after: "import { runSwap } from './run/swap.ts';\n",
          insert: "import { runWit } from './run/wit.ts';\n",
        },
      ],
    ],
  },
];

/** The script that looks for the changes in the copy. */
const SCRIPT = `
import { readConfig } from './src/config.ts';
import { MULTI_SEARCH, SEARCH, SEARCH_QUERY } from './src/contract/search.ts';
import { defaultSettings, parseSettings } from './src/contract/settings.ts';
import { TASK_TYPES } from './src/contract/tasks.ts';
import { validator } from './src/contract/validator.ts';
import { allRoutes } from './src/http/server.ts';
import { planSearch } from './src/search/plan.ts';
import { RUNNERS } from './src/tasks/runners.ts';

const code = (outcome) => (outcome.ok ? null : outcome.error.code);
const launch = (...argv) => readConfig(argv, { GANNET_WIT: '7' }).value?.config.wit ?? null;
const context = { containsFilter: false, multimodal: false };
console.log(JSON.stringify({
  options: [launch(), launch('--wit', '8'), launch('--wit', '10')],
  setting: defaultSettings().wit,
  settingRefused: code(parseSettings({ wit: -1 })),
  routes: allRoutes().filter(({ path }) => path.endsWith('/wit')).map(({ method, path }) => method + ' ' + path),
  parameter: SEARCH_QUERY.properties.wit?.default,
  parameterOfQuery: MULTI_SEARCH.properties.queries.items.properties.wit?.default,
  parameterRefused: code(validator(SEARCH).validate({ wit: -1 })),
  parameterPlanned: planSearch({ wit: 5 }, context, {}).wit,
  parameterNotGiven: planSearch({}, context, {}).wit,
  taskType: TASK_TYPES.includes('wit'),
  runner: typeof RUNNERS.wit,
}));
`;

const PAGE = readFileSync('docs/internals/recipes.md', 'utf8');

/** Patterns of the paths that the steps of a recipe name. */
function pathsOf(recipe: string): RegExp[] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${recipe}\n`));
  assert.ok(section !== undefined, `there is no recipe "${recipe}"`);
  const steps = section.split('\n').filter((line) => /^\d+\. /.test(line));
  const named = steps.flatMap((step) => [...step.matchAll(/`([\w/<>.-]+\.\w+)`/g)]);
  return named.map(
    (match) => new RegExp(`^${match[1]!.replaceAll('.', '\\.').replace(/<\w+>/g, '[\\w-]+')}$`),
  );
}

describe('The recipes', () => {
  let copy: string;

  before(() => {
    copy = mkdtempSync(join(tmpdir(), 'gannet-recipes-'));
    cpSync('src', join(copy, 'src'), { recursive: true });
    for (const file of ['package.json', 'tsconfig.json']) cpSync(file, join(copy, file));
    for (const folder of ['node_modules', 'build'])
      symlinkSync(resolve(folder), join(copy, folder));
    for (const { edits } of CHANGES) {
      for (const [path, edit] of edits) apply(join(copy, path), edit);
    }
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  /** Both recipes that add the code add it once. */
  function apply(path: string, edit: Edit): void {
    if ('file' in edit) {
      writeFileSync(path, edit.file);
      return;
    }
    const text = readFileSync(path, 'utf8');
    const [head, ...rest] = text.split(edit.after);
    assert.equal(rest.length, 1, `${path} has not once: ${edit.after}`);
    if (rest[0]!.startsWith(edit.insert)) return;
    writeFileSync(path, head + edit.after + edit.insert + rest[0]!);
  }

  for (const { recipe, edits } of CHANGES) {
    it(`name what a change touches: ${recipe}`, () => {
      const named = pathsOf(recipe);
      const touched = [...new Set(edits.map(([path]) => path))];
      assert.deepEqual(
        touched.filter((path) => !named.some((pattern) => pattern.test(path))),
        [],
      );
    });
  }

  it('lead to code that compiles', () => {
    const { status, stdout } = spawnSync('node_modules/.bin/tsc', ['-p', 'tsconfig.json'], {
      cwd: copy,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout);
  });

  it('lead to what a request meets', () => {
    writeFileSync(join(copy, 'look.mjs'), SCRIPT);
    const printed = execFileSync(process.execPath, ['--import=tsx', 'look.mjs'], {
      cwd: copy,
      encoding: 'utf8',
    });
    assert.deepEqual(JSON.parse(printed), {
      options: [7, 8, null],
      setting: 3,
      settingRefused: 'invalid_wit',
      routes: [
        'POST /indexes/:index_uid/wit',
        'GET /indexes/:index_uid/settings/wit',
        'PUT /indexes/:index_uid/settings/wit',
        'DELETE /indexes/:index_uid/settings/wit',
      ],
      parameter: 3,
      parameterOfQuery: 3,
      parameterRefused: 'invalid_wit',
      parameterPlanned: 5,
      parameterNotGiven: 3,
      taskType: true,
      runner: 'function',
    });
  });
});
