import assert from 'node:assert/strict';
import { Typing, TYPING_MS } from '../../../src/analytics/typing.ts';
import {
  CLICK_ROW,
  isSearchRow,
  SEARCH_ROW,
  type AnalyticsRow,
  type SearchRow,
} from '../../../src/contract/analytics.ts';
import { mulberry } from '../../support/random.ts';

describe('Searches of users who are still typing', () => {
  it('are those that a plain loop finds', () => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    for (let round = 0; round < 200; round++) {
      const rows: AnalyticsRow[] = [];
      let at = 0;
      for (let n = 0; n < 60; n++) {
        at += pick([0, 500, 1000, TYPING_MS, TYPING_MS + 1]);
        const [index, user] = [pick(['books', 'films']), pick(['a', 'b'])];
        const clicked = random() < 0.2 ? pick(rows) : undefined;
        if (clicked !== undefined && isSearchRow(clicked)) {
          const [, , id, of, query, , , , by] = clicked;
          rows.push([CLICK_ROW, at, id, of, query, 'n', '1', 0, by, 1]);
          continue;
        }
        const query = pick(['d', 'du', 'Du ', 'dune', 'dune  x', 'emma', '']);
        rows.push([SEARCH_ROW, at, n, index, query, null, 2, 9, user]);
      }
      const typing = new Typing();
      const final = rows.flatMap((row) => typing.add(row)).concat(typing.final(Infinity));
      const byId = (a: SearchRow, b: SearchRow): number => a[2] - b[2];
      assert.deepEqual(final.toSorted(byId), finalOf(rows), `seed ${seed}, round ${round}`);
    }
  });
});

/** The final searches, each judged by the rows after it. */
function finalOf(rows: readonly AnalyticsRow[]): SearchRow[] {
  const plain = (query: string): string => query.trim().toLowerCase().split(/\s+/).join(' ');
  return rows.filter(isSearchRow).filter((row) => {
    const later = rows.slice(rows.indexOf(row) + 1);
    const next = later.find((one) => isSearchRow(one) && one[3] === row[3] && one[8] === row[8]);
    if (next === undefined || next[1] - row[1] > TYPING_MS) return true;
    const between = later.slice(0, later.indexOf(next));
    if (between.some((one) => !isSearchRow(one) && one[2] === row[2])) return true;
    const [a, b] = [plain(row[4]), plain(next[4]!)];
    return a === b || !(a.startsWith(b) || b.startsWith(a));
  });
}
