/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { add, settings, TestTaskSystem } from '../../support/task-system.ts';

describe('Tasks on documents', () => {
  let test: TestTaskSystem;

  function errorOf(uid: number): string | undefined {
    return test.task(uid).error?.code;
  }

  afterEach(() => test.remove());

  it('an addition creates the index, guesses the key and counts distinct ids', async () => {
    test = await TestTaskSystem.open();
    const task = await test.run(add('a', [{ id: 1 }, { id: 2 }, { id: 1, x: 1 }]));
    assert.equal(task.status, 'succeeded');
    assert.deepEqual(task.details, { receivedDocuments: 3, indexedDocuments: 2 });
    assert.deepEqual(await test.documents('a'), [{ id: 1, x: 1 }, { id: 2 }]);
    assert.equal(test.system.registry.get('a')!.summary.primaryKey, 'id');
  });

  it('is shown as enqueued with null counters before it runs', async () => {
    test = await TestTaskSystem.open({ started: false });
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

  it('one bad payload fails alone; the others of the batch continue', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.together([
      add('a', [{ id: 1 }]),
      add('a', [{ id: 'no way' }]),
      add('a', [{ id: 3 }]),
    ]);
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
    test = await TestTaskSystem.open({ started: false });
    const mayNot = { allowIndexCreation: false };
    await test.together([add('a', [{ id: 1 }], mayNot), add('a', [{ id: 2 }], mayNot)]);
    assert.deepEqual([errorOf(0), errorOf(1)], ['index_not_found', 'index_not_found']);
    assert.deepEqual(test.indexUids, []);
    assert.deepEqual(readdirSync(join(test.dir, 'indexes')), []);
  });

  it('an index stays although the payload that created it failed', async () => {
    test = await TestTaskSystem.open();
    const task = await test.run(add('a', [{ name: 'no id' }]));
    assert.equal(task.error?.code, 'index_primary_key_no_candidate_found');
    assert.deepEqual(test.indexUids, ['a']);
  });

  it('a later POST has its primaryKey ignored, a later PUT fails', async () => {
    test = await TestTaskSystem.open();
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
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1, a: 1 }]));
    await test.run(
      add('a', [{ id: 1, b: 2 }, { id: 2 }], { method: 'update', skipCreation: true }),
    );
    assert.deepEqual(await test.documents('a'), [{ id: 1, a: 1, b: 2 }]);
  });

  it('deletions show what they deleted, by ids, by filter, and all', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1, c: 'x' }, { id: 2, c: 'y' }, { id: 3, c: 'x' }, { id: 4 }]));
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

  it('tasks that a deletion of all documents absorbs succeed without having run', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }, { id: 2 }]));
    await test.restart({ started: false });
    await test.together([
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

  it('large payloads go through a file, which is removed afterwards', async () => {
    test = await TestTaskSystem.open({ started: false });
    const { path } = test.system.queue.newPayloadFile();
    writeFileSync(path, '{"id":1}\n{"id":2}\n');
    await test.register(add('a', [], { payload: { file: path }, format: 'ndjson', documents: 2 }));
    await test.register(add('a', [{ id: 3, text: 'x'.repeat(100_000) }]));
    assert.deepEqual(readdirSync(join(test.dir, 'payloads')).sort(), ['0', '1']);
    await test.start();
    await test.settle();
    assert.equal((await test.documents('a')).length, 3);
    assert.deepEqual(readdirSync(join(test.dir, 'payloads')), []);
  });

  it('the payload file of a refused task is removed', async () => {
    test = await TestTaskSystem.open({ storeBytesMax: 1 });
    const { path } = test.system.queue.newPayloadFile();
    await assert.rejects(test.register(add('a', [], { payload: { file: path } })), {
      code: 'no_space_left_on_device',
    });
    assert.equal(existsSync(path), false);
  });

  it('a task is refused for the first reason, although its payload file cannot be removed', async () => {
    test = await TestTaskSystem.open({ storeBytesMax: 1 });
    const path = join(test.dir, 'payloads', 'upload-folder');
    mkdirSync(path);
    await assert.rejects(test.register(add('a', [], { payload: { file: path } })), {
      code: 'no_space_left_on_device',
    });
    rmSync(path, { recursive: true });
  });
});
