/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { add, TestTaskSystem } from '../../support/task-system.ts';

describe('Batches', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  it('show progress while running, and results afterwards', async () => {
    test = await TestTaskSystem.open();
    let running: ReturnType<typeof test.system.queue.getBatch>;
    test.engine.beforeCommit = async () => {
      running = test.system.queue.getBatch(0, null);
      const paging = { limit: 5, from: null, reverse: false };
      const { results } = await test.system.queue.batchPage(
        { statuses: ['processing'] },
        paging,
        null,
      );
      assert.deepEqual(
        results.map(({ uid }) => uid),
        [0],
      );
    };
    await test.run(add('a', [{ id: 1 }]));
    assert.equal(running!.finishedAt, null);
    assert.deepEqual(running!.stats.status, { processing: 1 });
    assert.ok('processing tasks > indexing' in running!.stats.progressTrace!);
    assert.deepEqual(
      running!.progress!.steps.map(({ currentStep }) => currentStep),
      ['processing tasks', 'indexing', 'document'],
    );
    assert.ok(
      running!.progress!.percentage.value > 30 && running!.progress!.percentage.value < 100,
    );
    const done = test.system.queue.getBatch(0, null)!;
    assert.equal(done.progress, null);
    assert.deepEqual(done.details, { receivedDocuments: 1, indexedDocuments: 1 });
    assert.deepEqual(Object.keys(done), [
      'uid',
      'progress',
      'details',
      'stats',
      'duration',
      'startedAt',
      'finishedAt',
      'batchStrategy',
    ]);
    assert.equal(done.batchStrategy, 'all enqueued tasks were taken');
  });

  it('show progress while their end is written', async () => {
    test = await TestTaskSystem.open();
    const { store, queue } = test.system;
    const commit = store.commit.bind(store);
    const seen = new Set<string>();
    store.commit = (work) => {
      const progress = queue.getBatch(0, null)?.progress;
      if (progress) seen.add(JSON.stringify(progress));
      return commit(work);
    };
    await test.run(add('a', [{ id: 1 }]));
    const step = { currentStep: 'writing tasks to disk', finished: 1, total: 2 };
    assert.deepEqual(
      [...seen].map((text) => JSON.parse(text)),
      [{ steps: [step], percentage: 50 }],
    );
  });

  it('count indexes with the names that every object has', async () => {
    test = await TestTaskSystem.open();
    for (const [batchUid, indexUid] of ['constructor', '__proto__'].entries()) {
      const counts = (): object => test.system.queue.getBatch(batchUid, null)!.stats.indexUids;
      let running: object;
      test.engine.beforeCommit = () => void (running = counts());
      await test.run(add(indexUid, [{ id: 1 }]));
      assert.deepEqual(Object.entries(running!), [[indexUid, 1]]);
      assert.deepEqual(Object.entries(counts()), [[indexUid, 1]]);
    }
  });

  it('leave out details without a value', async () => {
    test = await TestTaskSystem.open();
    await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: null });
    assert.deepEqual(test.system.queue.getBatch(0, null)?.details, {});
  });

  it('a failure of the engine fails every task with the same error', async () => {
    test = await TestTaskSystem.open({ started: false });
    test.engine.beforeCommit = () => {
      throw Object.assign(new Error('out of space'), { code: 'no_space_left_on_device' });
    };
    await test.together([add('a', [{ id: 1 }]), add('a', [{ id: 2 }])]);
    assert.deepEqual(
      test.tasks().map(({ error }) => error?.code),
      ['no_space_left_on_device', 'no_space_left_on_device'],
    );
    assert.deepEqual(test.indexUids, ['a'], 'the index that was made for them stays');
  });

  it('a crash of the worker fails the batch with `internal`', async () => {
    test = await TestTaskSystem.open();
    test.engine.beforeCommit = () => {
      throw new TypeError('a bug');
    };
    const task = await test.run(add('a', [{ id: 1 }]));
    assert.equal(task.error?.code, 'internal');
  });

  it('are reported when they are finished', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.together([add('a', [{ id: 1 }]), add('b', [{ id: 1 }]), add('a', [{ id: 2 }])]);
    assert.deepEqual(test.finished, [[0, 2], [1]]);
  });
});
