import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { ago, count, moment, size } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { listIndexes, type IndexEntry, type Stats } from '../indexes.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { OtherIndex } from '../parts/other-index.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
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
      <Table indexes={indexes} stats={loaded.value?.stats ?? null} onOpen={setOpen} />
      {loaded.value !== undefined && indexes.length === 0 ? (
        <p class="note">There is no index yet.</p>
      ) : null}
      {open === null ? null : (
        <OpenDialog open={open} indexes={indexes} act={act} onClose={() => setOpen(null)} />
      )}
    </>
  );
}

interface TableProps extends Omit<RowProps, 'index'> {
  indexes: readonly IndexEntry[];
}

function Table({ indexes, stats, onOpen }: TableProps): JSX.Element {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Indexes">
      <table>
        <thead>
          <tr>
            <th scope="col">Index</th>
            <th scope="col">Primary key</th>
            <th scope="col" class="number">
              Documents
            </th>
            <th scope="col" class="number">
              On disk
            </th>
            <th scope="col">Changed</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {indexes.map((index) => (
            <Row key={index.uid} index={index} stats={stats} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  index: IndexEntry;
  stats: Stats | null;
  onOpen(open: Open): void;
}

function Row({ index, stats, onOpen }: RowProps): JSX.Element {
  const { uid } = index;
  const own = stats?.indexes[uid];
  return (
    <tr>
      <th scope="row">
        <a href={viewHref('search', uid)}>{uid}</a>
      </th>
      <td>{index.primaryKey ?? 'none yet'}</td>
      <td class="number">{own === undefined ? '' : count(own.numberOfDocuments)}</td>
      <td class="number">{own === undefined ? '' : size(own.indexSize)}</td>
      <td>
        <time dateTime={index.updatedAt} title={moment(index.updatedAt)}>
          {ago(index.updatedAt, Date.now())}
        </time>
        {own?.isIndexing === true ? ' (indexing)' : ''}
      </td>
      <td>
        <span class="buttons">
          <a href={viewHref('documents', uid)}>Documents</a>
          <a href={viewHref('settings', uid)}>Settings</a>
          <button type="button" class="quiet" onClick={() => onOpen({ kind: 'rename', uid })}>
            Rename<span class="unseen"> {uid}</span>
          </button>
          <button type="button" class="quiet" onClick={() => onOpen({ kind: 'swap', uid })}>
            Swap<span class="unseen"> {uid}</span>
          </button>
          <button type="button" class="danger" onClick={() => onOpen({ kind: 'delete', uid })}>
            Delete<span class="unseen"> {uid}</span>
          </button>
        </span>
      </td>
    </tr>
  );
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
