import assert from 'node:assert/strict';
import { NEVER_CANCELED } from '../../../src/base/cancel-signal.ts';
import type { PendingSearch } from '../../../src/engine/native.ts';
import { SuspendedSearches } from '../../../src/search/suspended-searches.ts';

describe('searches that wait for a vector', () => {
  const one = (): PendingSearch => ({}) as PendingSearch;
  let dropped: PendingSearch[];
  let suspended: SuspendedSearches;

  beforeEach(() => {
    dropped = [];
    suspended = new SuspendedSearches({ dropSearch: (search) => void dropped.push(search) }, 2);
  });

  /** Work that ends on request. */
  function work(): { done: Promise<string>; end: () => void } {
    let end = (): void => {};
    const done = new Promise<string>((resolve) => (end = () => resolve('made')));
    return { done, end };
  }

  it('are there once the work has ended, whatever the client does then', async () => {
    let leave = (): void => {};
    const search = one();
    const kept = await suspended.during(
      search,
      { onAbort: (listener) => (leave = listener) },
      async () => 1,
    );
    assert.deepEqual(kept, { result: 1, search });
    leave();
    assert.deepEqual([dropped, suspended.kept], [[], 0]);
  });

  it('are dropped beyond their number, and none is kept longer than its work', async () => {
    const works = [work(), work(), work()];
    const searches = [one(), one(), one()];
    const running = searches.map((search, n) =>
      suspended.during(search, NEVER_CANCELED, () => works[n]!.done),
    );
    assert.deepEqual(dropped, [searches[2]]);
    assert.equal(suspended.kept, 2);
    for (const { end } of works) end();
    const ended = await Promise.all(running);
    assert.deepEqual(
      ended.map(({ search }) => search),
      [searches[0], searches[1], null],
    );
    assert.equal(suspended.kept, 0);
  });

  it('are dropped at once when the client goes away', async () => {
    const { done, end } = work();
    let leave = (): void => {};
    const search = one();
    const running = suspended.during(
      search,
      { onAbort: (listener) => (leave = listener) },
      () => done,
    );
    leave();
    leave();
    assert.deepEqual([dropped, suspended.kept], [[search], 0]);
    end();
    assert.equal((await running).search, null);
    assert.equal(dropped.length, 1);
  });

  it('are dropped when the work fails', async () => {
    const search = one();
    const failing = suspended.during(search, NEVER_CANCELED, () =>
      Promise.reject(new Error('no vector')),
    );
    await assert.rejects(failing, /no vector/);
    assert.deepEqual([dropped, suspended.kept], [[search], 0]);
  });
});
