import { useState } from 'preact/hooks';
import { viewHref } from '../../address.ts';
import { Figure } from '../../chart.tsx';
import { pathOf } from '../../client.ts';
import { count, percent, size } from '../../format.ts';
import { useGet } from '../../hooks.ts';
import type { IndexStats, Stats } from '../../indexes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { spaced } from '../../spaced.ts';

/** Where the bytes on disk are: the largest index first. */
export function DiskUse({ stats }: { stats: Stats }): JSX.Element {
  const [open, setOpen] = useState<string | null>(null);
  const { databaseSize, usedDatabaseSize } = stats;
  const indexes = Object.entries(stats.indexes).sort(([, a], [, b]) => b.indexSize - a.indexSize);
  const sum = (of: (index: IndexStats) => number): number =>
    indexes.reduce((all, [, index]) => all + of(index), 0);
  const rows = indexes.map(([uid, index]) => ({
    uid,
    index,
    bytes: index.indexSize,
    used: index.usedIndexSize,
  }));
  const others: DiskRow = {
    uid: null,
    bytes: Math.max(0, databaseSize - sum(({ indexSize }) => indexSize)),
    used: Math.max(0, usedDatabaseSize - sum(({ usedIndexSize }) => usedIndexSize)),
  };
  return (
    <section aria-label="Disk use">
      <h2>Disk use</h2>
      <p class="note">
        What is not in use is free space in files; the next writes fill it, or a merge removes it.
        Other: tasks, keys, and indexes that this key may not see.
      </p>
      <Table
        label="Disk use of each index"
        columns={columnsOf(databaseSize, setOpen)}
        rows={[...rows, others]}
        keyOf={({ uid }) => uid ?? ''}
      />
      {open === null || stats.indexes[open] === undefined ? null : (
        <IndexDialog uid={open} stats={stats.indexes[open]} onClose={() => setOpen(null)} />
      )}
    </section>
  );
}

/** What an index has, or everything else. */
interface DiskRow {
  readonly uid: string | null;
  readonly index?: IndexStats;
  readonly bytes: number;
  readonly used: number;
}

/** @param all bytes on disk of everything */
function columnsOf(all: number, onOpen: (uid: string) => void): readonly TableColumn<DiskRow>[] {
  const share = (part: number): number => (all === 0 ? 0 : part / all);
  return [
    {
      title: 'Index',
      cell: ({ uid, index }) =>
        uid === null ? (
          'Other'
        ) : (
          <>
            <a href={viewHref('documents', uid)}>{uid}</a>
            {index?.isIndexing ? <span class="state processing">indexing</span> : null}
          </>
        ),
    },
    {
      title: 'Documents',
      number: true,
      cell: ({ index }) => (index === undefined ? null : count(index.numberOfDocuments)),
    },
    { title: 'On disk', number: true, cell: ({ bytes }) => size(bytes) },
    { title: 'In use', number: true, cell: ({ used }) => size(used) },
    {
      title: 'Share',
      cell: ({ bytes, used }) => (
        <span class="number">
          <svg class="bar" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
            <rect class="held" width={share(bytes)} height="1" />
            <rect class="used" width={share(used)} height="1" />
          </svg>
          <span>{percent(share(bytes))}</span>
        </span>
      ),
    },
    {
      title: 'Per document',
      number: true,
      cell: ({ index }) =>
        index === undefined || index.numberOfDocuments === 0
          ? null
          : size(index.indexSize / index.numberOfDocuments),
    },
    {
      title: 'Details',
      unseen: true,
      cell: ({ uid }) =>
        uid === null ? null : (
          <button type="button" class="quiet" onClick={() => onOpen(uid)}>
            Fields<span class="unseen"> and parts of {uid}</span>
          </button>
        ),
    },
  ];
}

interface IndexDialogProps {
  uid: string;
  stats: IndexStats;
  onClose(): void;
}

function IndexDialog({ uid, stats, onClose }: IndexDialogProps): JSX.Element {
  const path = pathOf(['indexes', uid, 'stats'], { showInternalDatabaseSizes: true });
  const parts = useGet<IndexStats>(path);
  const fields = Object.entries(stats.fieldDistribution).sort(([, a], [, b]) => b - a);
  return (
    <Dialog title={uid} onClose={onClose}>
      <dl>
        <Figure name="Embedded documents" value={count(stats.numberOfEmbeddedDocuments)} />
        <Figure name="Embeddings" value={count(stats.numberOfEmbeddings)} />
      </dl>
      <h3>Parts on disk</h3>
      <Problem error={parts.error} />
      <dl>
        {Object.entries(parts.value?.internalDatabaseSizes ?? {}).map(([name, bytes]) => (
          <Figure key={name} name={spaced(name)} value={size(bytes)} />
        ))}
      </dl>
      <h3>Documents that have a field</h3>
      <dl>
        {fields.map(([field, documents]) => (
          <Figure key={field} name={field} value={count(documents)} />
        ))}
      </dl>
    </Dialog>
  );
}
