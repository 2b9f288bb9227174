/** Uses an engine in memory. Checks which writes branches repeat. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskRequest } from '../../../src/contract/tasks.ts';
import { add, TestTaskSystem } from '../../support/task-system.ts';

const foldersOf = ({ dir }: TestTaskSystem): string[] => readdirSync(join(dir, 'indexes'));

describe('A branch that cannot be made', () => {
  it('leaves no files', async () => {
    const test = await TestTaskSystem.open();
    try {
      await test.run(add('a', [{ id: 1 }]));
      test.engine.copyIndex = async (_, dir) => {
        mkdirSync(dir);
        throw Object.assign(new Error('full'), { code: 'no_space_left_on_device' });
      };
      const before = foldersOf(test);
      const { error } = await test.run({
        ...{ type: 'indexBranch', indexUid: 'a', branch: 'b', follow: false },
      });
      assert.equal(error?.code, 'no_space_left_on_device');
      assert.deepEqual(foldersOf(test), before);
    } finally {
      await test.remove();
    }
  });
});

describe('A task that gives an index a uid for which another task waits', () => {
  let test: TestTaskSystem;
  afterEach(() => test.remove());

  const given: [string, TaskRequest][] = [
    ['branch', { type: 'indexBranch', indexUid: 'a', branch: 'b', follow: false }],
    ['renaming', { type: 'indexUpdate', indexUid: 'a', newUid: 'b' }],
  ];
  for (const [name, request] of given) {
    it(`is about the index that it names: a ${name}`, async () => {
      test = await TestTaskSystem.open();
      await test.restart({ started: false });
      // The first task of `b` has no effect, and lets the uid come before `a`.
      const nothing: TaskRequest = { type: 'indexDeletion', indexUid: 'b' };
      await test.together([nothing, add('a', [{ id: 1 }]), request, add('b', [{ id: 2 }])]);
      assert.deepEqual(
        test.tasks().map(({ status }) => status),
        ['failed', 'succeeded', 'succeeded', 'succeeded'],
      );
      assert.deepEqual(await test.documents('b'), [{ id: 1 }, { id: 2 }]);
    });
  }
});

describe('Branches that follow', () => {
  let test: TestTaskSystem;
  afterEach(() => test.remove());

  const branch = (indexUid: string, uid: string, follow = true): TaskRequest => ({
    ...{ type: 'indexBranch', indexUid, branch: uid, follow },
  });

  it('repeat what is written while the task that makes them waits, and nothing before', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.restart({ started: false });
    await test.together([add('a', [{ id: 2 }]), branch('a', 'b'), add('a', [{ id: 3 }])]);
    assert.deepEqual(await test.documents('b'), [{ id: 1 }, { id: 2 }, { id: 3 }]);
    assert.deepEqual(
      test.tasks().map(({ indexUid, status }) => [indexUid, status]),
      [
        ['a', 'succeeded'],
        ['a', 'succeeded'],
        ['a', 'succeeded'],
        ['a', 'succeeded'],
        ['b', 'succeeded'],
      ],
    );
    await test.restart();
    await test.run(add('a', [{ id: 4 }]));
    await test.settle();
    assert.equal((await test.documents('b')).length, 4);
  });

  it('repeat nothing in an index that has their uid already', async () => {
    test = await TestTaskSystem.open();
    await test.run(add('a', [{ id: 1 }]));
    await test.run(add('b', [{ id: 2 }]));
    await test.restart({ started: false });
    await test.together([branch('a', 'b'), add('a', [{ id: 3 }])]);
    assert.deepEqual(await test.documents('b'), [{ id: 2 }]);
    assert.deepEqual(
      test.tasks().map(({ error }) => error?.code),
      [undefined, undefined, 'index_already_exists', undefined, 'branch_not_found'],
    );
  });
});
