import { useState } from 'preact/hooks';
import { changedMembers, type Schema, type Values } from '../schema.ts';
import { FormDialog } from './form-dialog.tsx';
import { Members, membersOf } from './schema-field.tsx';
import { TextField } from './text-field.tsx';

interface Props {
  title: string;
  verb: string;
  /** That of the body of the request; undefined: it is loading. */
  schema: Schema | undefined;
  /** What the server has, or what a new one begins with. */
  value?: Values;
  /** Given: a new one has a name, which is typed. */
  naming?: { readonly label: string; readonly hint: string };
  /** Members that the form requires, although the request does not. */
  required?: readonly string[];
  /** Members that are folded, below words. Others are shown first. */
  folded?: Readonly<Record<string, readonly string[]>>;
  /** @param change the members that differ from `value` */
  onSave(change: Values, whole: Values, name: string): void;
  onClose(): void;
}

/** How a new thing is named. */
export const NEW_UID = { label: 'Uid', hint: 'Letters, digits, - and _.' };

/** A form for the body of a request, made from its schema. */
export function SchemaDialog(props: Props): JSX.Element {
  const { title, verb, schema, value = {}, naming, required = [], folded = {} } = props;
  const [name, setName] = useState('');
  const [after, setAfter] = useState(value);
  const all = schema === undefined ? [] : membersOf(schema);
  const hidden = Object.values(folded).flat();
  const members = (names: readonly string[]): JSX.Element => (
    <Members
      schema={{ ...schema, required: [...(schema?.required ?? []), ...required] }}
      value={after}
      names={all.filter((one) => names.includes(one))}
      onChange={(next) => setAfter(next as Values)}
    />
  );
  return (
    <FormDialog
      title={title}
      verb={verb}
      disabled={schema === undefined}
      dirty={name !== '' || JSON.stringify(after) !== JSON.stringify(value)}
      onSubmit={() => props.onSave(changedMembers(schema, value, after), after, name)}
      onClose={props.onClose}
    >
      {naming === undefined ? null : (
        <TextField {...naming} required value={name} onInput={setName} />
      )}
      {members(all.filter((one) => !hidden.includes(one)))}
      {Object.entries(folded).map(([words, names]) => (
        <details key={words}>
          <summary>{words}</summary>
          {members(names)}
        </details>
      ))}
    </FormDialog>
  );
}
