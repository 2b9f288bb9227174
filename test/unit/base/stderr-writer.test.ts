import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StderrWriter } from '../../../src/base/stderr-writer.ts';

const SOURCE = new URL('../../../src/base/stderr-writer.ts', import.meta.url).href;

describe('The writer to standard error', () => {
  it('writes everything in its order', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-stderr-'));
    const file = join(dir, 'log');
    const fd = openSync(file, 'w');
    const writer = new StderrWriter(fd);
    const lines = Array.from({ length: 5000 }, (_, n) => `line ${n} \u00e9\n`);
    for (const line of lines) writer.write(line);
    await writer.written(60_000);
    assert.equal(readFileSync(file, 'utf8'), lines.join(''));
    closeSync(fd);
    rmSync(dir, { recursive: true });
  });

  it('gives up what a full disk does not take', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    const fd = openSync('/dev/full', 'w');
    const writer = new StderrWriter(fd);
    for (let n = 0; n < 5000; n++) writer.write(`line ${n}\n`);
    await writer.written(60_000);
    closeSync(fd);
  });

  /**
   * A process that writes this many lines and ends: at once if they are `read`, otherwise while a
   * write waits for a reader.
   */
  function child(lines: number, read: boolean): Promise<{ status: number | null; text: string }> {
    const script = `
      const { StderrWriter } = await import(${JSON.stringify(SOURCE)});
      const writer = new StderrWriter();
      for (let n = 0; n < ${lines}; n++) writer.write('line ' + n + '\\n');
      ${read ? '' : 'await new Promise((resolve) => setTimeout(resolve, 300));'}
      process.exit(7);`;
    const started = spawn(process.execPath, ['--import=tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    if (read) started.stderr.on('data', (part: Buffer) => (text += part.toString()));
    return new Promise((resolve) => {
      started.once(read ? 'close' : 'exit', (status) => resolve({ status, text }));
    });
  }

  it('comes to the end of the process with the last lines', async () => {
    const { status, text } = await child(3, true);
    assert.deepEqual([status, text], [7, 'line 0\nline 1\nline 2\n']);
  }).timeout(60_000);

  it('ends with its process though nobody reads a pipe that is full', async () => {
    assert.equal((await child(100_000, false)).status, 7);
  }).timeout(60_000);
});
