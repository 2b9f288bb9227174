/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { add, cancel, settings, TestTaskSystem } from '../../support/task-system.ts';

describe('Cancelations of tasks', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  it('cancel waiting tasks, which join the batch of the cancelation', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.register(add('a', [{ id: 1 }]));
    await test.register({ type: 'documentDeletion', indexUid: 'a', by: { ids: ['1'] } });
    await test.register(settings('a', { stopWords: ['x'] }));
    await test.register(add('b', [{ id: 1 }]));
    const uid = await test.register(cancel({ indexUids: ['a'] }));
    await test.start();
    await test.settle();
    assert.deepEqual(test.task(uid).details, {
      matchedTasks: 3,
      canceledTasks: 3,
      originalFilter: '?test',
    });
    for (const canceled of [0, 1, 2]) {
      const task = test.task(canceled);
      assert.equal(task.status, 'canceled');
      assert.equal(task.canceledBy, uid);
      assert.equal(task.batchUid, test.task(uid).batchUid);
      assert.equal(task.duration, test.task(uid).duration);
      assert.equal(task.error, null);
    }
    assert.deepEqual(test.task(0).details, { receivedDocuments: 1, indexedDocuments: 0 });
    assert.deepEqual(test.indexUids, ['b']);
    assert.deepEqual(
      (await test.find({ canceledBy: [uid] })).map(({ uid }) => uid),
      [0, 1, 2],
    );
    assert.deepEqual(test.system.queue.getBatch(0, null)?.stats, {
      totalNbTasks: 4,
      status: { canceled: 3, succeeded: 1 },
      types: {
        documentAdditionOrUpdate: 1,
        documentDeletion: 1,
        settingsUpdate: 1,
        taskCancelation: 1,
      },
      indexUids: { a: 3 },
      progressTrace: test.system.queue.getBatch(0, null)?.stats.progressTrace,
    });
  });

  it('the newest runs first and cancels older ones', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.register(add('a', [{ id: 1 }]));
    await test.register(cancel({ uids: [0] }));
    await test.register(cancel({ types: ['taskCancelation'] }));
    await test.start();
    await test.settle();
    assert.deepEqual(
      test.tasks().map(({ status }) => status),
      ['succeeded', 'canceled', 'succeeded'],
    );
    assert.deepEqual(test.task(1).details?.canceledTasks, 0);
  });

  it('stop the running batch, whose other tasks wait again and then run', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.register(add('a', [{ id: 1 }]));
    await test.register(add('a', [{ id: 2 }]));
    let seen: unknown[] = [];
    let canceling: Promise<number> | null = null;
    test.engine.beforeCommit = async () => {
      test.engine.beforeCommit = null;
      const processing = await test.find({ statuses: ['processing'] });
      seen = processing.map(({ uid, batchUid }) => [uid, batchUid]);
      canceling = test.register(cancel({ uids: [0] }));
      await canceling;
    };
    await test.start();
    await test.settle();
    assert.deepEqual(seen, [
      [0, 0],
      [1, 0],
    ]);
    assert.equal(await canceling, 2);
    assert.deepEqual(
      test.tasks().map(({ status, batchUid }) => [status, batchUid]),
      [
        ['canceled', 0],
        ['succeeded', 1],
        ['succeeded', 0],
      ],
    );
    assert.deepEqual(await test.documents('a'), [{ id: 2 }]);
  });

  it('match finished tasks without changing them', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const task = await test.run(cancel({ indexUids: ['a'] }));
    assert.deepEqual([task.details?.matchedTasks, task.details?.canceledTasks], [1, 0]);
    assert.equal(test.task(0).status, 'succeeded');
  });

  it('only match tasks that the caller may see', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.register(add('a', [{ id: 1 }]));
    await test.register(add('b', [{ id: 1 }]));
    const uid = await test.register(cancel({ statuses: ['enqueued'] }, (index) => index === 'b'));
    await test.start();
    await test.settle();
    assert.equal(test.task(uid).details?.matchedTasks, 1);
    assert.deepEqual(
      test.tasks().map(({ status }) => status),
      ['succeeded', 'canceled', 'succeeded'],
    );
  });
});
