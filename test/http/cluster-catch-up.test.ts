/** A node that starts behind its cluster. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type BuiltServer, startBuiltServer } from '../support/built-server.ts';
import { clusterOptions } from '../support/cluster-options.ts';
import { Etcd, HAS_ETCD } from '../support/etcd.ts';

describe('A node that starts and cannot catch up yet', function () {
  let etcd: Etcd;
  let store: string;
  let leader: BuiltServer;
  let follower: BuiltServer;

  before(async function () {
    if (!HAS_ETCD) {
      console.log('    skipped: etcd is not installed (Debian package etcd-server)');
      this.skip();
    }
    etcd = await Etcd.start();
    store = mkdtempSync(join(tmpdir(), 'gannet-store-'));
    const start = (node: string): Promise<BuiltServer> =>
      startBuiltServer(
        (url) => clusterOptions({ cluster: 'shop', etcd: [etcd.url], store, node, url }),
        { GANNET_CATCH_UP_MS: '1' },
      );
    leader = await start('one');
    while ((await leader.call('GET', '/cluster')).json.leader === null) await delay(20);
    follower = await start('two');
  });

  after(async () => {
    await follower?.close();
    await leader?.close();
    await etcd?.stop();
    if (store !== undefined) rmSync(store, { recursive: true, force: true });
  });

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

  /** Moves the files of the object store from one folder to another. The leader may add some. */
  function moveAll(from: string, to: string): void {
    mkdirSync(join(store, to), { recursive: true });
    for (const name of readdirSync(join(store, from))) {
      renameSync(join(store, from, name), join(store, to, name));
    }
  }

  it('serves older data if its data was current once', async () => {
    await add(0);
    while ((await count()) !== 1000) await delay(20);
    await follower.kill();
    await add(1000);
    moveAll('files', 'away');
    await follower.restart();
    assert.equal(await count(), 1000);
    moveAll('away', 'files');
    while ((await count()) !== 2000) await delay(20);
  });

  it('serves nothing if its data is new: it may have served later data before', async () => {
    await follower.kill();
    rmSync(follower.data, { recursive: true });
    moveAll('files', 'away');
    const restarted = follower.restart();
    let refused = 0;
    while (refused < 50) {
      const response = await fetch(`${follower.url}/indexes/books/stats`, {
        headers: { authorization: `Bearer ${follower.masterKey}` },
      }).catch(() => null);
      if (response !== null) assert.equal(response.status, 503, await response.text());
      refused += response === null ? 0 : 1;
      await delay(20);
    }
    moveAll('away', 'files');
    await restarted;
    assert.equal(await count(), 2000);
  });
});
