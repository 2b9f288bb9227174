import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { showProgress } from '../../../src/commands/progress.ts';

describe('The progress of a command', () => {
  /** What a terminal shows; null: one that is none. */
  async function shown(total: number | null, isTTY = true, isQuiet = false): Promise<string> {
    const complaints = Object.assign(new PassThrough(), { isTTY, columns: 100 });
    const terminal = { complaints } as unknown as Parameters<typeof showProgress>[0];
    const progress = await showProgress(terminal, 'sending', total, isQuiet);
    progress.update(5, '5 documents');
    progress.end();
    return String(complaints.read() ?? '');
  }

  it('is a bar, or without a total, as of standard input, what is done', async () => {
    assert.match(await shown(10), /sending \[#+-+\] \d+ % /);
    const open = await shown(null);
    assert.match(open, /sending/);
    assert.doesNotMatch(open, /%|\[#/);
  });

  it('is not shown to programs, nor to who asks for quiet', async () => {
    assert.equal(await shown(10, false), '');
    assert.equal(await shown(null, true, true), '');
  });
});
