import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from '../support/run-program.ts';

describe('The program', function () {
  this.timeout(60_000);

  const NAMES = ['import', 'export', 'migrate', 'tasks', 'health', 'verify', 'completion'];
  let dir: string;
  before(() => (dir = mkdtempSync(join(tmpdir(), 'gannet-help-'))));
  after(() => rmSync(dir, { recursive: true }));

  it('lists every command, and every command its options with an example', async () => {
    const { output, status } = await runProgram(['--help']);
    assert.equal(status, 0);
    for (const name of NAMES) {
      assert.match(output, new RegExp(`^  ${name} +\\w`, 'm'));
      const help = await runProgram([name, '--help']);
      assert.equal(help.status, 0);
      assert.match(help.output, new RegExp(`^Usage: gannet ${name} `));
      assert.match(help.output, new RegExp(`^Examples?:\\n  gannet ${name} `, 'm'));
      assert.match(help.output, /^Exit status: 0/m);
    }
  });

  it('refuses options that a command does not have', async () => {
    for (const name of NAMES) {
      const { status, complaints } = await runProgram([name, '--unheard-of']);
      assert.equal(status, 2, name);
      assert.match(complaints, /Unknown option --unheard-of/);
    }
    const mistyped = await runProgram(['imprt']);
    assert.equal(mistyped.status, 2);
    assert.match(mistyped.complaints, /did you mean import/);
  });

  const has = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0;

  async function script(shell: string): Promise<string> {
    const { status, output } = await runProgram(['completion', shell]);
    assert.equal(status, 0);
    const file = join(dir, shell === 'zsh' ? '_gannet' : shell);
    writeFileSync(file, output);
    return file;
  }

  it('completes in bash', async function () {
    if (!has('bash')) return this.skip();
    const file = await script('bash');
    const completed = (...words: string[]): string[] => {
      const line = `source ${file}; COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _gannet; printf '%s\\n' "\${COMPREPLY[@]}"`;
      return spawnSync('bash', ['-c', line]).stdout.toString().trim().split('\n');
    };
    assert.deepEqual(completed('gannet', 'imp'), ['import']);
    assert.deepEqual(completed('gannet', '--db'), ['--db-path']);
    assert.deepEqual(completed('gannet', 'import', '--batch'), ['--batch-mb']);
    assert.deepEqual(completed('gannet', 'completion', 'f'), ['fish']);
  });

  it('completes in fish', async function () {
    if (!has('fish')) return this.skip();
    const file = await script('fish');
    const completed = (line: string): string[] =>
      spawnSync('fish', ['-c', `source ${file}; complete -C '${line}'`], {
        env: { ...process.env, HOME: dir },
      })
        .stdout.toString()
        .trim()
        .split('\n')
        .map((row) => row.split('\t')[0]!);
    assert.deepEqual(completed('gannet imp'), ['import']);
    assert.deepEqual(completed('gannet import --batch'), ['--batch-mb']);
    assert.deepEqual(completed('gannet completion f'), ['fish']);
  });

  it('completes in zsh', async function () {
    if (!has('zsh')) return this.skip();
    await script('zsh');
    // In a terminal: completion is requested with the tab key, as a person would.
    const program = `
      zmodload zsh/zpty
      zpty shell 'zsh -f -i'
      zpty -w shell 'PS1=; fpath=(${dir} $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=10000; stty -echo'
      zpty -w shell 'print rea''dy'
      zpty -r shell seen '*ready*'
      zpty -n -w shell $'gannet import --batch-\\t'
      zpty -r shell seen '*--batch-mb*' && print -r -- yes
      zpty -d shell
    `;
    const ended = spawnSync('zsh', ['-f', '-c', program], { timeout: 30_000 });
    assert.match(ended.stdout.toString(), /yes/, ended.stderr.toString());
  });

  it('completes in no other shell', async () => {
    assert.equal((await runProgram(['completion', 'tcsh'])).status, 2);
    assert.equal((await runProgram(['completion'])).status, 2);
  });
});
