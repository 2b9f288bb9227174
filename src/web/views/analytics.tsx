import type { ReportRow } from '../../contract/responses.ts';
import { Chart, Figure } from '../chart.tsx';
import { Fault, pathOf } from '../client.ts';
import { download } from '../download.ts';
import { count, milliseconds, percent } from '../format.ts';
import { useAction, useLoaded, type Loaded } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { Table, type TableColumn } from '../parts/table.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { useSession } from '../session.ts';

type Summary = Required<Omit<ReportRow, 'day'>> & Pick<ReportRow, 'day'>;
type Row = Readonly<Record<string, string | number | null>>;

interface Column {
  readonly field: string;
  readonly title: string;
  show?(value: number): string;
}

interface List {
  /** Last segment of the route. */
  readonly name: string;
  readonly title: string;
  readonly columns: readonly Column[];
  /** What an empty list means, and what to do. */
  readonly nothing: string;
}

const SEARCHES: Column = { field: 'searches', title: 'Searches' };
const QUERY: Column = { field: 'query', title: 'Query' };
const CLICK_RATE: Column = { field: 'clickThroughRate', title: 'Clicked', show: percent };

/** Columns of texts. */
const TEXTS: ReadonlySet<string> = new Set(['query', 'filter', 'with']);

const LISTS: readonly List[] = [
  {
    name: 'top-searches',
    title: 'Most frequent searches',
    columns: [
      QUERY,
      SEARCHES,
      { field: 'meanHits', title: 'Mean hits' },
      CLICK_RATE,
      { field: 'conversionRate', title: 'Converted', show: percent },
      { field: 'meanClickPosition', title: 'Mean position of clicks' },
    ],
    nothing: 'Nobody searched in this period. Searches with a search key are recorded.',
  },
  {
    name: 'searches-without-results',
    title: 'Searches without results',
    columns: [QUERY, { field: 'searchesWithoutResults', title: 'Without results' }, SEARCHES],
    nothing: 'Every search found something.',
  },
  {
    name: 'searches-without-clicks',
    title: 'Searches without clicks',
    columns: [QUERY, SEARCHES, { field: 'meanHits', title: 'Mean hits' }],
    nothing: 'No search was left without a click. Clicks are recorded when your site sends events.',
  },
  {
    name: 'top-filters',
    title: 'Most frequent filters',
    columns: [{ field: 'filter', title: 'Filter' }, SEARCHES],
    nothing: 'No search had a filter.',
  },
  {
    name: 'interleaving',
    title: 'Indexes compared by clicks',
    columns: [
      { field: 'with', title: 'Interleaved with' },
      SEARCHES,
      { field: 'wins', title: 'Wins' },
      { field: 'losses', title: 'Losses' },
      { field: 'ties', title: 'Ties' },
      { field: 'preference', title: 'Preference', show: percent },
      { field: 'pValue', title: 'Chance', show: percent },
    ],
    nothing: 'No search was interleaved with another index.',
  },
];

const PERIODS = [
  ['1', 'a day'],
  ['7', 'a week'],
  ['30', 'a month'],
  ['365', 'a year'],
] as const;
const DAY_MS = 86_400_000;

/** A day as `YYYY-MM-DD`. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}

export function AnalyticsView(): JSX.Element {
  const { query } = useAddress();
  const { days = '30', indexUids = '' } = query;
  const change = (part: { days?: string; indexUids?: string }): void =>
    replaceAddress(viewHref('analytics', null, { days, indexUids, ...part }));
  const range = { from: daysAgo(Number(days)), indexUids };
  const whole = useReport<Summary>('summary', range);
  if (whole.error instanceof Fault && whole.error.code === 'feature_not_enabled') {
    return (
      <p class="note">
        Nothing is recorded. A server that is started with <code>--analytics-retention-days</code>{' '}
        records searches and clicks, and keeps them for this number of days in its own folder.
      </p>
    );
  }
  return (
    <>
      <div class="row">
        <Choice
          label="The last"
          value={days}
          options={PERIODS}
          onChoose={(value) => change({ days: value })}
        />
        <TextField
          label="Indexes"
          hint="Uids separated by commas. Empty: all indexes."
          value={indexUids}
          onInput={(value) => change({ indexUids: value })}
        />
      </div>
      <Figures whole={whole} days={Number(days)} indexUids={indexUids} />
      <Charts range={range} days={Number(days)} />
      {LISTS.map((list) => (
        <ListTable key={list.name} list={list} range={range} />
      ))}
    </>
  );
}

interface ChartsProps {
  range: Range;
  days: number;
}

function Charts({ range, days }: ChartsProps): JSX.Element {
  const { value, error } = useReport<Summary>('summary', { ...range, groupBy: 'day' });
  const found = new Map(value?.map((one) => [one.day, one]));
  const all = Array.from({ length: days + 1 }, (_, at) => daysAgo(days - at));
  const chart = (
    title: string,
    show: (value: number) => string,
    of: (one: Summary) => number | null,
  ): JSX.Element => (
    <Chart
      bars
      title={title}
      values={all.map((name) => {
        const one = found.get(name);
        return one === undefined ? null : of(one);
      })}
      show={show}
      ends={[all[0]!, all.at(-1)!]}
    />
  );
  if (value === undefined)
    return error === null ? <Skeleton rows={2} /> : <Problem error={error} />;
  return (
    <div class="grid">
      {chart('Searches by day', count, ({ searches }) => searches)}
      {chart('Clicks by day', count, ({ clicks }) => clicks)}
      {chart(
        '95th percentile of response times, by day',
        milliseconds,
        ({ latencyMs }) => latencyMs.p95,
      )}
    </div>
  );
}

type Range = Readonly<Record<string, string>>;

function useReport<R>(name: string, range: Range): Loaded<readonly R[]> {
  const { client } = useSession();
  const path = pathOf(['analytics', name], range);
  return useLoaded(
    async (signal) =>
      (await client.send<{ results: readonly R[] }>('GET', path, { signal })).results,
    [client, path],
  );
}

/** How a number changed since the period before; undefined: there was nothing. */
function change(now: number, before: number | undefined): string | undefined {
  if (before === undefined || before === 0) return undefined;
  const ratio = now / before - 1;
  return `${ratio > 0 ? '+' : ''}${percent(ratio)}, before: ${count(before)}`;
}

interface FiguresProps {
  whole: Loaded<readonly Summary[]>;
  days: number;
  indexUids: string;
}

function Figures({ whole, days, indexUids }: FiguresProps): JSX.Element {
  // As many days before, up to the day before the period.
  const earlier = { from: daysAgo(2 * days + 1), to: daysAgo(days + 1), indexUids };
  const before = useReport<Summary>('summary', earlier).value?.[0];
  const summary = whole.value?.[0];
  if (summary !== undefined) return <FigureList whole={summary} before={before} />;
  return whole.error === null ? <Skeleton rows={1} /> : <Problem error={whole.error} />;
}

interface FigureListProps {
  whole: Summary;
  /** The period before; undefined: not known. */
  before: Summary | undefined;
}

function FigureList({ whole, before }: FigureListProps): JSX.Element {
  const rate = (value: number | null): string => (value === null ? 'none' : percent(value));
  const { p50, p95, p99 } = whole.latencyMs;
  const figure = (
    name: string,
    field: 'searches' | 'searchesWithoutResults' | 'clicks',
  ): JSX.Element => (
    <Figure name={name} value={count(whole[field])} note={change(whole[field], before?.[field])} />
  );
  return (
    <dl class="panel figures">
      {figure('Searches', 'searches')}
      {figure('Without results', 'searchesWithoutResults')}
      {figure('Clicks', 'clicks')}
      <Figure name="Searches with a click" value={rate(whole.clickThroughRate)} />
      <Figure
        name="Mean position of clicks"
        value={whole.meanClickPosition === null ? 'none' : count(whole.meanClickPosition)}
      />
      <Figure name="Conversions" value={count(whole.conversions)} />
      <Figure name="Searches that converted" value={rate(whole.conversionRate)} />
      <Figure name="Median response time" value={milliseconds(p50)} />
      <Figure name="95th percentile" value={milliseconds(p95)} />
      <Figure name="99th percentile" value={milliseconds(p99)} />
    </dl>
  );
}

function ListTable({ list, range }: { list: List; range: Range }): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  const { name, title } = list;
  const loaded = useReport<Row>(name, range);
  const rows = loaded.value ?? [];
  const downloadCsv = (): void =>
    action.run(async () => {
      const path = pathOf(['analytics', name], { ...range, format: 'csv', limit: '1000' });
      download(await (await client.open('GET', path, {})).blob(), `${name}.csv`);
      return null;
    });
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
      <Problem error={loaded.error} />
      {loaded.value === undefined && loaded.error === null ? <Skeleton rows={2} /> : null}
      {loaded.value?.length === 0 ? <p class="note">{list.nothing}</p> : null}
      {rows.length === 0 ? null : (
        <>
          <Table
            label={`${title}, table`}
            columns={tableColumns(list, rights.has('indexes'))}
            rows={rows}
            keyOf={(_, position) => position}
          />
          <button type="button" class="quiet" onClick={downloadCsv}>
            As CSV<span class="unseen">: {title}</span>
          </button>
          <Outcome action={action} />
        </>
      )}
    </section>
  );
}

function tableColumns({ name, columns }: List, mayChange: boolean): readonly TableColumn<Row>[] {
  const offersSynonym = name === 'searches-without-results' && mayChange;
  return [
    { title: 'Index', cell: ({ indexUid }) => indexUid },
    ...columns.map(({ field, title, show = count }): TableColumn<Row> => ({
      title,
      number: !TEXTS.has(field),
      cell: (row) => cell(row[field] ?? null, show),
    })),
    ...(offersSynonym ? [SYNONYM] : []),
  ];
}

const SYNONYM: TableColumn<Row> = {
  title: 'Actions',
  unseen: true,
  cell: ({ indexUid, query }) =>
    query === '' ? null : (
      <a href={viewHref('settings', String(indexUid), { synonym: String(query) })}>
        Add a synonym<span class="unseen"> for {query}</span>
      </a>
    ),
};

function cell(value: string | number | null, show: (value: number) => string): string {
  if (value === null) return '';
  if (typeof value === 'number') return show(value);
  return value === '' ? '(empty)' : value;
}
