import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Choice } from './choice.tsx';
import { FormDialog } from './form-dialog.tsx';

interface Props {
  title: string;
  uid: string;
  /** Those of all indexes. */
  uids: readonly string[];
  label: string;
  button: string;
  /** What is done to the two indexes. */
  children: ComponentChildren;
  onChoose(other: string): void;
  onClose(): void;
}

/** Asks for an index other than `uid`, to do something with both. */
export function OtherIndex(props: Props): JSX.Element {
  const { title, uid, uids, label, button, children, onChoose, onClose } = props;
  const others = uids.filter((other) => other !== uid);
  const [other, setOther] = useState(others[0] ?? '');
  return (
    <FormDialog
      title={title}
      verb={button}
      disabled={other === ''}
      onSubmit={() => onChoose(other)}
      onClose={onClose}
    >
      <p>{children}</p>
      {others.length === 0 ? (
        <p class="note">There is no other index.</p>
      ) : (
        <Choice
          label={label}
          value={other}
          options={others.map((one) => [one, one])}
          onChoose={setOther}
        />
      )}
    </FormDialog>
  );
}
