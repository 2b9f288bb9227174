import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { CommandFailure } from '../../../src/commands/command.ts';
import { confirm } from '../../../src/commands/confirm.ts';

describe('A question before something is deleted', () => {
  async function asked(
    line: string,
    isTTY = true,
    signal = new AbortController().signal,
  ): Promise<{ isWanted: boolean; shown: string }> {
    const input = Object.assign(new PassThrough(), { isTTY });
    const complaints = new PassThrough();
    input.end(line);
    const terminal = { input, output: new PassThrough(), complaints, signal };
    const isWanted = await confirm(terminal, 'Delete `books`?', 'Add --yes.');
    return { isWanted, shown: String(complaints.read()) };
  }

  it('takes yes for yes, and everything else for no', async () => {
    for (const line of ['yes\n', 'y\n', ' YES \r\n']) {
      assert.equal((await asked(line)).isWanted, true, line);
    }
    for (const line of ['no\n', '\n', '', 'yesterday\n', 'n\nyes\n']) {
      assert.equal((await asked(line)).isWanted, false, line);
    }
    assert.match((await asked('no\n')).shown, /^Delete `books`\? Type yes/);
  });

  it('is not put to a program, which learns what to add', async () => {
    await assert.rejects(asked('yes\n', false), (error: Error) => {
      assert.ok(error instanceof CommandFailure);
      assert.equal(error.message, 'Add --yes.');
      return true;
    });
  });

  it('ends when the command is interrupted', async () => {
    await assert.rejects(asked('', true, AbortSignal.abort()), { name: 'AbortError' });
  });
});
