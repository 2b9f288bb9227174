import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CheckBox } from '../../parts/check-box.tsx';
import { Choice } from '../../parts/choice.tsx';
import { Icon } from '../../parts/icon.tsx';
import { LinesField } from '../../parts/lines-field.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { choices, takes, type Schema } from '../../schema.ts';
import { spaced } from '../../spaced.ts';
import { JsonField } from './json-field.tsx';

interface Props {
  name: string;
  /** Absent: the name in words. */
  label?: string;
  schema: Schema | undefined;
  value: unknown;
  onChange(value: unknown): void;
}

/** A control for a value, made from its schema. */
export function SchemaField(props: Props): JSX.Element {
  const { name, schema, value, onChange, label = spaced(name) } = props;
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
  return <Compound {...props} label={label} />;
}

/** A control for a list or an object. */
function Compound({ label, schema, value, onChange }: Props & { label: string }): JSX.Element {
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
  if (takes(schema, 'array') && schema?.items?.properties !== undefined) {
    const items = (value ?? []) as readonly unknown[];
    return <Items label={label} schema={schema.items} items={items} onChange={onChange} />;
  }
  if (schema?.properties !== undefined) {
    return (
      <fieldset>
        <legend>{label}</legend>
        <Members schema={schema} value={value} onChange={onChange} />
      </fieldset>
    );
  }
  const one = schema?.additionalProperties;
  if (typeof one === 'object' && (takes(one, 'string') || one.properties !== undefined)) {
    const entries = (value ?? {}) as Entries;
    return <Named label={label} schema={one} entries={entries} onChange={onChange} />;
  }
  return <JsonField label={label} value={value} onChange={onChange} />;
}

interface ItemsProps {
  label: string;
  /** That of one of them. */
  schema: Schema;
  items: readonly unknown[];
  onChange(items: readonly unknown[]): void;
}

/** A list of objects, each with its controls. */
function Items({ label, schema, items, onChange }: ItemsProps): JSX.Element {
  return (
    <>
      {items.map((item, at) => (
        <fieldset key={at}>
          <legend>
            {label} {at + 1}
          </legend>
          <Members
            schema={schema}
            value={item}
            onChange={(next) => onChange(items.map((one, index) => (index === at ? next : one)))}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => onChange(items.filter((_, index) => index !== at))}
          >
            Remove
            <span class="unseen">
              {' '}
              {label} {at + 1}
            </span>
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => onChange([...items, {}])}>
        <Icon name="plus" /> Add<span class="unseen"> to {label.toLowerCase()}</span>
      </button>
    </>
  );
}

type Entries = Readonly<Record<string, unknown>>;

interface NamedProps {
  label: string;
  /** That of a value. */
  schema: Schema;
  entries: Entries;
  onChange(entries: Entries): void;
}

/** Values by names that people choose. */
function Named({ label, schema, entries, onChange }: NamedProps): JSX.Element {
  const [typed, setTyped] = useState('');
  const first = choices(schema)?.[0] ?? (schema.properties === undefined ? '' : {});
  const add = (): void => {
    onChange({ ...entries, [typed]: first });
    setTyped('');
  };
  return (
    <fieldset>
      <legend>{label}</legend>
      {Object.entries(entries).map(([name, value]) => (
        <div key={name} class="row">
          <SchemaField
            name={name}
            label={name}
            schema={schema}
            value={value}
            onChange={(next) => onChange({ ...entries, [name]: next ?? first })}
          />
          <button
            type="button"
            class="quiet"
            onClick={() => {
              const { [name]: _, ...others } = entries;
              onChange(others);
            }}
          >
            Remove<span class="unseen"> {name}</span>
          </button>
        </div>
      ))}
      <div class="row">
        <TextField label={`Add to ${label.toLowerCase()}`} value={typed} onInput={setTyped} />
        <button type="button" disabled={typed === '' || typed in entries} onClick={add}>
          <Icon name="plus" /> Add
        </button>
      </div>
    </fieldset>
  );
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
