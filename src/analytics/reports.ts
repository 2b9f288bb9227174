/** Reports, computed row by row from recorded searches and events. Pure. */
import {
  CLICK_ROW,
  isSearchRow,
  type AnalyticsRow,
  type EventRow,
  type Grouping,
  type SearchRow,
} from '../contract/analytics.ts';
import { Typing } from './typing.ts';

/** Buckets of durations: eight per doubling, so that a percentile is accurate within 9 %. */
const BUCKETS_PER_DOUBLING = 8;
const BUCKETS = 256;
/** Maximum number of distinct queries counted. Beyond it the rarest are dropped. */
const QUERIES_MAX = 100_000;

/** Maximum number of groups in a summary. */
export const GROUPS_MAX = 10_000;

export interface Selection {
  /** Start in ms since the epoch, inclusive. */
  from: number;
  /** End in ms since the epoch, exclusive. */
  to: number;
  includes(indexUid: string): boolean;
}

/** The report is not possible. The message is for the client. */
export class ReportFault extends Error {
  override readonly name = 'ReportFault';
}

/** Sums over a set of searches. */
export class Totals {
  searches = 0;
  /** Number of searches with a known number of hits, and the sum of their hits. */
  counted = 0;
  hits = 0;
  withoutResults = 0;
  clickedSearches = 0;
  clicks = 0;
  convertedSearches = 0;
  conversions = 0;
  /** Number of clicks with a known position, and the sum of their positions. */
  positions = 0;
  positionSum = 0;

  addSearch(row: SearchRow): void {
    this.searches++;
    const hits = row[6];
    if (hits < 0) return;
    this.counted++;
    this.hits += hits;
    if (hits === 0) this.withoutResults++;
  }

  addEvent(row: EventRow): void {
    const [kind, , , , , , , position, , first] = row;
    if (kind !== CLICK_ROW) {
      this.conversions++;
      this.convertedSearches += first;
      return;
    }
    this.clicks++;
    this.clickedSearches += first;
    if (position < 0) return;
    this.positions++;
    this.positionSum += position;
  }

  rates(): {
    clickThroughRate: number | null;
    conversionRate: number | null;
    meanClickPosition: number | null;
  } {
    return {
      clickThroughRate: ratio(this.clickedSearches, this.searches),
      conversionRate: ratio(this.convertedSearches, this.searches),
      meanClickPosition: ratio(this.positionSum, this.positions),
    };
  }
}

/** A ratio rounded to four decimal places; null: `whole` is 0. */
function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 1e4) / 1e4;
}

/** A histogram of durations with logarithmic buckets. */
export class Durations {
  readonly #counts = new Uint32Array(BUCKETS);
  #total = 0;

  /** @param duration in microseconds */
  add(duration: number): void {
    const bucket = Math.round(Math.log2(Math.max(1, duration)) * BUCKETS_PER_DOUBLING);
    this.#counts[Math.min(BUCKETS - 1, bucket)]!++;
    this.#total++;
  }

  /** A percentile in milliseconds, rounded to three decimal places; null: no durations. */
  percentile(share: number): number | null {
    if (this.#total === 0) return null;
    let left = Math.max(1, Math.ceil(this.#total * share));
    let bucket = 0;
    while ((left -= this.#counts[bucket]!) > 0) bucket++;
    return Math.round(2 ** (bucket / BUCKETS_PER_DOUBLING)) / 1000;
  }
}

export interface SummaryRow {
  indexUid?: string;
  /** The day in UTC, `YYYY-MM-DD`. */
  day?: string;
  searches: number;
  searchesWithoutResults: number;
  clickedSearches: number;
  clicks: number;
  conversions: number;
  clickThroughRate: number | null;
  conversionRate: number | null;
  meanClickPosition: number | null;
  latencyMs: Record<'p50' | 'p90' | 'p95' | 'p99', number | null>;
}

/** A report that is being computed. */
export interface Report<R extends object> {
  /** The names of the columns, as in CSV. */
  readonly columns: readonly string[];
  add(rows: readonly AnalyticsRow[]): void;
  rows(): R[];
}

export class SummaryReport implements Report<SummaryRow> {
  readonly columns: readonly string[];
  readonly #selection: Selection;
  readonly #byIndex: boolean;
  readonly #byDay: boolean;
  readonly #groups = new Map<
    string,
    { index: string; day: string; totals: Totals; durations: Durations }
  >();

  constructor(selection: Selection, groupBy: readonly Grouping[]) {
    this.#selection = selection;
    this.#byIndex = groupBy.includes('index');
    this.#byDay = groupBy.includes('day');
    this.columns = [
      ...(this.#byDay ? ['day'] : []),
      ...(this.#byIndex ? ['indexUid'] : []),
      'searches',
      'searchesWithoutResults',
      'clickedSearches',
      'clicks',
      'conversions',
      'clickThroughRate',
      'conversionRate',
      'meanClickPosition',
      'latencyMs.p50',
      'latencyMs.p90',
      'latencyMs.p95',
      'latencyMs.p99',
    ];
    if (groupBy.length === 0) this.#group('', '');
  }

  add(rows: readonly AnalyticsRow[]): void {
    for (const row of rows) {
      if (!isSelected(row, this.#selection)) continue;
      const day = this.#byDay ? new Date(row[1]).toISOString().slice(0, 10) : '';
      const { totals, durations } = this.#group(this.#byIndex ? row[3] : '', day);
      if (isSearchRow(row)) {
        totals.addSearch(row);
        durations.add(row[7]);
      } else totals.addEvent(row);
    }
  }

  #group(index: string, day: string): { totals: Totals; durations: Durations } {
    const key = `${day} ${index}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.#groups.size >= GROUPS_MAX) {
        throw new ReportFault(
          `The report has more than ${GROUPS_MAX} groups; choose fewer indexes or a shorter time.`,
        );
      }
      group = { index, day, totals: new Totals(), durations: new Durations() };
      this.#groups.set(key, group);
    }
    return group;
  }

  /** Rows ordered by day, then by index. */
  rows(): SummaryRow[] {
    return [...this.#groups]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { index, day, totals, durations }]) => ({
        ...(this.#byDay && { day }),
        ...(this.#byIndex && { indexUid: index }),
        searches: totals.searches,
        searchesWithoutResults: totals.withoutResults,
        clickedSearches: totals.clickedSearches,
        clicks: totals.clicks,
        conversions: totals.conversions,
        ...totals.rates(),
        latencyMs: {
          p50: durations.percentile(0.5),
          p90: durations.percentile(0.9),
          p95: durations.percentile(0.95),
          p99: durations.percentile(0.99),
        },
      }));
  }
}

export interface QueryRow {
  indexUid: string;
  query: string;
  searches: number;
  searchesWithoutResults: number;
  meanHits: number | null;
  clicks: number;
  conversions: number;
  clickThroughRate: number | null;
  conversionRate: number | null;
  meanClickPosition: number | null;
}

/** Which queries a report contains, and the number by which they are ordered. */
export type QueryReportKind = 'top' | 'withoutResults' | 'withoutClicks';

const SHOWN: Readonly<Record<QueryReportKind, (totals: Totals) => number>> = {
  top: (totals) => totals.searches,
  withoutResults: (totals) => totals.withoutResults,
  // Searches without results cannot be clicked, so they do not count.
  withoutClicks: (totals) =>
    totals.clicks > 0 || totals.withoutResults === totals.searches ? 0 : totals.searches,
};

/** Searches grouped by index and query. Case and surrounding blanks of queries are ignored. */
export class QueryReport implements Report<QueryRow> {
  readonly columns = [
    'indexUid',
    'query',
    'searches',
    'searchesWithoutResults',
    'meanHits',
    'clicks',
    'conversions',
    'clickThroughRate',
    'conversionRate',
    'meanClickPosition',
  ];
  readonly #selection: Selection;
  readonly #kind: QueryReportKind;
  readonly #queries = new RarestForgotten<Totals>(QUERIES_MAX, (totals) => totals.searches);
  /** null: all searches count. */
  readonly #typing: Typing | null;

  /** @param finalQueries skip searches without clicks after which the user continued typing */
  constructor(selection: Selection, kind: QueryReportKind, finalQueries = false) {
    this.#selection = selection;
    this.#kind = kind;
    this.#typing = finalQueries ? new Typing() : null;
  }

  add(rows: readonly AnalyticsRow[]): void {
    for (const row of rows) {
      if (row[4] === null || !isSelected(row, this.#selection)) continue;
      if (!isSearchRow(row)) this.#totalsOf(row).addEvent(row);
      if (this.#typing !== null) this.#take(this.#typing.add(row));
      else if (isSearchRow(row)) this.#take([row]);
    }
  }

  #take(rows: readonly SearchRow[]): void {
    for (const row of rows) this.#totalsOf(row).addSearch(row);
  }

  #totalsOf(row: AnalyticsRow): Totals {
    return this.#queries.of(`${row[3]} ${foldedQuery(row[4]!)}`, () => new Totals());
  }

  /** Rows in descending order of frequency. */
  rows(): QueryRow[] {
    if (this.#typing !== null) this.#take(this.#typing.final(Infinity));
    const order = SHOWN[this.#kind];
    return ranked(this.#queries, order).map(([key, totals]) => ({
      ...splitKey(key),
      searches: totals.searches,
      searchesWithoutResults: totals.withoutResults,
      meanHits: ratio(totals.hits, totals.counted),
      clicks: totals.clicks,
      conversions: totals.conversions,
      ...totals.rates(),
    }));
  }
}

export interface FilterRow {
  indexUid: string;
  filter: string;
  searches: number;
  searchesWithoutResults: number;
}

/** Searches grouped by index and filter. */
export class FilterReport implements Report<FilterRow> {
  readonly columns = ['indexUid', 'filter', 'searches', 'searchesWithoutResults'];
  readonly #selection: Selection;
  readonly #filters = new RarestForgotten<Totals>(QUERIES_MAX, (totals) => totals.searches);

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  add(rows: readonly AnalyticsRow[]): void {
    for (const row of rows) {
      if (!isSearchRow(row) || row[5] === null || !isSelected(row, this.#selection)) continue;
      this.#filters.of(`${row[3]} ${row[5]}`, () => new Totals()).addSearch(row);
    }
  }

  /** Rows in descending order of frequency. */
  rows(): FilterRow[] {
    return ranked(this.#filters, (totals) => totals.searches).map(([key, totals]) => {
      const { indexUid, query: filter } = splitKey(key);
      return {
        indexUid,
        filter,
        searches: totals.searches,
        searchesWithoutResults: totals.withoutResults,
      };
    });
  }
}

export interface ClickRow {
  indexUid: string;
  query: string;
  objectId: string;
  /** All searches with the query. */
  searches: number;
  /** On the document after this query. */
  clicks: number;
  meanClickPosition: number | null;
}

interface Clicked extends Pick<ClickRow, 'indexUid' | 'query' | 'objectId'> {
  readonly totals: Totals;
}

/** Clicks grouped by index, query and document. */
export class ClickReport implements Report<ClickRow> {
  readonly columns = ['indexUid', 'query', 'objectId', 'searches', 'clicks', 'meanClickPosition'];
  readonly #selection: Selection;
  readonly #searches: QueryReport;
  readonly #clicked = new RarestForgotten<Clicked>(QUERIES_MAX, ({ totals }) => totals.clicks);

  constructor(selection: Selection) {
    this.#selection = selection;
    this.#searches = new QueryReport(selection, 'top');
  }

  add(rows: readonly AnalyticsRow[]): void {
    this.#searches.add(rows);
    for (const row of rows) {
      if (row[0] !== CLICK_ROW || row[4] === null || row[6] === null) continue;
      if (!isSelected(row, this.#selection)) continue;
      const names = { indexUid: row[3], query: foldedQuery(row[4]), objectId: row[6] };
      const made = (): Clicked => ({ ...names, totals: new Totals() });
      this.#clicked.of(JSON.stringify(names), made).totals.addEvent(row);
    }
  }

  /** Rows in descending order of clicks. */
  rows(): ClickRow[] {
    const searches = new Map(
      this.#searches.rows().map((row) => [`${row.indexUid} ${row.query}`, row.searches]),
    );
    return [...this.#clicked]
      .toSorted(([a, x], [b, y]) => y.totals.clicks - x.totals.clicks || (a < b ? -1 : 1))
      .map(([, { totals, ...names }]) => ({
        ...names,
        searches: searches.get(`${names.indexUid} ${names.query}`) ?? 0,
        clicks: totals.clicks,
        meanClickPosition: totals.rates().meanClickPosition,
      }));
  }
}

/** Queries that differ only in case and surrounding blanks are one. */
export function foldedQuery(query: string): string {
  return query.trim().toLowerCase();
}

export function isSelected(row: AnalyticsRow, { from, to, includes }: Selection): boolean {
  return row[1] >= from && row[1] < to && includes(row[3]);
}

/** Splits a key at the first blank, since an index uid contains none. */
function splitKey(key: string): { indexUid: string; query: string } {
  const blank = key.indexOf(' ');
  return { indexUid: key.slice(0, blank), query: key.slice(blank + 1) };
}

function ranked(
  entries: Iterable<[string, Totals]>,
  order: (totals: Totals) => number,
): [string, Totals][] {
  return [...entries]
    .filter(([, totals]) => order(totals) > 0)
    .toSorted(([a, x], [b, y]) => order(y) - order(x) || (a < b ? -1 : 1));
}

/** Values by key. When there are twice as many as the limit, the rarer half is dropped. */
export class RarestForgotten<V> {
  readonly #max: number;
  readonly #weight: (value: V) => number;
  #values = new Map<string, V>();

  constructor(max: number, weight: (value: V) => number) {
    this.#max = max;
    this.#weight = weight;
  }

  of(key: string, make: () => V): V {
    let value = this.#values.get(key);
    if (value === undefined) {
      if (this.#values.size >= 2 * this.#max) this.#forget();
      value = make();
      this.#values.set(key, value);
    }
    return value;
  }

  *[Symbol.iterator](): Generator<[string, V]> {
    yield* this.#values;
  }

  #forget(): void {
    const kept = [...this.#values]
      .toSorted(([, a], [, b]) => this.#weight(b) - this.#weight(a))
      .slice(0, this.#max);
    this.#values = new Map(kept);
  }
}
