import assert from 'node:assert/strict';
import type { TaskKind } from '../../../src/contract/task-types/task-type.ts';
import { type TaskType, TYPES_BY_PRIORITY } from '../../../src/contract/task-types.ts';
import {
  type Batch,
  type BatchLimits,
  nextBatch,
  nextConcurrentBatch,
  type PendingConcurrently,
  withinPart,
  withSuspectsAlone,
} from '../../../src/tasks/batcher.ts';
import type { PendingTask } from '../../../src/tasks/task.ts';

const NO_LIMITS: BatchLimits = { tasks: Infinity, bytes: Infinity };

const TYPES: Record<TaskKind, TaskType> = {
  add: 'documentAdditionOrUpdate',
  deleteIds: 'documentDeletion',
  deleteFilter: 'documentDeletion',
  clear: 'documentDeletion',
  settings: 'settingsUpdate',
  indexDeletion: 'indexDeletion',
  alone: 'indexUpdate',
};

type Given = Partial<PendingTask> & { kind?: TaskKind; index?: string; type?: TaskType };

/** Waiting tasks whose uids begin at 0, on index `a` unless said otherwise. */
function pendingOf(given: readonly Given[]): PendingConcurrently {
  const tasks = given.map((task, uid) => ({
    uid,
    index: 'index' in task ? task.index : 'a',
    kind: 'alone' as TaskKind,
    type: TYPES[task.kind ?? 'alone'],
    mayCreateIndex: true,
    primaryKey: null,
    update: false,
    payloadBytes: 0,
    followed: false,
    ...task,
  }));
  const global = new Set<TaskType>(TYPES_BY_PRIORITY.map(({ type }) => type));
  return {
    count: tasks.length,
    ofType: (type) => tasks.filter((task) => task.type === type).map(({ uid }) => uid),
    indexOf: (uid) => given[uid]!.index ?? null,
    first: () => {
      const first = tasks.find(({ type }) => !global.has(type));
      return first === undefined ? null : { uid: first.uid, indexUid: first.index ?? null };
    },
    firstOfSeveral: () => tasks.find(({ index }) => index === undefined)?.uid ?? Infinity,
    documentsFirst: () => {
      const indexes = [...new Set(tasks.map(({ index }) => index))].filter(
        (one) => one !== undefined,
      );
      return indexes.filter((index) => {
        const { kind } = tasks.find((task) => task.index === index)!;
        return ['add', 'deleteIds', 'deleteFilter', 'clear'].includes(kind);
      });
    },
    ofIndex: (index) => tasks.filter((task) => task.index === index && !global.has(task.type)),
  };
}

function next(
  given: readonly Given[],
  indexes: Record<string, string | null> = { a: null },
  limits = NO_LIMITS,
): Batch | null {
  return nextBatch(pendingOf(given), { primaryKey: (uid) => indexes[uid] }, limits);
}

describe('nextBatch', () => {
  it('returns null when no task waits', () => {
    assert.equal(next([]), null);
  });

  it('batches changes of search rules, up to a deletion of all rules', () => {
    const rule = (type: TaskType): Given => ({ type, index: '.meili_dsr' });
    const [update, clear] = [rule('dsrUpdate'), rule('dsrClear')];
    const rows: [Given[], string, number[]][] = [
      [[update, { kind: 'add' }, update, update], 'dsrUpdate', [0, 2, 3]],
      [[update, clear, update], 'dsrUpdate', [0, 1]],
      [[clear, update], 'dsrClear', [0]],
    ];
    for (const [given, kind, uids] of rows) {
      const batch = next(given);
      assert.equal(batch?.kind, kind);
      assert.deepEqual(batch.uids, uids);
    }
    assert.deepEqual(next([update, update, update], {}, { tasks: 2, bytes: 0 })?.uids, [0, 1]);
  });

  describe('priorities', () => {
    const ROWS: [TaskType, number[], string][] = [
      [
        'taskCancelation',
        [3],
        'task 3 of type `taskCancelation` is not batchable with other tasks',
      ],
      [
        'databaseUpgrade',
        [1, 3],
        'tasks of type `databaseUpgrade` are batched only among themselves',
      ],
      [
        'networkTopologyChange',
        [1],
        'task 1 of type `networkTopologyChange` is not batchable with other tasks',
      ],
      ['taskDeletion', [1, 3], 'tasks of type `taskDeletion` are batched only among themselves'],
      [
        'indexCompaction',
        [1],
        'task 1 of type `indexCompaction` is not batchable with other tasks',
      ],
      ['export', [1], 'task 1 of type `export` is not batchable with other tasks'],
      [
        'snapshotCreation',
        [1, 3],
        'tasks of type `snapshotCreation` are batched only among themselves',
      ],
      ['dumpCreation', [1], 'task 1 of type `dumpCreation` is not batchable with other tasks'],
    ];
    for (const [type, uids, strategy] of ROWS) {
      it(`takes ${type} ${uids.join(' and ')} of 1 and 3 before tasks on indexes`, () => {
        const batch = next([
          { kind: 'add' },
          { type, index: undefined! },
          { kind: 'add' },
          { type },
        ]);
        assert.equal(batch?.kind, type);
        assert.deepEqual(batch.uids, uids);
        assert.equal(batch.strategy, strategy);
        assert.equal(batch.indexUid, null);
      });
    }

    it('follows the order of priorities', () => {
      const order: TaskType[] = ROWS.map(([type]) => type);
      for (let from = 0; from < order.length; from++) {
        const given = [...order.slice(from)].reverse().map((type) => ({ type }));
        assert.equal(next(given)?.kind, order[from]);
      }
    });
  });

  it('names the index of a task with priority that is about one', () => {
    const batch = next([{ kind: 'add' }, { type: 'indexCompaction', index: 'b' }]);
    assert.equal(batch?.kind, 'indexCompaction');
    assert.equal(batch.indexUid, 'b');
  });

  it('runs a swap of no indexes alone', () => {
    const batch = next([{ type: 'indexSwap', index: undefined! }, { kind: 'add' }]);
    assert.deepEqual(batch?.uids, [0]);
    assert.equal(batch?.kind, 'indexSwap');
    assert.equal(batch?.indexUid, null);
  });

  it('takes tasks of the index of the lowest uid, across gaps', () => {
    const batch = next(
      [
        { kind: 'add', index: 'b' },
        { kind: 'add', index: 'a' },
        { kind: 'add', index: 'b' },
      ],
      { a: null, b: null },
    );
    assert.deepEqual(batch?.uids, [0, 2]);
    assert.equal(batch?.strategy, 'all enqueued tasks of index `b` were taken');
  });

  it('says when no tasks are left', () => {
    assert.equal(next([{ kind: 'add' }])?.strategy, 'all enqueued tasks were taken');
  });

  describe('merging', () => {
    const DOCUMENTS = 'ended before task 1: document and settings changes are not mixed';
    const SETTINGS = 'ended before task 1: settings and document changes are not mixed';
    const ADDITIONS =
      'ended before task 1: a deletion of all documents is not mixed with later additions';
    const FILTER =
      'ended before task 1: a deletion by filter is not mixed with earlier document changes';
    const ALL = 'all enqueued tasks were taken';
    const END = 'ended after task 1: it deletes the index';
    type Cell = [merged: boolean, kind: Batch['kind'], strategy: string];
    const KINDS: TaskKind[] = [
      'add',
      'deleteIds',
      'deleteFilter',
      'clear',
      'settings',
      'indexDeletion',
    ];
    const stopped = (kind: Batch['kind'], strategy: string): Cell => [false, kind, strategy];
    const merged = (kind: Batch['kind'], strategy = ALL): Cell => [true, kind, strategy];
    const documents = merged('documents');
    const clear = merged('clear');
    const deletion = merged('indexDeletion', END);
    const TABLE: [TaskKind, Cell[]][] = [
      [
        'add',
        [
          documents,
          documents,
          stopped('documents', FILTER),
          clear,
          stopped('documents', DOCUMENTS),
          deletion,
        ],
      ],
      [
        'deleteIds',
        [documents, documents, documents, clear, stopped('documents', DOCUMENTS), deletion],
      ],
      [
        'deleteFilter',
        [documents, documents, documents, clear, stopped('documents', DOCUMENTS), deletion],
      ],
      [
        'clear',
        [stopped('clear', ADDITIONS), clear, clear, clear, stopped('clear', DOCUMENTS), deletion],
      ],
      [
        'settings',
        [
          stopped('settings', SETTINGS),
          stopped('settings', SETTINGS),
          stopped('settings', SETTINGS),
          merged('clearAndSettings'),
          merged('settings'),
          deletion,
        ],
      ],
    ];
    for (const [first, cells] of TABLE) {
      cells.forEach(([isMerged, kind, strategy], column) => {
        it(`${first} then ${KINDS[column]}: ${isMerged ? 'merges' : 'stops'}`, () => {
          const batch = next([{ kind: first }, { kind: KINDS[column]! }]);
          assert.deepEqual(batch?.uids, isMerged ? [0, 1] : [0]);
          assert.equal(batch?.kind, kind);
          assert.equal(batch?.strategy, strategy);
        });
      });
    }

    const AFTER_CLEAR_AND_SETTINGS: [TaskKind, boolean][] = [
      ['add', false],
      ['deleteIds', true],
      ['deleteFilter', true],
      ['clear', true],
      ['settings', true],
      ['indexDeletion', true],
    ];
    for (const [kind, isMerged] of AFTER_CLEAR_AND_SETTINGS) {
      it(`settings, clear, then ${kind}: ${isMerged ? 'merges' : 'stops'}`, () => {
        const batch = next([{ kind: 'settings' }, { kind: 'clear' }, { kind }]);
        assert.deepEqual(batch?.uids, isMerged ? [0, 1, 2] : [0, 1]);
        assert.equal(batch?.kind, kind === 'indexDeletion' ? 'indexDeletion' : 'clearAndSettings');
        if (!isMerged) assert.equal(batch?.strategy, SETTINGS.replace('task 1', 'task 2'));
      });
    }

    it('a deletion by filter before additions joins, one after them does not', () => {
      const batch = next([{ kind: 'deleteFilter' }, { kind: 'add' }, { kind: 'deleteFilter' }]);
      assert.deepEqual(batch?.uids, [0, 1]);
    });

    it('the deletion of the index ends the batch', () => {
      const batch = next([{ kind: 'add' }, { kind: 'indexDeletion' }, { kind: 'add' }]);
      assert.deepEqual(batch?.uids, [0, 1]);
      const alone = next([{ kind: 'indexDeletion' }, { kind: 'indexDeletion' }]);
      assert.deepEqual(alone?.uids, [0]);
      assert.equal(alone?.strategy, 'ended after task 0: it deletes the index');
    });

    for (const type of ['indexCreation', 'indexUpdate', 'indexSwap', 'documentEdition'] as const) {
      it(`${type} is alone, first or later`, () => {
        const alone = next([{ type }, { kind: 'add' }]);
        assert.deepEqual(alone?.uids, [0]);
        assert.equal(alone?.kind, type);
        assert.equal(
          alone?.strategy,
          `task 0 of type \`${type}\` is not batchable with other tasks`,
        );
        const later = next([{ kind: 'add' }, { type }, { kind: 'add' }]);
        assert.deepEqual(later?.uids, [0]);
        assert.equal(
          later?.strategy,
          `task 1 of type \`${type}\` is not batchable with other tasks`,
        );
      });
    }
  });

  describe('primary keys', () => {
    const add = (primaryKey: string | null, update = true): Given => ({
      kind: 'add',
      primaryKey,
      update,
    });
    const ROWS: [string, Given[], string | null, number[], string?][] = [
      ['no key, index without', [add(null), add(null)], null, [0, 1]],
      ['no key, index with', [add(null), add(null)], 'id', [0, 1]],
      ['the key of the index', [add(null), add('id')], 'id', [0, 1]],
      [
        'another than the index',
        [add(null), add('sku')],
        'id',
        [0],
        'ended before task 1: its primary key `sku` is not that of the index, `id`',
      ],
      ['another than the index, in a POST', [add(null), add('sku', false)], 'id', [0, 1]],
      [
        'first another than the index',
        [add('sku'), add(null)],
        'id',
        [0],
        'task 0 of type `documentAdditionOrUpdate` is not batchable with other tasks',
      ],
      ['first another than the index, in a POST', [add('sku', false), add(null)], 'id', [0, 1]],
      [
        'would change the guess',
        [add(null), add('sku')],
        null,
        [0],
        'ended before task 1: setting primary key `sku` would change the guessing of the key',
      ],
      ['the key of the batch', [add('sku'), add('sku')], null, [0, 1]],
      [
        'another than the batch',
        [add('sku'), add('id')],
        null,
        [0],
        'ended before task 1: its primary key `id` is not that of the batch, `sku`',
      ],
      ['none after one', [add('sku'), add(null), add('sku')], null, [0, 1, 2]],
      [
        'the first addition after deletions',
        [{ kind: 'deleteIds' }, add('sku'), add('id')],
        null,
        [0, 1],
        'ended before task 2: its primary key `id` is not that of the batch, `sku`',
      ],
    ];
    for (const [name, given, key, uids, strategy = 'all enqueued tasks were taken'] of ROWS) {
      it(name, () => {
        const batch = next(given, { a: key });
        assert.deepEqual(batch?.uids, uids);
        assert.equal(batch?.strategy, strategy);
      });
    }
  });

  describe('the right to create the index', () => {
    const may = { kind: 'add', mayCreateIndex: true } as const;
    const mayNot = { kind: 'add', mayCreateIndex: false } as const;
    const remove = { kind: 'deleteIds', mayCreateIndex: false } as const;
    const filter = { kind: 'deleteFilter', mayCreateIndex: false } as const;
    const RIGHTS = 'it has other rights to create the index';
    const ROWS: [string, Given[], boolean, number[], boolean][] = [
      ['both may', [may, may], false, [0, 1], true],
      ['the first may', [may, mayNot], false, [0, 1], true],
      ['only the second may', [mayNot, may], false, [0], false],
      ['only the second may, but the index exists', [mayNot, may], true, [0, 1], true],
      ['a deletion, then one that may', [remove, may], false, [0], false],
      ['a deletion, then one that may not', [remove, mayNot], false, [0, 1], false],
      ['a deletion by filter, then one that may', [filter, may], false, [0], false],
      ['a deletion, then one that may, on an existing index', [remove, may], true, [0, 1], true],
    ];
    for (const [name, given, exists, uids, mayCreate] of ROWS) {
      it(name, () => {
        const batch = next(given, exists ? { a: null } : {});
        assert.deepEqual(batch?.uids, uids);
        assert.equal(batch?.mayCreateIndex, mayCreate);
        if (uids.length === 1) assert.equal(batch?.strategy, `ended before task 1: ${RIGHTS}`);
      });
    }

    it('settings of a reset do not create the index for a later update', () => {
      const batch = next(
        [
          { kind: 'settings', mayCreateIndex: false },
          { kind: 'settings', mayCreateIndex: true },
        ],
        {},
      );
      assert.deepEqual(batch?.uids, [0]);
    });
  });

  it('never mixes repeated writes with others of the index, but deletes it with them', () => {
    const followed = { kind: 'add' as const, followed: true };
    const batch = next([followed, followed, { kind: 'add' }]);
    assert.deepEqual(batch?.uids, [0, 1]);
    assert.equal(batch?.strategy, 'ended before task 2: it is not a write to the same index');
    assert.deepEqual(next([{ kind: 'add' }, followed])?.uids, [0]);
    const deleted = next([followed, { kind: 'indexDeletion' }]);
    assert.deepEqual([deleted?.kind, deleted?.uids], ['indexDeletion', [0, 1]]);
  });

  describe('limits', () => {
    const adds = [10, 20, 30].map((payloadBytes) => ({ kind: 'add' as const, payloadBytes }));

    it('stops at the number of tasks', () => {
      const batch = next(adds, undefined, { tasks: 2, bytes: Infinity });
      assert.deepEqual(batch?.uids, [0, 1]);
      assert.equal(batch?.strategy, 'limit of 2 tasks per batch reached');
    });

    it('does not mention a limit that is exactly met', () => {
      const batch = next(adds, undefined, { tasks: 3, bytes: 60 });
      assert.equal(batch?.strategy, 'all enqueued tasks were taken');
    });

    it('stops before the task whose payload exceeds the limit', () => {
      const batch = next(adds, undefined, { tasks: Infinity, bytes: 59 });
      assert.deepEqual(batch?.uids, [0, 1]);
      assert.equal(
        batch?.strategy,
        'limit of 59 bytes per batch reached (60 bytes with the next task)',
      );
    });

    it('always takes the first task', () => {
      const batch = next(adds, undefined, { tasks: 1, bytes: 1 });
      assert.deepEqual(batch?.uids, [0]);
    });
  });
});

describe('the batch concurrent with a change of settings', () => {
  const RUNNING = { kind: 'settings', index: 'a' } as const;

  function concurrent(given: readonly Given[], limits = NO_LIMITS): Batch | null {
    const running: Batch = {
      kind: 'settings',
      indexUid: 'a',
      uids: [0],
      mayCreateIndex: false,
      strategy: '',
    };
    const keys = { primaryKey: () => null };
    return nextConcurrentBatch(running, pendingOf([RUNNING, ...given]), keys, limits);
  }

  it('takes all waiting documents of the index with the lowest uid', () => {
    const batch = concurrent([
      { kind: 'add', index: 'a' },
      { kind: 'settings', index: 'b' },
      { kind: 'add', index: 'c' },
      { kind: 'add', index: 'd' },
      { kind: 'deleteIds', index: 'c' },
    ]);
    assert.deepEqual(batch?.uids, [3, 5]);
    assert.equal(batch.kind, 'documents');
    assert.equal(batch.strategy, 'all enqueued tasks of index `c` were taken');
  });

  it('has taken everything when only running tasks are left', () => {
    assert.equal(
      concurrent([{ kind: 'add', index: 'b' }])?.strategy,
      'all enqueued tasks were taken',
    );
  });

  it('ends before a task of several indexes', () => {
    const several = { type: 'indexSwap', index: undefined } as unknown as Given;
    const batch = concurrent([{ kind: 'add', index: 'b' }, several, { kind: 'add', index: 'b' }]);
    assert.deepEqual(batch?.uids, [1]);
    assert.equal(batch.strategy, 'ended before task 2: it is about several indexes');
    assert.equal(concurrent([several, { kind: 'add', index: 'b' }]), null);
  });

  it('does not exist while tasks wait that concern other tasks or everything', () => {
    for (const type of ['taskCancelation', 'taskDeletion', 'dumpCreation'] as const) {
      assert.equal(
        concurrent([{ kind: 'add', index: 'b' }, { type, index: undefined } as never]),
        null,
      );
    }
  });

  it('does not exist when an index deletion makes the documents void', () => {
    const batch = concurrent([
      { kind: 'add', index: 'b' },
      { kind: 'indexDeletion', index: 'b' },
      { kind: 'add', index: 'c' },
    ]);
    assert.deepEqual(batch?.uids, [3]);
  });

  it('stays within the limits', () => {
    const two = { tasks: 2, bytes: Infinity };
    const batch = concurrent(
      [1, 2, 3].map(() => ({ kind: 'add', index: 'b' })),
      two,
    );
    assert.deepEqual(batch?.uids, [1, 2]);
    assert.equal(batch.strategy, 'limit of 2 tasks per batch reached');
  });
});

describe('withSuspectsAlone', () => {
  const ADDITIONS: Given[] = [{ kind: 'add' }, { kind: 'add' }, { kind: 'clear' }, { kind: 'add' }];

  function batchWith(suspects: readonly number[], given = ADDITIONS): Batch {
    const of = (tasks: number): Batch =>
      nextBatch(pendingOf(given), { primaryKey: () => undefined }, { ...NO_LIMITS, tasks })!;
    return withSuspectsAlone(of(Infinity), (uid) => suspects.includes(uid), of);
  }

  it('leaves a batch without a suspect as it is', () => {
    assert.deepEqual(batchWith([3]).uids, [0, 1, 2]);
    assert.equal(batchWith([3]).kind, 'clear');
  });

  it('runs a suspect alone', () => {
    const batch = batchWith([0, 1]);
    assert.deepEqual([batch.kind, batch.uids], ['documents', [0]]);
    assert.equal(batch.strategy, 'task 0 runs alone: the server died while it ran');
  });

  it('ends before a suspect, as the kind of batch that it then is', () => {
    const batch = batchWith([2]);
    assert.deepEqual([batch.kind, batch.uids], ['documents', [0, 1]]);
    assert.match(batch.strategy, /^ended before task 2/);
  });

  it('splits batches by type', () => {
    const deletions: Given[] = [0, 1, 2].map(() => ({ type: 'taskDeletion' }));
    assert.deepEqual(batchWith([], deletions).uids, [0, 1, 2]);
    assert.deepEqual(batchWith([1], deletions).uids, [0]);
    assert.deepEqual(batchWith([0], deletions).uids, [0]);
  });
});

describe('withinPart', () => {
  const ADDITIONS: Given[] = [{ kind: 'add' }, { kind: 'add' }, { kind: 'clear' }, { kind: 'add' }];

  function batchWith(parts: readonly unknown[]): Batch {
    const of = (tasks: number): Batch =>
      nextBatch(pendingOf(ADDITIONS), { primaryKey: () => undefined }, { ...NO_LIMITS, tasks })!;
    return withinPart(of(Infinity), (uid) => parts[uid], of);
  }

  it('leaves a batch of one part, or of tasks of none, as it is', () => {
    assert.deepEqual([batchWith([]).kind, batchWith([]).uids], ['clear', [0, 1, 2]]);
    assert.deepEqual(batchWith(['a', 'a', 'a', 'b']).uids, [0, 1, 2]);
  });

  it('ends before the next part, and before tasks of none', () => {
    const batch = batchWith(['a', 'a', 'b']);
    assert.deepEqual([batch.kind, batch.uids], ['documents', [0, 1]]);
    assert.equal(batch.strategy, 'ended before task 2: a task failed in a batch of both');
    assert.deepEqual(batchWith(['a']).uids, [0]);
    assert.deepEqual(batchWith([undefined, 'b']).uids, [0]);
  });
});
