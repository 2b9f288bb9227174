import { useState } from 'preact/hooks';
import { count, counted } from '../../format.ts';
import { Icon } from '../../parts/icon.tsx';
import { wordsFrom } from '../../settings-draft.ts';
import { ImportWords } from './import-words.tsx';

/** Words shown at once. The others are found by typing. */
const SHOWN_MAX = 100;

interface Props {
  /** What the list holds, such as `stop words`. */
  label: string;
  value: readonly string[];
  onChange(value: readonly string[]): void;
}

/** A set of words: found and added in one field, removed by a click, imported as text. */
export function WordsEditor({ label, value, onChange }: Props): JSX.Element {
  const [typed, setTyped] = useState('');
  const [importing, setImporting] = useState(false);
  const found = value.filter((word) => word.toLowerCase().includes(typed.toLowerCase()));
  const isNew = typed !== '' && !value.includes(typed);
  const add = (words: readonly string[]): void => {
    onChange([...new Set([...value, ...words])]);
    setTyped('');
  };
  return (
    <>
      <p class="buttons">
        <input
          aria-label={`Find or add: ${label}`}
          placeholder="Find or add"
          value={typed}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            event.preventDefault();
            if (isNew) add([typed]);
          }}
        />
        <button type="button" disabled={!isNew} onClick={() => add([typed])}>
          <Icon name="plus" /> Add<span class="unseen"> to {label}</span>
        </button>
        <button type="button" class="quiet" onClick={() => setImporting(true)}>
          Import<span class="unseen"> {label}</span>
        </button>
        {value.length === 0 ? null : <span class="count">{count(value.length)}</span>}
      </p>
      <ul class="chips" aria-label={label}>
        {found.slice(0, SHOWN_MAX).map((word) => (
          <li key={word}>
            <button type="button" onClick={() => onChange(value.filter((one) => one !== word))}>
              <span class="unseen">Remove </span>
              {word} <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      {found.length > SHOWN_MAX ? (
        <p class="note">
          {counted(SHOWN_MAX, 'word')} of {count(found.length)} are shown. Type to find others.
        </p>
      ) : null}
      {importing ? (
        <ImportWords
          title={`Import ${label}`}
          hint="One per line, or a JSON array."
          onImport={(text) => add(wordsFrom(text))}
          onClose={() => setImporting(false)}
        />
      ) : null}
    </>
  );
}
