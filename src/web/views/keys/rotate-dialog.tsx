import { useState } from 'preact/hooks';
import { pathOf } from '../../client.ts';
import { momentFrom } from '../../format.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import type { Tools } from '../../parts/resource.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import { nameOfKey, type Key } from './key.ts';

interface Props {
  keyRecord: Key;
  tools: Tools;
}

/** Gives a key another value. */
export function RotateDialog({ keyRecord, tools }: Props): JSX.Element {
  const { client } = useSession();
  const [until, setUntil] = useState('');
  const rotate = (): void =>
    tools.action.run(async () => {
      const path = pathOf(['keys', keyRecord.uid, 'rotate']);
      const body = { previousExpiresAt: momentFrom(until) };
      tools.open('rotated', await client.send<Key>('POST', path, { body }));
      return `Key ${keyRecord.uid} has another value.`;
    });
  return (
    <FormDialog
      title={`Rotate ${nameOfKey(keyRecord)}`}
      verb="Rotate"
      onSubmit={rotate}
      onClose={tools.close}
    >
      <p>
        The key gets another value. Programs may use the present one, and tenant tokens signed with
        it, until they have the other.
      </p>
      <TextField
        label="The present value works until"
        hint="Empty: for a day."
        type="datetime-local"
        value={until}
        onInput={setUntil}
      />
    </FormDialog>
  );
}
