/** Words that the code and its documents do not use, because readers had to decode them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

interface Rule {
  words: RegExp;
  /** What to write. */
  instead: string;
  /** A line that this matches as well is allowed: a published name or text. */
  unless?: RegExp;
}

const RULES: readonly Rule[] = [
  { words: /\bTaskMachine\b/, instead: 'TaskSystem' },
  { words: /\b\w*Exchange\b/, instead: 'Connection' },
  { words: /\bonGone\w*|\bGoneFlag\b/, instead: 'signal, CancelFlag' },
  { words: /\b[rR]epl(?:y|ies)\b|[a-z]Reply\b|\b[rR]eply[A-Z]/, instead: 'response' },
  {
    words: /\b[bB]eside\b|[a-z]Beside\b/,
    instead: 'concurrently, next to',
    unless: /cannot stand/,
  },
  { words: /\bby turns\b/i, instead: 'alternately' },
  { words: /\bin turns\b/i, instead: 'in time slices' },
  { words: /\bso many\b/i, instead: 'that many, the number' },
  { words: /\banew\b/i, instead: 'again', unless: /x-makes-anew/ },
  { words: /\bshall\b/i, instead: 'must, will' },
  { words: /\bwhat there is to know\b/i, instead: 'what is known' },
  { words: /\bfrom [\d,]+ on\b/, instead: '1,024 or more' },
  { words: /\b(?:is|are|was|were) told\b|\btold of\b/i, instead: 'is reported, is logged' },
];

const FOLDERS = ['docs', 'native', 'perf', 'src', 'test'];
const KINDS = /\.(?:cc|h|md|mjs|ts|tsx)$/;
/** The lists of words themselves. */
const EXCLUDED = new Set(['test/unit/words.test.ts', 'test/unit/documents.test.ts']);

describe('The words of the project', () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  ).filter((file) => KINDS.test(file) && !EXCLUDED.has(file));

  for (const { words, instead, unless } of RULES) {
    it(`do not include ${words.source}: write ${instead}`, () => {
      const found = files.flatMap((file) =>
        readFileSync(file, 'utf8')
          .split('\n')
          .flatMap((line, at) =>
            words.test(line) && unless?.test(line) !== true ? [`${file}:${at + 1}: ${line}`] : [],
          ),
      );
      assert.deepEqual(found, []);
    });
  }

  it('are looked for in all files', () => {
    assert.ok(files.length > 1000, String(files.length));
  });
});
