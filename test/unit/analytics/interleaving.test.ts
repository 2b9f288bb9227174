import assert from 'node:assert/strict';
import {
  COMPARISONS_MAX,
  CREDITED_MAX,
  documentKey,
  interleaved,
  InterleavingReport,
  teamOf,
} from '../../../src/analytics/interleaving.ts';
import { ReportFault } from '../../../src/analytics/reports.ts';
import {
  checkedRows,
  CLICK_ROW,
  SEARCH_ROW,
  type AnalyticsRow,
  type EventRow,
  type SearchRow,
} from '../../../src/contract/analytics.ts';
import { signTest } from '../../../src/relevance/sign-test.ts';
import { mulberry } from '../../support/random.ts';

const everything = { from: 0, to: Infinity, includes: () => true };

function search(user: string, query: string, other = 'draft'): SearchRow {
  return [SEARCH_ROW, 1, 0, 'live', query, null, 9, 100, user, [other, '', '']];
}

function click(user: string, query: string, id: string, team: 0 | 1, other = 'draft'): EventRow {
  return [CLICK_ROW, 1, 0, 'live', query, 'n', id, 0, 'whoever', 1, [other, team, user]];
}

function rowsOf(
  rows: readonly AnalyticsRow[],
  isVisible: (uid: string) => boolean = () => true,
): any[] {
  const report = new InterleavingReport(everything, isVisible);
  report.add(rows);
  return report.rows();
}

describe('Interleaved searches', () => {
  it('know which index has given a document', () => {
    // The published hash.
    assert.equal(documentKey('foobar'), '85944171f73967e8');
    const keys = (ids: readonly string[]): string =>
      ids.map((id) => documentKey(id).slice(0, 8)).join('');
    const many = Array.from({ length: 500 }, (_, n) => `product-${n}`);
    const page = interleaved('draft', [keys(many.slice(0, 300)), keys(many.slice(300))]);
    for (const [n, id] of many.entries()) {
      const [team, rank] = n < 300 ? [0, n] : [1, n - 300];
      assert.equal(teamOf(page, id), rank < CREDITED_MAX ? team : null, id);
    }
    assert.deepEqual(interleaved('draft', [undefined, keys(['a'])]), ['draft', '', keys(['a'])]);
    // Keys begin at multiples of their size.
    assert.equal(teamOf(['draft', `0${keys(['a'])}0000000`, ''], 'a'), null);
  });

  it('have keys that tell the ids of a page apart', () => {
    const ids = Array.from({ length: 100_000 }, (_, n) => String(n));
    const keys = new Set(ids.map((id) => documentKey(id).slice(0, 8)));
    // With random keys, one of 86,000 would equal another.
    assert.ok(keys.size > 99_980, `${keys.size}`);
  });

  it('are compared by user and query, as a naive count does', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    const below = (count: number): number => Math.floor(random() * count);
    for (let run = 0; run < 50; run++) {
      const rows: AnalyticsRow[] = [];
      const clicks = new Map<string, Map<string, number>>();
      let searches = 0;
      for (let n = below(60); n > 0; n--) {
        const [user, query] = [`u${below(5)}`, ['Shoes', ' shoes', 'boots'][below(3)]!];
        rows.push(search(user, query));
        searches++;
        if (random() < 0.4) continue;
        const id = `${below(6)}`;
        // A document may be given by the other index in another draft.
        const team = below(2) as 0 | 1;
        rows.push(click(user, query, id, team));
        const key = `${user} ${query.trim().toLowerCase()}`;
        const of = clicks.get(key) ?? new Map<string, number>();
        if (!of.has(id)) of.set(id, team === 1 ? 1 : -1);
        clicks.set(key, of);
      }
      const leads = [...clicks.values()].map((of) => [...of.values()].reduce((a, b) => a + b, 0));
      const [row] = rowsOf(rows);
      if (searches === 0) {
        assert.equal(row, undefined);
        continue;
      }
      const wins = leads.filter((lead) => lead > 0).length;
      const losses = leads.filter((lead) => lead < 0).length;
      assert.deepEqual(
        [row.searches, row.wins, row.losses, row.ties],
        [searches, wins, losses, leads.length - wins - losses],
        `seed ${seed}`,
      );
      const mean = leads.length === 0 ? null : (wins - losses) / leads.length;
      assert.ok(mean === null ? row.preference === null : Math.abs(row.preference - mean) < 1e-4);
    }
  });

  it('are shown by pair, to those who may see both indexes', () => {
    const rows = [search('a', 'x'), search('a', 'x', 'other'), click('a', 'x', '1', 1, 'other')];
    const pairs = (of: any[]): unknown[] => of.map((row) => [row.with, row.searches, row.wins]);
    assert.deepEqual(pairs(rowsOf(rows)), [
      ['draft', 1, 0],
      ['other', 1, 1],
    ]);
    assert.deepEqual(pairs(rowsOf(rows, (uid) => uid === 'other')), [['other', 1, 1]]);
  });

  it('are refused if there are too many for a report', () => {
    const report = new InterleavingReport(everything, () => true);
    for (let n = 0; n < COMPARISONS_MAX; n++) report.add([click(`u${n}`, 'x', '1', 1)]);
    assert.throws(() => report.add([click('one more', 'x', '1', 1)]), ReportFault);
  });

  it('are read from other nodes as this one stores them, and nothing else', () => {
    const rows = [search('a', 'x'), click('a', 'x', '1', 0)];
    const text = (list: unknown[]): string => JSON.stringify(list).slice(1, -1);
    assert.deepEqual(checkedRows(text(rows)), rows);
    for (const last of [
      null,
      'draft',
      [],
      ['draft'],
      ['draft', 1],
      ['draft', '', 1],
      [1, '', ''],
    ]) {
      assert.equal(checkedRows(text([[...rows[0]!.slice(0, 9), last]])), null, String(last));
    }
    for (const last of [
      null,
      ['draft', 1],
      ['draft', 2, 'u'],
      ['draft', 0, 1],
      [1, 1, 'u'],
      ['draft', '', ''],
    ]) {
      assert.equal(checkedRows(text([[...rows[1]!.slice(0, 10), last]])), null, String(last));
    }
  });
});

describe('The sign test', () => {
  it('is the share of as uneven outcomes of fair coins', () => {
    for (let total = 0; total <= 60; total++) {
      const coefficients = [1n];
      for (let k = 1; k <= total; k++) {
        coefficients.push((coefficients[k - 1]! * BigInt(total - k + 1)) / BigInt(k));
      }
      for (let wins = 0; wins <= total; wins++) {
        const uneven = coefficients.filter(
          (_, k) => Math.abs(2 * k - total) >= Math.abs(2 * wins - total),
        );
        const exact = Number(uneven.reduce((a, b) => a + b, 0n)) / 2 ** total;
        assert.ok(Math.abs(signTest(wins, total - wins) - exact) < 1e-12, `${wins} of ${total}`);
      }
    }
    assert.ok(Math.abs(signTest(50_000, 50_000) - 1) < 1e-9);
    assert.ok(signTest(51_000, 49_000) < 1e-9);
  });
});
