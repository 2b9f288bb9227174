import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Choice } from '../../parts/choice.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { useIndexes } from '../../shell/indexes-context.tsx';

interface Props {
  uid: string;
  onCopy(to: string): void;
  onClose(): void;
}

export function CopySettings({ uid, onCopy, onClose }: Props): JSX.Element {
  const others = useIndexes().list.filter((one) => one.uid !== uid);
  const [to, setTo] = useState(others[0]?.uid ?? '');
  return (
    <Dialog title={`Copy the settings of ${uid}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onCopy(to);
          onClose();
        }}
      >
        <p>
          All saved settings of {uid} replace those of the other index. Its documents are indexed
          again. Embedders are not copied, because their keys are not shown.
        </p>
        {others.length === 0 ? (
          <p class="note">There is no other index.</p>
        ) : (
          <Choice
            label="To"
            value={to}
            options={others.map((one) => [one.uid, one.uid])}
            onChoose={setTo}
          />
        )}
        <button type="submit" disabled={to === ''}>
          Copy
        </button>
      </form>
    </Dialog>
  );
}
