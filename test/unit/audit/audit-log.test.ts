import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditEntry, AuditLog } from '../../../src/audit/audit-log.ts';

describe('The audit log', () => {
  let dir: string;
  let path: string;
  let audit: AuditLog;
  let errors: string[];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-audit-'));
    path = join(dir, 'audit.jsonl');
    errors = [];
  });
  afterEach(async () => {
    await audit.close();
    rmSync(dir, { recursive: true });
  });

  const open = async (bytesMax?: number): Promise<void> => {
    const error = (_: unknown, message?: string): void => void errors.push(message ?? '');
    audit = await AuditLog.open(path, { error } as never, bytesMax);
  };
  const entry = (requestId: string): AuditEntry => ({
    ...{ time: '2026-03-01T09:30:00Z', key: 'master', action: 'keys.create', method: 'POST' },
    ...{ route: '/keys', params: {}, requestId, address: '127.0.0.1' },
  });
  const record = (id: string): Promise<string> =>
    audit.recorded(
      entry(id),
      () => id,
      () => true,
    );
  const idsIn = (file: string): string[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as AuditEntry).requestId);

  it('has a line before the result of the change is known, and none if there was no change', async () => {
    await open();
    assert.equal(await record('a'), 'a');
    assert.deepEqual(idsIn(path), ['a']);
    await audit.recorded(
      entry('b'),
      () => 404,
      (status) => status < 400,
    );
    await assert.rejects(
      audit.recorded(
        entry('c'),
        () => Promise.reject(new Error('refused')),
        () => true,
      ),
      /refused/,
    );
    await Promise.all(['d', 'e', 'f'].map(record));
    assert.deepEqual(idsIn(path), ['a', 'd', 'e', 'f']);
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8').split('\n')[0]!), entry('a'));
  });

  it('goes on after the last whole line, wherever a kill has cut it off', async () => {
    await open();
    for (const id of ['a', 'b']) await record(id);
    await audit.close();
    const whole = readFileSync(path);
    const first = whole.indexOf('\n') + 1;
    for (let end = 0; end <= whole.length; end++) {
      writeFileSync(path, whole.subarray(0, end));
      await open();
      await record('next');
      await audit.close();
      const kept = end === whole.length ? ['a', 'b'] : end >= first ? ['a'] : [];
      assert.deepEqual(idsIn(path), [...kept, 'next'], `cut off after ${end} bytes`);
    }
    appendFileSync(path, 'x'.repeat(200_000));
    await open();
    assert.deepEqual(idsIn(path), ['a', 'b', 'next']);
  });

  it('refuses further changes while the disk is full, and loses no line', async () => {
    symlinkSync('/dev/full', path);
    await open();
    // This change was made before it was known.
    assert.equal(await record('a'), 'a');
    assert.deepEqual(errors, ['the audit log cannot be written']);
    let isChanged = false;
    const refused = audit.recorded(
      entry('b'),
      () => (isChanged = true),
      () => true,
    );
    await assert.rejects(refused, { code: 'no_space_left_on_device' });
    assert.equal(isChanged, false);
    unlinkSync(path);
    await record('c');
    assert.deepEqual(idsIn(path), ['a', 'c']);
  });

  it('is continued in another file when it is large, and ten are kept', async () => {
    const length = JSON.stringify(entry('00')).length + 1;
    await open(3 * length);
    const ids = Array.from({ length: 34 }, (_, n) => String(n).padStart(2, '0'));
    for (const id of ids) await record(id);
    const files = [path, ...Array.from({ length: 9 }, (_, n) => `${path}.${n + 1}`)];
    assert.deepEqual(files.toReversed().flatMap(idsIn), ids.slice(6));
    assert.ok(!existsSync(`${path}.10`));
    await audit.close();
    await open(3 * length);
    await record('34');
    assert.deepEqual(idsIn(path), ['33', '34']);
  });
});
