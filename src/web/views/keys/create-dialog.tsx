import { useState } from 'preact/hooks';
import { description, keyActions } from '../../description.ts';
import { momentFrom } from '../../format.ts';
import { useLoaded } from '../../hooks.ts';
import { PRESETS } from '../../key-presets.ts';
import { CheckList } from '../../parts/check-list.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import type { Tools } from '../../parts/resource.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import type { Key } from './key.ts';
import { CUSTOM, PresetChoice } from './preset-choice.tsx';

export function CreateDialog({ tools }: { tools: Tools }): JSX.Element {
  const { client } = useSession();
  const [preset, setPreset] = useState('search');
  const [custom, setCustom] = useState<readonly string[]>(['search']);
  const [name, setName] = useState('');
  const [text, setText] = useState('');
  const [indexes, setIndexes] = useState('*');
  const [expires, setExpires] = useState('');
  const chosen = PRESETS.find((one) => one.name === preset);
  const actions = chosen?.actions ?? custom;
  const create = (): void =>
    tools.action.run(async () => {
      const body = {
        name: name === '' ? (chosen?.title ?? null) : name,
        description: text === '' ? null : text,
        actions,
        indexes: chosen?.ofIndexes === false ? ['*'] : uidsIn(indexes),
        expiresAt: momentFrom(expires),
      };
      const made = await client.send<Key>('POST', '/keys', { body });
      tools.open('made', made);
      return `Key ${made.uid} was created.`;
    });
  return (
    <FormDialog
      title="Create a key"
      verb="Create"
      disabled={actions.length === 0}
      onSubmit={create}
      onClose={tools.close}
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
      <TextField
        label="Expires"
        hint="Empty: never."
        type="datetime-local"
        value={expires}
        onInput={setExpires}
      />
    </FormDialog>
  );
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
