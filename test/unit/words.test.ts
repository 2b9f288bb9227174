/** Words that the code and its documents do not use, because readers had to decode them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';

interface Rule {
  words: RegExp;
  /** What to write. */
  instead: string;
  /** A line that this matches as well is allowed: a published name or text. */
  unless?: RegExp;
  /** Comments and texts may use these words: only names in code are checked. */
  inCode?: true;
  /** Only files whose path this matches; all if absent. */
  files?: RegExp;
}

const RULES: readonly Rule[] = [
  { words: /\bTaskMachine\b/, instead: 'TaskSystem' },
  // A name of JavaScript.
  { words: /\b\w*Exchange\b/, instead: 'Connection', unless: /\.compareExchange\(/ },
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
  { words: /\btold\b/i, instead: 'is reported, is logged, is notified' },
  { words: /\broom\b/i, instead: 'space, capacity', unless: /Escape Room/ },
  { words: /\bsounds?_?\b/i, instead: 'valid, intact', unless: /All is sound/ },
  { words: /\b(?:u32|uint32_t) docid\b/, instead: 'DocId docid' },
  { words: /^\s*(?:\/\*\*|\/\/) Of /, instead: 'a noun' },
  {
    words: /\banswers?_?\b|\banswer_|\bAnswers?\b|[a-z]Answers?\b|\bAnswer[A-Z]/,
    instead: 'response, result',
    inCode: true,
    // What an assistant says to a person; a key of stored files.
    unless: /WholeAnswer|[aA]nswerSources|answer: |'answer'/,
  },
  {
    words: /\b[gG]one_?\b|_gone\b|[a-z]Gone\b|\bgone[A-Z_]/,
    instead: 'cancelled',
    inCode: true,
    unless: /gone: /,
  },
  {
    words: /\bplaces?_?\b|\bplace_|_places?\b|\bplace[A-Z]|\bPlaces?\b|[a-z]Places?(?![a-z])/,
    instead: 'position, offset, address, occurrence',
    inCode: true,
    unless: /InPlace/,
  },
  {
    words: /\b(?:least|most)_?\b|\b(?:least|most)[A-Z_]|_(?:least|most)\b|\b(?:Least|Most)[A-Z]/,
    instead: 'min, max, limit',
    inCode: true,
    // A superlative, not a bound.
    unless: /at_least|mostFrequent|most frequent/,
  },
  { words: /\b[tT]wins?_?\b|[a-z]Twins?\b/, instead: 'reference model' },
  {
    words: /\b[tT]urns?_?\b|[a-z]Turns?\b/,
    instead: 'permit, slot, claim',
    inCode: true,
    files: /^(?:test\/)?native\//,
  },
  {
    words: /\b[aA]sk(?:s|ed)?_?\b|[a-z]Ask(?:s|ed)?(?![a-z])|_asked\b|\b[aA]sk[A-Z]|\bAsked[A-Z]/,
    instead: 'request, look up, restrict',
    inCode: true,
    files: /^(?:test\/)?native\//,
  },
];

const FOLDERS = ['docs', 'native', 'perf', 'src', 'test'];
const KINDS = /\.(?:cc|h|md|mjs|ts|tsx)$/;
/** The lists of words themselves. */
const EXCLUDED = new Set(['test/unit/words.test.ts', 'test/unit/documents.test.ts']);

/** A line without its comments and texts. */
const codeOf = (line: string): string =>
  line
    .replace(/(["'`])(?:\\.|(?!\1)[^\\])*\1/g, '')
    .replace(/([(,=:] ?)\/(?![*/])(?:\\.|[^/\\])+\/[a-z]*/g, '$1')
    .replace(/\/\/.*|\/\*.*|^\s*\*.*/, '');

describe('The words of the project', () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  ).filter((file) => KINDS.test(file) && !EXCLUDED.has(file));

  for (const { words, instead, unless, inCode, files: checked } of RULES) {
    it(`do not include ${words.source}: write ${instead}`, () => {
      const found = files
        .filter((file) => checked?.test(file) ?? (inCode !== true || !file.endsWith('.md')))
        .flatMap((file) =>
          readFileSync(file, 'utf8')
            .split('\n')
            .flatMap((line, at) =>
              words.test(inCode === true ? codeOf(line) : line) && unless?.test(line) !== true
                ? [`${file}:${at + 1}: ${line}`]
                : [],
            ),
        );
      assert.deepEqual(found, []);
    });
  }

  it('are looked for in all files', () => {
    assert.ok(files.length > 1000, String(files.length));
  });
});
