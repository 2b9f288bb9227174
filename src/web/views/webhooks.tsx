import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { LinesField } from '../parts/lines-field.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { TextField } from '../parts/text-field.tsx';
import { useSession } from '../session.ts';

interface Webhook {
  readonly uuid: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly isEditable: boolean;
}

export function WebhooksView(): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const [editing, setEditing] = useState<Webhook | 'new' | null>(null);
  const [deleting, setDeleting] = useState<Webhook | null>(null);
  const loaded = useLoaded(
    (signal) => client.send<{ results: readonly Webhook[] }>('GET', '/webhooks', { signal }),
    [client, action.done],
  );
  return (
    <>
      <p class="buttons">
        <button type="button" class="primary" onClick={() => setEditing('new')}>
          Create a webhook
        </button>
      </p>
      <Outcome action={action} />
      <Problem error={loaded.error} />
      {loaded.value === undefined && loaded.error === null ? <Skeleton rows={2} /> : null}
      {loaded.value?.results.length === 0 ? (
        <Empty icon="bell" title="There is no webhook yet">
          <p>Create one to have a URL notified whenever tasks finish.</p>
        </Empty>
      ) : null}
      <ul class="grid" aria-label="Webhooks">
        {loaded.value?.results.map((webhook) => (
          <li key={webhook.uuid}>
            <Card webhook={webhook} onEdit={setEditing} onDelete={setDeleting} />
          </li>
        ))}
      </ul>
      {editing === null ? null : (
        <EditDialog
          webhook={editing === 'new' ? null : editing}
          onClose={() => setEditing(null)}
          onSave={(body) =>
            action.run(async () => {
              const [method, path] =
                editing === 'new'
                  ? (['POST', '/webhooks'] as const)
                  : (['PATCH', pathOf(['webhooks', editing.uuid])] as const);
              const { uuid } = await client.send<Webhook>(method, path, { body });
              return `Webhook ${uuid} was saved.`;
            })
          }
        />
      )}
      {deleting === null ? null : (
        <Confirm
          title="Delete a webhook"
          warning={`${deleting.url} will no longer be notified of finished tasks.`}
          name="delete"
          verb="Delete the webhook"
          onClose={() => setDeleting(null)}
          onConfirm={() =>
            action.run(async () => {
              await client.send('DELETE', pathOf(['webhooks', deleting.uuid]));
              return `Webhook ${deleting.uuid} was deleted.`;
            })
          }
        />
      )}
    </>
  );
}

interface CardProps {
  webhook: Webhook;
  onEdit(webhook: Webhook): void;
  onDelete(webhook: Webhook): void;
}

function Card({ webhook, onEdit, onDelete }: CardProps): JSX.Element {
  return (
    <article class="panel">
      <h2>{webhook.url}</h2>
      <dl>
        {Object.entries(webhook.headers ?? {}).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {webhook.isEditable ? (
        <p class="buttons">
          <button type="button" class="quiet" onClick={() => onEdit(webhook)}>
            Edit<span class="unseen"> {webhook.url}</span>
          </button>
          <button type="button" class="danger" onClick={() => onDelete(webhook)}>
            Delete<span class="unseen"> {webhook.url}</span>
          </button>
        </p>
      ) : (
        <p class="note">
          This webhook was set by an option of the server and cannot be changed here.
        </p>
      )}
    </article>
  );
}

interface EditProps {
  webhook: Webhook | null;
  onClose(): void;
  onSave(body: Record<string, unknown>): void;
}

function EditDialog({ webhook, onClose, onSave }: EditProps): JSX.Element {
  const before = webhook?.headers ?? {};
  const [url, setUrl] = useState(webhook?.url ?? 'https://');
  const [headers, setHeaders] = useState(
    Object.entries(before)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  );
  return (
    <Dialog title={webhook === null ? 'Create a webhook' : 'Edit a webhook'} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave({ url, headers: headerChange(before, parseHeaders(headers)) });
          onClose();
        }}
      >
        <TextField label="Address" type="url" required value={url} onInput={setUrl} />
        <LinesField
          label="Headers"
          hint="One per line, for example Authorization: Bearer something."
          spellcheck={false}
          value={headers}
          onInput={setHeaders}
        />
        <button type="submit">Save</button>
      </form>
    </Dialog>
  );
}

function parseHeaders(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => {
        const at = line.indexOf(':');
        return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

/**
 * Removed headers become null. Unchanged headers are omitted, because their values may be shown
 * shortened.
 */
function headerChange(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const removed = Object.keys(before).filter((name) => !(name in after));
  const changed = Object.entries(after).filter(([name, value]) => before[name] !== value);
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...changed]);
}
