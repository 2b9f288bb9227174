import { useEffect, useState } from 'preact/hooks';
import { Chart, Figure } from '../chart.tsx';
import { pathOf } from '../client.ts';
import { count, counted, durationMs, milliseconds, moment, percent, size } from '../format.ts';
import { useGet, useLoaded } from '../hooks.ts';
import type { Stats } from '../indexes.ts';
import { Problem } from '../parts/problem.tsx';
import { useSession } from '../session.ts';
import { DiskUse } from './statistics/disk-use.tsx';
import type { Batch, TaskPage } from '../task.ts';

const REFRESH_MS = 2000;
/** Five minutes of samples. */
const SAMPLES_MAX = 150;
/** Number of past batches in the charts. */
const BATCHES = 100;

interface Sample {
  readonly at: number;
  readonly documents: number;
  readonly bytes: number;
}

export function StatisticsView(): JSX.Element {
  const { client, rights } = useSession();
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const loaded = useLoaded(
    async (signal) => ({
      at: Date.now(),
      stats: await client.send<Stats>('GET', '/stats', { signal }),
    }),
    [client],
    REFRESH_MS,
  );
  const { value } = loaded;
  useEffect(() => {
    if (value === undefined) return;
    const { at, stats } = value;
    const documents = Object.values(stats.indexes).reduce(
      (sum, { numberOfDocuments }) => sum + numberOfDocuments,
      0,
    );
    const sample = { at, documents, bytes: stats.usedDatabaseSize };
    setSamples((old) => [...old, sample].slice(-SAMPLES_MAX));
  }, [value]);
  const stats = value?.stats;
  const last = samples.at(-1);
  return (
    <>
      <Problem error={loaded.error} />
      {stats === undefined ? null : (
        <>
          <Totals stats={stats} documents={last?.documents ?? 0} />
          <DiskUse stats={stats} />
          <div class="grid">
            <Chart
              title="Number of documents since this view was opened"
              values={samples.map(({ documents }) => documents)}
              show={count}
            />
            <Chart
              title="Bytes in use since this view was opened"
              values={samples.map(({ bytes }) => bytes)}
              show={size}
              unit={1024}
            />
            {rights.has('tasks') ? <PastBatches /> : null}
          </div>
        </>
      )}
    </>
  );
}

function Totals({ stats, documents }: { stats: Stats; documents: number }): JSX.Element {
  return (
    <dl class="panel figures">
      <Figure name="Documents" value={count(documents)} />
      <Figure name="Indexes" value={count(Object.keys(stats.indexes).length)} />
      <Figure name="On disk" value={size(stats.databaseSize)} />
      <Figure
        name="In use"
        value={size(stats.usedDatabaseSize)}
        note={percent(stats.usedDatabaseSize / Math.max(1, stats.databaseSize))}
      />
      <Figure
        name="Last change"
        value={stats.lastUpdate === null ? 'never' : moment(stats.lastUpdate)}
      />
    </dl>
  );
}

/** Charts of past batches: their durations and the number of documents indexed. */
function PastBatches(): JSX.Element | null {
  const loaded = useGet<TaskPage<Batch>>(pathOf(['batches'], { limit: BATCHES }), REFRESH_MS);
  const batches = [...(loaded.value?.results ?? [])].reverse();
  return (
    <>
      <Chart
        title={`Duration of the last ${counted(batches.length, 'batch', 'batches')}`}
        values={batches.map(({ duration }) => durationMs(duration) ?? 0)}
        show={milliseconds}
      />
      <Chart
        title={`Documents indexed by the last ${counted(batches.length, 'batch', 'batches')}`}
        values={batches.map(({ details }) => Number(details.indexedDocuments ?? 0))}
        show={count}
      />
    </>
  );
}
