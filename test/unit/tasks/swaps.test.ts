/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import { add, forget, TestTaskSystem } from '../../support/task-system.ts';

describe('Swaps and renamings of indexes', () => {
  let test: TestTaskSystem;

  afterEach(() => test.remove());

  const swap = (...swaps: [string, string, boolean?][]): TaskRequest => ({
    type: 'indexSwap',
    swaps: swaps.map(([a, b, rename = false]) => ({ indexes: [a, b], rename })),
  });

  async function twoIndexes(): Promise<void> {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.run(add('b', [{ id: 2 }]));
  }

  it('exchange content and history, but not tasks enqueued later', async () => {
    await twoIndexes();
    await test.restart({ started: false });
    await test.together([swap(['a', 'b']), add('a', [{ id: 3 }])]);
    assert.deepEqual(await test.documents('b'), [{ id: 1 }]);
    assert.deepEqual(await test.documents('a'), [{ id: 2 }, { id: 3 }]);
    assert.deepEqual(
      test.tasks().map(({ indexUid }) => indexUid),
      ['b', 'a', null, 'a'],
    );
    assert.deepEqual(test.task(2).details, { swaps: [{ indexes: ['a', 'b'], rename: false }] });
    assert.deepEqual(
      (await test.find({ indexUids: ['b'] })).map(({ uid }) => uid),
      [0],
    );
    assert.deepEqual(
      (await test.find({ indexUids: ['b', 'a'], types: ['indexSwap'] })).map(({ uid }) => uid),
      [2],
    );
    await test.restart();
    assert.deepEqual(
      test.tasks().map(({ indexUid }) => indexUid),
      ['b', 'a', null, 'a'],
    );
    assert.deepEqual(test.system.queue.getBatch(0, null)?.stats.indexUids, { a: 1 }, 'as recorded');
  });

  it('of a swap move with the history of indexes swapped later', async () => {
    await twoIndexes();
    await test.run(add('c', [{ id: 5 }]));
    await test.run(swap(['a', 'b']));
    await test.run(swap(['b', 'c']));
    assert.deepEqual(test.task(3).details, { swaps: [{ indexes: ['a', 'c'], rename: false }] });
    assert.deepEqual(test.task(4).details, { swaps: [{ indexes: ['b', 'c'], rename: false }] });
    assert.deepEqual(
      (await test.find({ indexUids: ['a', 'c'] })).map(({ uid }) => uid),
      [0, 1, 3],
    );
  });

  it('are all or nothing', async () => {
    await twoIndexes();
    const task = await test.run(swap(['a', 'b'], ['y', 'x']));
    assert.equal(task.error?.code, 'index_not_found');
    assert.match(task.error!.message, /`x`, `y`/);
    assert.deepEqual(await test.documents('a'), [{ id: 1 }]);
    assert.deepEqual(test.task(0).indexUid, 'a');
  });

  it('rename onto a free uid only', async () => {
    await twoIndexes();
    const taken = await test.run(swap(['a', 'b', true]));
    assert.equal(taken.error?.code, 'index_already_exists');
    await test.run(swap(['a', 'c', true]));
    assert.deepEqual(test.indexUids, ['b', 'c']);
    assert.equal(test.task(0).indexUid, 'c');
    assert.deepEqual(await test.documents('c'), [{ id: 1 }]);
  });

  it('count what they list, also after renamings, for each index and state', async () => {
    await twoIndexes();
    await test.run(swap(['a', 'c', true]));
    await test.run(add('a', [{ id: 7 }]));
    await test.run(swap(['b', 'd', true], ['c', 'e', true]));
    await test.run({ type: 'indexUpdate', indexUid: 'e', newUid: 'f' });
    const page = { limit: 1000, from: null, reverse: true };
    for (const again of [false, true]) {
      if (again) await test.restart();
      for (const uids of [
        ['a'],
        ['b'],
        ['c'],
        ['d'],
        ['e'],
        ['f'],
        ['a', 'c'],
        ['b', 'd', 'c', 'e'],
      ]) {
        const { results, total } = await test.system.queue.page({ indexUids: uids }, page, null);
        assert.equal(total, results.length, uids.join());
        const first = await test.system.queue.page(
          { indexUids: uids },
          { ...page, limit: 0 },
          null,
        );
        assert.equal(first.total, results.length, uids.join());
      }
    }
  });

  it('by PATCH: rename, with a key, and the history follows', async () => {
    test = await TestTaskSystem.open();
    await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: null });
    const task = await test.run({
      type: 'indexUpdate',
      indexUid: 'a',
      primaryKey: 'sku',
      newUid: 'b',
    });
    assert.equal(task.indexUid, 'a');
    assert.deepEqual(task.details, { primaryKey: 'sku', oldIndexUid: 'a', newIndexUid: 'b' });
    assert.equal(test.task(0).indexUid, 'b');
    assert.deepEqual(test.indexUids, ['b']);
    assert.equal(test.system.registry.get('b')!.summary.primaryKey, 'sku');
    await test.run({ type: 'indexUpdate', indexUid: 'b', newUid: 'a' });
    assert.deepEqual(
      test.tasks().map(({ indexUid }) => indexUid),
      ['a', 'b', 'b'],
    );
    await test.restart();
    assert.deepEqual(
      test.tasks().map(({ indexUid }) => indexUid),
      ['a', 'b', 'b'],
    );
  });

  it('by PATCH: to its own name an index is renamed without a change', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const before = test.system.registry.get('a')!.record;
    const task = await test.run({ type: 'indexUpdate', indexUid: 'a', newUid: 'a' });
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(task.details, { primaryKey: null, oldIndexUid: 'a', newIndexUid: 'a' });
    assert.deepEqual(test.system.registry.get('a')!.record, before);
    assert.equal((await test.find({ indexUids: ['a'] })).length, 2);
    const keyed = await test.run({
      type: 'indexUpdate',
      indexUid: 'a',
      newUid: 'a',
      primaryKey: 'other',
    });
    assert.equal(keyed.error?.code, 'index_primary_key_already_exists');
    assert.ok(!keyed.error.message.includes('now called'));
  });

  it('by PATCH: the name changes even when the key cannot, and the error says so', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    const task = await test.run({
      type: 'indexUpdate',
      indexUid: 'a',
      primaryKey: 'sku',
      newUid: 'b',
    });
    assert.equal(task.error?.code, 'index_primary_key_already_exists');
    assert.match(task.error!.message, /now called `b`/);
    assert.deepEqual(test.indexUids, ['b']);
  });

  it('of nothing succeed', async () => {
    test = await TestTaskSystem.open();
    const task = await test.run(swap());
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(task.details, { swaps: [] });
  });

  it('a restricted key sees a swap only when it may see all its indexes', async () => {
    await twoIndexes();
    await test.run(swap(['a', 'b']));
    await test.run(forget({ uids: [100] }));
    assert.deepEqual(
      (await test.find({}, (uid) => uid === 'a')).map(({ uid }) => uid),
      [1],
    );
    assert.deepEqual(
      (await test.find({}, () => true)).map(({ uid }) => uid),
      [0, 1, 2],
    );
    assert.equal(
      test.system.queue.get(2, (uid) => uid === 'a'),
      undefined,
    );
    assert.equal(
      test.system.queue.getBatch(2, (uid) => uid === 'a'),
      undefined,
    );
  });

  it('that wait behind another one belong to the same indexes on each node of a cluster', async () => {
    test = await TestTaskSystem.open({ started: false });
    const other = await TestTaskSystem.open({ started: false });
    const { store } = test.system;
    let applied = 0;
    store.useLog({
      commit: async (_, build) => {
        const delta = build();
        const state = { id: 'cluster', applied: ++applied };
        await store.applyRecord(state, delta);
        const { taskStore, store: follower } = other.system;
        await taskStore.exclusively(() => follower.applyRecord(state, delta));
      },
    });
    await test.together([
      ...['a', 'b', 'c'].map((uid) => add(uid, [{ id: 1 }])),
      ...[swap(['a', 'b']), swap(['c', 'a'])],
    ]);
    for (const uid of [3, 4]) {
      const expected = test.system.taskStore.indexesOf(uid);
      assert.deepEqual(other.system.taskStore.indexesOf(uid), expected, `task ${uid}`);
    }
    await other.remove();
  });
});
