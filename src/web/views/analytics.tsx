import type { JSX } from 'preact';
import { Chart, Figure } from '../chart.tsx';
import { Fault, pathOf, type Client } from '../client.ts';
import { download } from '../download.ts';
import { count, milliseconds, percent } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { useSession } from '../session.ts';

interface Summary {
  readonly day?: string;
  readonly searches: number;
  readonly searchesWithoutResults: number;
  readonly clicks: number;
  readonly conversions: number;
  readonly clickThroughRate: number | null;
  readonly conversionRate: number | null;
  readonly meanClickPosition: number | null;
  readonly latencyMs: Readonly<Record<'p50' | 'p90' | 'p95' | 'p99', number | null>>;
}

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
}

const SEARCHES: Column = { field: 'searches', title: 'Searches' };
const QUERY: Column = { field: 'query', title: 'Query' };
const CLICK_RATE: Column = { field: 'clickThroughRate', title: 'Clicked', show: percent };

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
  },
  {
    name: 'searches-without-results',
    title: 'Searches without results',
    columns: [QUERY, { field: 'searchesWithoutResults', title: 'Without results' }, SEARCHES],
  },
  {
    name: 'searches-without-clicks',
    title: 'Searches without clicks',
    columns: [QUERY, SEARCHES, { field: 'meanHits', title: 'Mean hits' }],
  },
  {
    name: 'top-filters',
    title: 'Most frequent filters',
    columns: [{ field: 'filter', title: 'Filter' }, SEARCHES],
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
  const { client } = useSession();
  const { query } = useAddress();
  const { days = '30', indexUids = '' } = query;
  const change = (part: { days?: string; indexUids?: string }): void =>
    replaceAddress(viewHref('analytics', null, { days, indexUids, ...part }));
  const range = { from: daysAgo(Number(days)), indexUids };
  // As many days before, up to the day before the period.
  const earlier = { from: daysAgo(2 * Number(days) + 1), to: daysAgo(Number(days) + 1), indexUids };
  const loaded = useLoaded(
    async (signal) => {
      const [whole, before, byDay] = await Promise.all([
        report<Summary>(client, 'summary', range, signal),
        report<Summary>(client, 'summary', earlier, signal),
        report<Summary>(client, 'summary', { ...range, groupBy: 'day' }, signal),
      ]);
      return { whole: whole[0], before: before[0], byDay };
    },
    [client, range.from, indexUids],
  );
  if (loaded.error instanceof Fault && loaded.error.code === 'feature_not_enabled') {
    return (
      <p class="note">
        Nothing is recorded. A server that is started with <code>--analytics-retention-days</code>{' '}
        records searches and clicks, and keeps them for this number of days in its own folder.
      </p>
    );
  }
  const { whole, before, byDay = [] } = loaded.value ?? {};
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
      <Problem error={loaded.error} />
      {/* Lists are requested only when something is recorded. */}
      {whole === undefined ? null : (
        <>
          <Figures whole={whole} before={before} />
          <Charts byDay={byDay} />
          {LISTS.map((list) => (
            <ListTable key={list.name} list={list} range={range} />
          ))}
        </>
      )}
    </>
  );
}

function Charts({ byDay }: { byDay: readonly Summary[] }): JSX.Element {
  const ends = [byDay[0]?.day ?? '', byDay.at(-1)?.day ?? ''] as const;
  return (
    <div class="charts">
      <Chart
        title="Searches by day"
        values={byDay.map(({ searches }) => searches)}
        show={count}
        ends={ends}
      />
      <Chart
        title="Clicks by day"
        values={byDay.map(({ clicks }) => clicks)}
        show={count}
        ends={ends}
      />
      <Chart
        title="95th percentile of response times, by day"
        values={byDay.map(({ latencyMs }) => latencyMs.p95 ?? 0)}
        show={milliseconds}
        ends={ends}
      />
    </div>
  );
}

type Range = Readonly<Record<string, string>>;

async function report<R>(
  client: Client,
  name: string,
  range: Range,
  signal: AbortSignal,
): Promise<readonly R[]> {
  const path = pathOf(['analytics', name], range);
  return (await client.send<{ results: readonly R[] }>('GET', path, { signal })).results;
}

/** How a number changed since the period before; undefined: there was nothing. */
function change(now: number, before: number | undefined): string | undefined {
  if (before === undefined || before === 0) return undefined;
  const ratio = now / before - 1;
  return `${ratio > 0 ? '+' : ''}${percent(ratio)}, before: ${count(before)}`;
}

interface FiguresProps {
  whole: Summary;
  /** The period before; undefined: not known. */
  before: Summary | undefined;
}

function Figures({ whole, before }: FiguresProps): JSX.Element {
  const rate = (value: number | null): string => (value === null ? 'none' : percent(value));
  const { p50, p95, p99 } = whole.latencyMs;
  const figure = (
    name: string,
    field: 'searches' | 'searchesWithoutResults' | 'clicks',
  ): JSX.Element => (
    <Figure name={name} value={count(whole[field])} note={change(whole[field], before?.[field])} />
  );
  return (
    <dl class="figures">
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
  const { client } = useSession();
  const action = useAction();
  const { name, title, columns } = list;
  const loaded = useLoaded(
    (signal) => report<Row>(client, name, range, signal),
    [client, name, range.from, range.indexUids],
  );
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
      {rows.length === 0 ? (
        <p class="note">{loaded.loading ? '' : 'None.'}</p>
      ) : (
        <>
          <div class="wide" tabIndex={0} role="region" aria-label={`${title}, table`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Index</th>
                  {columns.map((column) => (
                    <th key={column.field} scope="col">
                      {column.title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row, position) => (
                  <ListRow key={position} list={list} row={row} />
                ))}
              </tbody>
            </table>
          </div>
          <button type="button" class="quiet" onClick={downloadCsv}>
            As CSV<span class="unseen">: {title}</span>
          </button>
          <Outcome action={action} />
        </>
      )}
    </section>
  );
}

function ListRow({ list, row }: { list: List; row: Row }): JSX.Element {
  const { rights } = useSession();
  const { indexUid, query } = row;
  const offersSynonym =
    list.name === 'searches-without-results' && rights.has('indexes') && query !== '';
  return (
    <tr>
      <td>{indexUid}</td>
      {list.columns.map(({ field, show = count }) => (
        <td key={field}>
          {cell(row[field] ?? null, show)}
          {field === 'query' && offersSynonym ? (
            <>
              {' '}
              <a href={viewHref('settings', String(indexUid), { synonym: String(query) })}>
                Add a synonym<span class="unseen"> for {query}</span>
              </a>
            </>
          ) : null}
        </td>
      ))}
    </tr>
  );
}

function cell(value: string | number | null, show: (value: number) => string): string {
  if (value === null) return '';
  if (typeof value === 'number') return show(value);
  return value === '' ? '(empty)' : value;
}
