import assert from 'node:assert/strict';
import { headOf } from '../../support/result-head.ts';
import { NO_FEATURES } from '../../../src/contract/features.ts';
import { SearchQueue } from '../../../src/search/search-queue.ts';
import { LocalSearch } from '../../../src/search/run/local.ts';
import { add, TestTaskSystem } from '../../support/task-system.ts';
import { callerOf } from '../../support/search-caller.ts';
import { embedNothing } from '../../support/embed-nothing.ts';

describe('the indexes of a federated search', () => {
  const plain = callerOf();
  const queries = [{ indexUid: 'b' }, { indexUid: 'a' }, { indexUid: 'b' }];
  let test: TestTaskSystem;
  let search: LocalSearch;
  /** The engine's input: handles and request. */
  let asked: { handles: number[]; otherIndexes: unknown }[];

  before(async () => {
    test = await TestTaskSystem.open();
    for (const uid of ['a', 'b', 'c', 'd']) await test.run(add(uid, [{ id: 1 }]));
    const { registry } = test.system;
    const queue = new SearchQueue({ permits: 1, waitingMax: 10, waitMsMax: 1000 });
    search = new LocalSearch(registry, queue, () => NO_FEATURES, embedNothing);
    registry.native.federatedSearch = (handles, request) => {
      const { otherIndexes } = JSON.parse(String(request)) as { otherIndexes: unknown };
      asked.push({ handles, otherIndexes });
      for (const uid of ['a', 'b', 'd']) assert.ok(registry.get(uid)!.handle.busy > 0, uid);
      return Promise.resolve({ bytes: Buffer.from('{}'), head: headOf(0) });
    };
  });

  beforeEach(() => {
    asked = [];
  });

  after(() => test.remove());

  it('are those of the queries, then those that only facets name', async () => {
    const federation = { facetsByIndex: { d: ['x'], b: ['x'] } };
    await search.federated(queries, federation, plain);
    const number = (uid: string): number => test.system.registry.get(uid)!.handle.number;
    assert.deepEqual(asked, [
      { handles: [number('b'), number('a'), number('b'), number('d')], otherIndexes: ['d'] },
    ]);
    for (const uid of ['a', 'b', 'd']) {
      assert.equal(test.system.registry.get(uid)!.handle.busy, 0, uid);
    }
  });

  it('must exist, also where only facets name them', async () => {
    const federation = { facetsByIndex: { gone: null } };
    await assert.rejects(search.federated(queries, federation, plain), (error: Error) => {
      const { code, status } = error as Error & { code: string; status: number };
      assert.deepEqual([code, status], ['index_not_found', 400]);
      assert.match(
        error.message,
        /^Inside `\.federation\.facetsByIndex\.gone` \(an index of no query\)/,
      );
      return true;
    });
    assert.deepEqual(asked, []);
  });
});
