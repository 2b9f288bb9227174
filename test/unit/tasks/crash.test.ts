import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundledChild } from '../../support/bundled-child.ts';
import { TestTaskSystem } from '../../support/task-system.ts';

const CHILD = bundledChild('crash-child.ts');
const TASKS = 24;

/** Runs the child until it dies or is done. @returns the acknowledged uids */
function live(dir: string, event: string, at: number): { uids: number[]; done: boolean } {
  const child = spawnSync(process.execPath, [CHILD, dir, String(TASKS), event, String(at)], {
    encoding: 'utf8',
  });
  const lines = child.stdout.split('\n').filter(Boolean);
  assert.equal(child.stderr.replace(/^npm warn.*\n/gm, ''), '');
  return {
    uids: lines.filter((line) => line !== 'done').map(Number),
    done: lines.includes('done'),
  };
}

/**
 * Checks that, after any number of deaths, each acknowledged task exists once and has taken effect
 * once.
 */
async function check(dir: string, acknowledged: readonly number[]): Promise<void> {
  const test = await TestTaskSystem.open({ dir });
  try {
    await test.settle();
    const tasks = test.tasks();
    const uids = tasks.map(({ uid }) => uid);
    assert.deepEqual(uids, [...uids.keys()], 'no uid twice, none left out');
    for (const uid of acknowledged) assert.ok(uid < uids.length, `task ${uid} was lost`);
    for (const { uid, status, details, batchUid } of tasks) {
      assert.equal(status, 'succeeded', `task ${uid}`);
      assert.notEqual(test.system.queue.getBatch(batchUid!, null), undefined);
      if (uid % 3 === 0) assert.equal(details?.indexedDocuments, 1, `task ${uid}`);
      if (uid % 3 === 2) assert.equal(details?.deletedDocuments, 1, `task ${uid}`);
    }
    assert.deepEqual(await test.documents('index-0'), []);
    assert.deepEqual(await test.documents('index-1'), []);
    assert.deepEqual(readdirSync(join(dir, 'payloads')), []);
    assert.equal(readdirSync(join(dir, 'indexes')).length, 2);
  } finally {
    await test.remove();
  }
}

describe('a killed process', function () {
  this.timeout(120_000);

  for (const event of ['beforeCommit', 'afterCommit', 'finished', 'registered']) {
    for (const at of [1, 4]) {
      it(`at ${event} number ${at} loses nothing and repeats nothing`, async () => {
        const dir = mkdtempSync(join(tmpdir(), 'gannet-crash-'));
        const first = live(dir, event, at);
        assert.equal(first.done, false, 'it has died');
        const second = live(dir, 'never', 1);
        assert.equal(second.done, true);
        await check(dir, [...first.uids, ...second.uids]);
      });
    }
  }

  it('again and again, after every commit of the engine', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gannet-crash-'));
    const acknowledged: number[] = [];
    let deaths = 0;
    for (;;) {
      const { uids, done } = live(dir, 'afterCommit', 3);
      acknowledged.push(...uids);
      if (done) break;
      assert.ok(++deaths < 20, 'each life gets further');
    }
    assert.ok(deaths > 1);
    await check(dir, acknowledged);
  });

  it('leaves a folder that another process can open, which a living one does not', async () => {
    const test = await TestTaskSystem.open();
    try {
      const child = spawnSync(process.execPath, [CHILD, test.dir, '0', 'never', '1'], {
        encoding: 'utf8',
      });
      assert.notEqual(child.status, 0);
      assert.match(child.stderr, /in use by another process/);
    } finally {
      await test.remove();
    }
  });
});
