import { Dialog } from '../../parts/dialog.tsx';
import type { Change } from '../../settings-draft.ts';
import { spaced } from '../../spaced.ts';
import { Difference } from './difference.tsx';

interface Props {
  changes: readonly Change[];
  /** What saving costs, as sentences. */
  cost: string;
  onSave(): void;
  onClose(): void;
}

/** What a save changes, before it does. */
export function Review({ changes, cost, onSave, onClose }: Props): JSX.Element {
  return (
    <Dialog title="Save these changes?" onClose={onClose}>
      <p>{cost}</p>
      {changes.map(({ name, before, after }) => (
        <section key={name} aria-label={`Change of ${spaced(name).toLowerCase()}`}>
          <h3>{spaced(name)}</h3>
          {after === null ? (
            <p class="note">The default is restored.</p>
          ) : (
            <Difference before={before} after={after} />
          )}
        </section>
      ))}
      <p class="buttons">
        <button
          type="button"
          class="primary"
          onClick={() => {
            onSave();
            onClose();
          }}
        >
          Save
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}
