import assert from 'node:assert/strict';
import { TASK_TYPES, type TaskRequest } from '../../../src/contract/tasks.ts';
import type { TaskView } from '../../../src/contract/responses.ts';
import { readTask } from '../../../src/dump/read-task.ts';
import { taskLine } from '../../../src/dump/write-task.ts';
import { taskTypeEntry } from '../../../src/contract/task-types.ts';
import { FLAG } from '../../../src/contract/task-types/task-type.ts';
import { detailsOf } from '../../../src/tasks/details.ts';
import { newTask } from '../../../src/tasks/new-task.ts';

const indexUid = 'books';
const INDEXES = ['books', 'films'];
const MATCHED = [0, 1, 2, 7];

const addition: Extract<TaskRequest, { type: 'documentAdditionOrUpdate' }> = {
  ...{ type: 'documentAdditionOrUpdate', indexUid, method: 'update', format: 'ndjson' },
  ...{ documents: 3, primaryKey: 'isbn', payload: { bytes: Buffer.alloc(0) } },
  ...{ skipCreation: true, allowIndexCreation: true },
};
const onTasks = { filter: {}, originalFilter: '?uids=0', visible: null };

/** Requests, and their type in a dump. */
const CASES: readonly (readonly [name: string, request: TaskRequest])[] = [
  ['documentImport', addition],
  [
    'documentImport',
    {
      ...addition,
      ...{ method: 'replace', primaryKey: null, skipCreation: false, allowIndexCreation: false },
    },
  ],
  [
    'documentEdition',
    {
      type: 'documentEdition',
      indexUid,
      function: 'doc.a = 1',
      context: { b: 1 },
      filter: 'c = 1',
    },
  ],
  ['documentDeletion', { type: 'documentDeletion', indexUid, by: { ids: ['1', 'a'] } }],
  ['documentDeletionByFilter', { type: 'documentDeletion', indexUid, by: { filter: 'a = 1' } }],
  ['documentDeletionByFilter', { type: 'documentDeletion', indexUid, by: { expired: 'expires' } }],
  ['documentClear', { type: 'documentDeletion', indexUid, by: { all: true } }],
  [
    'settings',
    {
      ...{ type: 'settingsUpdate', indexUid, isReset: false, allowIndexCreation: true },
      settings: { stopWords: ['the'], rankingRules: null },
    },
  ],
  ['indexCreation', { type: 'indexCreation', indexUid, primaryKey: null }],
  ['indexDeletion', { type: 'indexDeletion', indexUid }],
  ['indexUpdate', { type: 'indexUpdate', indexUid, primaryKey: 'isbn' }],
  ['indexUpdate', { type: 'indexUpdate', indexUid, newUid: 'films' }],
  ['indexSwap', { type: 'indexSwap', swaps: [{ indexes: ['books', 'films'], rename: true }] }],
  ['tasksCancelation', { type: 'taskCancelation', ...onTasks }],
  ['tasksDeletion', { type: 'taskDeletion', ...onTasks }],
  ['dumpCreation', { type: 'dumpCreation' }],
  ['snapshotCreation', { type: 'snapshotCreation' }],
  [
    'export',
    {
      ...{ type: 'export', url: 'http://other:7700', apiKey: 'secret', payloadSizeBytes: 1024 },
      indexes: { 'b*': { filter: 'a = 1', overrideSettings: true } },
    },
  ],
  ['indexCompaction', { type: 'indexCompaction', indexUid }],
  ['networkTopologyChange', { type: 'networkTopologyChange' }],
  ['dsrUpdate', { type: 'dsrUpdate', ruleUid: 'r', patch: { active: false } }],
  ['dsrUpdate', { type: 'dsrUpdate', ruleUid: 'r', patch: null }],
  ['dsrClear', { type: 'dsrClear' }],
  ['aliasUpdate', { type: 'aliasUpdate', alias: 'films', indexUid }],
  ['aliasDeletion', { type: 'aliasDeletion', alias: 'films' }],
  ['indexBranch', { type: 'indexBranch', indexUid, branch: 'films', follow: true }],
];

/** A line of a dump after a round trip through JSON. */
async function lineOf(request: TaskRequest): Promise<Record<string, unknown>> {
  const nameOf = (index: number): string => INDEXES[index]!;
  const task = newTask(request, null, { matching: () => Promise.resolve(MATCHED) });
  const row = await task.row(4, (uid) => INDEXES.indexOf(uid));
  const view: TaskView = {
    ...{ uid: 4, batchUid: 2, indexUid: task.indexUid, status: 'succeeded', type: task.type },
    ...{ canceledBy: null, details: detailsOf(row, 'succeeded', 1, nameOf), error: null },
    ...{ duration: 'PT1S', enqueuedAt: '2024-01-01T00:00:00Z' },
    ...{ startedAt: '2024-01-01T00:00:01Z', finishedAt: '2024-01-01T00:00:02Z' },
  };
  const ids = 'by' in request && 'ids' in request.by ? request.by.ids : [];
  const mayCreateIndex = (task.flags & FLAG.mayCreateIndex) !== 0;
  const line = taskLine({ row, view, mayCreateIndex, ids, nameOf });
  return JSON.parse(JSON.stringify(line)) as Record<string, unknown>;
}

describe('tasks in a dump', () => {
  it('are of every type that tasks can have', () => {
    const types = new Set<string>(CASES.map(([, { type }]) => type));
    assert.deepEqual(
      TASK_TYPES.filter((type) => !types.has(type)),
      ['databaseUpgrade'],
    );
  });

  for (const [name, request] of CASES) {
    it(`are written as ${name} and read as they were: ${JSON.stringify(request)}`, async () => {
      const line = await lineOf(request);
      const { type } = line;
      assert.equal(typeof type === 'string' ? type : Object.keys(type as object).join(), name);
      const read = readTask(line, 'line 1')!;
      assert.deepEqual(read.request, request);
      assert.deepEqual(read.matched, 'visible' in request ? MATCHED : []);
      // The number of changed documents is part of the outcome, which this task does not have.
      const counts = taskTypeEntry(request.type).counts === true && name !== 'documentEdition';
      assert.equal(read.result, counts ? 1 : null);
    });
  }
});
