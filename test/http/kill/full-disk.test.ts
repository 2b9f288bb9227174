import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.ts';
import { settle, tasksFrom } from './support/compare.ts';
import { addonIsBuilt, ServerProcess } from './support/server-process.ts';

const DISK_MIB = 24;
const DOCUMENTS_PER_TASK = 120;
/** The server retries the store every ten seconds. */
const RETRY_MS_MAX = 15_000;

interface Hits {
  hits: { id: string }[];
  estimatedTotalHits: number;
}

/** Vector of document `id`: numbers that single precision represents exactly. */
function embedding(id: number, dimensions: number): number[] {
  return Array.from({ length: dimensions }, (_, i) => ((id * 31 + i * 7) % 64) / 8 - 3.5);
}

/** Text that compression does not shorten. */
function documents(first: number, dimensions: number): Record<string, unknown>[] {
  return Array.from({ length: DOCUMENTS_PER_TASK }, (_, n) => ({
    id: String(first + n),
    task: String(first / DOCUMENTS_PER_TASK),
    ...(dimensions > 0 && { _vectors: { e: embedding(first + n, dimensions) } }),
    text: Array.from({ length: 120 }, (__, w) =>
      ((first + n) * 7919 * (w + 1) + w * 104_729).toString(36),
    ).join(' '),
  }));
}

describe('a full disk', function () {
  this.timeout(240_000);

  let dir: string;
  let server: ServerProcess;

  const mount = (...args: string[]): boolean => spawnSync('mount', args).status === 0;

  beforeEach(function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-full-'));
    if (!mount('-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'tmpfs', dir)) {
      rmSync(dir, { recursive: true });
      console.log('      skipped: mounting a small tmpfs is not permitted here');
      this.skip();
    }
  });

  afterEach(async function () {
    if (this.currentTest!.isPending()) return;
    if (!server.hasExited) await server.kill();
    spawnSync('umount', ['-l', dir]);
    rmSync(dir, { recursive: true, force: true });
  });

  const count = async (): Promise<number> =>
    (await server.client.post<Hits>('/indexes/a/search', { limit: 0 })).estimatedTotalHits;

  async function fillUp(dimensions: number): Promise<void> {
    const add = async (n: number): Promise<number> => {
      const { status, text } = await server.client.call('POST', '/indexes/a/documents', {
        body: documents(n * DOCUMENTS_PER_TASK, dimensions),
      });
      if (status === 202) return status;
      assert.match(text, /no_space_left_on_device/, text);
      return status;
    };

    server = await ServerProcess.start({ dir: join(dir, 'data'), port: await freePort() });
    const settings = {
      pagination: { maxTotalHits: 1_000_000 },
      filterableAttributes: ['task'],
      ...(dimensions > 0 && { embedders: { e: { source: 'userProvided', dimensions } } }),
    };
    await server.client.call('PATCH', '/indexes/a/settings', { body: settings });
    await settle(server.client);

    let accepted = 0;
    let refused = 0;
    for (let n = 0; n < 1000 && refused < 3; n++) {
      const before = accepted;
      if ((await add(n)) === 202) accepted++;
      else refused++;
      if (n % 4 === 0 || accepted === before) {
        // Reads succeed all the time.
        assert.equal(typeof (await count()), 'number');
        await Promise.race([settle(server.client), sleep(500)]);
      }
      const [failed] = (
        await server.client.get<{ results: { uid: number }[] }>('/tasks?statuses=failed&limit=1')
      ).results;
      if (failed !== undefined && n > failed.uid + 20) break;
    }
    assert.ok(accepted > 10, 'some tasks fitted');

    // Records that failed while the disk was full are written when there is space.
    await sleep(1000);
    const readable = await count();
    await server.kill();
    server = await ServerProcess.start({ dir: join(dir, 'data'), port: await freePort() });
    assert.ok((await count()) >= readable, 'it starts on a full disk, to be read');
    assert.ok(mount('-o', 'remount,size=400m', dir));
    await Promise.race([settle(server.client), sleep(RETRY_MS_MAX)]);
    await settle(server.client);

    const check = async (): Promise<void> => {
      const tasks = (await tasksFrom(server.client, 0)).slice(1);
      assert.equal(tasks.length, accepted, 'the acknowledged tasks and no refused ones are there');
      let expected = 0;
      for (const { uid, status, error, details } of tasks) {
        if (status === 'failed') {
          assert.equal(error!.code, 'no_space_left_on_device', `${uid}: ${error!.message}`);
          assert.deepEqual(details, {
            receivedDocuments: DOCUMENTS_PER_TASK,
            indexedDocuments: 0,
          });
        } else {
          assert.equal(status, 'succeeded');
          expected += DOCUMENTS_PER_TASK;
        }
      }
      assert.equal(await count(), expected, 'the documents of the tasks that succeeded');
      if (dimensions > 0) await checkVectors(dimensions, expected);
      assert.ok(
        refused > 0 || tasks.some(({ status }) => status === 'failed'),
        'the disk was full at some time',
      );
    };
    await check();
    const failures = (await tasksFrom(server.client, 0)).filter(
      ({ status }) => status === 'failed',
    );
    console.log(`      ${accepted} tasks, ${failures.length} failed, ${refused} requests refused`);

    // The server continues without a restart, and after one.
    assert.equal(await add(2000), 202);
    accepted++;
    await settle(server.client);
    const last = (await tasksFrom(server.client, 0)).at(-1)!;
    assert.equal(last.status, 'succeeded', JSON.stringify(last.error));
    await check();
    await server.kill();
    server = await ServerProcess.start({ dir: join(dir, 'data'), port: await freePort() });
    await check();
  }

  /** Each document has its own embedding, and is the nearest to it. */
  async function checkVectors(dimensions: number, documentCount: number): Promise<void> {
    const { client } = server;
    const stats = await client.get<{ numberOfEmbeddings: number }>('/indexes/a/stats');
    assert.equal(stats.numberOfEmbeddings, documentCount);
    const { results } = await client.get<{
      results: { id: string; _vectors: { e: { embeddings: number[][] } } }[];
    }>('/indexes/a/documents?retrieveVectors=true&limit=1000');
    for (const { id, _vectors } of results) {
      assert.deepEqual(_vectors.e.embeddings, [embedding(Number(id), dimensions)], id);
    }
    const nearest = await client.post<{ hits: { _rankingScore: number }[] }>('/indexes/a/search', {
      vector: embedding(Number(results[0]!.id), dimensions),
      hybrid: { embedder: 'e', semanticRatio: 1 },
      limit: 1,
      showRankingScore: true,
    });
    assert.ok(Math.abs(nearest.hits[0]!._rankingScore - 1) < 1e-6);
  }

  for (const [what, dimensions] of [
    ['documents', 0],
    ['documents with vectors', 96],
  ] as const) {
    it(`refuses or fails tasks of ${what} and says why, loses nothing acknowledged, and goes on reading`, () =>
      fillUp(dimensions));
  }

  it('fails backups, and says why, however little is left', async () => {
    const folders = ['--dump-dir', join(dir, 'dumps'), '--snapshot-dir', join(dir, 'snapshots')];
    server = await ServerProcess.start({
      dir: join(dir, 'data'),
      port: await freePort(),
      args: folders,
    });
    const { client } = server;
    assert.equal(
      (await client.call('POST', '/indexes/a/documents', { body: documents(0, 0) })).status,
      202,
    );
    await settle(client);
    const filler = join(dir, 'filler');
    const ended = { succeeded: 0, failed: 0, refused: 0 };
    for (let pages = 0; pages < 400; pages = pages < 40 ? pages + 1 : Math.ceil(pages * 1.3)) {
      fill(filler, pages);
      for (const path of ['/snapshots', '/dumps']) {
        const { status, text } = await client.call('POST', path, {});
        if (status !== 202) {
          assert.match(text, /no_space_left_on_device/, `${path} with ${pages} pages: ${text}`);
          ended.refused++;
          continue;
        }
        // The end of the task may need more space than is left.
        const { taskUid } = JSON.parse(text) as { taskUid: number };
        const view = await ending(taskUid);
        if (view === null) continue;
        if (view.status === 'failed') {
          const { code, message } = view.error!;
          assert.equal(code, 'no_space_left_on_device', `${path} with ${pages} pages: ${message}`);
          ended.failed++;
        } else ended.succeeded++;
      }
      rmSync(filler);
      for (const name of ['dumps', 'snapshots'])
        rmSync(join(dir, name), { recursive: true, force: true });
      await settle(client);
    }
    console.log(`      ${JSON.stringify(ended)}`);
    assert.ok(ended.failed > 0 && ended.refused > 0 && ended.succeeded > 0);

    /** Leaves this many pages, while the server may write. */
    function fill(file: string, pages: number): void {
      const { bavail } = statfsSync(dir);
      try {
        writeFileSync(file, Buffer.alloc(Math.max(0, bavail - pages) * 4096));
      } catch {
        truncateSync(file, Math.max(0, statSync(file).size - pages * 4096));
      }
    }

    /** Waits for the end of a task, or until it needs the space that is missing. */
    async function ending(uid: number): Promise<any> {
      const until = Date.now() + 2000;
      while (Date.now() < until) {
        const task = await client.get<any>(`/tasks/${uid}`);
        if (task.status === 'failed' || task.status === 'succeeded') return task;
        await sleep(20);
      }
      return null;
    }
  });
});
