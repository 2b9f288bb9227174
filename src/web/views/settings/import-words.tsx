import { useState } from 'preact/hooks';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { LinesField } from '../../parts/lines-field.tsx';

interface Props {
  title: string;
  hint: string;
  /** Takes the text. Throws an error with a message for the person who pasted it. */
  onImport(text: string): void;
  onClose(): void;
}

/** Imports pasted text, or a file. */
export function ImportWords({ title, hint, onImport, onClose }: Props): JSX.Element {
  const [text, setText] = useState('');
  return (
    <FormDialog
      title={title}
      verb="Add"
      disabled={text.trim() === ''}
      onSubmit={() => onImport(text)}
      onClose={onClose}
    >
      <input
        type="file"
        aria-label="A file with the text"
        onChange={(event) => void event.currentTarget.files?.[0]?.text().then(setText)}
      />
      <LinesField label="Text" hint={hint} rows={10} value={text} onInput={setText} />
    </FormDialog>
  );
}
