import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Coded } from './coded.tsx';

interface FieldProps {
  label: string;
  hint?: string | undefined;
  children(id: string, hintId: string | undefined): ComponentChildren;
}

/** A control with its label and a hint. */
export function Field({ label, hint, children }: FieldProps): JSX.Element {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id, hintId)}
      {hint === undefined ? null : (
        <small id={hintId} class="hint">
          <Coded text={hint} />
        </small>
      )}
    </div>
  );
}
