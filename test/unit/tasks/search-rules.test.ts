/**
 * Batches of changes of search rules: stored in one commit, and with the same result when a crash
 * repeats them.
 */
import assert from 'node:assert/strict';
import type { SearchRule, SearchRulePatch } from '../../../src/contract/search-rules.ts';
import { ruleRunner } from '../../../src/tasks/run/search-rules.ts';
import type { RunContext } from '../../../src/tasks/run/run.ts';
import { TestTaskSystem } from '../../support/task-system.ts';

describe('A batch of changes of search rules', () => {
  let test: TestTaskSystem;
  afterEach(() => test.remove());

  const update = (ruleUid: string, patch: SearchRulePatch | null): Promise<unknown> =>
    test.system.queue.register({ type: 'dsrUpdate', ruleUid, patch });

  async function history(): Promise<void> {
    await update('a', { description: 'first', precedence: 3 });
    await update('b', {});
    await update('a', { description: 'second', active: false });
    await update('b', null);
    await update('c', {
      actions: [{ selector: { id: '1' }, action: { type: 'pin', position: 0 } }],
    });
    await update('a', { active: null });
  }

  /** The rules without their times, which are those of the batch. */
  const rules = (): Partial<SearchRule>[] =>
    test.system.searchRules.list().map((rule) => ({ ...rule, lastUpdatedAt: '', createdAt: '' }));

  const run = (now: string, cancel = (): void => {}): Promise<unknown> => {
    const { taskStore, searchRules } = test.system;
    const uids = [0, 1, 2, 3, 4, 5];
    const context = { store: taskStore, batch: { uids }, now, cancel: { check: cancel } };
    return Promise.resolve(ruleRunner(searchRules)(context as unknown as RunContext));
  };

  const EXPECTED = [
    {
      ...{ uid: 'a', description: 'second', precedence: 3, active: true },
      ...{ conditions: {}, actions: [] },
    },
    {
      ...{ uid: 'c', active: true, conditions: {} },
      actions: [{ selector: { id: '1' }, action: { type: 'pin', position: 0 } }],
    },
  ].map((rule) => ({ ...rule, lastUpdatedAt: '', createdAt: '' }));

  it('gives the same rules when its tasks run again after it was stored', async () => {
    test = await TestTaskSystem.open({ started: false });
    await history();
    await run('2026-01-01T00:00:00.000001Z');
    assert.deepEqual(rules(), EXPECTED);
    const [a, c] = test.system.searchRules.list();
    assert.equal(a!.lastUpdatedAt, '2026-01-01T00:00:00.000006Z');
    assert.equal(c!.lastUpdatedAt, '2026-01-01T00:00:00.000005Z');
    await run('2026-01-01T00:00:01.000000Z');
    assert.deepEqual(rules(), EXPECTED);
    await test.restart({ started: false });
    assert.deepEqual(rules(), EXPECTED);
    await test.start();
    await test.settle();
    assert.deepEqual(rules(), EXPECTED);
    const statuses = [0, 1, 2, 3, 4, 5].map((uid) => test.system.taskStore.record(uid)!);
    assert.ok(statuses.every(({ status }) => status === 'succeeded'));
    assert.equal(new Set(statuses.map(({ batchUid }) => batchUid)).size, 1);
  });

  it('that is stopped changes nothing', async () => {
    test = await TestTaskSystem.open({ started: false });
    await history();
    const stop = (): void => {
      throw new Error('stopped');
    };
    await assert.rejects(run('2026-01-01T00:00:00.000000Z', stop), /stopped/);
    assert.deepEqual(rules(), []);
  });

  it('that cannot be stored changes nothing', async () => {
    test = await TestTaskSystem.open({ started: false });
    await history();
    const { store } = test.system;
    const commit = store.commit.bind(store);
    store.commit = () => Promise.reject(new Error('the disk is full'));
    await assert.rejects(run('2026-01-01T00:00:00.000000Z'), /full/);
    assert.deepEqual(rules(), []);
    store.commit = commit;
    await run('2026-01-01T00:00:00.000000Z');
    assert.deepEqual(rules(), EXPECTED);
  });
});
