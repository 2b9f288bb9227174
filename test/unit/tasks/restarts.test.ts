/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import { add, TestTaskSystem } from '../../support/task-system.ts';

describe('Stopping and starting with tasks', () => {
  let test: TestTaskSystem;

  function errorOf(uid: number): string | undefined {
    return test.task(uid).error?.code;
  }

  afterEach(() => test.remove());

  it('a running batch is rolled back and runs again', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.register(add('a', [{ id: 1 }]));
    let stopping: Promise<void> | null = null;
    test.engine.beforeCommit = () => {
      test.engine.beforeCommit = null;
      stopping = test.system.scheduler.stop();
    };
    await test.start();
    await test.settle();
    await stopping;
    assert.equal(test.task(0).status, 'enqueued');
    assert.deepEqual(test.indexUids, []);
    await test.restart();
    await test.settle();
    assert.equal(test.task(0).status, 'succeeded');
    assert.deepEqual(await test.documents('a'), [{ id: 1 }]);
  });

  /** Makes the next `times` calls that open the index fail. */
  function failToOpen(uid: string, code: string, times = Infinity): void {
    const { uuid } = test.system.registry.get(uid)!;
    const { openIndex } = test.engine;
    let left = times;
    test.engine.openIndex = (dir) => {
      if (!dir.endsWith(uuid) || left-- <= 0) return openIndex.call(test.engine, dir);
      throw Object.assign(new Error('it cannot be opened'), { code });
    };
  }

  /** Commits a batch in the engine while the store refuses to record its end, then stops. */
  async function leaveUnrecorded(request: TaskRequest): Promise<number> {
    test.engine.afterCommit = () => {
      test.engine.afterCommit = null;
      test.system.store.commit = () => Promise.reject(new Error('the disk is full'));
      void test.system.scheduler.stop();
    };
    const { uid } = await test.run(request);
    await test.restart({ started: false });
    assert.equal(test.task(uid).status, 'enqueued');
    return uid;
  }

  it('a damaged index with waiting tasks keeps no other index from being served', async () => {
    test = await TestTaskSystem.open();
    for (const uid of ['a', 'b']) await test.run(add(uid, [{ id: 1 }]));
    await test.restart({ started: false });
    failToOpen('a', 'invalid_store_file');
    for (const uid of ['a', 'b']) await test.register(add(uid, [{ id: 2 }]));
    await test.start();
    await test.settle();
    assert.equal(errorOf(2), 'invalid_store_file');
    assert.equal(test.task(3).status, 'succeeded');
    assert.ok(test.logged.some((line) => /index a .*it cannot be opened/.test(line)));
    const later = await test.run(add('a', [{ id: 3 }]));
    assert.equal(later.error?.code, 'invalid_store_file');
    assert.equal((await test.run({ type: 'indexDeletion', indexUid: 'a' })).status, 'succeeded');
  });

  it('a committed batch is not repeated when its index can be opened only after the start', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const by = { ids: ['1'] };
    const uid = await leaveUnrecorded({ type: 'documentDeletion', indexUid: 'a', by });
    const { appliedSteps } = test.engine;
    failToOpen('a', 'too_many_open_files', 1);
    await test.start();
    await test.settle();
    assert.equal(test.engine.appliedSteps, appliedSteps);
    assert.deepEqual(test.task(uid).details, {
      providedIds: 1,
      deletedDocuments: 1,
      originalFilter: null,
    });
    assert.equal((await test.run(add('a', [{ id: 2 }]))).status, 'succeeded');
  });

  it('a committed batch is not repeated when its index can be opened only while the next batch runs', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const uid = await leaveUnrecorded(add('a', [{ id: 2 }]));
    const { appliedSteps } = test.engine;
    failToOpen('a', 'too_many_open_files', 2);
    await test.start();
    await test.settle();
    assert.equal(errorOf(uid), 'too_many_open_files');
    assert.equal(test.engine.appliedSteps, appliedSteps);
    assert.equal((await test.run(add('a', [{ id: 3 }]))).status, 'succeeded');
    assert.deepEqual(await test.documents('a'), [{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  it('a stop while the end of the last batch cannot be recorded leaves it to the next start', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const uid = await leaveUnrecorded(add('a', [{ id: 2 }]));
    const { appliedSteps } = test.engine;
    test.system.store.commit = () => Promise.reject(new Error('the disk is full'));
    const starting = test.start();
    await new Promise((done) => setTimeout(done, 10));
    await test.close();
    await starting;
    await test.restart();
    assert.equal(test.task(uid).status, 'succeeded');
    assert.equal(test.engine.appliedSteps, appliedSteps);
  });

  it('nothing runs while a scheduler that resumes concludes the last batch', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const { scheduler, taskStore, store } = test.system;
    const { commit } = store;
    test.engine.afterCommit = () => {
      test.engine.afterCommit = null;
      store.commit = () => Promise.reject(new Error('another node leads'));
      void scheduler.stop();
    };
    const { uid } = await test.run(add('a', [{ id: 2 }]));
    await scheduler.stop();
    await taskStore.stopAll();
    assert.equal(test.task(uid).status, 'enqueued');
    let record = (): void => {};
    const isRecorded = new Promise<void>((resolve) => (record = resolve));
    store.commit = async (...given) => {
      await isRecorded;
      await commit.apply(store, given);
    };
    let commits = 0;
    test.engine.afterCommit = () => void commits++;
    const resumed = scheduler.resume();
    scheduler.wake();
    for (let n = 0; n < 100; n++) await new Promise((resolve) => setImmediate(resolve));
    record();
    await resumed;
    await test.settle();
    assert.equal(commits, 0, 'the batch ran again');
    assert.equal(test.task(uid).status, 'succeeded');
  });

  it('folders and files that nothing refers to are erased at start', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    test.system.queue.newPayloadFile();
    writeFileSync(join(test.dir, 'payloads', '77'), 'left over');
    test.system.registry.create('2025-01-01T00:00:00Z');
    await test.restart();
    assert.deepEqual(readdirSync(join(test.dir, 'payloads')), []);
    assert.equal(readdirSync(join(test.dir, 'indexes')).length, 1);
  });

  it('with a limit of 0 tasks nothing runs', async () => {
    test = await TestTaskSystem.open({ batchedTasksMax: 0 });
    const task = await test.run(add('a', [{ id: 1 }]));
    assert.equal(task.status, 'enqueued');
  });

  it('times are distinct and ascending', async () => {
    test = await TestTaskSystem.open({ started: false });
    await Promise.all(Array.from({ length: 50 }, (_, n) => test.register(add('a', [{ id: n }]))));
    const times = test.tasks().map(({ enqueuedAt }) => enqueuedAt);
    assert.equal(new Set(times).size, 50);
    assert.deepEqual(
      times,
      [...times].sort((a, b) => (pad(a) < pad(b) ? -1 : 1)),
    );
    function pad(time: string): string {
      return time.slice(0, -1).padEnd(26, '0');
    }
  });
});
