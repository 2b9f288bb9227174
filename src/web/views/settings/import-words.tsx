import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from '../../parts/dialog.tsx';
import { LinesField } from '../../parts/lines-field.tsx';
import { Problem } from '../../parts/problem.tsx';

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
  const [problem, setProblem] = useState<Error | null>(null);
  const take = (): void => {
    try {
      onImport(text);
      onClose();
    } catch (error) {
      setProblem(error as Error);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          take();
        }}
      >
        <Problem error={problem} />
        <input
          type="file"
          aria-label="A file with the text"
          onChange={(event) => void event.currentTarget.files?.[0]?.text().then(setText)}
        />
        <LinesField label="Text" hint={hint} rows={10} value={text} onInput={setText} />
        <button type="submit" disabled={text.trim() === ''}>
          Add
        </button>
      </form>
    </Dialog>
  );
}
