import assert from 'node:assert/strict';
import { queryParser } from '../../../src/contract/query.ts';
import { FILTER_TASKS_QUERY, taskFilter } from '../../../src/contract/task-filters.ts';
import { TASK_TYPE_ENTRIES } from '../../../src/contract/task-types/registry.ts';
import { TASK_TYPES } from '../../../src/contract/tasks.ts';

describe('The types of tasks', () => {
  it('have the numbers under which they are stored, for ever', () => {
    const stored = {
      documentAdditionOrUpdate: 1,
      documentEdition: 2,
      documentDeletion: 3,
      settingsUpdate: 4,
      indexCreation: 5,
      indexDeletion: 6,
      indexUpdate: 7,
      indexSwap: 8,
      taskCancelation: 9,
      taskDeletion: 10,
      dumpCreation: 11,
      snapshotCreation: 12,
      export: 13,
      databaseUpgrade: 14,
      indexCompaction: 15,
      networkTopologyChange: 16,
      dsrUpdate: 17,
      dsrClear: 18,
      aliasUpdate: 19,
      aliasDeletion: 20,
      indexBranch: 21,
    };
    const codes = Object.fromEntries(TASK_TYPE_ENTRIES.map(({ name, code }) => [name, code]));
    assert.deepEqual(codes, stored);
    for (const code of Object.values(codes)) assert.ok(code >= 1 && code <= 31);
  });

  it('are all known to filters, in any case of letters, and the older name of the upgrade', () => {
    const parser = queryParser(FILTER_TASKS_QUERY);
    const typesOf = (list: string): unknown => {
      const parsed = parser.parse(`types=${list}`);
      assert.ok(parsed.ok, list);
      return taskFilter(parsed.value).types;
    };
    for (const type of TASK_TYPES) assert.deepEqual(typesOf(type.toUpperCase()), [type]);
    assert.deepEqual(typesOf('upgradeDatabase'), ['databaseUpgrade']);
    assert.equal(parser.parse('types=dsrUpdates').ok, false);
  });
});
