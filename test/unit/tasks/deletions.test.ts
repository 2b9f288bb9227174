/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { add, forget, TestTaskSystem } from '../../support/task-system.ts';

describe('Deletions of tasks', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  it('forget finished tasks and empty batches, each counted once', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.run(add('a', [{ name: 1 }]));
    await test.restart({ started: false });
    const uids = await test.together([
      forget({ statuses: ['failed'] }),
      forget({ indexUids: ['a'] }),
    ]);
    assert.deepEqual(
      uids.map((uid) => test.task(uid).details?.deletedTasks),
      [1, 1],
    );
    assert.deepEqual(
      uids.map((uid) => test.task(uid).details?.matchedTasks),
      [1, 2],
    );
    assert.deepEqual(
      test.tasks().map(({ uid }) => uid),
      [2, 3],
    );
    assert.equal(test.system.queue.getBatch(0, null), undefined);
    assert.equal(
      (await test.system.queue.page({}, { limit: 0, from: null, reverse: false }, null)).total,
      2,
    );
    await test.restart();
    assert.deepEqual(
      test.tasks().map(({ uid }) => uid),
      [2, 3],
    );
    assert.equal(await test.register(add('a', [{ id: 1 }])), 4);
  });

  it('keep waiting tasks', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.register(add('a', [{ id: 1 }]));
    await test.register(forget({ uids: [0] }));
    await test.start();
    await test.settle();
    assert.deepEqual(test.task(1).details, {
      matchedTasks: 1,
      deletedTasks: 0,
      originalFilter: '?test',
    });
    assert.equal(test.task(0).status, 'succeeded');
  });

  it('happen automatically when the queue is full: the oldest finished tasks', async () => {
    test = await TestTaskSystem.open({ tasksMax: 6, prunedTasks: 3 });
    for (let n = 0; n < 6; n++) await test.run(add('a', [{ id: n }]));
    await test.run(add('a', [{ id: 6 }]));
    const [deletion] = await test.find({ types: ['taskDeletion'] });
    assert.equal(deletion?.details?.deletedTasks, 3);
    assert.match(
      deletion!.details!.originalFilter as string,
      /^\?beforeEnqueuedAt=[-0-9]{10}T[0-9:]{8}\.\d{6}001Z&statuses=succeeded,failed,canceled$/,
    );
    assert.equal(test.system.queue.get(0, null), undefined);
    assert.equal(test.system.queue.get(2, null), undefined);
    assert.notEqual(test.system.queue.get(3, null), undefined);
  });
});
