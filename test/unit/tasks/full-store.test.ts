/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { add, cancel, forget, TestTaskSystem } from '../../support/task-system.ts';

describe('A full task store', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  it('refuses work, but not the deletion of tasks that exist', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.restart({ storeBytesMax: 4096 });
    const full = { code: 'no_space_left_on_device' };
    await assert.rejects(test.register(add('a', [{ id: 1 }])), full);
    await assert.rejects(test.register(forget({ uids: [7] })), full);
    await assert.rejects(test.register(cancel({ indexUids: ['b'] })), full);
    const task = await test.run(forget({ uids: [0] }));
    assert.equal(task.details?.deletedTasks, 1);
  });
});
