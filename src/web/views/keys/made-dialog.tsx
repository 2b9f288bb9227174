import { CopyButton } from '../../parts/copy-button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import type { Key } from './key.ts';

/** A key that has just been created. */
export function MadeDialog({ made, onClose }: { made: Key; onClose(): void }): JSX.Element {
  return (
    <Dialog title={`${made.name ?? 'The key'} was created`} onClose={onClose}>
      <p>Send it with each request as the header Authorization: Bearer, followed by the key.</p>
      <pre tabIndex={0}>{made.key}</pre>
      <p class="buttons">
        <CopyButton text={made.key} label="Copy the key" />
        <button type="button" onClick={onClose}>
          Done
        </button>
      </p>
    </Dialog>
  );
}
