/** Uses an engine in memory. Checks how tasks end and what they leave. */
import assert from 'node:assert/strict';
import { add, settings, TestTaskSystem } from '../../support/task-system.ts';

describe('Tasks on settings', () => {
  let test: TestTaskSystem;

  function errorOf(uid: number): string | undefined {
    return test.task(uid).error?.code;
  }

  afterEach(() => test.remove());

  it('of one batch are merged in order and applied once', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.together([
      settings('a', { stopWords: ['a'], searchCutoffMs: 5 }),
      settings('a', { stopWords: ['b'] }),
      settings('a', { searchCutoffMs: null }),
    ]);
    assert.equal(test.engine.appliedSteps, 1);
    const stored = test.system.registry.get('a')!.settings;
    assert.deepEqual(stored.stopWords, ['b']);
    assert.equal(stored.searchCutoffMs, null);
    assert.deepEqual(test.task(1).details, { stopWords: ['b'] });
    assert.deepEqual(test.system.queue.getBatch(0, null)?.details, { stopWords: ['b'] });
  });

  it('that contradict what is stored fail by themselves, and change nothing', async () => {
    test = await TestTaskSystem.open({ started: false });
    await test.together([
      settings('a', { stopWords: ['a'] }),
      settings('a', { typoTolerance: { minWordSizeForTypos: { oneTypo: 200 } } }),
    ]);
    assert.deepEqual([errorOf(0), errorOf(1)], [undefined, 'invalid_settings_typo_tolerance']);
    assert.deepEqual(test.indexUids, ['a']);
    assert.deepEqual(test.system.registry.get('a')!.settings.stopWords, ['a']);
  });

  it('a reset never creates the index', async () => {
    test = await TestTaskSystem.open();
    const task = await test.run(settings('a', { stopWords: null }, { isReset: true }));
    assert.equal(task.error?.code, 'index_not_found');
  });

  it('with deletions of all documents: both are applied', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.restart({ started: false });
    await test.together([
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
    const stored = test.system.registry.get('a')!.settings;
    assert.deepEqual([stored.stopWords, stored.sortableAttributes], [['x'], ['y']]);
  });

  it('secrets are hidden in details', async () => {
    test = await TestTaskSystem.open();
    const embedders = { e: { source: 'openAi', apiKey: 'sk-0123456789abcdef0123456789' } };
    const task = await test.run(settings('a', { embedders }));
    assert.equal(JSON.stringify(task).includes('0123456789'), false);
  });
});
