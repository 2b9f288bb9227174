import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { viewHref } from '../../address.ts';
import { Figure } from '../../chart.tsx';
import { pathOf } from '../../client.ts';
import { count, percent, size } from '../../format.ts';
import { useLoaded } from '../../hooks.ts';
import type { IndexStats, Stats } from '../../indexes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useSession } from '../../session.ts';
import { spaced } from '../../spaced.ts';

/** Where the bytes on disk are: the largest index first. */
export function DiskUse({ stats }: { stats: Stats }): JSX.Element {
  const [open, setOpen] = useState<string | null>(null);
  const { databaseSize, usedDatabaseSize } = stats;
  const indexes = Object.entries(stats.indexes).sort(([, a], [, b]) => b.indexSize - a.indexSize);
  const sum = (of: (index: IndexStats) => number): number =>
    indexes.reduce((all, [, index]) => all + of(index), 0);
  const others = {
    bytes: Math.max(0, databaseSize - sum(({ indexSize }) => indexSize)),
    used: Math.max(0, usedDatabaseSize - sum(({ usedIndexSize }) => usedIndexSize)),
  };
  return (
    <section class="disk" aria-label="Disk use">
      <h2>Disk use</h2>
      <p class="note">
        What is not in use is free space in files; the next writes fill it, or a merge removes it.
        Other: tasks, keys, and indexes that this key may not see.
      </p>
      <div class="wide" tabIndex={0} role="region" aria-label="Disk use of each index">
        <table>
          <Head />
          <tbody>
            {indexes.map(([uid, index]) => (
              <Row
                key={uid}
                uid={uid}
                stats={index}
                all={databaseSize}
                onOpen={() => setOpen(uid)}
              />
            ))}
            <tr>
              <th scope="row">Other</th>
              <td />
              <Bytes bytes={others.bytes} used={others.used} all={databaseSize} />
              <td />
              <td />
            </tr>
          </tbody>
        </table>
      </div>
      {open === null || stats.indexes[open] === undefined ? null : (
        <IndexDialog uid={open} stats={stats.indexes[open]} onClose={() => setOpen(null)} />
      )}
    </section>
  );
}

function Head(): JSX.Element {
  return (
    <thead>
      <tr>
        <th scope="col">Index</th>
        {['Documents', 'On disk', 'In use'].map((name) => (
          <th key={name} scope="col" class="number">
            {name}
          </th>
        ))}
        <th scope="col">Share</th>
        <th scope="col" class="number">
          Per document
        </th>
        <th scope="col">Details</th>
      </tr>
    </thead>
  );
}

interface RowProps {
  uid: string;
  stats: IndexStats;
  /** Bytes on disk of everything. */
  all: number;
  onOpen(): void;
}

function Row({ uid, stats, all, onOpen }: RowProps): JSX.Element {
  const { numberOfDocuments, indexSize, usedIndexSize, isIndexing } = stats;
  return (
    <tr>
      <th scope="row">
        <a href={viewHref('documents', uid)}>{uid}</a>
        {isIndexing ? <span class="state processing">indexing</span> : null}
      </th>
      <td class="number">{count(numberOfDocuments)}</td>
      <Bytes bytes={indexSize} used={usedIndexSize} all={all} />
      <td class="number">{numberOfDocuments === 0 ? '' : size(indexSize / numberOfDocuments)}</td>
      <td>
        <button type="button" class="quiet" onClick={onOpen}>
          Fields<span class="unseen"> and parts of {uid}</span>
        </button>
      </td>
    </tr>
  );
}

/** Three cells. `all`: the bytes of which the bar shows a share. */
function Bytes({ bytes, used, all }: { bytes: number; used: number; all: number }): JSX.Element {
  const share = (part: number): number => (all === 0 ? 0 : part / all);
  return (
    <>
      <td class="number">{size(bytes)}</td>
      <td class="number">{size(used)}</td>
      <td class="share">
        <svg class="bar" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
          <rect class="held" width={share(bytes)} height="1" />
          <rect class="used" width={share(used)} height="1" />
        </svg>
        <span>{percent(share(bytes))}</span>
      </td>
    </>
  );
}

interface IndexDialogProps {
  uid: string;
  stats: IndexStats;
  onClose(): void;
}

function IndexDialog({ uid, stats, onClose }: IndexDialogProps): JSX.Element {
  const { client } = useSession();
  const parts = useLoaded(
    (signal) => {
      const path = pathOf(['indexes', uid, 'stats'], { showInternalDatabaseSizes: true });
      return client.send<{ internalDatabaseSizes: Record<string, number> }>('GET', path, {
        signal,
      });
    },
    [client, uid],
  );
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
