import { Dialog } from '../../parts/dialog.tsx';
import type { Change } from '../../settings-draft.ts';
import { spaced } from '../../spaced.ts';
import { Difference } from './difference.tsx';

interface Props {
  title: string;
  /** On the button. */
  verb: string;
  changes: readonly Change[];
  /** What the change costs, as sentences. */
  cost: string;
  onSave(): void;
  onClose(): void;
}

/** What a change does to settings, before it does. */
export function Review({ title, verb, changes, cost, onSave, onClose }: Props): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
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
          {verb}
        </button>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}
