import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pathOf } from '../client.ts';
import { description, settingSchemas } from '../description.ts';
import { indentJson, parseJson } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { settingsOf, type IndexEntry } from '../indexes.ts';
import { Coded } from '../parts/coded.tsx';
import { Field } from '../parts/field.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { choices, settingChange, takes, type Schema } from '../schema.ts';
import { useSession } from '../session.ts';
import { finish } from '../tasks.ts';
import { OfIndex } from './index-picker.tsx';

export function SettingsView({ uid }: { uid: string | null }): JSX.Element {
  return (
    <OfIndex view="settings" uid={uid}>
      {(index) => <AllSettings index={index} />}
    </OfIndex>
  );
}

function AllSettings({ index }: { index: IndexEntry }): JSX.Element {
  const { client } = useSession();
  const [sought, setSought] = useState('');
  const loaded = useLoaded(
    async (signal) => ({
      values: await settingsOf(client, index.uid, signal),
      schemas: settingSchemas(await description(client)),
    }),
    [client, index.uid],
  );
  const { values = {}, schemas = {} } = loaded.value ?? {};
  const names = Object.keys(values).filter((name) =>
    `${spaced(name)} ${name} ${schemas[name]?.description ?? ''}`
      .toLowerCase()
      .includes(sought.toLowerCase()),
  );
  return (
    <>
      <Problem error={loaded.error} />
      <TextField label="Find a setting" type="search" value={sought} onInput={setSought} />
      {names.map((name) => (
        <SettingForm
          key={name}
          uid={index.uid}
          name={name}
          value={values[name]}
          schema={schemas[name]}
          onSaved={loaded.reload}
        />
      ))}
    </>
  );
}

/** `maxTotalHits` to `Max total hits`. */
export function spaced(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Describes the cost of changing a setting, by the parts of the index that it rebuilds. */
function costWords(rebuilt: readonly string[]): string {
  if (rebuilt.includes('vectors')) {
    return 'A change may compute the embeddings of all documents again, which takes time and, with a paid provider, money.';
  }
  if (rebuilt.includes('text')) return 'A change indexes all documents again, in the background.';
  if (rebuilt.includes('columns')) {
    return 'A change reads the filter and sort values of all documents again, in the background.';
  }
  return 'A change takes effect with the next search.';
}

interface FormProps {
  uid: string;
  name: string;
  value: unknown;
  schema: Schema | undefined;
  onSaved(): void;
}

function SettingForm({ uid, name, value, schema, onSaved }: FormProps): JSX.Element {
  const { client } = useSession();
  const action = useAction();
  const [draft, setDraft] = useState<string | null>(null);
  const editor = editorOf(schema);
  const text = draft ?? editor.write(value);
  const save = (change: () => unknown): void =>
    action.run(async () => {
      const path = pathOf(['indexes', uid, 'settings']);
      const outcome = await finish(client, 'PATCH', path, { [name]: change() });
      setDraft(null);
      onSaved();
      return outcome;
    });
  return (
    <form
      class="setting"
      aria-label={spaced(name)}
      onSubmit={(event) => {
        event.preventDefault();
        save(() => settingChange(schema, value, editor.read(text)));
      }}
    >
      <h2>{spaced(name)}</h2>
      <p>
        <Coded text={schema?.description ?? ''} />
      </p>
      <Field label={name} hint={`${editor.hint}${costWords(schema?.['x-makes-anew'] ?? [])}`}>
        {(id, hintId) => (
          <Control id={id} hintId={hintId} editor={editor} text={text} onInput={setDraft} />
        )}
      </Field>
      <p class="buttons">
        <button type="submit" disabled={draft === null || action.running}>
          Save
        </button>
        {draft === null ? null : (
          <button type="button" onClick={() => setDraft(null)}>
            Undo
          </button>
        )}
        <button
          type="button"
          class="quiet"
          disabled={action.running}
          onClick={() => save(() => null)}
        >
          Restore the default
        </button>
      </p>
      <Outcome action={action} />
    </form>
  );
}

interface ControlProps {
  id: string;
  hintId: string | undefined;
  editor: Editor;
  text: string;
  onInput(text: string): void;
}

function Control({ id, hintId, editor, text, onInput }: ControlProps): JSX.Element {
  return editor.options === null ? (
    <textarea
      id={id}
      class={editor.lines ? 'lines' : ''}
      aria-describedby={hintId}
      spellcheck={false}
      value={text}
      rows={Math.min(16, text.split('\n').length + 1)}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  ) : (
    <select
      id={id}
      aria-describedby={hintId}
      onChange={(event) => onInput(event.currentTarget.value)}
    >
      {editor.options.map((option) => (
        <option key={option} value={option} selected={option === text}>
          {option}
        </option>
      ))}
    </select>
  );
}

/** Edits a setting as text. */
interface Editor {
  readonly hint: string;
  /** Whether each line is a value. */
  readonly lines: boolean;
  /** null: free text. */
  readonly options: readonly string[] | null;
  write(value: unknown): string;
  read(text: string): unknown;
}

function editorOf(schema: Schema | undefined): Editor {
  if (takes(schema, 'array') && schema?.items?.type === 'string') {
    return {
      hint: 'One per line. ',
      lines: true,
      options: null,
      write: (value) => (value as string[]).join('\n'),
      read: (text) => text.split('\n').filter((line) => line !== ''),
    };
  }
  const names = choices(schema);
  if (names !== undefined) return chosen(names, String, (text) => text);
  if (takes(schema, 'boolean')) {
    return chosen(['true', 'false'], String, (text) => text === 'true');
  }
  if (takes(schema, 'integer')) {
    return {
      hint: 'A whole number. Empty: the default. ',
      lines: true,
      options: null,
      write: (value) => (value === null ? '' : String(value)),
      read: (text) => (text.trim() === '' ? null : Number(text)),
    };
  }
  if (takes(schema, 'string')) {
    return {
      hint: 'Empty: none. ',
      lines: true,
      options: null,
      write: (value) => (value as string | null) ?? '',
      read: (text) => (text === '' ? null : text),
    };
  }
  return {
    hint: 'As JSON. ',
    lines: false,
    options: null,
    write: (value) => indentJson(JSON.stringify(value)),
    read: parseJson,
  };
}

function chosen(options: readonly string[], write: Editor['write'], read: Editor['read']): Editor {
  return { hint: '', lines: false, options, write, read };
}
