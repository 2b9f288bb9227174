import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBuiltServer } from '../support/built-server.ts';
import { runProgram } from '../support/run-program.ts';

describe('The program', function () {
  this.timeout(60_000);

  const NAMES = [
    'import',
    'export',
    'evaluate',
    'migrate',
    'tasks',
    'health',
    'verify',
    'doctor',
    'completion',
  ];
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

  it('examines options, and a server that runs', async () => {
    const doctor = (args: string[], env: Record<string, string> = {}) =>
      runProgram(['doctor', '--db-path', join(dir, 'data'), ...args], { env, cwd: dir });
    const down = ['--url', 'http://127.0.0.1:1'];
    const none = await doctor(down);
    assert.match(none.output, /^ok +No server runs at http:\/\/127\.0\.0\.1:1$/m);
    assert.match(none.output, /^ok +The options$/m);
    const contradictory = await doctor(down, { GANNET_SSL_KEY_PATH: 'key.pem' });
    assert.match(contradictory.output, /^FAULT +ssl-cert-path and ssl-key-path must be given/m);
    const open = await doctor(down, { GANNET_HTTP_ADDR: '0.0.0.0:0' });
    assert.match(
      open.output,
      /^FAULT +The server would listen at 0\.0\.0\.0 without a master key/m,
    );
    assert.equal(open.status, 1);

    const server = await startBuiltServer();
    try {
      await server.finish('PATCH', '/indexes/books/settings', {
        body: { pagination: { maxTotalHits: 50_000 } },
      });
      await server.finish('POST', '/indexes/books/documents', { body: [{ a: 1 }] });
      const url = ['--url', server.url];
      const checked = await doctor([...url, '--key', server.masterKey]);
      assert.match(checked.output, /^ok +The server at \S+ is available$/m);
      assert.match(checked.output, /^advice +1 tasks have failed\n +See gannet tasks/m);
      assert.match(checked.output, /^advice +books: pages reach 50000 hits\n +Set pagination/m);
      assert.equal(checked.status, 1);
      assert.ok(!checked.output.includes(server.masterKey));
      const keyless = await doctor(url);
      assert.match(keyless.output, /^advice +Its indexes and tasks were not checked$/m);
    } finally {
      await server.close();
    }
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
