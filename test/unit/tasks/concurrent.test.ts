import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import type { BatchJob } from '../../../src/engine/native.ts';
import { MOMENTS } from '../../support/concurrent-moments.ts';
import { bundledChild } from '../../support/bundled-child.ts';
import { add, cancel, settings, TestTaskSystem } from '../../support/task-system.ts';

const CHILD = bundledChild('concurrent-child.ts');

let test: TestTaskSystem;

/**
 * Notifies waiters of each batch that is about to commit or has ended, so that they check their
 * condition.
 */
class Events {
  readonly #listeners = new Set<() => void>();

  happened(): void {
    for (const listener of this.#listeners) listener();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          this.#listeners.delete(listener);
          resolve();
        };
        this.#listeners.add(listener);
      });
    }
  }
}

let events: Events;
/**
 * Maps the first task of each batch that is stopped before its commit to the function that releases
 * it.
 */
let held: Map<number, () => void>;
let holds: (job: BatchJob) => boolean;

/**
 * Opens a task system that stops batches before their commit where `holds` says so: at first,
 * changes of settings.
 */
async function open(): Promise<void> {
  events = new Events();
  held = new Map();
  holds = ({ steps }) => steps.some(({ kind }) => kind === 'settings');
  test = await TestTaskSystem.open({
    started: false,
    onFinished: (uids) => {
      test.finished.push([...uids]);
      events.happened();
    },
  });
  test.engine.beforeCommit = (job) => {
    if (!holds(job)) return undefined;
    const released = new Promise<void>((resolve) => held.set(job.taskUids[0]!, resolve));
    events.happened();
    return released;
  };
}

/** Lets the batch of a task commit. */
function release(uid: number): void {
  held.get(uid)!();
  held.delete(uid);
}

async function register(...requests: TaskRequest[]): Promise<void> {
  for (const request of requests) await test.register(request);
}

const statuses = (): string[] => test.tasks().map(({ status }) => status);
const done = (uid: number) => (): boolean => test.finished.flat().includes(uid);
const isHeld = (uid: number) => (): boolean => held.has(uid);

describe('concurrently with a change of settings', () => {
  beforeEach(open);
  afterEach(() => test.remove());

  it('documents of other indexes are processed, in the order of their uids', async () => {
    await register(
      settings('a', { stopWords: ['x'] }),
      add('c', [{ id: 1 }]),
      add('b', [{ id: 1 }]),
      add('c', [{ id: 2 }]),
    );
    await test.start();
    await events.until(done(2));
    assert.deepEqual(statuses(), ['processing', 'succeeded', 'succeeded', 'succeeded']);
    assert.deepEqual(test.finished, [[1, 3], [2]]);
    await register(add('d', [{ id: 1 }]));
    await events.until(done(4));
    assert.deepEqual(await test.documents('d'), [{ id: 1 }]);
    release(0);
    await test.settle();
    assert.deepEqual(
      test.tasks().map(({ status, batchUid }) => [status, batchUid]),
      [
        ['succeeded', 0],
        ['succeeded', 1],
        ['succeeded', 2],
        ['succeeded', 1],
        ['succeeded', 3],
      ],
    );
  });

  it('two batches are shown as processing, each with its progress', async () => {
    holds = () => true;
    await register(settings('a', { stopWords: ['x'] }), add('b', [{ id: 1 }]));
    await test.start();
    await events.until(() => held.size === 2);
    const paging = { limit: 5, from: null, reverse: false };
    const { results, total } = await test.system.queue.batchPage(
      { statuses: ['processing'] },
      paging,
      null,
    );
    assert.equal(total, 2);
    assert.deepEqual(
      results.map(({ uid, stats, progress, finishedAt }) => [
        uid,
        stats.indexUids,
        progress!.steps.length > 0,
        finishedAt,
      ]),
      [
        [1, { b: 1 }, true, null],
        [0, { a: 1 }, true, null],
      ],
    );
    release(1);
    await events.until(done(1));
    assert.equal(test.system.queue.getBatch(1, null)!.progress, null);
    assert.notEqual(test.system.queue.getBatch(0, null)!.progress, null);
    release(0);
    await test.settle();
    assert.deepEqual(statuses(), ['succeeded', 'succeeded']);
  });

  it('nothing of the same index and no other settings run, and no index is created or deleted', async () => {
    await register(
      settings('a', { stopWords: ['x'] }),
      add('a', [{ id: 1 }]),
      settings('b', { stopWords: ['y'] }),
      { type: 'indexCreation', indexUid: 'c', primaryKey: null },
      add('d', [{ id: 1 }]),
      { type: 'indexDeletion', indexUid: 'd' },
      add('e', [{ id: 1 }]),
    );
    await test.start();
    await events.until(done(6));
    assert.deepEqual(statuses(), [
      'processing',
      ...Array.from({ length: 5 }, () => 'enqueued'),
      'succeeded',
    ]);
    release(0);
    await events.until(isHeld(2));
    release(2);
    await test.settle();
    assert.deepEqual([...new Set(statuses())], ['succeeded']);
    assert.deepEqual(test.indexUids, ['a', 'b', 'c', 'e']);
  });

  it('nothing beyond a swap runs, whatever its indexes', async () => {
    await register(
      add('p', [{ id: 'p' }]),
      add('q', [{ id: 'q' }]),
      settings('a', { stopWords: ['x'] }),
      add('b', [{ id: 1 }]),
      { type: 'indexSwap', swaps: [{ indexes: ['p', 'q'], rename: false }] },
      add('b', [{ id: 2 }]),
      add('c', [{ id: 1 }]),
    );
    await test.start();
    await events.until(done(3));
    assert.deepEqual(statuses().slice(2), [
      'processing',
      'succeeded',
      'enqueued',
      'enqueued',
      'enqueued',
    ]);
    release(2);
    await test.settle();
    assert.deepEqual(test.finished, [[0], [1], [3], [2], [4], [5], [6]]);
    assert.deepEqual(await test.documents('p'), [{ id: 'q' }]);
  });

  it('nothing begins once a cancelation waits; it stops either batch, and the other one continues', async () => {
    for (const [canceled, other] of [
      [0, 1],
      [1, 0],
    ] as const) {
      await open();
      holds = () => true;
      await register(settings('a', { stopWords: ['x'] }), add('b', [{ id: 1 }]));
      await test.start();
      await events.until(() => held.size === 2);
      await register(cancel({ uids: [canceled] }), add('c', [{ id: 1 }]));
      release(canceled);
      release(other);
      await events.until(done(2));
      await events.until(isHeld(3));
      release(3);
      await test.settle();
      const expected = ['succeeded', 'succeeded', 'succeeded', 'succeeded'];
      expected[canceled] = 'canceled';
      assert.deepEqual(statuses(), expected, `canceled ${canceled}`);
      assert.equal(test.task(canceled).batchUid, test.task(2).batchUid);
      const uids = test.tasks().map(({ batchUid }) => batchUid);
      assert.equal(new Set(uids).size, 3);
      assert.ok(test.finished.findIndex((ended) => ended.includes(3)) === 2);
      if (canceled === 0) await test.remove();
    }
  });

  it('a stop rolls both back; both run after a start', async () => {
    holds = () => true;
    await register(settings('a', { stopWords: ['x'] }), add('b', [{ id: 1 }]));
    await test.start();
    await events.until(() => held.size === 2);
    const stopped = test.system.scheduler.stop();
    release(0);
    release(1);
    await stopped;
    assert.deepEqual(statuses(), ['enqueued', 'enqueued']);
    assert.deepEqual(test.indexUids, []);
    assert.equal(test.system.taskStore.table.nextBatchUid, 0, 'the batch uids are free');
    holds = () => false;
    await test.restart();
    await test.settle();
    assert.deepEqual(
      test.tasks().map(({ status, batchUid }) => [status, batchUid]),
      [
        ['succeeded', 0],
        ['succeeded', 1],
      ],
    );
  });

  it('the next change of settings waits for the concurrent batch', async () => {
    holds = () => true;
    await register(settings('a', { stopWords: ['x'] }), add('b', [{ id: 1 }]));
    await register(settings('c', { stopWords: ['y'] }));
    await test.start();
    await events.until(() => held.size === 2);
    release(0);
    await events.until(done(0));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(statuses(), ['succeeded', 'processing', 'enqueued']);
    release(1);
    await events.until(isHeld(2));
    release(2);
    await test.settle();
    assert.deepEqual(statuses(), ['succeeded', 'succeeded', 'succeeded']);
  });
});

describe('a process killed while two batches run', function () {
  this.timeout(120_000);

  for (const [moment, { committed, batches: uids }] of Object.entries(MOMENTS)) {
    it(`${moment} loses nothing and repeats nothing`, async () => {
      const dir = mkdtempSync(join(tmpdir(), 'gannet-concurrent-'));
      const child = spawnSync(process.execPath, [CHILD, dir, moment], {
        encoding: 'utf8',
      });
      assert.equal(child.signal, 'SIGKILL', child.stderr);
      test = await TestTaskSystem.open({ dir });
      try {
        await test.settle();
        assert.deepEqual(
          test.tasks().map(({ status, details }) => [status, details?.deletedDocuments]),
          [
            ['succeeded', undefined],
            ['succeeded', undefined],
            ['succeeded', undefined],
            ['succeeded', 1],
          ],
        );
        assert.equal(test.engine.appliedSteps, 2 - committed, 'what was committed is not repeated');
        const batches = test.tasks().map(({ batchUid }) => batchUid!);
        assert.deepEqual(batches, uids);
        for (const uid of batches) {
          assert.equal(test.system.queue.getBatch(uid, null)?.stats.totalNbTasks, 1);
        }
        assert.deepEqual(test.system.registry.get('a')!.settings.stopWords, ['x']);
        assert.deepEqual(await test.documents('b'), [{ id: 2 }]);
      } finally {
        await test.remove();
      }
    });
  }
});

describe('concurrently with a snapshot', () => {
  let test: TestTaskSystem;
  afterEach(() => test.remove());

  it('documents are indexed once it allows this, and nothing else runs', async () => {
    const order: string[] = [];
    let allowConcurrent = (): void => {};
    let finish = (): void => {};
    const begun = new Promise<void>((begins) => {
      const ending = new Promise<void>((done) => (finish = done));
      void TestTaskSystem.open({
        started: false,
        runners: {
          snapshotCreation: async ({ batch, allowConcurrent: leave }) => {
            allowConcurrent = leave;
            begins();
            await ending;
            order.push('snapshot');
            return { ends: batch.uids.map((uid) => ({ uid, status: 'succeeded', result: null })) };
          },
        },
        onFinished: (uids) => void order.push(uids.join()),
      }).then(async (opened) => {
        test = opened;
        await test.register({ type: 'snapshotCreation' });
        await test.register(add('a', [{ id: 1 }]));
        await test.register({ type: 'indexCreation', indexUid: 'b', primaryKey: null });
        await test.start();
      });
    });
    await begun;
    await new Promise((done) => setImmediate(done));
    assert.deepEqual(order, []);
    allowConcurrent();
    while (order.length === 0) await new Promise((done) => setImmediate(done));
    assert.deepEqual(order, ['1']);
    assert.equal(test.task(2).status, 'enqueued');
    finish();
    await test.settle();
    assert.deepEqual(order, ['1', 'snapshot', '0', '2']);
  });
});
