import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';
import { TextField } from './text-field.tsx';

interface ConfirmProps {
  title: string;
  /** Explains what is deleted. */
  warning: string;
  /** The text to type. */
  name: string;
  verb: string;
  onClose(): void;
  onConfirm(): void;
}

/** Confirms an action that cannot be undone: you must type the name. */
export function Confirm({
  title,
  warning,
  name,
  verb,
  onClose,
  onConfirm,
}: ConfirmProps): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== name) return;
          onConfirm();
          onClose();
        }}
      >
        <p>{warning}</p>
        <TextField label={`Type ${name} to continue`} value={typed} onInput={setTyped} />
        <p class="buttons">
          <button type="submit" class="danger" disabled={typed !== name}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </Dialog>
  );
}
