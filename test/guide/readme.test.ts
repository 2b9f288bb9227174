/** What README.md shows under "Use it" is run, and gives what it says. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { lastJson } from './pages.ts';

const README = readFileSync('README.md', 'utf8');
const USE_IT = README.slice(README.indexOf('## Use it'), README.indexOf('## Figures'));
const KEY = 'a key of sixteen bytes or more';
const SHELLS = ['bash', 'zsh'].filter((shell) => spawnSync(shell, ['-c', '']).status === 0);
/** Within the repository, so that it finds the packages. */
const SCRIPT = 'dist/readme-example.mjs';

describe('README.md', function () {
  it('has at most 1,400 words', () => {
    assert.ok(README.split(/\s+/).length <= 1400);
  });

  let server: BuiltServer;

  beforeEach(async function () {
    if (!existsSync('dist/main.cjs')) this.skip();
    server = await startBuiltServer();
  });
  afterEach(async () => {
    rmSync(SCRIPT, { force: true });
    await server?.close();
  });

  function here(text: string): string {
    return text
      .replaceAll('http://127.0.0.1:7700', server.url)
      .replaceAll(KEY, server.masterKey)
      .replaceAll('npm start --', 'node dist/main.cjs');
  }

  for (const shell of SHELLS) {
    it(`shows commands that can be pasted into ${shell} at once`, () => {
      const lines = USE_IT.split('\n').filter((line) => line.startsWith('    '));
      const commands = lines.slice(lines.findIndex((line) => line.includes('export GANNET_KEY')));
      assert.ok(commands.length <= 10);
      const run = spawnSync(shell, ['-e', '-c', here(commands.join('\n'))], {
        encoding: 'utf8',
        env: { ...process.env, GANNET_URL: server.url },
      });
      assert.equal(run.status, 0, run.stderr + run.stdout);
      const { hits, facetDistribution } = lastJson(
        run.stdout.slice(run.stdout.lastIndexOf('{"hits"')),
      ) as any;
      const sentence = /^The search finds (`.*)$/m.exec(USE_IT)![1]!;
      const titles = [...sentence.matchAll(/`(.*?)`/g)].map((match) => match[1]!);
      assert.deepEqual(hits.map((hit: any) => hit.title).toSorted(), titles.toSorted());
      assert.ok(facetDistribution.genres !== undefined);
      assert.match(run.stdout, /431 documents sent to `books`/);
    });
  }

  it('shows a program for the npm client that finds what it says', () => {
    const program = /```js\n([\s\S]*?)```/.exec(USE_IT)![1]!;
    // Its document would replace one of the books.
    assert.doesNotMatch(program, /index\('books'\)/);
    writeFileSync(SCRIPT, here(program));
    const run = spawnSync(process.execPath, [SCRIPT], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    const said = /console\.log\(.*\); \/\/ (.*)$/m.exec(program)![1]!;
    assert.equal(run.stdout, `${said}\n`);
  });
});
