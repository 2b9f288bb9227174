import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Icon } from '../parts/icon.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { useSession } from '../session.ts';
import { CreateDialog } from './keys/create-dialog.tsx';
import { EditDialog } from './keys/edit-dialog.tsx';
import { type Key, listKeys } from './keys/key.ts';
import { KeyRow } from './keys/key-row.tsx';
import { MadeDialog } from './keys/made-dialog.tsx';

type Open =
  { readonly kind: 'create' } | { readonly kind: 'made' | 'edit' | 'delete'; readonly key: Key };

export function KeysView(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const [open, setOpen] = useState<Open | null>(null);
  const loaded = useLoaded((signal) => listKeys(client, signal), [client, action.done]);
  const close = (): void => setOpen(null);
  const send = (method: string, { uid }: Key, done: string, body?: unknown): void =>
    action.run(async () => {
      await client.send(method, pathOf(['keys', uid]), { body });
      return `Key ${uid} was ${done}.`;
    });
  const create = (body: Record<string, unknown>): void =>
    action.run(async () => {
      const made = await client.send<Key>('POST', '/keys', { body });
      setOpen({ kind: 'made', key: made });
      return `Key ${made.uid} was created.`;
    });
  return (
    <>
      <CreateButton onClick={() => setOpen({ kind: 'create' })} />
      <Outcome action={action} />
      <Problem error={loaded.error} />
      {loaded.value === undefined && loaded.error === null ? <Skeleton /> : null}
      <ul class="card list" aria-label="Keys">
        {loaded.value?.map((key) => (
          <li key={key.uid} class="row">
            <KeyRow
              keyRecord={key}
              onEdit={() => setOpen({ kind: 'edit', key })}
              onDelete={() => setOpen({ kind: 'delete', key })}
            />
          </li>
        ))}
      </ul>
      {open?.kind === 'create' ? <CreateDialog onClose={close} onCreate={create} /> : null}
      {open?.kind === 'made' ? <MadeDialog made={open.key} onClose={close} /> : null}
      {open?.kind === 'edit' ? (
        <EditDialog
          keyRecord={open.key}
          onClose={close}
          onSave={(body) => send('PATCH', open.key, 'changed', body)}
        />
      ) : null}
      {open?.kind === 'delete' ? (
        <Confirm
          title={`Delete the key ${open.key.name ?? open.key.uid}`}
          warning="Requests with this key will be refused."
          name={open.key.name ?? open.key.uid}
          verb="Delete the key"
          onClose={close}
          onConfirm={() => send('DELETE', open.key, 'deleted')}
        />
      ) : null}
    </>
  );
}

function CreateButton({ onClick }: { onClick(): void }): JSX.Element {
  return (
    <p class="buttons">
      <button type="button" class="primary" onClick={onClick}>
        <Icon name="plus" />
        Create a key
      </button>
    </p>
  );
}
