import assert from 'node:assert/strict';
import { csvOf } from '../../../src/analytics/csv.ts';
import {
  ClickReport,
  Durations,
  FilterReport,
  QueryReport,
  RarestForgotten,
  ReportFault,
  SummaryReport,
  GROUPS_MAX,
} from '../../../src/analytics/reports.ts';
import {
  CLICK_ROW,
  CONVERSION_ROW,
  SEARCH_ROW,
  type AnalyticsRow,
  type EventRow,
  type SearchRow,
} from '../../../src/contract/analytics.ts';
import { mulberry } from '../../support/random.ts';

const DAY_MS = 86_400_000;
const everything = { from: 0, to: Infinity, includes: () => true };

function search(
  more: Partial<Record<'at' | 'hits' | 'duration', number>>,
  query = 'dune',
): SearchRow {
  const { at = 0, hits = 3, duration = 1000 } = more;
  return [SEARCH_ROW, at, 0, 'books', query, null, hits, duration, 'user'];
}

/** Random searches and events; an event refers to an earlier search. */
function randomRows(random: () => number, count: number): AnalyticsRow[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const rows: AnalyticsRow[] = [];
  const searches: SearchRow[] = [];
  const seen = new Set<string>();
  let at = 0;
  for (let n = 0; n < count; n++) {
    at += Math.floor(random() * 4_000_000);
    const found = random() < 0.4 && searches.length > 0 ? pick(searches) : null;
    if (found === null) {
      const row: SearchRow = [
        ...([
          SEARCH_ROW,
          at,
          n,
          pick(['books', 'films']),
          pick(['Dune', 'dune ', 'x', '']),
        ] as const),
        ...([
          pick([null, 'year > 1']),
          pick([-1, 0, 0, 7]),
          Math.ceil(random() * 9999),
          'u',
        ] as const),
      ];
      searches.push(row);
      rows.push(row);
      continue;
    }
    const kind = pick([CLICK_ROW, CONVERSION_ROW] as const);
    const key = `${kind} ${found[2]}`;
    const first = seen.has(key) ? 0 : 1;
    seen.add(key);
    rows.push([
      ...([kind, at, found[2], found[3], found[4], 'name', '1', pick([-1, 0, 5]), 'u'] as const),
      first,
    ]);
  }
  return rows;
}

const share = (part: number, whole: number): number | null =>
  whole === 0 ? null : Number((part / whole).toFixed(4));
const close = (a: number | null, b: number | null): boolean =>
  a === b || (a !== null && b !== null && Math.abs(a - b) <= 1.0001e-4);

/** The reference model: computes each number in a separate pass. */
function naive(rows: readonly AnalyticsRow[]): Record<string, number | null> {
  const searches = rows.filter((row): row is SearchRow => row[0] === SEARCH_ROW);
  const clicks = rows.filter((row): row is EventRow => row[0] === CLICK_ROW);
  const conversions = rows.filter((row): row is EventRow => row[0] === CONVERSION_ROW);
  const known = clicks.filter((row) => row[7] >= 0);
  const distinct = (events: readonly EventRow[]): number =>
    events.filter((row) => row[9] === 1).length;
  return {
    searches: searches.length,
    searchesWithoutResults: searches.filter((row) => row[6] === 0).length,
    clicks: clicks.length,
    conversions: conversions.length,
    clickThroughRate: share(distinct(clicks), searches.length),
    conversionRate: share(distinct(conversions), searches.length),
    meanClickPosition: share(
      known.reduce((sum, row) => sum + row[7], 0),
      known.length,
    ),
  };
}

function assertSame(row: object, rows: readonly AnalyticsRow[], where: string): void {
  for (const [name, value] of Object.entries(naive(rows))) {
    const shown = (row as Record<string, number | null>)[name]!;
    assert.ok(close(shown, value), `${where}: ${name} is ${shown}, not ${value}`);
  }
}

describe('Reports on searches', () => {
  it('agree with the reference model for random searches and events', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    const random = mulberry(seed);
    for (let round = 0; round < 60; round++) {
      const where = `seed ${seed}, round ${round}`;
      const rows = randomRows(random, 1 + Math.floor(random() * 120));
      const from = Math.floor(random() * DAY_MS);
      const selection = { from, to: from + 3 * DAY_MS, includes: (uid: string) => uid !== 'films' };
      const chosen = rows.filter(
        (row) => row[1] >= from && row[1] < selection.to && row[3] === 'books',
      );

      const summary = new SummaryReport(selection, []);
      summary.add(rows);
      assertSame(summary.rows()[0]!, chosen, where);

      const daily = new SummaryReport(everything, ['day', 'index']);
      daily.add(rows);
      for (const row of daily.rows()) {
        const ofGroup = rows.filter(
          (one) => one[3] === row.indexUid && new Date(one[1]).toISOString().startsWith(row.day!),
        );
        assertSame(row, ofGroup, `${where}, ${row.day}`);
      }
      assert.equal(
        daily.rows().reduce((sum, row) => sum + row.searches, 0),
        rows.filter((row) => row[0] === SEARCH_ROW).length,
      );

      const top = new QueryReport(everything, 'top');
      top.add(rows);
      const shown = top.rows();
      for (const row of shown) {
        const same = rows.filter(
          (one) => one[3] === row.indexUid && one[4]?.trim().toLowerCase() === row.query,
        );
        assertSame(row, same, `${where}, ${row.query}`);
      }
      assert.deepEqual(
        shown.map(({ searches }) => searches),
        shown.map(({ searches }) => searches).toSorted((a, b) => b - a),
      );
    }
  });

  it('list searches that found nothing, and those that nobody clicked', () => {
    const rows: AnalyticsRow[] = [
      search({ hits: 0 }, 'nothing'),
      search({}, 'ignored'),
      search({}, 'clicked'),
      [CLICK_ROW, 1, 0, 'books', 'clicked', 'n', '1', 0, 'user', 1],
    ];
    const queries = (kind: 'withoutResults' | 'withoutClicks'): string[] => {
      const report = new QueryReport(everything, kind);
      report.add(rows);
      return report.rows().map(({ query }) => query);
    };
    assert.deepEqual(queries('withoutResults'), ['nothing']);
    assert.deepEqual(queries('withoutClicks'), ['ignored']);
  });

  it('skip queries of a user who is still typing, if requested', () => {
    const typed = (at: number, query: string, user = 'a', id = at): SearchRow => [
      ...([SEARCH_ROW, at, id, 'books', query, null, 2, 9, user] as const),
    ];
    const rows: AnalyticsRow[] = [
      typed(0, 'd'),
      typed(200, 'du'),
      typed(300, 'du', 'b'),
      typed(400, 'dune'),
      typed(500, 'Dune '),
      typed(4000, 'dune mess'),
      typed(4500, 'dune'),
      typed(5000, 'ha'),
      [CLICK_ROW, 5100, 5000, 'books', 'ha', 'n', '1', 0, 'a', 1],
      typed(5200, 'haw'),
      typed(9000, 'haw'),
      typed(13_000, 'hawk'),
    ];
    const report = new QueryReport(everything, 'top', true);
    report.add(rows.slice(0, 3));
    report.add(rows.slice(3));
    assert.deepEqual(
      report.rows().map(({ query, searches }) => [query, searches]),
      [
        ['dune', 3],
        ['haw', 2],
        ['du', 1],
        ['ha', 1],
        ['hawk', 1],
      ],
    );
  });

  it('list filters', () => {
    const filtered: AnalyticsRow[] = ['a = 1', 'b = 1', 'b = 1'].map((filter) => {
      const row = search({});
      row[5] = filter;
      return row;
    });
    const report = new FilterReport(everything);
    report.add([...filtered, search({})]);
    assert.deepEqual(
      report.rows().map(({ filter, searches }) => [filter, searches]),
      [
        ['b = 1', 2],
        ['a = 1', 1],
      ],
    );
  });

  it('count clicks by query and document', () => {
    const seed = Number(process.env['GANNET_SEED'] ?? Date.now() % 1e6);
    console.log(`      GANNET_SEED=${seed}`);
    const random = mulberry(seed);
    const ids = ['a', 'b', null];
    const rows = randomRows(random, 500).map((row) => {
      if (row[0] !== SEARCH_ROW) row[6] = ids[Math.floor(random() * 3)]!;
      return row;
    });
    const report = new ClickReport({ ...everything, includes: (uid) => uid === 'books' });
    for (const row of rows) report.add([row]);
    const counted = new Map<string, number>();
    const count = (key: string): void => void counted.set(key, (counted.get(key) ?? 0) + 1);
    for (const row of rows) {
      if (row[3] !== 'books' || row[4] === null) continue;
      const query = row[4].trim().toLowerCase();
      if (row[0] === SEARCH_ROW) count(query);
      else if (row[0] === CLICK_ROW && row[6] !== null) count(`${query} ${row[6]}`);
    }
    const found = report.rows();
    assert.ok(found.length > 3);
    assert.deepEqual(
      found.map(({ clicks }) => clicks),
      found.map(({ clicks }) => clicks).toSorted((a, b) => b - a),
    );
    for (const { query, objectId, searches, clicks } of found) {
      assert.equal(clicks, counted.get(`${query} ${objectId}`));
      assert.equal(searches, counted.get(query));
    }
    const pairs = [...counted.keys()].filter((key) => / [ab]$/.test(key));
    assert.equal(found.length, pairs.length);
  });

  it('have percentiles within nine per cent of the sorted durations', () => {
    const random = mulberry(5);
    const all = Array.from({ length: 5000 }, () => Math.ceil(Math.exp(random() * 15)));
    const durations = new Durations();
    for (const one of all) durations.add(one);
    all.sort((a, b) => a - b);
    for (const part of [0.01, 0.5, 0.9, 0.99, 1]) {
      const exact = all[Math.ceil(all.length * part) - 1]! / 1000;
      const shown = durations.percentile(part)!;
      assert.ok(Math.abs(shown - exact) <= exact * 0.09 + 0.001, `${part}: ${shown}, not ${exact}`);
    }
    assert.equal(new Durations().percentile(0.5), null);
  });

  it('refuse more groups than they can hold', () => {
    const report = new SummaryReport(everything, ['day']);
    const rows = Array.from({ length: GROUPS_MAX + 1 }, (_, n) => search({ at: n * DAY_MS }));
    assert.throws(() => report.add(rows), ReportFault);
  });

  it('keep the frequent queries when there are too many', () => {
    const values = new RarestForgotten<{ count: number }>(10, ({ count }) => count);
    for (let n = 0; n < 500; n++) {
      values.of('often', () => ({ count: 0 })).count++;
      values.of(`rare ${n}`, () => ({ count: 0 })).count++;
    }
    const kept = new Map(values);
    assert.equal(kept.get('often')!.count, 500);
    assert.ok(kept.size <= 20);
  });
});

describe('Reports as CSV', () => {
  it('quote what needs it, and leave no formula to a spreadsheet', () => {
    const rows = [
      { query: 'a "b", c', latencyMs: { p50: 1.5 }, rate: null },
      { query: '=1+1', latencyMs: { p50: 2 }, rate: 0.5 },
    ];
    assert.equal(
      csvOf(rows, ['query', 'latencyMs.p50', 'rate']),
      'query,latencyMs.p50,rate\r\n"a ""b"", c",1.5,\r\n\'=1+1,2,0.5\r\n',
    );
  });

  it('have a line of names even when they are empty', () => {
    assert.equal(csvOf([], ['a', 'b']), 'a,b\r\n');
  });
});
