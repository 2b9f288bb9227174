import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchView, TaskPage, TaskView } from '../../src/contract/responses.ts';
import { freePort } from '../support/free-port.ts';
import { settle } from './kill/support/compare.ts';
import { newSeed, Random } from './kill/support/random.ts';
import { addonIsBuilt, ServerProcess } from './kill/support/server-process.ts';

/** Enough documents that rebuilding the index takes far longer than adding a few to another one. */
const DOCUMENTS = 30_000;
const WORDS = 80;
const KILLS = 3;
/** A rebuild takes about a second, a task on the other index some milliseconds. */
const KILL_MS_MAX = 400;

/** RFC 3339 in UTC, in the order of texts. */
const inOrder = (date: string): string => date.replace('Z', '');

describe('a change of settings that rebuilds an index', function () {
  this.timeout(300_000);

  let dir: string;
  let server: ServerProcess;
  let port: number;

  before(async function () {
    if (!addonIsBuilt()) this.skip();
    dir = mkdtempSync(join(tmpdir(), 'gannet-concurrent-'));
    port = await freePort();
    server = await ServerProcess.start({ dir, port });
    const random = new Random(1);
    const word = (): string => `word${random.int(0, 20_000)}`;
    const text = Array.from({ length: DOCUMENTS }, (_, id) =>
      JSON.stringify({ id, text: Array.from({ length: WORDS }, word).join(' ') }),
    ).join('\n');
    await write('POST', '/indexes/large/documents', { ndjson: text });
    await write('POST', '/indexes/small/documents', { body: [{ id: 'first', text: 'word1' }] });
    await settle(server.client);
  });

  after(async () => {
    if (server === undefined) return;
    await server.kill();
    rmSync(dir, { recursive: true, force: true });
  });

  /** @returns the uid of the task */
  async function write(
    method: string,
    path: string,
    { body, ndjson }: { body?: unknown; ndjson?: string },
  ): Promise<number> {
    const response = await server.client.call(
      method,
      path,
      ndjson === undefined
        ? { body }
        : { bytes: Buffer.from(ndjson), type: 'application/x-ndjson' },
    );
    assert.ok(response.status === 202 || response.status === 200, response.text);
    return response.json<{ taskUid: number }>().taskUid;
  }

  /** Every word changes. */
  const rebuild = (n: number): Promise<number> =>
    write('PATCH', '/indexes/large/settings', { body: { separatorTokens: [`d${n % 10}`] } });
  const add = (id: string): Promise<number> =>
    write('POST', '/indexes/small/documents', { body: [{ id, text: 'word1' }] });
  const task = (uid: number): Promise<TaskView> => server.client.get(`/tasks/${uid}`);
  const ended = async (uid: number): Promise<TaskView> => {
    for (;;) {
      const view = await task(uid);
      if (view.finishedAt !== null) return view;
      await sleep(5);
    }
  };

  it('lets documents of another index be added and found meanwhile', async () => {
    const settings = await rebuild(1);
    const first = await add('a');
    const second = await write('POST', '/indexes/new/documents', { body: [{ id: 1 }] });
    const same = await write('POST', '/indexes/large/documents', { body: [{ id: -1 }] });
    await ended(first);
    const running = await server.client.get<TaskPage<BatchView>>('/batches?statuses=processing');
    assert.ok(running.results.some(({ stats }) => stats.indexUids['large'] === 1));
    const { hits } = await server.client.post<{ hits: { id: string }[] }>('/indexes/small/search', {
      q: 'word1',
    });
    assert.ok(hits.some(({ id }) => id === 'a'));
    await ended(second);
    assert.equal((await task(settings)).status, 'processing');
    assert.equal((await task(same)).status, 'enqueued');
    await settle(server.client);
    const views = await Promise.all([settings, first, second, same].map(task));
    assert.deepEqual(
      views.map(({ status }) => status),
      Array(4).fill('succeeded'),
    );
    const [rebuilt, , , last] = views;
    assert.ok(inOrder(views[1]!.finishedAt!) < inOrder(rebuilt!.finishedAt!));
    assert.ok(inOrder(last!.startedAt!) >= inOrder(rebuilt!.finishedAt!));
  });

  it('can be canceled after others have run concurrently', async () => {
    const settings = await rebuild(2);
    const first = await add('b');
    await ended(first);
    const canceling = await write('POST', `/tasks/cancel?uids=${settings}`, {});
    const later = await add('c');
    await settle(server.client);
    const views = await Promise.all([settings, first, canceling, later].map(task));
    assert.deepEqual(
      views.map(({ status }) => status),
      ['canceled', 'succeeded', 'succeeded', 'succeeded'],
    );
    assert.equal(new Set(views.map(({ batchUid }) => batchUid)).size, 3);
  });

  it('loses and repeats nothing when the server is killed with both under way', async () => {
    const seed = newSeed();
    const random = new Random(seed);
    console.log(`seed ${seed}`);
    for (let n = 0; n < KILLS; n++) {
      const expected = new Map<number, number>();
      const settings = await rebuild(3 + n);
      // An id deleted twice would count as 0 deletions the second time.
      for (let k = 0; k < 20; k++) {
        const id = `kill-${n}-${k}`;
        await add(id);
        const deletion = await write('POST', '/indexes/small/documents/delete-batch', {
          body: [id],
        });
        expected.set(deletion, 1);
      }
      await sleep(random.int(0, KILL_MS_MAX));
      await server.kill();
      server = await ServerProcess.start({ dir, port });
      await settle(server.client);
      assert.equal((await task(settings)).status, 'succeeded');
      for (const [uid, deleted] of expected) {
        const { status, details } = await task(uid);
        assert.equal(status, 'succeeded');
        assert.equal(details!['deletedDocuments'], deleted, `task ${uid}, seed ${seed}`);
      }
      const { numberOfDocuments } = await server.client.get<{ numberOfDocuments: number }>(
        '/indexes/large/stats',
      );
      assert.equal(numberOfDocuments, DOCUMENTS + 1);
    }
    const { results } = await server.client.get<TaskPage<TaskView>>('/tasks?limit=1000');
    const batches = await Promise.all(
      [...new Set(results.map(({ batchUid }) => batchUid!))].map((uid) =>
        server.client.get<BatchView>(`/batches/${uid}`),
      ),
    );
    const inBatches = batches.reduce((sum, { stats }) => sum + stats.totalNbTasks, 0);
    // The canceled task is in the batch of its cancelation.
    assert.equal(inBatches, results.length);
  });
});
