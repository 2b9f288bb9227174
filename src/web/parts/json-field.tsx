import { useState } from 'preact/hooks';
import { indentJson, parseJson } from '../format.ts';
import { Field } from './field.tsx';
import { Problem } from './problem.tsx';

interface Props {
  label: string;
  hint?: string | undefined;
  value: unknown;
  onChange(value: unknown): void;
}

/** A value as JSON. While the text is not valid, the value stays, and the text too. */
export function JsonField({ label, hint = 'As JSON.', value, onChange }: Props): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const text = typed ?? (value === undefined ? '' : indentJson(JSON.stringify(value)));
  const take = (next: string): void => {
    setTyped(next);
    try {
      onChange(next.trim() === '' ? null : parseJson(next));
      setProblem(null);
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <>
      <Field label={label} hint={hint}>
        {(id, hintId) => (
          <textarea
            id={id}
            // A form is not sent while the text is not valid.
            ref={(element) => element?.setCustomValidity(problem?.message ?? '')}
            class="lines"
            aria-describedby={hintId}
            spellcheck={false}
            rows={Math.min(12, text.split('\n').length + 1)}
            value={text}
            onInput={(event) => take(event.currentTarget.value)}
            // What the server would send back is shown when the field is left.
            onBlur={() => problem === null && setTyped(null)}
          />
        )}
      </Field>
      <Problem error={problem} />
    </>
  );
}
