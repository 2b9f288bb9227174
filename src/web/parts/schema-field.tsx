import { useState } from 'preact/hooks';
import { CheckBox } from './check-box.tsx';
import { Choice } from './choice.tsx';
import { Icon } from './icon.tsx';
import { LinesField } from './lines-field.tsx';
import { TextField } from './text-field.tsx';
import { localMoment, momentFrom } from '../format.ts';
import { choices, takes, type Schema } from '../schema.ts';
import { useIndexes } from '../shell/indexes-context.tsx';
import { spaced } from '../spaced.ts';
import { JsonField } from './json-field.tsx';

interface Props {
  name: string;
  /** Absent: the title of the schema, or the name in words. */
  label?: string;
  schema: Schema | undefined;
  value: unknown;
  required?: boolean;
  onChange(value: unknown): void;
}

/** Names of texts that have several lines. */
const LONG = /template$|description|^system$|Param$/i;

/** A control for a value, made from its schema. */
export function SchemaField(props: Props): JSX.Element {
  const { name, schema, value, required, onChange } = props;
  const label = props.label ?? schema?.title ?? spaced(name);
  const text = typeof value === 'string' ? value : '';
  const shared = { label, hint: schema?.description, value: text, required };
  const take = (next: string): void => onChange(next === '' ? null : next);
  const options = choices(schema);
  if (options !== undefined) {
    const pairs = options.map((one) => [one, one] as const);
    return <Choice {...shared} options={[['', 'default'], ...pairs]} onChoose={take} />;
  }
  if (takes(schema, 'boolean')) {
    const words = schema?.['x-words'];
    return words === undefined ? (
      <CheckBox label={label} checked={value === true} onChange={onChange} />
    ) : (
      <Choice
        {...shared}
        value={String(value ?? '')}
        options={Object.entries(words)}
        onChoose={(one) => onChange(one === '' ? null : one === 'true')}
      />
    );
  }
  if (takes(schema, 'integer') || takes(schema, 'number')) {
    return (
      <TextField
        {...shared}
        type="number"
        step="any"
        value={typeof value === 'number' ? String(value) : ''}
        onInput={(typed) => onChange(typed === '' ? null : Number(typed))}
      />
    );
  }
  if (!takes(schema, 'string')) return <Compound {...props} label={label} />;
  switch (schema?.['x-format']) {
    case 'moment':
      return (
        <TextField
          {...shared}
          type="datetime-local"
          value={localMoment(text)}
          onInput={(typed) => onChange(momentFrom(typed))}
        />
      );
    case 'http-url':
      return <TextField {...shared} type="url" onInput={take} />;
    case 'index-uid':
      return takes(schema, 'null') ? (
        <IndexChoice {...shared} onChoose={take} />
      ) : (
        <TextField {...shared} onInput={take} />
      );
  }
  if (LONG.test(name)) return <LinesField {...shared} rows={3} spellcheck={false} onInput={take} />;
  const type = /key$/i.test(name) && name !== 'primaryKey' ? 'password' : 'text';
  return <TextField {...shared} type={type} onInput={take} />;
}

interface IndexProps {
  label: string;
  value: string;
  onChoose(uid: string): void;
}

/** An index, or any. A key that may not list indexes has a field for the uid. */
function IndexChoice({ label, value, onChoose }: IndexProps): JSX.Element {
  const known = useIndexes().list.map(({ uid }) => uid);
  if (known.length === 0) {
    return <TextField label={label} hint="Empty: any index." value={value} onInput={onChoose} />;
  }
  const uids = [...new Set([...known, value])].filter((uid) => uid !== '');
  const options = uids.map((uid) => [uid, uid] as const);
  return (
    <Choice
      label={label}
      value={value}
      options={[['', 'any index'], ...options]}
      onChoose={onChoose}
    />
  );
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
    const members = <Members schema={schema} value={value} onChange={onChange} />;
    if (label === '') return members;
    return (
      <fieldset>
        <legend>{label}</legend>
        {members}
      </fieldset>
    );
  }
  const one = schema?.additionalProperties;
  if (typeof one === 'object' && (takes(one, 'string') || one.properties !== undefined)) {
    const entries = (value ?? {}) as Entries;
    return <Named label={label} schema={one} entries={entries} onChange={onChange} />;
  }
  return <JsonField label={label} hint={schema?.description} value={value} onChange={onChange} />;
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
  const { title } = schema;
  const nameOf = (at: number): string => `${title ?? label} ${at + 1}`;
  const list = (
    <>
      {items.map((item, at) => (
        <fieldset key={at}>
          <legend>{nameOf(at)}</legend>
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
            Remove<span class="unseen"> {nameOf(at).toLowerCase()}</span>
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => onChange([...items, initialOf(schema) ?? {}])}>
        <Icon name="plus" /> Add
        {title === undefined ? (
          <span class="unseen"> to {label.toLowerCase()}</span>
        ) : (
          ` a ${title.toLowerCase()}`
        )}
      </button>
    </>
  );
  if (title === undefined) return list;
  return (
    <fieldset>
      <legend>{label}</legend>
      {list}
    </fieldset>
  );
}

/** What a required value begins with. */
function initialOf(schema: Schema): unknown {
  const { properties, required = [] } = schema;
  if (schema.enum !== undefined) return schema.enum[0];
  if (takes(schema, 'string')) return '';
  if (takes(schema, 'array')) return [];
  if (properties === undefined) return schema.minimum ?? null;
  return Object.fromEntries(required.map((name) => [name, initialOf(properties[name]!)]));
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

/** The members that can be changed. One with a single value need not be shown. */
export function membersOf({ properties = {}, required = [] }: Schema): string[] {
  return Object.entries(properties)
    .filter(([name, { not, enum: values }]) => {
      const isFixed = required.includes(name) && values?.length === 1;
      return not === undefined && !isFixed;
    })
    .map(([name]) => name);
}

/** A control for each member of an object. */
export function Members({ schema, value, names, onChange }: MembersProps): JSX.Element {
  const members = (value ?? {}) as Entries;
  const { properties = {}, required = [] } = schema;
  return (
    <div class="members">
      {(names ?? membersOf(schema)).map((name) => (
        <SchemaField
          key={name}
          name={name}
          schema={properties[name]}
          value={members[name]}
          required={required.includes(name)}
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
