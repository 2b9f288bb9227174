import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import { add, cancel, forget, settings, TestMachine } from '../../support/machine.ts';

/** The task machine on an engine in memory: what tasks end with, and what they leave. */

let test: TestMachine;

async function open(options: Parameters<typeof TestMachine.open>[0] = {}): Promise<void> {
  test = await TestMachine.open(options);
}

/** Registers all at once, before any of them runs. */
async function together(requests: readonly TaskRequest[]): Promise<number[]> {
  const uids = await Promise.all(requests.map((request) => test.register(request)));
  await test.start();
  await test.settle();
  return uids;
}

function errorOf(uid: number): string | undefined {
  return test.task(uid).error?.code;
}

describe('the task machine', () => {
  afterEach(() => test.remove());

  describe('documents', () => {
    it('an addition creates the index, guesses the key and counts distinct ids', async () => {
      await open();
      const task = await test.run(add('a', [{ id: 1 }, { id: 2 }, { id: 1, x: 1 }]));
      assert.equal(task.status, 'succeeded');
      assert.deepEqual(task.details, { receivedDocuments: 3, indexedDocuments: 2 });
      assert.deepEqual(await test.documents('a'), [{ id: 1, x: 1 }, { id: 2 }]);
      assert.equal(test.machine.registry.get('a')!.summary.primaryKey, 'id');
    });

    it('is shown as enqueued with null counters before it runs', async () => {
      await open({ started: false });
      await test.register({ ...add('a', [{ id: 1 }]), customMetadata: 'mine' });
      const task = test.task(0);
      assert.equal(task.status, 'enqueued');
      assert.deepEqual(task.details, { receivedDocuments: 1, indexedDocuments: null });
      assert.deepEqual(
        [task.batchUid, task.startedAt, task.finishedAt, task.duration],
        [null, null, null, null],
      );
      assert.equal(task.customMetadata, 'mine');
      assert.deepEqual(Object.keys(task), [
        'uid',
        'batchUid',
        'indexUid',
        'status',
        'type',
        'canceledBy',
        'details',
        'error',
        'duration',
        'enqueuedAt',
        'startedAt',
        'finishedAt',
        'customMetadata',
      ]);
    });

    it('one bad payload fails alone; the others of the batch go on', async () => {
      await open({ started: false });
      await together([add('a', [{ id: 1 }]), add('a', [{ id: 'no way' }]), add('a', [{ id: 3 }])]);
      assert.deepEqual(
        test.tasks().map(({ status, batchUid }) => [status, batchUid]),
        [
          ['succeeded', 0],
          ['failed', 0],
          ['succeeded', 0],
        ],
      );
      assert.equal(errorOf(1), 'invalid_document_id');
      assert.deepEqual(test.task(1).details, { receivedDocuments: 1, indexedDocuments: 0 });
      assert.deepEqual(await test.documents('a'), [{ id: 1 }, { id: 3 }]);
    });

    it('without the right to create the index, all of them fail and there is no index', async () => {
      await open({ started: false });
      const mayNot = { allowIndexCreation: false };
      await together([add('a', [{ id: 1 }], mayNot), add('a', [{ id: 2 }], mayNot)]);
      assert.deepEqual([errorOf(0), errorOf(1)], ['index_not_found', 'index_not_found']);
      assert.deepEqual(test.indexUids, []);
      assert.deepEqual(readdirSync(join(test.dir, 'indexes')), []);
    });

    it('an index stays although the payload that created it failed', async () => {
      await open();
      const task = await test.run(add('a', [{ name: 'no id' }]));
      assert.equal(task.error?.code, 'index_primary_key_no_candidate_found');
      assert.deepEqual(test.indexUids, ['a']);
    });

    it('a later POST has its primaryKey ignored, a later PUT fails', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      const post = await test.run(add('a', [{ id: 2, sku: 2 }], { primaryKey: 'sku' }));
      assert.equal(post.status, 'succeeded');
      const put = await test.run(
        add('a', [{ id: 3, sku: 3 }], { primaryKey: 'sku', method: 'update' }),
      );
      assert.equal(put.error?.code, 'index_primary_key_already_exists');
      assert.equal((await test.documents('a')).length, 2);
    });

    it('PUT merges, skipCreation skips', async () => {
      await open();
      await test.run(add('a', [{ id: 1, a: 1 }]));
      await test.run(
        add('a', [{ id: 1, b: 2 }, { id: 2 }], { method: 'update', skipCreation: true }),
      );
      assert.deepEqual(await test.documents('a'), [{ id: 1, a: 1, b: 2 }]);
    });

    it('deletions show what they deleted, by ids, by filter, and all', async () => {
      await open();
      await test.run(
        add('a', [{ id: 1, c: 'x' }, { id: 2, c: 'y' }, { id: 3, c: 'x' }, { id: 4 }]),
      );
      await test.run(settings('a', { filterableAttributes: ['c'] }));
      const byIds = await test.run({
        type: 'documentDeletion',
        indexUid: 'a',
        by: { ids: ['1', '9'] },
      });
      assert.deepEqual(byIds.details, {
        providedIds: 2,
        deletedDocuments: 1,
        originalFilter: null,
      });
      const byFilter = await test.run({
        type: 'documentDeletion',
        indexUid: 'a',
        by: { filter: 'c = x' },
      });
      assert.deepEqual(byFilter.details, {
        providedIds: 0,
        deletedDocuments: 1,
        originalFilter: '"c = x"',
      });
      const bad = await test.run({
        type: 'documentDeletion',
        indexUid: 'a',
        by: { filter: 'd = x' },
      });
      assert.equal(bad.error?.code, 'invalid_document_filter');
      assert.equal(bad.details?.deletedDocuments, 0);
      const all = await test.run({ type: 'documentDeletion', indexUid: 'a', by: { all: true } });
      assert.deepEqual(all.details, { deletedDocuments: 2 });
      const none = await test.run({ type: 'documentDeletion', indexUid: 'b', by: { all: true } });
      assert.equal(none.error?.code, 'index_not_found');
      assert.deepEqual(none.details, { deletedDocuments: 0 });
    });

    it('what a deletion of all documents absorbs succeeds without having run', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }, { id: 2 }]));
      await test.restart({ started: false });
      await together([
        add('a', [{ id: 3 }]),
        { type: 'documentDeletion', indexUid: 'a', by: { ids: ['1'] } },
        { type: 'documentDeletion', indexUid: 'a', by: { all: true } },
        { type: 'documentDeletion', indexUid: 'a', by: { all: true } },
      ]);
      assert.deepEqual(
        test
          .tasks()
          .slice(1)
          .map(({ status, details }) => [status, details]),
        [
          ['succeeded', { receivedDocuments: 1, indexedDocuments: 0 }],
          ['succeeded', { providedIds: 1, deletedDocuments: 0, originalFilter: null }],
          ['succeeded', { deletedDocuments: 2 }],
          ['succeeded', { deletedDocuments: 0 }],
        ],
      );
      assert.deepEqual(await test.documents('a'), []);
    });

    it('large payloads go through a file, which is gone afterwards', async () => {
      await open({ started: false });
      const { path } = test.machine.queue.newPayloadFile();
      writeFileSync(path, '{"id":1}\n{"id":2}\n');
      await test.register(
        add('a', [], { payload: { file: path }, format: 'ndjson', documents: 2 }),
      );
      await test.register(add('a', [{ id: 3, text: 'x'.repeat(100_000) }]));
      assert.deepEqual(readdirSync(join(test.dir, 'payloads')).sort(), ['0', '1']);
      await test.start();
      await test.settle();
      assert.equal((await test.documents('a')).length, 3);
      assert.deepEqual(readdirSync(join(test.dir, 'payloads')), []);
    });

    it('the payload file of a refused task is removed', async () => {
      await open({ storeBytesMax: 1 });
      const { path } = test.machine.queue.newPayloadFile();
      await assert.rejects(test.register(add('a', [], { payload: { file: path } })), {
        code: 'no_space_left_on_device',
      });
      assert.equal(existsSync(path), false);
    });

    it('a task is refused for the first reason, although its payload file cannot be removed', async () => {
      await open({ storeBytesMax: 1 });
      const path = join(test.dir, 'payloads', 'upload-folder');
      mkdirSync(path);
      await assert.rejects(test.register(add('a', [], { payload: { file: path } })), {
        code: 'no_space_left_on_device',
      });
      rmSync(path, { recursive: true });
    });
  });

  describe('settings', () => {
    it('of one batch are merged in order and applied once', async () => {
      await open({ started: false });
      await together([
        settings('a', { stopWords: ['a'], searchCutoffMs: 5 }),
        settings('a', { stopWords: ['b'] }),
        settings('a', { searchCutoffMs: null }),
      ]);
      assert.equal(test.engine.appliedSteps, 1);
      const stored = test.machine.registry.get('a')!.settings;
      assert.deepEqual(stored.stopWords, ['b']);
      assert.equal(stored.searchCutoffMs, null);
      assert.deepEqual(test.task(1).details, { stopWords: ['b'] });
      assert.deepEqual(test.machine.queue.getBatch(0, null)?.details, { stopWords: ['b'] });
    });

    it('that contradict each other after merging fail all tasks of the batch and change nothing', async () => {
      await open({ started: false });
      await together([
        settings('a', { stopWords: ['a'] }),
        settings('a', { typoTolerance: { minWordSizeForTypos: { oneTypo: 200 } } }),
      ]);
      assert.deepEqual(
        [errorOf(0), errorOf(1)],
        ['invalid_settings_typo_tolerance', 'invalid_settings_typo_tolerance'],
      );
      assert.deepEqual(test.indexUids, ['a'], 'the index stays');
      assert.deepEqual(test.machine.registry.get('a')!.settings.stopWords, []);
    });

    it('a reset never creates the index', async () => {
      await open();
      const task = await test.run(settings('a', { stopWords: null }, { isReset: true }));
      assert.equal(task.error?.code, 'index_not_found');
    });

    it('with deletions of all documents: both are applied', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      await test.restart({ started: false });
      await together([
        settings('a', { stopWords: ['x'] }),
        { type: 'documentDeletion', indexUid: 'a', by: { all: true } },
        settings('a', { sortableAttributes: ['y'] }),
      ]);
      assert.deepEqual(
        test
          .tasks()
          .slice(1)
          .map(({ batchUid }) => batchUid),
        [1, 1, 1],
      );
      assert.deepEqual(test.task(2).details, { deletedDocuments: 1 });
      const stored = test.machine.registry.get('a')!.settings;
      assert.deepEqual([stored.stopWords, stored.sortableAttributes], [['x'], ['y']]);
    });

    it('secrets are hidden in details', async () => {
      await open();
      const embedders = { e: { source: 'openAi', apiKey: 'sk-0123456789abcdef0123456789' } };
      const task = await test.run(settings('a', { embedders }));
      assert.equal(JSON.stringify(task).includes('0123456789'), false);
    });
  });

  describe('indexes', () => {
    it('are created once', async () => {
      await open();
      const created = await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: 'sku' });
      assert.deepEqual(created.details, { primaryKey: 'sku' });
      assert.equal(test.machine.registry.get('a')!.summary.primaryKey, 'sku');
      const again = await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: null });
      assert.equal(again.error?.code, 'index_already_exists');
    });

    it('get another key while empty, not afterwards', async () => {
      await open();
      await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: 'sku' });
      await test.run({ type: 'indexUpdate', indexUid: 'a', primaryKey: 'id' });
      await test.run(add('a', [{ id: 1 }]));
      const late = await test.run({ type: 'indexUpdate', indexUid: 'a', primaryKey: 'sku' });
      assert.equal(late.error?.code, 'index_primary_key_already_exists');
      assert.equal(test.machine.registry.get('a')!.summary.primaryKey, 'id');
      const missing = await test.run({ type: 'indexUpdate', indexUid: 'b', primaryKey: 'id' });
      assert.equal(missing.error?.code, 'index_not_found');
    });

    it('have been updated by an update, also by one that changes nothing', async () => {
      await open();
      await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: 'id' });
      const updatedAt = (uid: string): string => test.machine.registry.get(uid)!.summary.updatedAt!;
      let last = updatedAt('a');
      for (const change of [{}, { primaryKey: 'id' }, { newUid: 'b' }]) {
        const { startedAt } = await test.run({ type: 'indexUpdate', indexUid: 'a', ...change });
        const now = updatedAt('newUid' in change ? 'b' : 'a');
        assert.equal(now, startedAt);
        assert.ok(now > last, JSON.stringify(change));
        last = now;
      }
    });

    it('are deleted with what waited before', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }, { id: 2 }]));
      await test.restart({ started: false });
      await together([
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
      await open({ started: false });
      await together([add('a', [{ id: 1 }]), { type: 'indexDeletion', indexUid: 'a' }]);
      assert.deepEqual(
        test.tasks().map(({ status }) => status),
        ['succeeded', 'succeeded'],
      );
      assert.deepEqual(test.task(1).details, { deletedDocuments: 0 });
    });

    it('keep content and creation date over a restart', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      const before = test.machine.registry.get('a')!.record;
      await test.restart();
      assert.deepEqual(test.machine.registry.get('a')!.record, before);
      assert.deepEqual(await test.documents('a'), [{ id: 1 }]);
    });
  });

  describe('swaps', () => {
    const swap = (...swaps: [string, string, boolean?][]): TaskRequest => ({
      type: 'indexSwap',
      swaps: swaps.map(([a, b, rename = false]) => ({ indexes: [a, b], rename })),
    });

    async function twoIndexes(): Promise<void> {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      await test.run(add('b', [{ id: 2 }]));
    }

    it('exchange content and history, not what was enqueued later', async () => {
      await twoIndexes();
      await test.restart({ started: false });
      await together([swap(['a', 'b']), add('a', [{ id: 3 }])]);
      assert.deepEqual(await test.documents('b'), [{ id: 1 }]);
      assert.deepEqual(await test.documents('a'), [{ id: 2 }, { id: 3 }]);
      assert.deepEqual(
        test.tasks().map(({ indexUid }) => indexUid),
        ['b', 'a', null, 'a'],
      );
      assert.deepEqual(test.task(2).details, { swaps: [{ indexes: ['a', 'b'], rename: false }] });
      assert.deepEqual(
        test.tasks({ indexUids: ['b'] }).map(({ uid }) => uid),
        [0],
      );
      assert.deepEqual(
        test.tasks({ indexUids: ['b', 'a'], types: ['indexSwap'] }).map(({ uid }) => uid),
        [2],
      );
      await test.restart();
      assert.deepEqual(
        test.tasks().map(({ indexUid }) => indexUid),
        ['b', 'a', null, 'a'],
      );
      assert.deepEqual(
        test.machine.queue.getBatch(0, null)?.stats.indexUids,
        { a: 1 },
        'as recorded',
      );
    });

    it('of a swap move with the history of what is swapped later', async () => {
      await twoIndexes();
      await test.run(add('c', [{ id: 5 }]));
      await test.run(swap(['a', 'b']));
      await test.run(swap(['b', 'c']));
      assert.deepEqual(test.task(3).details, { swaps: [{ indexes: ['a', 'c'], rename: false }] });
      assert.deepEqual(test.task(4).details, { swaps: [{ indexes: ['b', 'c'], rename: false }] });
      assert.deepEqual(
        test.tasks({ indexUids: ['a', 'c'] }).map(({ uid }) => uid),
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
          const { results, total } = test.machine.queue.list({ indexUids: uids }, page, null);
          assert.equal(total, results.length, uids.join());
          const first = test.machine.queue.list({ indexUids: uids }, { ...page, limit: 0 }, null);
          assert.equal(first.total, results.length, uids.join());
        }
      }
    });

    it('by PATCH: rename, with a key, and the history follows', async () => {
      await open();
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
      assert.equal(test.machine.registry.get('b')!.summary.primaryKey, 'sku');
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
      await open();
      await test.run(add('a', [{ id: 1 }]));
      const before = test.machine.registry.get('a')!.record;
      const task = await test.run({ type: 'indexUpdate', indexUid: 'a', newUid: 'a' });
      assert.equal(task.status, 'succeeded');
      assert.deepEqual(task.details, { primaryKey: null, oldIndexUid: 'a', newIndexUid: 'a' });
      assert.deepEqual(test.machine.registry.get('a')!.record, before);
      assert.equal(test.tasks({ indexUids: ['a'] }).length, 2);
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
      await open();
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
      await open();
      const task = await test.run(swap());
      assert.equal(task.status, 'succeeded');
      assert.deepEqual(task.details, { swaps: [] });
    });

    it('a restricted key sees a swap only when it may see all its indexes', async () => {
      await twoIndexes();
      await test.run(swap(['a', 'b']));
      await test.run(forget({ uids: [100] }));
      assert.deepEqual(
        test.tasks({}, (uid) => uid === 'a').map(({ uid }) => uid),
        [1],
      );
      assert.deepEqual(
        test.tasks({}, () => true).map(({ uid }) => uid),
        [0, 1, 2],
      );
      assert.equal(
        test.machine.queue.get(2, (uid) => uid === 'a'),
        undefined,
      );
      assert.equal(
        test.machine.queue.getBatch(2, (uid) => uid === 'a'),
        undefined,
      );
    });
  });

  describe('cancelations', () => {
    it('cancel what waits; it joins the batch of the cancelation', async () => {
      await open({ started: false });
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
        test.tasks({ canceledBy: [uid] }).map(({ uid }) => uid),
        [0, 1, 2],
      );
      assert.deepEqual(test.machine.queue.getBatch(0, null)?.stats, {
        totalNbTasks: 4,
        status: { canceled: 3, succeeded: 1 },
        types: {
          documentAdditionOrUpdate: 1,
          documentDeletion: 1,
          settingsUpdate: 1,
          taskCancelation: 1,
        },
        indexUids: { a: 3 },
        progressTrace: test.machine.queue.getBatch(0, null)?.stats.progressTrace,
      });
    });

    it('the newest runs first and cancels older ones', async () => {
      await open({ started: false });
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
      await open({ started: false });
      await test.register(add('a', [{ id: 1 }]));
      await test.register(add('a', [{ id: 2 }]));
      let seen: unknown[] = [];
      let canceling: Promise<number> | null = null;
      test.engine.beforeCommit = async () => {
        test.engine.beforeCommit = null;
        seen = test.tasks({ statuses: ['processing'] }).map(({ uid, batchUid }) => [uid, batchUid]);
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

    it('match what is finished without touching it', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      const task = await test.run(cancel({ indexUids: ['a'] }));
      assert.deepEqual([task.details?.matchedTasks, task.details?.canceledTasks], [1, 0]);
      assert.equal(test.task(0).status, 'succeeded');
    });

    it('only match what the caller may see', async () => {
      await open({ started: false });
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

  describe('deletions of tasks', () => {
    it('forget finished tasks and empty batches, each counted once', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      await test.run(add('a', [{ name: 1 }]));
      await test.restart({ started: false });
      const uids = await together([forget({ statuses: ['failed'] }), forget({ indexUids: ['a'] })]);
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
      assert.equal(test.machine.queue.getBatch(0, null), undefined);
      assert.equal(
        test.machine.queue.list({}, { limit: 0, from: null, reverse: false }, null).total,
        2,
      );
      await test.restart();
      assert.deepEqual(
        test.tasks().map(({ uid }) => uid),
        [2, 3],
      );
      assert.equal(await test.register(add('a', [{ id: 1 }])), 4);
    });

    it('leave what still waits', async () => {
      await open({ started: false });
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

    it('happen by themselves when the queue is full: the oldest finished ones', async () => {
      await open({ tasksMax: 6, prunedTasks: 3 });
      for (let n = 0; n < 6; n++) await test.run(add('a', [{ id: n }]));
      await test.run(add('a', [{ id: 6 }]));
      const [deletion] = test.tasks({ types: ['taskDeletion'] });
      assert.equal(deletion?.details?.deletedTasks, 3);
      assert.match(
        deletion!.details!.originalFilter as string,
        /^\?beforeEnqueuedAt=[-0-9]{10}T[0-9:]{8}\.\d{6}001Z&statuses=succeeded,failed,canceled$/,
      );
      assert.equal(test.machine.queue.get(0, null), undefined);
      assert.equal(test.machine.queue.get(2, null), undefined);
      assert.notEqual(test.machine.queue.get(3, null), undefined);
    });
  });

  describe('batches', () => {
    it('show progress while running, and what came out afterwards', async () => {
      await open();
      let running: ReturnType<typeof test.machine.queue.getBatch>;
      test.engine.beforeCommit = () => {
        running = test.machine.queue.getBatch(0, null);
        assert.deepEqual(
          test.machine.queue
            .listBatches(
              { statuses: ['processing'] },
              { limit: 5, from: null, reverse: false },
              null,
            )
            .results.map(({ uid }) => uid),
          [0],
        );
      };
      await test.run(add('a', [{ id: 1 }]));
      assert.equal(running!.finishedAt, null);
      assert.deepEqual(running!.stats.status, { processing: 1 });
      assert.deepEqual(
        running!.progress!.steps.map(({ currentStep }) => currentStep),
        ['processing tasks', 'indexing', 'document'],
      );
      assert.ok(running!.progress!.percentage > 30 && running!.progress!.percentage < 100);
      const done = test.machine.queue.getBatch(0, null)!;
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
      await open();
      const { store, queue } = test.machine;
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
      await open();
      for (const [batchUid, indexUid] of ['constructor', '__proto__'].entries()) {
        const counts = (): object => test.machine.queue.getBatch(batchUid, null)!.stats.indexUids;
        let running: object;
        test.engine.beforeCommit = () => void (running = counts());
        await test.run(add(indexUid, [{ id: 1 }]));
        assert.deepEqual(Object.entries(running!), [[indexUid, 1]]);
        assert.deepEqual(Object.entries(counts()), [[indexUid, 1]]);
      }
    });

    it('leave out details without a value', async () => {
      await open();
      await test.run({ type: 'indexCreation', indexUid: 'a', primaryKey: null });
      assert.deepEqual(test.machine.queue.getBatch(0, null)?.details, {});
    });

    it('a failure of the engine fails every task with the same error', async () => {
      await open({ started: false });
      test.engine.beforeCommit = () => {
        throw Object.assign(new Error('out of room'), { code: 'no_space_left_on_device' });
      };
      await together([add('a', [{ id: 1 }]), add('a', [{ id: 2 }])]);
      assert.deepEqual(
        test.tasks().map(({ error }) => error?.code),
        ['no_space_left_on_device', 'no_space_left_on_device'],
      );
      assert.deepEqual(test.indexUids, ['a'], 'the index that was made for them stays');
    });

    it('a crash of the worker fails the batch with `internal`', async () => {
      await open();
      test.engine.beforeCommit = () => {
        throw new TypeError('a bug');
      };
      const task = await test.run(add('a', [{ id: 1 }]));
      assert.equal(task.error?.code, 'internal');
    });

    it('are reported when they are finished', async () => {
      await open({ started: false });
      await together([add('a', [{ id: 1 }]), add('b', [{ id: 1 }]), add('a', [{ id: 2 }])]);
      assert.deepEqual(test.finished, [[0, 2], [1]]);
    });
  });

  describe('stopping and starting', () => {
    it('a running batch is rolled back and runs again', async () => {
      await open({ started: false });
      await test.register(add('a', [{ id: 1 }]));
      let stopping: Promise<void> | null = null;
      test.engine.beforeCommit = () => {
        test.engine.beforeCommit = null;
        stopping = test.machine.scheduler.stop();
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

    /** Lets the next calls that open the index fail, as often as told. */
    function failToOpen(uid: string, code: string, times = Infinity): void {
      const { uuid } = test.machine.registry.get(uid)!;
      const { openIndex } = test.engine;
      let left = times;
      test.engine.openIndex = (dir) => {
        if (!dir.endsWith(uuid) || left-- <= 0) return openIndex.call(test.engine, dir);
        throw Object.assign(new Error('it cannot be opened'), { code });
      };
    }

    /** Commits a batch of the engine whose end the store refuses, and stops. */
    async function leaveUnrecorded(request: TaskRequest): Promise<number> {
      test.engine.afterCommit = () => {
        test.engine.afterCommit = null;
        test.machine.store.commit = () => Promise.reject(new Error('the disk is full'));
        void test.machine.scheduler.stop();
      };
      const { uid } = await test.run(request);
      await test.restart({ started: false });
      assert.equal(test.task(uid).status, 'enqueued');
      return uid;
    }

    it('a damaged index with waiting tasks keeps no other index from being served', async () => {
      await open();
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

    it('what was committed is not repeated when its index can be opened only after the start', async () => {
      await open();
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

    it('nor when it cannot be opened before the next batch either, but while that runs', async () => {
      await open();
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
      await open();
      await test.run(add('a', [{ id: 1 }]));
      const uid = await leaveUnrecorded(add('a', [{ id: 2 }]));
      const { appliedSteps } = test.engine;
      test.machine.store.commit = () => Promise.reject(new Error('the disk is full'));
      const starting = test.start();
      await new Promise((done) => setTimeout(done, 10));
      await test.close();
      await starting;
      await test.restart();
      assert.equal(test.task(uid).status, 'succeeded');
      assert.equal(test.engine.appliedSteps, appliedSteps);
    });

    it('folders and files that belong to nothing are erased at start', async () => {
      await open();
      await test.run(add('a', [{ id: 1 }]));
      test.machine.queue.newPayloadFile();
      writeFileSync(join(test.dir, 'payloads', '77'), 'left over');
      test.machine.registry.create('2025-01-01T00:00:00Z');
      await test.restart();
      assert.deepEqual(readdirSync(join(test.dir, 'payloads')), []);
      assert.equal(readdirSync(join(test.dir, 'indexes')).length, 1);
    });

    it('with a limit of 0 tasks nothing runs', async () => {
      await open({ batchedTasksMax: 0 });
      const task = await test.run(add('a', [{ id: 1 }]));
      assert.equal(task.status, 'enqueued');
    });

    it('times are distinct and grow', async () => {
      await open({ started: false });
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

  describe('a full task store', () => {
    it('refuses work, but not the deletion of tasks that exist', async () => {
      await open();
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
});
