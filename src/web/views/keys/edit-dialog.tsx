import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/text-field.tsx';
import type { Key } from './key.ts';

interface Props {
  keyRecord: Key;
  onClose(): void;
  onSave(body: Record<string, unknown>): void;
}

export function EditDialog({ keyRecord, onClose, onSave }: Props): JSX.Element {
  const [name, setName] = useState(keyRecord.name ?? '');
  const [text, setText] = useState(keyRecord.description ?? '');
  return (
    <Dialog title={`Edit ${keyRecord.name ?? keyRecord.uid}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onSave({ name: name === '' ? null : name, description: text === '' ? null : text });
          onClose();
        }}
      >
        <p>The actions of a key cannot be changed. Create another key instead.</p>
        <TextField label="Name" value={name} onInput={setName} />
        <TextField label="Description" value={text} onInput={setText} />
        <button type="submit">Save</button>
      </form>
    </Dialog>
  );
}
