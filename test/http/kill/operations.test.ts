import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { freePort } from '../../support/free-port.ts';
import { settle } from './support/compare.ts';
import { newSeed, Random } from './support/random.ts';
import { addonIsBuilt, ServerProcess, verify } from './support/server-process.ts';

const KILLS = Number(process.env['KILLS'] ?? 8);
const DOCUMENTS = 2000;
/** A round is killed within this many ms: longer than each of its operations. */
const ROUND_MS_MAX = 1200;

interface Task {
  uid: number;
  type: string;
  status: string;
}

describe('a server killed while it edits, exports, dumps, makes snapshots and notifies webhooks', function () {
  this.timeout(KILLS * 60_000);

  let dir: string;
  let target: ServerProcess;
  let receiver: Server;
  /** Uids of the tasks reported to the receiver. */
  const notified = new Set<number>();

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-operations-'));
    target = await ServerProcess.start({ dir: join(dir, 'target'), port: await freePort() });
    receiver = createServer(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      for (const line of gunzipSync(Buffer.concat(parts)).toString().trimEnd().split('\n')) {
        notified.add((JSON.parse(line) as Task).uid);
      }
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    await target?.kill();
    receiver?.closeAllConnections();
    receiver?.close();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  it('applies each edit once, exports everything once, leaves whole files, notifies of every task', async () => {
    const random = new Random(newSeed());
    const port = await freePort();
    const [dumps, snapshots] = [join(dir, 'dumps'), join(dir, 'snapshots')];
    const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const args = ['--dump-dir', dumps, '--snapshot-dir', snapshots, '--task-webhook-url', hook];
    const start = (): Promise<ServerProcess> =>
      ServerProcess.start({ dir: join(dir, 'data'), port, args });
    const all = async (server: ServerProcess): Promise<{ id: number; n: number }[]> =>
      (
        await server.client.get<{ results: { id: number; n: number }[] }>(
          `/indexes/a/documents?limit=${DOCUMENTS * 2}`,
        )
      ).results.toSorted((a, b) => a.id - b.id);

    let edits = 0;
    for (let round = 0; round <= KILLS; round++) {
      const server = await start();
      const { client } = server;
      if (round === 0) {
        await client.call('PATCH', '/experimental-features', {
          body: { editDocumentsByFunction: true },
        });
        const body = Array.from({ length: DOCUMENTS }, (_, id) => ({ id, n: 0 }));
        await client.call('POST', '/indexes/a/documents', { body });
      }
      await settle(client);
      const { results } = await client.get<{ results: Task[] }>('/tasks?limit=1000');
      for (const { uid, type, status } of results)
        assert.equal(status, 'succeeded', `${uid} ${type}`);
      assert.equal(results.filter(({ type }) => type === 'documentEdition').length, edits);
      const documents = await all(server);
      assert.equal(documents.length, DOCUMENTS);
      for (const { id, n } of documents) assert.equal(n, edits, `document ${id}`);
      if (round === KILLS) {
        // The last export matches the present state.
        await client.call('POST', '/export', {
          body: { url: `http://127.0.0.1:${target.port}`, payloadSize: '8 KiB' },
        });
        await settle(client);
        await settle(target.client);
        assert.deepEqual(await all(target), documents);
        while (notified.size < results.length + 1) await sleep(20);
        await server.stop();
        break;
      }

      const kill = sleep(random.int(0, ROUND_MS_MAX)).then(() => server.kill());
      const work: [path: string, body: object][] = [
        ['/indexes/a/documents/edit', { function: 'doc.n += 1' }],
        ['/export', { url: `http://127.0.0.1:${target.port}`, payloadSize: '8 KiB' }],
        ['/dumps', {}],
        ['/snapshots', {}],
        ['/indexes/a/documents/edit', { function: 'doc.n += 1' }],
      ];
      for (let n = random.int(0, work.length); n > 0; n--) work.push(work.shift()!);
      let acknowledged = 0;
      for (const [path, body] of work) {
        try {
          const { status } = await client.call('POST', path, { body });
          assert.ok(status === 202 || status === 200, `${path} ${status}`);
          acknowledged++;
          if (path.endsWith('edit')) edits++;
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          break;
        }
      }
      await kill;
      // Whether a request without a response was accepted is found out by asking.
      if (acknowledged < work.length && work[acknowledged]![0].endsWith('edit')) {
        const again = await start();
        const { total } = await again.client.get<{ total: number }>(
          '/tasks?types=documentEdition&limit=0',
        );
        assert.ok(total === edits || total === edits + 1, `${total} of ${edits}`);
        edits = total;
        await again.kill();
      }
    }

    const { status, text } = await verify('--db-path', join(dir, 'data'));
    assert.equal(status, 0, text);
    // No dump is incomplete, and each can be imported; no unfinished file is left.
    const files = readdirSync(dumps);
    assert.ok(files.length > 0 && files.every((file) => file.endsWith('.dump')), files.join());
    assert.deepEqual(readdirSync(snapshots), ['data.snapshot']);
    const imports = [
      ...files.slice(-2).map((file) => ['--import-dump', join(dumps, file)]),
      ['--import-snapshot', join(snapshots, 'data.snapshot')],
    ];
    for (const [n, args] of imports.entries()) {
      const imported = await ServerProcess.start({
        dir: join(dir, `imported-${n}`),
        port: await freePort(),
        args: [...args, '--experimental-max-number-of-batched-tasks', '0'],
      });
      const documents = await all(imported);
      assert.equal(documents.length, DOCUMENTS, args.join(' '));
      assert.equal(new Set(documents.map(({ n }) => n)).size, 1, 'of one moment');
      await imported.kill();
    }
  });
});
