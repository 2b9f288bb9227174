import { Field } from './field.tsx';

interface LinesFieldProps {
  label: string;
  hint?: string | undefined;
  value: string;
  /** Visible lines; absent: the default of the browser. */
  rows?: number;
  /** Whether the browser checks the spelling; absent: the default of the browser. */
  spellcheck?: boolean;
  onInput(value: string): void;
  onKeyDown?(event: KeyboardEvent): void;
}

/** A text field with several lines. */
export function LinesField(props: LinesFieldProps): JSX.Element {
  const { label, hint, value, rows, spellcheck, onInput, onKeyDown } = props;
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => (
        <textarea
          id={id}
          class="lines"
          rows={rows}
          aria-describedby={hintId}
          spellcheck={spellcheck}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={onKeyDown}
        />
      )}
    </Field>
  );
}
