import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { FormDialog } from './form-dialog.tsx';
import { TextField } from './text-field.tsx';

interface ConfirmProps {
  title: string;
  /** Explains what is deleted: a text, or paragraphs. */
  warning: ComponentChildren;
  /** The text to type. */
  name: string;
  verb: string;
  /** Whether the warning is complete, if it takes time. */
  isReady?: boolean;
  onClose(): void;
  onConfirm(): void;
}

/** Confirms an action that cannot be undone: you must type the name. */
export function Confirm({
  title,
  warning,
  name,
  verb,
  isReady = true,
  onClose,
  onConfirm,
}: ConfirmProps): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <FormDialog
      title={title}
      verb={verb}
      isDangerous
      disabled={typed !== name || !isReady}
      onSubmit={onConfirm}
      onClose={onClose}
    >
      {typeof warning === 'string' ? <p>{warning}</p> : warning}
      <TextField label={`Type ${name} to continue`} value={typed} onInput={setTyped} />
    </FormDialog>
  );
}
