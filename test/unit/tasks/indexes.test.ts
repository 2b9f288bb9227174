/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { add, settings, TestTaskSystem } from '../../support/task-system.ts';

describe('Tasks on indexes', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  it('are created once', async () => {
    test = await TestTaskSystem.open();
    const created = await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: 'sku' });
    assert.deepEqual(created.details, { primaryKey: 'sku' });
    assert.equal(test.system.registry.get('a')!.summary.primaryKey, 'sku');
    const again = await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: null });
    assert.equal(again.error?.code, 'index_already_exists');
  });

  it('get another key while empty, not afterwards', async () => {
    test = await TestTaskSystem.open();
    await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: 'sku' });
    await test.run({ type: 'indexUpdate', indexUid: 'a', primaryKey: 'id' });
    await test.run(add('a', [{ id: 1 }]));
    const late = await test.run({ type: 'indexUpdate', indexUid: 'a', primaryKey: 'sku' });
    assert.equal(late.error?.code, 'index_primary_key_already_exists');
    assert.equal(test.system.registry.get('a')!.summary.primaryKey, 'id');
    const missing = await test.run({ type: 'indexUpdate', indexUid: 'b', primaryKey: 'id' });
    assert.equal(missing.error?.code, 'index_not_found');
  });

  it('have a new date of update after an update, even one that changes nothing', async () => {
    test = await TestTaskSystem.open();
    await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: 'id' });
    const updatedAt = (uid: string): string => test.system.registry.get(uid)!.summary.updatedAt!;
    let last = updatedAt('a');
    for (const change of [{}, { primaryKey: 'id' }, { newUid: 'b' }]) {
      const { startedAt } = await test.run({ type: 'indexUpdate', indexUid: 'a', ...change });
      const now = updatedAt('newUid' in change ? 'b' : 'a');
      assert.equal(now, startedAt);
      assert.ok(now > last, JSON.stringify(change));
      last = now;
    }
  });

  it('are deleted together with earlier waiting tasks', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }, { id: 2 }]));
    await test.restart({ started: false });
    await test.together([
      add('a', [{ id: 3 }]),
      settings('a', { stopWords: ['x'] }),
      { type: 'indexDeletion', indexUid: 'a' },
      { type: 'indexDeletion', indexUid: 'a' },
    ]);
    const [, addition, update, deletion, again] = test.tasks();
    assert.deepEqual(
      [addition, update, deletion, again].map((task) => task!.batchUid),
      [1, 2, 2, 3],
      'additions and settings do not mix',
    );
    assert.deepEqual(deletion!.details, { deletedDocuments: 3 });
    assert.equal(again!.error?.code, 'index_not_found');
    assert.deepEqual(again!.details, { deletedDocuments: 0 });
    assert.deepEqual(readdirSync(join(test.dir, 'indexes')), []);
  });

  it('that only an absorbed task could have created count as deleted', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.together([add('a', [{ id: 1 }]), { type: 'indexDeletion', indexUid: 'a' }]);
    assert.deepEqual(
      test.tasks().map(({ status }) => status),
      ['succeeded', 'succeeded'],
    );
    assert.deepEqual(test.task(1).details, { deletedDocuments: 0 });
  });

  it('keep content and creation date over a restart', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const before = test.system.registry.get('a')!.record;
    await test.restart();
    assert.deepEqual(test.system.registry.get('a')!.record, before);
    assert.deepEqual(await test.documents('a'), [{ id: 1 }]);
  });

  it('are compacted before waiting tasks on any index', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.restart({ started: false });
    const waiting = await test.register(add('a', [{ id: 2 }]));
    const compaction = await test.register({ type: 'indexCompaction', indexUid: 'a' });
    const missing = await test.register({ type: 'indexCompaction', indexUid: 'none' });
    await test.start();
    await test.settle();
    const [task, added] = [test.task(compaction), test.task(waiting)];
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(Object.keys(task.details!), ['preCompactionSize', 'postCompactionSize']);
    assert.ok(task.batchUid! < added.batchUid!);
    assert.equal(test.task(missing).error?.code, 'index_not_found');
    assert.ok(test.task(missing).batchUid! < added.batchUid!);
  });
});
