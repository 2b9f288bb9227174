import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { useBodySchema } from '../description.ts';
import { ago, count, moment, size } from '../format.ts';
import { listIndexes, type IndexEntry, type IndexStats, type Stats } from '../indexes.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { OtherIndex } from '../parts/other-index.tsx';
import { Resource, type Tools } from '../parts/resource.tsx';
import { SchemaDialog } from '../parts/schema-dialog.tsx';
import { RowActions, Table, type TableColumn } from '../parts/table.tsx';
import { TextField } from '../parts/text-field.tsx';
import { viewHref } from '../address.ts';
import { useSession } from '../session.ts';
import { useIndexUids } from './index-picker.tsx';

const REFRESH_MS = 5000;

interface Index extends IndexEntry {
  /** undefined: not known. */
  readonly stats: IndexStats | undefined;
}

export function IndexesView(): JSX.Element {
  const { rights } = useSession();
  const schema = useBodySchema('/indexes', 'post');
  return (
    <Resource<Index>
      noun="index"
      icon="indexes"
      nothing="Create one, or add a file in the view Documents, which makes an index of it."
      everyMs={REFRESH_MS}
      load={async (client, signal) => {
        const indexes = await listIndexes(client, signal);
        const stats = rights.has('stats')
          ? await client.send<Stats>('GET', '/stats', { signal })
          : null;
        return indexes.map((index) => ({ ...index, stats: stats?.indexes[index.uid] }));
      }}
      list={(rows, open) => (
        <Table label="Indexes" columns={columnsOf(open)} rows={rows} keyOf={({ uid }) => uid} />
      )}
      dialogs={{
        create: (_, { close, send }) => (
          <SchemaDialog
            title="Create an index"
            verb="Create"
            schema={schema}
            onSave={(body) => send('POST', '/indexes', body)}
            onClose={close}
          />
        ),
        rename: ({ uid }, tools) => <RenameDialog uid={uid} tools={tools} />,
        swap: ({ uid }, tools) => <SwapDialog uid={uid} tools={tools} />,
      }}
      deletion={{
        warning: 'This deletes the index with its documents and settings. You cannot undo this.',
        nameOf: ({ uid }) => uid,
        pathOf: ({ uid }) => pathOf(['indexes', uid]),
        isTask: true,
      }}
    />
  );
}

function columnsOf(open: (kind: string, index: Index) => void): readonly TableColumn<Index>[] {
  const shown = (value: number | undefined, show: (value: number) => string): string =>
    value === undefined ? '' : show(value);
  return [
    { title: 'Index', cell: ({ uid }) => <a href={viewHref('search', uid)}>{uid}</a> },
    { title: 'Primary key', cell: ({ primaryKey }) => primaryKey ?? 'none yet' },
    {
      title: 'Documents',
      number: true,
      cell: ({ stats }) => shown(stats?.numberOfDocuments, count),
    },
    { title: 'On disk', number: true, cell: ({ stats }) => shown(stats?.indexSize, size) },
    {
      title: 'Changed',
      cell: ({ updatedAt, stats }) => (
        <>
          <time dateTime={updatedAt} title={moment(updatedAt)}>
            {ago(updatedAt, Date.now())}
          </time>
          {stats?.isIndexing === true ? ' (indexing)' : ''}
        </>
      ),
    },
    {
      title: 'Actions',
      cell: (index) => (
        <RowActions
          of={index.uid}
          actions={[
            { label: 'Documents', href: viewHref('documents', index.uid) },
            { label: 'Settings', href: viewHref('settings', index.uid) },
            { label: 'Rename', run: () => open('rename', index) },
            { label: 'Swap', run: () => open('swap', index) },
            { label: 'Delete', danger: true, run: () => open('delete', index) },
          ]}
        />
      ),
    },
  ];
}

interface ActProps {
  uid: string;
  tools: Tools;
}

function RenameDialog({ uid, tools }: ActProps): JSX.Element {
  const [name, setName] = useState(uid);
  return (
    <FormDialog
      title={`Rename ${uid}`}
      verb="Rename"
      disabled={name === uid}
      onSubmit={() => tools.send('PATCH', pathOf(['indexes', uid]), { uid: name })}
      onClose={tools.close}
    >
      <TextField label="New uid" required value={name} onInput={setName} />
    </FormDialog>
  );
}

function SwapDialog({ uid, tools }: ActProps): JSX.Element {
  return (
    <OtherIndex
      title={`Swap ${uid}`}
      uid={uid}
      uids={useIndexUids()}
      label="With"
      button="Swap"
      onChoose={(other) => tools.send('POST', '/swap-indexes', [{ indexes: [uid, other] }])}
      onClose={tools.close}
    >
      The two indexes exchange their documents, settings and tasks in one atomic step.
    </OtherIndex>
  );
}
