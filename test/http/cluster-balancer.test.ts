/** A cluster behind the load balancer of docs/deploy/nginx-cluster.conf. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuiltServer } from '../support/built-server.ts';
import { ClusterStage } from '../support/cluster-stage.ts';
import { HAS_NGINX, Nginx, NO_NGINX } from '../support/nginx.ts';

const CLIENTS = 4;
/** Longer than nginx leaves a node alone that has failed. */
const ASKED_AGAIN_MS = 1500;

describe('A cluster behind nginx', function () {
  let stage: ClusterStage | undefined;
  let servers: BuiltServer[] = [];
  let nginx: Nginx | undefined;

  before(async function () {
    if (!HAS_NGINX) {
      console.log(`    ${NO_NGINX}`);
      this.skip();
    }
    const opened = (stage = await ClusterStage.open(this, { leaseSeconds: 2 }));
    servers = await Promise.all(['one', 'two', 'three'].map((name) => opened.start(name)));
    for (;;) {
      const { status, json } = await servers[0]!.call('POST', '/indexes/books/documents', {
        body: [{ id: 1, title: 'Emma' }],
      });
      if (status === 202) await Promise.all(servers.map((server) => server.ended(json.taskUid)));
      if (status === 202) break;
      await delay(50);
    }
    nginx = await Nginx.start((address) =>
      readFileSync('docs/deploy/nginx-cluster.conf', 'utf8')
        .replace('listen 80;', `listen ${address};`)
        .replace(/10\.0\.0\.(\d):7700/g, (_, n) => new URL(servers[Number(n) - 1]!.url).host),
    );
  });

  after(async () => {
    await nginx?.stop();
    await stage?.close();
  });

  it('fails no search while nodes are killed, stopped and started', async () => {
    let isOver = false;
    let found = 0;
    const search = async (n: number): Promise<void> => {
      const headers = {
        authorization: `Bearer ${servers[0]!.masterKey}`,
        'content-type': 'application/json',
      };
      const response =
        n % 2 === 0
          ? await fetch(`${nginx!.url}/indexes/books/search?q=emma`, { headers })
          : await fetch(`${nginx!.url}/indexes/books/search`, {
              ...{ method: 'POST', headers, body: JSON.stringify({ q: 'emma' }) },
            });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.equal(JSON.parse(text).hits.length, 1);
      found++;
    };
    const client = async (_: unknown, n: number): Promise<void> => {
      while (!isOver) await search(n);
    };
    const searching = Promise.all(Array.from({ length: CLIENTS }, client));
    // An assertion that fails ends the test at once.
    searching.catch(() => (isOver = true));
    const more = async (): Promise<void> => {
      for (const end = found + 100; found < end && !isOver;) await delay(10);
    };
    for (const server of servers) {
      await more();
      await server.kill();
      await more();
      await server.restart();
      await delay(ASKED_AGAIN_MS);
    }
    await servers[1]!.kill('SIGTERM');
    await more();
    isOver = true;
    await searching;
  });
});
