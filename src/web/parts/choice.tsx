import { Field } from './field.tsx';

interface ChoiceProps {
  label: string;
  hint?: string | undefined;
  value: string;
  /** Values with their labels. */
  options: readonly (readonly [value: string, shown: string])[];
  onChoose(value: string): void;
}

export function Choice({ label, hint, value, options, onChoose }: ChoiceProps): JSX.Element {
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => (
        <select
          id={id}
          aria-describedby={hintId}
          value={value}
          onChange={(event) => onChoose(event.currentTarget.value)}
        >
          {options.map(([option, shown]) => (
            <option key={option} value={option} selected={option === value}>
              {shown}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
