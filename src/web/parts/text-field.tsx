import { Field } from './field.tsx';

interface TextFieldProps {
  label: string;
  hint?: string | undefined;
  value: string;
  type?: 'text' | 'password' | 'number' | 'url' | 'search' | 'datetime-local';
  list?: string;
  required?: boolean | undefined;
  step?: string;
  onInput(value: string): void;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { label, hint, value, type = 'text', list, required = false, step, onInput } = props;
  return (
    <Field label={label} hint={hint}>
      {(id, hintId) => (
        <input
          id={id}
          // The attributes used here are valid for all these types.
          type={type as 'text'}
          value={value}
          list={list}
          required={required}
          step={step}
          aria-describedby={hintId}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
