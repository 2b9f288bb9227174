import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../support/fake-clock.ts';
import type { NewTask } from '../../../src/store/append-tasks.ts';
import { Store } from '../../../src/store/store.ts';
import { TaskStore } from '../../../src/store/task-store.ts';

const PAGE = { limit: 100, from: null, reverse: true };

function plain(more: Partial<NewTask> = {}): NewTask {
  return {
    type: 'indexDeletion',
    indexUid: 'a',
    alsoIndexes: [],
    flags: 0,
    payload: null,
    late: false,
    row: () => ({ type: 'indexDeletion' }),
    ...more,
  };
}

describe('the task store', () => {
  let dir: string;
  let store: Store;
  let tasks: TaskStore;
  const clock = new FakeClock('2025-01-01T00:00:00Z');

  function open(): void {
    store = new Store(join(dir, 'store'), 2 ** 28);
    tasks = new TaskStore(store, join(dir, 'payloads'), clock);
  }

  async function close(): Promise<void> {
    await tasks.close();
    await store.close();
  }

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gannet-tasks-'));
    mkdirSync(join(dir, 'payloads'));
    open();
  });

  afterEach(async () => {
    await close();
    rmSync(dir, { recursive: true, force: true });
  });

  async function run(
    uids: number[],
    status: 'succeeded' | 'failed' = 'succeeded',
  ): Promise<number> {
    const { batchUid, startedAt } = await tasks.begin(uids);
    const ends = uids.map((uid) => ({ uid, status, result: 1 }));
    await tasks.finish({ batchUid, startedAt, strategy: 'test', details: {}, ends });
    return batchUid;
  }

  /** Waits for work in the background. */
  async function until(done: () => boolean): Promise<void> {
    while (!done()) await new Promise((next) => setTimeout(next, 10));
  }

  it('assigns uids in the order of the calls, and simultaneous registrations share a commit', async () => {
    const before = store.size().diskBytes;
    const records = await Promise.all(Array.from({ length: 300 }, () => tasks.append(plain())));
    assert.deepEqual(
      records.map(({ uid }) => uid),
      [...records.keys()],
    );
    assert.ok(store.size().diskBytes - before < 300 * 4096, 'not one page per task');
  });

  it('keeps the payload of a task that is registered while the node begins to lead', async () => {
    const { commit } = store;
    let stored = (): void => {};
    const isStored = new Promise<void>((resolve) => (stored = resolve));
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    // The commit is on disk, and the task is not visible yet.
    store.commit = async (...args) => {
      store.commit = commit;
      await store.commit(...args);
      stored();
      await released;
    };
    const registered = tasks.append(plain({ payload: { bytes: Buffer.from('small') } }));
    await isStored;
    const led = tasks.lead();
    release();
    await registered;
    await led;
    await tasks.append(plain());
    assert.equal(tasks.payload(0)?.toString(), 'small');
  });

  /** How often the store commits while `work` runs. */
  async function commitsOf(work: () => Promise<unknown>): Promise<number> {
    const { commit } = store;
    let commits = 0;
    store.commit = (write) => {
      commits++;
      return commit.call(store, write);
    };
    await work();
    store.commit = commit;
    return commits;
  }

  it('the end of a batch and simultaneous registrations share a commit', async () => {
    await tasks.append(plain());
    const { batchUid, startedAt } = await tasks.begin([0]);
    const ends = [{ uid: 0, status: 'succeeded', result: 1 } as const];
    const end = { batchUid, startedAt, strategy: 'test', details: {}, ends };
    const commits = await commitsOf(() =>
      Promise.all([tasks.append(plain()), tasks.finish(end), tasks.append(plain())]),
    );
    assert.equal(commits, 1);
    const check = (): void => {
      assert.deepEqual(
        [0, 1, 2].map((uid) => tasks.record(uid)?.status),
        ['succeeded', 'enqueued', 'enqueued'],
      );
      assert.equal(tasks.record(0)?.batchUid, batchUid);
    };
    check();
    await close();
    open();
    check();
  });

  it('registrations around an exchange of histories belong to the index that has the uid at that time', async () => {
    await Promise.all([tasks.append(plain()), tasks.append(plain({ indexUid: 'b' }))]);
    const { batchUid, startedAt } = await tasks.begin([0]);
    const ends = [{ uid: 0, status: 'succeeded', result: 1 } as const];
    const history = { pairs: [['a', 'b']], before: 1 } as const;
    await Promise.all([
      tasks.append(plain({ indexUid: 'a' })),
      tasks.finish({ batchUid, startedAt, strategy: 'test', details: {}, ends, history }),
      tasks.append(plain({ indexUid: 'a' })),
    ]);
    const check = (): void =>
      assert.deepEqual(
        [0, 1, 2, 3].map((uid) => tasks.record(uid)?.indexUid),
        ['b', 'b', 'a', 'a'],
      );
    check();
    await close();
    open();
    check();
  });

  it('the end of a batch is stored although a simultaneous registration is refused', async () => {
    await tasks.append(plain());
    const { batchUid, startedAt } = await tasks.begin([0]);
    const ends = [{ uid: 0, status: 'succeeded', result: 1 } as const];
    const missing = { file: join(dir, 'payloads', 'missing'), size: 1 };
    const [refused, ended] = await Promise.allSettled([
      tasks.append(plain({ payload: missing })),
      tasks.finish({ batchUid, startedAt, strategy: 'test', details: {}, ends }),
    ]);
    assert.deepEqual([refused.status, ended.status], ['rejected', 'fulfilled']);
    assert.equal(tasks.record(0)?.status, 'succeeded');
    assert.equal(tasks.table.taskCount, 1);
  });

  it('when the disk refuses, neither the end of a batch nor a registration has happened', async () => {
    await tasks.append(plain());
    const { batchUid, startedAt } = await tasks.begin([0]);
    const ends = [{ uid: 0, status: 'succeeded', result: 1 } as const];
    const end = { batchUid, startedAt, strategy: 'test', details: {}, ends };
    const { commit } = store;
    store.commit = () => Promise.reject(new Error('the disk is full'));
    const both = await Promise.allSettled([tasks.append(plain()), tasks.finish(end)]);
    store.commit = commit;
    assert.deepEqual(
      both.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(tasks.record(0)?.status, 'processing');
    assert.equal(tasks.table.taskCount, 1);
    await tasks.finish(end);
    assert.equal((await tasks.append(plain())).uid, 1);
    assert.equal(tasks.record(0)?.status, 'succeeded');
  });

  it('a group that cannot be stored leaves nothing behind, and the next one is not disturbed', async () => {
    const missing = { file: join(dir, 'payloads', 'missing'), size: 1 };
    const group = await Promise.allSettled([
      tasks.append(plain({ indexUid: 'new' })),
      tasks.append(plain({ payload: missing })),
    ]);
    assert.deepEqual(
      group.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(tasks.table.taskCount, 0);
    assert.equal(tasks.table.indexNumber('new'), undefined);
    const { uid } = await tasks.append(plain({ indexUid: 'other' }));
    assert.equal(uid, 0);
    await close();
    open();
    assert.equal(tasks.record(0)?.indexUid, 'other');
    assert.equal(tasks.table.taskCount, 1);
  });

  it('the file of a task is renamed to its uid and erased with its end', async () => {
    const file = join(dir, 'payloads', 'upload-1');
    writeFileSync(file, 'content');
    await tasks.append(plain());
    await tasks.append(plain({ payload: { file, size: 7 } }));
    assert.deepEqual(readdirSync(join(dir, 'payloads')), ['1']);
    assert.equal(tasks.record(1)?.payloadBytes, 7);
    await run([0, 1]);
    assert.deepEqual(readdirSync(join(dir, 'payloads')), []);
  });

  it('small payloads are rows, erased by a later commit', async () => {
    await tasks.append(plain({ payload: { bytes: Buffer.from('small') } }));
    assert.equal(tasks.payload(0)?.toString(), 'small');
    await run([0]);
    await tasks.append(plain());
    assert.equal(tasks.payload(0), undefined);
  });

  it('small payloads left by a stop are erased after the next start', async () => {
    await tasks.append(plain({ payload: { bytes: Buffer.from('small') } }));
    await run([0]);
    await close();
    open();
    assert.equal(tasks.payload(0)?.toString(), 'small');
    await tasks.append(plain());
    assert.equal(tasks.payload(0), undefined);
  });

  it('what is being processed is enqueued again after a restart, with the batch uid free', async () => {
    await tasks.append(plain());
    const { batchUid } = await tasks.begin([0]);
    // Another task in the same chunk is stored while the first one runs.
    await tasks.append(plain());
    assert.equal(tasks.record(0)?.status, 'processing');
    await close();
    open();
    assert.equal(tasks.record(0)?.status, 'enqueued');
    assert.equal(tasks.record(0)?.batchUid, null);
    assert.equal(tasks.table.nextBatchUid, batchUid);
    assert.equal(tasks.table.batches.tasks[batchUid], 0);
  });

  it('a batch that is rolled back leaves no trace', async () => {
    await tasks.append(plain());
    const { batchUid } = await tasks.begin([0]);
    assert.equal(tasks.table.batches.tasks[batchUid], 1);
    await tasks.rollBack(batchUid, [0]);
    assert.equal(tasks.table.batches.tasks[batchUid], 0);
    assert.equal((await tasks.begin([0])).batchUid, batchUid);
  });

  it('rows of removed tasks are erased in the background, also after a restart', async () => {
    const count = 2500;
    await Promise.all(Array.from({ length: count }, () => tasks.append(plain())));
    const uids = [...Array(count).keys()];
    const batchUid = await run(uids);
    await tasks.append(plain());
    const { batchUid: second, startedAt } = await tasks.begin([count]);
    const ends = [{ uid: count, status: 'succeeded' as const, result: count }];
    await tasks.finish({
      batchUid: second,
      startedAt,
      strategy: 'test',
      details: {},
      ends,
      remove: uids,
    });
    assert.equal(tasks.table.taskCount, 1);
    assert.equal(tasks.record(7), undefined);
    assert.deepEqual((await tasks.list({}, PAGE, null)).uids, [count]);
    assert.equal(tasks.batch(batchUid), undefined);
    await close();
    open();
    await until(() => store.tasks.getKeysCount() === 1);
    assert.equal(store.tasks.getKeysCount(), 1);
    assert.equal(store.batches.getKeysCount(), 1);
    assert.equal(tasks.table.nextTaskUid, count + 1);
  });

  it('rows of removed tasks that the disk refused to erase are erased after the next removal', async () => {
    for (let n = 0; n < 4; n++) await tasks.append(plain());
    await run([0, 1]);
    async function remove(uid: number, removed: number[]): Promise<void> {
      const { batchUid, startedAt } = await tasks.begin([uid]);
      const ends = [{ uid, status: 'succeeded' as const, result: 1 }];
      const end = { batchUid, startedAt, strategy: 'test', details: {}, ends };
      await tasks.finish({ ...end, remove: removed });
    }
    await remove(2, [0]);
    const { commit } = store;
    let refused = 0;
    store.commit = () => {
      refused++;
      return Promise.reject(new Error('the disk is full'));
    };
    await until(() => refused > 0);
    store.commit = commit;
    await remove(3, [1]);
    await until(() => store.tasks.getKeysCount() === 2);
    assert.deepEqual(store.meta.get('garbage'), { tasks: [], batches: [] });
  });

  it('times never repeat, even when the clock stands still or goes back', () => {
    const first = tasks.now();
    const second = tasks.now();
    clock.advance(-5000);
    const third = tasks.now();
    assert.ok(first < second && second < third);
    assert.ok(third - first < 0.01);
    clock.advance(5000);
  });

  it('late work sees all tasks registered before it', async () => {
    let seen: number[] = [];
    await Promise.all([
      tasks.append(plain()),
      tasks.append(
        plain({
          late: true,
          row: async () => {
            seen = await tasks.matching({}, null);
            return { type: 'indexDeletion' };
          },
        }),
      ),
    ]);
    assert.deepEqual(seen, [0]);
  });
});
