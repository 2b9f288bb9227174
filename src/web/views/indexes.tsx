import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { ago, count, moment, size } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { listIndexes, type IndexEntry, type IndexStats, type Stats } from '../indexes.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { OtherIndex } from '../parts/other-index.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { RowActions, Table, type TableColumn } from '../parts/table.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref } from '../address.ts';
import { useSession } from '../session.ts';
import { finish } from '../tasks.ts';

const REFRESH_MS = 5000;

type Open =
  | { readonly kind: 'create' }
  | { readonly kind: 'rename' | 'swap' | 'delete'; readonly uid: string };

export function IndexesView(): JSX.Element {
  const { client, rights } = useSession();
  const [open, setOpen] = useState<Open | null>(null);
  const action = useAction();
  const loaded = useLoaded(
    async (signal) => ({
      indexes: await listIndexes(client, signal),
      stats: rights.has('stats') ? await client.send<Stats>('GET', '/stats', { signal }) : null,
    }),
    [client, action.done],
    REFRESH_MS,
  );
  const indexes = loaded.value?.indexes ?? [];
  const act = (method: string, path: string, body?: unknown): void =>
    action.run(() => finish(client, method, path, body));
  return (
    <>
      <p class="buttons">
        <button type="button" class="primary" onClick={() => setOpen({ kind: 'create' })}>
          Create an index
        </button>
      </p>
      <Outcome action={action} />
      <Problem error={loaded.error} />
      {loaded.value === undefined && loaded.error === null ? <Skeleton /> : null}
      {indexes.length === 0 ? null : (
        <Table
          label="Indexes"
          columns={columnsOf(loaded.value?.stats ?? null, setOpen)}
          rows={indexes}
          keyOf={({ uid }) => uid}
        />
      )}
      {loaded.value !== undefined && indexes.length === 0 ? (
        <Empty icon="indexes" title="There is no index yet">
          <p>Create one, or add a file in the view Documents, which makes an index of it.</p>
        </Empty>
      ) : null}
      {open === null ? null : (
        <OpenDialog open={open} indexes={indexes} act={act} onClose={() => setOpen(null)} />
      )}
    </>
  );
}

function columnsOf(
  stats: Stats | null,
  onOpen: (open: Open) => void,
): readonly TableColumn<IndexEntry>[] {
  const own = ({ uid }: IndexEntry): IndexStats | undefined => stats?.indexes[uid];
  const shown = (value: number | undefined, show: (value: number) => string): string =>
    value === undefined ? '' : show(value);
  return [
    { title: 'Index', cell: ({ uid }) => <a href={viewHref('search', uid)}>{uid}</a> },
    { title: 'Primary key', cell: ({ primaryKey }) => primaryKey ?? 'none yet' },
    {
      title: 'Documents',
      number: true,
      cell: (index) => shown(own(index)?.numberOfDocuments, count),
    },
    { title: 'On disk', number: true, cell: (index) => shown(own(index)?.indexSize, size) },
    {
      title: 'Changed',
      cell: (index) => (
        <>
          <time dateTime={index.updatedAt} title={moment(index.updatedAt)}>
            {ago(index.updatedAt, Date.now())}
          </time>
          {own(index)?.isIndexing === true ? ' (indexing)' : ''}
        </>
      ),
    },
    {
      title: 'Actions',
      cell: ({ uid }) => (
        <RowActions
          of={uid}
          actions={[
            { label: 'Documents', href: viewHref('documents', uid) },
            { label: 'Settings', href: viewHref('settings', uid) },
            { label: 'Rename', run: () => onOpen({ kind: 'rename', uid }) },
            { label: 'Swap', run: () => onOpen({ kind: 'swap', uid }) },
            { label: 'Delete', danger: true, run: () => onOpen({ kind: 'delete', uid }) },
          ]}
        />
      ),
    },
  ];
}

interface OpenDialogProps {
  open: Open;
  indexes: readonly IndexEntry[];
  act(method: string, path: string, body?: unknown): void;
  onClose(): void;
}

function OpenDialog({ open, indexes, act, onClose }: OpenDialogProps): JSX.Element {
  switch (open.kind) {
    case 'create':
      return <CreateDialog act={act} onClose={onClose} />;
    case 'rename':
      return <RenameDialog uid={open.uid} act={act} onClose={onClose} />;
    case 'swap':
      return <SwapDialog uid={open.uid} indexes={indexes} act={act} onClose={onClose} />;
    case 'delete':
      return (
        <Confirm
          title={`Delete ${open.uid}`}
          warning="This deletes the index with its documents and settings. You cannot undo this."
          name={open.uid}
          verb="Delete the index"
          onClose={onClose}
          onConfirm={() => act('DELETE', pathOf(['indexes', open.uid]))}
        />
      );
  }
}

type ActProps = Pick<OpenDialogProps, 'act' | 'onClose'>;

function CreateDialog({ act, onClose }: ActProps): JSX.Element {
  const [uid, setUid] = useState('');
  const [primaryKey, setPrimaryKey] = useState('');
  return (
    <Dialog title="Create an index" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act('POST', '/indexes', { uid, primaryKey: primaryKey === '' ? null : primaryKey });
          onClose();
        }}
      >
        <TextField
          label="Uid"
          hint="Letters, digits, - and _."
          required
          value={uid}
          onInput={setUid}
        />
        <TextField
          label="Primary key"
          hint="The field that identifies a document. Empty: inferred from the first documents."
          value={primaryKey}
          onInput={setPrimaryKey}
        />
        <button type="submit">Create</button>
      </form>
    </Dialog>
  );
}

function RenameDialog({ uid, act, onClose }: ActProps & { uid: string }): JSX.Element {
  const [name, setName] = useState(uid);
  return (
    <Dialog title={`Rename ${uid}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          act('PATCH', pathOf(['indexes', uid]), { uid: name });
          onClose();
        }}
      >
        <TextField label="New uid" required value={name} onInput={setName} />
        <button type="submit" disabled={name === uid}>
          Rename
        </button>
      </form>
    </Dialog>
  );
}

function SwapDialog({
  uid,
  indexes,
  act,
  onClose,
}: ActProps & { uid: string; indexes: readonly IndexEntry[] }): JSX.Element {
  return (
    <OtherIndex
      title={`Swap ${uid}`}
      uid={uid}
      uids={indexes.map((index) => index.uid)}
      label="With"
      button="Swap"
      onChoose={(other) => act('POST', '/swap-indexes', [{ indexes: [uid, other] }])}
      onClose={onClose}
    >
      The two indexes exchange their documents, settings and tasks in one atomic step.
    </OtherIndex>
  );
}
