import { CodeSample } from '../../parts/code-sample.tsx';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { useIndexes } from '../../shell/indexes-context.tsx';
import type { Key } from './key.ts';

/** A key that has just been created. */
export function MadeDialog({ made, onClose }: { made: Key; onClose(): void }): JSX.Element {
  const { list, current } = useIndexes();
  const isOf = (uid: string): boolean =>
    made.indexes.some((one) =>
      one.endsWith('*') ? uid.startsWith(one.slice(0, -1)) : one === uid,
    );
  const uids = [current ?? '', ...list.map(({ uid }) => uid)];
  const uid = uids.find((one) => one !== '' && isOf(one)) ?? null;
  const isForSearch = made.actions.some((one) => one === 'search' || one === '*');
  return (
    <Dialog title={`${made.name ?? 'The key'} was created`} onClose={onClose}>
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
