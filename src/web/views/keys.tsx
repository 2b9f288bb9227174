import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Client, pathOf } from '../client.ts';
import { description, keyActions } from '../description.ts';
import { moment } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { CheckList } from '../parts/check-list.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { useSession } from '../session.ts';

interface Key {
  readonly name: string | null;
  readonly description: string | null;
  readonly key: string;
  readonly uid: string;
  readonly actions: readonly string[];
  readonly indexes: readonly string[];
  readonly expiresAt: string | null;
}

const SHOWN_MAX = 1000;

export function KeysView(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const [creating, setCreating] = useState(false);
  const [editing, setEditing] = useState<Key | null>(null);
  const [deleting, setDeleting] = useState<Key | null>(null);
  const loaded = useLoaded((signal) => listKeys(client, signal), [client, action.done]);
  const send = (method: string, { uid }: Key, done: string, body?: unknown): void =>
    action.run(async () => {
      await client.send(method, pathOf(['keys', uid]), { body });
      return `Key ${uid} was ${done}.`;
    });
  return (
    <>
      <p class="buttons">
        <button type="button" class="primary" onClick={() => setCreating(true)}>
          Create a key
        </button>
      </p>
      <Outcome action={action} />
      <Problem error={loaded.error} />
      <ul class="cards" aria-label="Keys">
        {loaded.value?.map((key) => (
          <li key={key.uid}>
            <KeyCard keyRecord={key} onEdit={setEditing} onDelete={setDeleting} />
          </li>
        ))}
      </ul>
      {creating ? (
        <CreateDialog
          onClose={() => setCreating(false)}
          onCreate={(body) =>
            action.run(async () => {
              const { uid } = await client.send<Key>('POST', '/keys', { body });
              return `Key ${uid} was created.`;
            })
          }
        />
      ) : null}
      {editing === null ? null : (
        <EditDialog
          keyRecord={editing}
          onClose={() => setEditing(null)}
          onSave={(body) => send('PATCH', editing, 'changed', body)}
        />
      )}
      {deleting === null ? null : (
        <Confirm
          title={`Delete the key ${deleting.name ?? deleting.uid}`}
          warning="Requests with this key will be refused."
          name={deleting.name ?? deleting.uid}
          verb="Delete the key"
          onClose={() => setDeleting(null)}
          onConfirm={() => send('DELETE', deleting, 'deleted')}
        />
      )}
    </>
  );
}

async function listKeys(client: Client, signal: AbortSignal): Promise<readonly Key[]> {
  const path = pathOf(['keys'], { limit: SHOWN_MAX });
  return (await client.send<{ results: readonly Key[] }>('GET', path, { signal })).results;
}

interface CardProps {
  keyRecord: Key;
  onEdit(key: Key): void;
  onDelete(key: Key): void;
}

function KeyCard({ keyRecord, onEdit, onDelete }: CardProps): JSX.Element {
  const { name, description: text, key, uid, actions, indexes, expiresAt } = keyRecord;
  const [shown, setShown] = useState(false);
  const title = name ?? uid;
  return (
    <article>
      <h2>{title}</h2>
      {text === null ? null : <p>{text}</p>}
      <dl>
        <div>
          <dt>May</dt>
          <dd>{actions.includes('*') ? 'everything' : actions.join(', ')}</dd>
        </div>
        <div>
          <dt>Indexes</dt>
          <dd>{indexes.includes('*') ? 'all' : indexes.join(', ')}</dd>
        </div>
        <div>
          <dt>Expires</dt>
          <dd>{expiresAt === null ? 'never' : moment(expiresAt)}</dd>
        </div>
        <div>
          <dt>Key</dt>
          <dd>
            {shown ? <code>{key}</code> : '••••••••'}{' '}
            <button type="button" class="quiet" onClick={() => setShown(!shown)}>
              {shown ? 'Hide' : 'Show'}
              <span class="unseen"> the key {title}</span>
            </button>
          </dd>
        </div>
      </dl>
      <p class="buttons">
        <button type="button" class="quiet" onClick={() => onEdit(keyRecord)}>
          Edit<span class="unseen"> {title}</span>
        </button>
        <button type="button" class="danger" onClick={() => onDelete(keyRecord)}>
          Delete<span class="unseen"> {title}</span>
        </button>
      </p>
    </article>
  );
}

interface CreateProps {
  onClose(): void;
  onCreate(body: Record<string, unknown>): void;
}

function CreateDialog({ onClose, onCreate }: CreateProps): JSX.Element {
  const { client } = useSession();
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const [indexes, setIndexes] = useState('*');
  const [expires, setExpires] = useState('');
  const [actions, setActions] = useState<readonly string[]>(['search']);
  const known = useLoaded(async () => keyActions(await description(client)), [client]);
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onCreate({
            name: name === '' ? null : name,
            description: text === '' ? null : text,
            actions,
            indexes: indexes.split(',').map((one) => one.trim()),
            expiresAt: expires === '' ? null : new Date(expires).toISOString(),
          });
          onClose();
        }}
      >
        <TextField label="Name" value={name} onInput={setName} />
        <TextField label="Description" value={text} onInput={setText} />
        <TextField
          label="Indexes"
          hint="Uids separated by commas. A * at the end matches any ending; * alone matches all indexes."
          required
          value={indexes}
          onInput={setIndexes}
        />
        <TextField
          label="Expires"
          hint="Empty: never."
          type="datetime-local"
          value={expires}
          onInput={setExpires}
        />
        <fieldset class="facet actions">
          <legend>May do</legend>
          <CheckList
            values={known.value ?? []}
            chosen={actions}
            onChoose={setActions}
            text={(name) => <span>{name === '*' ? '* (everything)' : name}</span>}
          />
        </fieldset>
        <button type="submit" disabled={actions.length === 0}>
          Create
        </button>
      </form>
    </Dialog>
  );
}

interface EditProps {
  keyRecord: Key;
  onClose(): void;
  onSave(body: Record<string, unknown>): void;
}

function EditDialog({ keyRecord, onClose, onSave }: EditProps): JSX.Element {
  const [name, setName] = useState(keyRecord.name ?? '');
  const [text, setText] = useState(keyRecord.description ?? '');
  return (
    <Dialog title={`Edit ${keyRecord.name ?? keyRecord.uid}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave({ name: name === '' ? null : name, description: text === '' ? null : text });
          onClose();
        }}
      >
        <p>The actions of a key cannot be changed. Create another key instead.</p>
        <TextField label="Name" value={name} onInput={setName} />
        <TextField label="Description" value={text} onInput={setText} />
        <button type="submit">Save</button>
      </form>
    </Dialog>
  );
}
