import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { description, keyActions } from '../../description.ts';
import { useLoaded } from '../../hooks.ts';
import { PRESETS } from '../../key-presets.ts';
import { CheckList } from '../../parts/check-list.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import { CUSTOM, PresetChoice } from './preset-choice.tsx';

interface Props {
  onClose(): void;
  onCreate(body: Record<string, unknown>): void;
}

export function CreateDialog({ onClose, onCreate }: Props): JSX.Element {
  const [preset, setPreset] = useState('search');
  const [custom, setCustom] = useState<readonly string[]>(['search']);
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const [indexes, setIndexes] = useState('*');
  const [expires, setExpires] = useState('');
  const chosen = PRESETS.find((one) => one.name === preset);
  const actions = chosen?.actions ?? custom;
  return (
    <Dialog title="Create a key" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onCreate({
            name: name === '' ? (chosen?.title ?? null) : name,
            description: text === '' ? null : text,
            actions,
            indexes: chosen?.ofIndexes === false ? ['*'] : uidsIn(indexes),
            expiresAt: expires === '' ? null : new Date(expires).toISOString(),
          });
          onClose();
        }}
      >
        <PresetChoice
          chosen={preset}
          onChoose={(next) => {
            // The list begins with what the preset allows.
            if (next === CUSTOM) setCustom(actions);
            setPreset(next);
          }}
        />
        {chosen === undefined ? (
          <AllActions chosen={custom} onChoose={setCustom} />
        ) : (
          <p class="note">
            {chosen.caution} It may: {chosen.actions.join(', ')}.
          </p>
        )}
        <TextField label="Name" value={name} onInput={setName} />
        <TextField label="Description" value={text} onInput={setText} />
        {chosen?.ofIndexes === false ? null : (
          <TextField
            label="Indexes"
            hint="Uids separated by commas. A * at the end matches any ending; * alone matches all indexes."
            required
            value={indexes}
            onInput={setIndexes}
          />
        )}
        <ExpiryField value={expires} onInput={setExpires} />
        <button type="submit" disabled={actions.length === 0}>
          Create
        </button>
      </form>
    </Dialog>
  );
}

function ExpiryField(props: { value: string; onInput(value: string): void }): JSX.Element {
  return <TextField label="Expires" hint="Empty: never." type="datetime-local" {...props} />;
}

function uidsIn(text: string): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

interface ActionsProps {
  chosen: readonly string[];
  onChoose(actions: readonly string[]): void;
}

function AllActions({ chosen, onChoose }: ActionsProps): JSX.Element {
  const { client } = useSession();
  const known = useLoaded(async () => keyActions(await description(client)), [client]);
  return (
    <fieldset class="facet actions">
      <legend>May do</legend>
      <CheckList
        values={known.value ?? []}
        chosen={chosen}
        onChoose={onChoose}
        text={(name) => <span>{name === '*' ? '* (everything)' : name}</span>}
      />
    </fieldset>
  );
}
