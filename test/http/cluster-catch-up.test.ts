/** A node that starts behind its cluster. */
import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer } from '../support/built-server.ts';
import { ClusterStage } from '../support/cluster-stage.ts';

describe('A node that starts and cannot catch up yet', function () {
  let stage: ClusterStage;
  let leader: BuiltServer;
  let follower: BuiltServer;

  before(async function () {
    stage = await ClusterStage.open(this, { env: { GANNET_CATCH_UP_MS: '1' } });
    leader = await stage.start('one');
    while ((await leader.call('GET', '/cluster')).json.leader === null) await delay(20);
    follower = await stage.start('two');
  });

  after(() => stage?.close());

  /** The payload is a file of the object store. */
  async function add(from: number): Promise<void> {
    const body = Array.from({ length: 1000 }, (_, n) => ({
      ...{ id: from + n, title: `title ${from + n} ${'x'.repeat(100)}` },
    }));
    const task = await leader.finish('POST', '/indexes/books/documents', { body });
    assert.equal(task.status, 'succeeded');
  }

  const count = async (): Promise<number> =>
    (await follower.call('GET', '/indexes/books/stats')).json.numberOfDocuments;

  /** Runs the task without the files of the object store. */
  async function withoutFiles(task: () => Promise<void>): Promise<void> {
    const files = join(stage.store, 'files');
    const away = join(stage.store, 'away');
    // A leader that runs stores again what the follower reports as missing.
    process.kill(leader.pid, 'SIGSTOP');
    try {
      renameSync(files, away);
      await task();
    } finally {
      // Nodes create the folder that is missing.
      rmSync(files, { recursive: true, force: true });
      renameSync(away, files);
      process.kill(leader.pid, 'SIGCONT');
    }
  }

  it('serves older data if its data was current once', async () => {
    await add(0);
    while ((await count()) !== 1000) await delay(20);
    await follower.kill();
    await add(1000);
    await withoutFiles(async () => {
      await follower.restart();
      assert.equal(await count(), 1000);
    });
    while ((await count()) !== 2000) await delay(20);
  });

  it('serves nothing if its data is new: it may have served later data before', async () => {
    await follower.kill();
    rmSync(follower.data, { recursive: true });
    let restarted: Promise<void> | undefined;
    await withoutFiles(async () => {
      restarted = follower.restart();
      let refused = 0;
      while (refused < 50) {
        const response = await fetch(`${follower.url}/indexes/books/stats`, {
          headers: { authorization: `Bearer ${follower.masterKey}` },
        }).catch(() => null);
        if (response !== null) assert.equal(response.status, 503, await response.text());
        refused += response === null ? 0 : 1;
        await delay(20);
      }
    });
    await restarted;
    assert.equal(await count(), 2000);
  });
});
