import assert from 'node:assert/strict';
import { RowMerger } from '../../../src/analytics/merge-rows.ts';
import { type AnalyticsRow, checkedRows, SEARCH_ROW } from '../../../src/contract/analytics.ts';
import { Random } from '../../http/kill/support/random.ts';

function search(at: number, id: number, user: string): AnalyticsRow {
  return [SEARCH_ROW, at, id, 'books', 'dune', null, 1, 1000, user];
}

describe('Rows of several nodes', () => {
  it('are merged by time, in any order of arrival, as sorting them all does', () => {
    const seed = Number(process.env.GANNET_SEED ?? Date.now() % 1e9);
    const random = new Random(seed);
    for (let run = 0; run < 500; run++) {
      const count = random.int(1, 5);
      const lists = Array.from({ length: count }, (_, n) => {
        let at = 0;
        return Array.from({ length: random.int(0, 30) }, (_row, id) =>
          search((at += random.int(0, 4)), id, `user ${n}`),
        );
      });
      const merged: AnalyticsRow[] = [];
      const merger = new RowMerger(count, (rows) => merged.push(...rows));
      const taken = lists.map(() => 0);
      const open = new Set(lists.keys());
      while (open.size > 0) {
        const n = random.pick([...open]);
        const end = taken[n]! + random.int(0, 5);
        assert.equal(merger.isDone, false);
        if (taken[n]! >= lists[n]!.length) {
          open.delete(n);
          merger.end(n);
        } else merger.put(n, lists[n]!.slice(taken[n], end));
        taken[n] = end;
      }
      assert.ok(merger.isDone);
      const message = `seed ${seed}, run ${run}`;
      const times = merged.map(([, at]) => at);
      assert.deepEqual(
        times,
        lists
          .flat()
          .map(([, at]) => at)
          .sort((a, b) => a - b),
        message,
      );
      for (const [n, rows] of lists.entries()) {
        const own = merged.filter((row) => row[8] === `user ${n}`);
        assert.deepEqual(own, rows, message);
      }
    }
  });

  it('are refused when they are none', () => {
    const rows = [search(1, 0, 'a'), [1, 2, 0, 'books', null, 'opened', null, -1, 'a', 1]];
    assert.deepEqual(checkedRows(JSON.stringify(rows).slice(1, -1)), rows);
    assert.deepEqual(checkedRows(''), []);
    for (const wrong of [
      '{',
      'null',
      '3',
      '[]',
      '[0]',
      '[7,1,0,"books","dune",null,1,1000,"a"]',
      '[0,"1",0,"books","dune",null,1,1000,"a"]',
      '[0,1,0,"books",null,null,1,1000,"a"]',
      '[1,1,0,"books",null,"opened",null,-1,"a"]',
      // Not ordered.
      '[0,2,0,"books","dune",null,1,1000,"a"],[0,1,1,"books","dune",null,1,1000,"a"]',
    ]) {
      assert.equal(checkedRows(wrong), null, wrong);
    }
  });
});
