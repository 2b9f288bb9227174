import type { JSX } from 'preact';
import { CheckBox } from '../../parts/check-box.tsx';
import { Choice } from '../../parts/choice.tsx';
import { LinesField } from '../../parts/lines-field.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { choices, takes, type Schema } from '../../schema.ts';
import { spaced } from '../../spaced.ts';
import { JsonField } from './json-field.tsx';

interface Props {
  name: string;
  schema: Schema | undefined;
  value: unknown;
  onChange(value: unknown): void;
}

/** A control for a value, made from its schema. */
export function SchemaField({ name, schema, value, onChange }: Props): JSX.Element {
  const label = spaced(name);
  const options = choices(schema);
  if (options !== undefined) {
    return (
      <Choice
        label={label}
        value={typeof value === 'string' ? value : ''}
        options={[['', 'default'], ...options.map((one) => [one, one] as const)]}
        onChoose={(one) => onChange(one === '' ? null : one)}
      />
    );
  }
  if (takes(schema, 'boolean')) {
    return <CheckBox label={label} checked={value === true} onChange={onChange} />;
  }
  if (takes(schema, 'integer') || takes(schema, 'number')) {
    return (
      <TextField
        label={label}
        type="number"
        step="any"
        value={typeof value === 'number' ? String(value) : ''}
        onInput={(text) => onChange(text === '' ? null : Number(text))}
      />
    );
  }
  if (takes(schema, 'string')) {
    const text = typeof value === 'string' ? value : '';
    const take = (next: string): void => onChange(next === '' ? null : next);
    return /template$|description/i.test(name) ? (
      <LinesField label={label} rows={3} spellcheck={false} value={text} onInput={take} />
    ) : (
      <TextField label={label} value={text} onInput={take} />
    );
  }
  if (takes(schema, 'array') && schema?.items?.type === 'string') {
    return (
      <LinesField
        label={label}
        hint="One per line."
        rows={2}
        spellcheck={false}
        value={((value ?? []) as string[]).join('\n')}
        onInput={(text) => onChange(text === '' ? [] : text.split('\n'))}
      />
    );
  }
  if (schema?.properties !== undefined) {
    return (
      <fieldset>
        <legend>{label}</legend>
        <Members schema={schema} value={value} onChange={onChange} />
      </fieldset>
    );
  }
  return <JsonField label={label} value={value} onChange={onChange} />;
}

interface MembersProps {
  schema: Schema;
  value: unknown;
  /** Names of the members to show; absent: all. */
  names?: readonly string[];
  onChange(value: unknown): void;
}

/** A control for each member of an object. */
export function Members({ schema, value, names, onChange }: MembersProps): JSX.Element {
  const members = (value ?? {}) as Readonly<Record<string, unknown>>;
  const properties = schema.properties ?? {};
  return (
    <div class="members">
      {(names ?? Object.keys(properties)).map((name) => (
        <SchemaField
          key={name}
          name={name}
          schema={properties[name]}
          value={members[name]}
          onChange={(next) => {
            const { [name]: _, ...others } = members;
            // A member that is null where it was absent stays absent.
            onChange(next === null && !(name in members) ? others : { ...members, [name]: next });
          }}
        />
      ))}
    </div>
  );
}
