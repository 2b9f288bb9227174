import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journal } from '../../../src/commands/journal.ts';

describe('The journal of an import', () => {
  const name = { server: 'http://h', index: 'a' };
  let dir: string;
  let path: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-journal-'));
    path = join(dir, 'journal');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  async function written(...lines: readonly [string, number][]): Promise<void> {
    const journal = await Journal.open(path, name);
    for (const [batch, taskUid] of lines) await journal.add(batch, taskUid);
    await journal.close();
  }

  it('returns each accepted batch as often as it was accepted', async () => {
    await written(['a', 1], ['b', 2]);
    await written(['a', 3]);
    const journal = await Journal.open(path, name);
    assert.deepEqual(journal.taskUids.toSorted(), [1, 2, 3]);
    assert.deepEqual([journal.take('a'), journal.take('a'), journal.take('a')], [1, 3, null]);
    assert.equal(journal.take('c'), null);
    journal.keep(new Set([7]));
    assert.equal(journal.take('b'), null);
    await journal.erase();
    await journal.close();
    assert.equal(existsSync(path), false);
  });

  it('ignores an incomplete line, wherever it is cut', async () => {
    await written(['a', 1], ['b', 2]);
    const whole = readFileSync(path);
    for (let bytes = 0; bytes < whole.length; bytes++) {
      writeFileSync(path, whole);
      truncateSync(path, bytes);
      await written(['c', 3]);
      const journal = await Journal.open(path, name);
      const taken = journal.taskUids.toSorted();
      await journal.close();
      const head = whole.indexOf(10) + 1;
      const complete = whole
        .subarray(head, Math.max(head, bytes))
        .toString()
        .split('\n')
        .filter((line) => line.endsWith('}')).length;
      assert.deepEqual(taken, [1, 2, 3].slice(0, complete).concat(3), `${bytes} bytes`);
    }
  });

  it('knows the batches of the file that was interrupted, and of no other', async () => {
    const first = await Journal.open(path, name);
    await first.begin('one', '1');
    await first.add('a', 1);
    await first.end('one', '1');
    await first.begin('two', '2');
    await first.add('a', 2);
    await first.close();
    for (const [file, stamp, taken] of [
      ['two', '2', 2],
      ['two', 'changed', null],
      ['three', '2', null],
    ] as const) {
      const text = readFileSync(path);
      const journal = await Journal.open(path, name);
      assert.deepEqual(journal.begun, { file: 'two', stamp: '2' });
      assert.deepEqual([...journal.files], [['one', '1']]);
      await journal.begin(file, stamp);
      assert.equal(journal.take('a'), taken, `${file} ${stamp}`);
      await journal.close();
      writeFileSync(path, text);
    }
  });

  it('is not that of another import, nor another file', async () => {
    await written(['a', 1]);
    const other = { ...name, index: 'b' };
    await assert.rejects(Journal.open(path, other), {
      name: 'FileError',
      message: /not the journal/,
    });
    writeFileSync(path, 'precious');
    await assert.rejects(Journal.open(path, name), { name: 'FileError' });
    appendFileSync(path, '\n');
    await assert.rejects(Journal.open(path, name), { name: 'FileError' });
    assert.equal(readFileSync(path, 'utf8'), 'precious\n');
    await assert.rejects(Journal.open(dir, name), {
      name: 'FileError',
      message: /cannot be written/,
    });
  });
});
