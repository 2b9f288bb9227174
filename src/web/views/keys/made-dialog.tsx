import { CodeSample } from '../../parts/code-sample.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { moment } from '../../format.ts';
import { nameOfKey, type Key } from './key.ts';

interface Props {
  made: Key;
  /** It has another value; else it is new. */
  isRotated?: boolean;
  onClose(): void;
}

/** A key whose value the user gets now. */
export function MadeDialog({ made, isRotated = false, onClose }: Props): JSX.Element {
  const { list, current } = useIndexes();
  const isOf = (uid: string): boolean =>
    made.indexes.some((one) =>
      one.endsWith('*') ? uid.startsWith(one.slice(0, -1)) : one === uid,
    );
  const uids = [current ?? '', ...list.map(({ uid }) => uid)];
  const uid = uids.find((one) => one !== '' && isOf(one)) ?? null;
  const until = made.previousExpiresAt;
  const isForSearch = made.actions.some((one) => one === 'search' || one === '*');
  return (
    <Dialog
      title={
        isRotated ? `${nameOfKey(made)} has another value` : `${made.name ?? 'The key'} was created`
      }
      onClose={onClose}
    >
      {isRotated ? (
        <p>
          The value before {until === undefined ? 'is refused' : `works until ${moment(until)}`}.
        </p>
      ) : null}
      <p>Send it with each request as the header Authorization: Bearer, followed by the key.</p>
      <pre tabIndex={0}>{made.key}</pre>
      {isForSearch && uid !== null ? (
        <>
          <h3>A search with it</h3>
          <CodeSample uid={uid} body={{ q: '' }} apiKey={made.key} />
        </>
      ) : null}
      <p class="buttons">
        <CopyButton text={made.key} label="Copy the key" />
        <button type="button" onClick={onClose}>
          Done
        </button>
      </p>
    </Dialog>
  );
}
