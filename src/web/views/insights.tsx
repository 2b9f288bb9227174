import { useState } from 'preact/hooks';
import type { CostlySearches, RunningSearches } from '../../contract/insights.ts';
import { pathOf } from '../client.ts';
import { count, counted, milliseconds, moment } from '../format.ts';
import { useAction, useGet } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { RowActions, Table, type TableColumn } from '../parts/table.tsx';
import { Timeline } from '../parts/timeline.tsx';
import { useSession } from '../session.ts';

type Costly = CostlySearches['results'][number];
type Running = RunningSearches['results'][number];
type Shape = Pick<Costly, 'kind' | 'indexUids' | 'parameters' | 'words'>;

const REFRESH_MS = 5000;
const ORDERS = [
  ['cpu', 'processor time'],
  ['count', 'number of searches'],
  ['p99', 'slowest searches'],
] as const;

/** Which searches cost most, and which run. */
export function InsightsView(): JSX.Element {
  return (
    <>
      <RunningList />
      <CostlyList />
    </>
  );
}

function RunningList(): JSX.Element {
  const { client, rights } = useSession();
  const action = useAction();
  const { value, error } = useGet<RunningSearches>('/insights/running', REFRESH_MS, [action.done]);
  const cancel = (id: string): void =>
    action.run(async () => {
      await client.send('POST', pathOf(['insights', 'running', id, 'cancel']));
      return 'The search was canceled.';
    });
  const columns: readonly TableColumn<Running>[] = [
    ...SHAPE_COLUMNS,
    { title: 'For', number: true, cell: ({ durationMs }) => milliseconds(durationMs) },
    {
      title: 'Actions',
      unseen: true,
      cell: ({ id, requestId }) =>
        rights.has('cancels') ? (
          <RowActions of={requestId} actions={[{ label: 'Cancel', run: () => cancel(id) }]} />
        ) : null,
    },
  ];
  return (
    <section aria-label="Running searches">
      <h2>Running searches</h2>
      <Outcome action={action} />
      <Problem error={error} />
      {value === undefined ? null : (
        <>
          <Missing nodes={value.missingNodes} />
          {value.results.length === 0 ? <p class="note">None runs.</p> : null}
          {value.results.length > 0 ? (
            <Table
              label="Running searches"
              columns={columns}
              rows={value.results}
              keyOf={({ id }) => id}
            />
          ) : null}
        </>
      )}
    </section>
  );
}

function CostlyList(): JSX.Element {
  const [by, setBy] = useState<string>('cpu');
  const [shown, setShown] = useState<Costly | null>(null);
  const { value, error } = useGet<CostlySearches>(pathOf(['insights', 'searches'], { by }));
  const columns: readonly TableColumn<Costly>[] = [
    ...SHAPE_COLUMNS,
    { title: 'Searches', number: true, cell: (one) => count(one.count) },
    { title: 'CPU', number: true, cell: ({ cpuMs }) => milliseconds(cpuMs) },
    { title: 'Mean', number: true, cell: ({ meanMs }) => milliseconds(meanMs) },
    { title: '99 % within', number: true, cell: ({ p99Ms }) => milliseconds(p99Ms) },
    {
      title: 'Actions',
      unseen: true,
      cell: (one) =>
        one.example === null ? null : (
          <RowActions
            of={nameOf(one)}
            actions={[{ label: 'Timeline', run: () => setShown(one) }]}
          />
        ),
    },
  ];
  return (
    <section aria-label="Costly searches">
      <h2>Costly searches of the last day</h2>
      <Choice label="Order" value={by} options={ORDERS} onChoose={setBy} />
      <Problem error={error} />
      {value === undefined ? null : <Missing nodes={value.missingNodes} />}
      {value?.results.length === 0 ? (
        <Empty icon="gauge" title="There was no search yet">
          <p>Searches with the same parameters and number of words are one row here.</p>
        </Empty>
      ) : null}
      {value === undefined || value.results.length === 0 ? null : (
        <Table label="Costly searches" columns={columns} rows={value.results} keyOf={nameOf} />
      )}
      {shown === null ? null : <ExampleDialog costly={shown} onClose={() => setShown(null)} />}
    </section>
  );
}

function ExampleDialog({ costly, onClose }: { costly: Costly; onClose(): void }): JSX.Element {
  const { startedAt, requestId, stages } = costly.example!;
  return (
    <Dialog title="Timeline of a search" onClose={onClose}>
      <p class="note">
        {nameOf(costly)}, {moment(startedAt)}, request {requestId}
      </p>
      <Timeline stages={stages} />
    </Dialog>
  );
}

function Missing({ nodes }: { nodes: readonly string[] }): JSX.Element | null {
  return nodes.length === 0 ? null : (
    <p class="note">Without the searches of {nodes.join(', ')}: no response.</p>
  );
}

function nameOf({ kind, indexUids, parameters, words }: Shape): string {
  return `${kind} in ${indexUids.join(', ')}: ${parameters.join(', ')} (${counted(words, 'word')})`;
}

const SHAPE_COLUMNS: readonly TableColumn<Shape>[] = [
  { title: 'Search', cell: ({ kind }) => kind },
  { title: 'Indexes', cell: ({ indexUids }) => indexUids.join(', ') },
  { title: 'Parameters', cell: ({ parameters }) => parameters.join(', ') },
  { title: 'Words', number: true, cell: ({ words }) => count(words) },
];
