import { pathOf } from '../../client.ts';
import { countDocuments } from '../../documents.ts';
import { counted } from '../../format.ts';
import { useLoaded } from '../../hooks.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useSession } from '../../session.ts';
import { finish } from '../../tasks.ts';

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
  const found = useLoaded(
    (signal) => countDocuments(client, uid, filter, signal),
    [client, uid, filter],
  );
  const documents = found.value === undefined ? '…' : counted(found.value, 'document');
  const write = (): Promise<string> =>
    filter === ''
      ? finish(client, 'DELETE', pathOf(['indexes', uid, 'documents']))
      : finish(client, 'POST', pathOf(['indexes', uid, 'documents', 'delete']), { filter });
  const title = filter === '' ? `Delete all documents of ${uid}` : `Delete ${documents}`;
  return (
    <Confirm
      title={title}
      warning={
        <>
          <Problem error={found.error} />
          <p hidden={found.error !== null}>
            This deletes <strong>{documents}</strong> of {uid}
            {filter === '' ? '' : ', all that match this filter when the task runs:'}
          </p>
          {filter === '' ? <p>The settings are kept.</p> : <pre tabIndex={0}>{filter}</pre>}
        </>
      }
      name={uid}
      verb="Delete the documents"
      isReady={found.value !== undefined}
      onClose={onClose}
      onConfirm={() => onWrite(write)}
    />
  );
}
