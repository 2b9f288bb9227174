import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CrashRecord } from '../../../src/store/crash-record.ts';

describe('The record of crashes', () => {
  it('counts the death of a process once, however often the node begins to lead', () => {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-crashes-'));
    const running = join(dir, 'running');
    try {
      const dying = new CrashRecord(dir);
      dying.begin(0, [3]);
      const left = readFileSync(running, 'utf8');
      dying.close();
      writeFileSync(running, `!${left.slice(1)}`);
      const next = new CrashRecord(dir);
      assert.equal(next.settle(() => true).length, 1);
      assert.deepEqual(
        next.settle(() => true),
        [],
      );
      assert.equal(next.isSuspect(3), true);
      assert.equal(next.verdict(3), null);
      next.close();
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
