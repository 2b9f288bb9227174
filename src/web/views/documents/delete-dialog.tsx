import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../../client.ts';
import { counted } from '../../format.ts';
import { useLoaded } from '../../hooks.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Problem } from '../../parts/problem.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import { finish } from '../../tasks.ts';
import { countDocuments } from './documents.ts';

interface Props {
  uid: string;
  /** Empty: all documents. */
  filter: string;
  onClose(): void;
  onWrite(work: () => Promise<string>): void;
}

/** Deletes the documents that a filter finds, after it has counted them. */
export function DeleteDialog({ uid, filter, onClose, onWrite }: Props): JSX.Element {
  const { client } = useSession();
  const [typed, setTyped] = useState('');
  const found = useLoaded(
    (signal) => countDocuments(client, uid, filter, signal),
    [client, uid, filter],
  );
  const documents = found.value === undefined ? '…' : counted(found.value, 'document');
  const ready = typed === uid && found.value !== undefined;
  const write = (): Promise<string> =>
    filter === ''
      ? finish(client, 'DELETE', pathOf(['indexes', uid, 'documents']))
      : finish(client, 'POST', pathOf(['indexes', uid, 'documents', 'delete']), { filter });
  const title = filter === '' ? `Delete all documents of ${uid}` : `Delete ${documents}`;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready) return;
          onWrite(write);
          onClose();
        }}
      >
        <Problem error={found.error} />
        <p>
          This deletes <strong>{documents}</strong> of {uid}
          {filter === '' ? '' : ', all that match this filter when the task runs:'}
        </p>
        {filter === '' ? <p>The settings are kept.</p> : <pre tabIndex={0}>{filter}</pre>}
        <TextField label={`Type ${uid} to continue`} value={typed} onInput={setTyped} />
        <p class="buttons">
          <button type="submit" class="danger" disabled={!ready}>
            Delete the documents
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}
