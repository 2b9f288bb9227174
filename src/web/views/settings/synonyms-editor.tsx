import { useState } from 'preact/hooks';
import { useAddress } from '../../address.ts';
import { count } from '../../format.ts';
import { CheckBox } from '../../parts/check-box.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Table } from '../../parts/table.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { synonymsFrom } from '../../settings-draft.ts';
import { ImportWords } from './import-words.tsx';

type Synonyms = Readonly<Record<string, readonly string[]>>;

/** Rows shown at once. The others are found by typing. */
const SHOWN_MAX = 100;

interface Props {
  value: Synonyms;
  onChange(value: Synonyms): void;
}

export function SynonymsEditor({ value, onChange }: Props): JSX.Element {
  const [sought, setSought] = useState('');
  const [importing, setImporting] = useState(false);
  const words = Object.keys(value);
  const found = words.filter((word) =>
    `${word} ${value[word]!.join(' ')}`.toLowerCase().includes(sought.toLowerCase()),
  );
  return (
    <>
      <AddSynonym value={value} onChange={onChange} />
      <p class="buttons">
        <button type="button" class="quiet" onClick={() => setImporting(true)}>
          Import<span class="unseen"> synonyms</span>
        </button>
        {words.length === 0 ? null : (
          <>
            <input
              type="search"
              aria-label="Find synonyms"
              placeholder="Find"
              value={sought}
              onInput={(event) => setSought(event.currentTarget.value)}
            />
            <span class="count">
              {count(found.length)} of {count(words.length)}
            </span>
          </>
        )}
      </p>
      {found.length === 0 ? null : (
        <SynonymTable words={found.slice(0, SHOWN_MAX)} value={value} onChange={onChange} />
      )}
      {importing ? (
        <ImportWords
          title="Import synonyms"
          hint="One line for each: “word: other, other”, or “word, other” for words that find each other. Or a JSON object."
          onImport={(text) => onChange({ ...value, ...synonymsFrom(text) })}
          onClose={() => setImporting(false)}
        />
      ) : null}
    </>
  );
}

function AddSynonym({ value, onChange }: Props): JSX.Element {
  // Analytics lead here with a query that found nothing.
  const [word, setWord] = useState(useAddress().query.synonym ?? '');
  const [others, setOthers] = useState('');
  const [both, setBoth] = useState(true);
  const add = (): void => {
    const text = both ? `${word}, ${others}` : `${word}: ${others}`;
    const added = synonymsFrom(text);
    const merged = Object.entries(added).map(([one, more]) => [
      one,
      [...new Set([...(value[one] ?? []), ...more])],
    ]);
    onChange({ ...value, ...(Object.fromEntries(merged) as Synonyms) });
    setWord('');
    setOthers('');
  };
  return (
    <div class="row">
      <TextField label="Word" value={word} onInput={setWord} />
      <TextField
        label="Also finds"
        hint="Separated by commas."
        value={others}
        onInput={setOthers}
      />
      <CheckBox label="in both directions" checked={both} onChange={setBoth} />
      <button type="button" disabled={word === '' || others.trim() === ''} onClick={add}>
        <Icon name="plus" /> Add<span class="unseen"> synonyms</span>
      </button>
    </div>
  );
}

function SynonymTable({ words, value, onChange }: Props & { words: string[] }): JSX.Element {
  const remove = (word: string): void => {
    const { [word]: _, ...rest } = value;
    onChange(rest);
  };
  return (
    <Table
      label="Table of synonyms"
      rows={words}
      keyOf={(word) => word}
      columns={[
        { title: 'Word', cell: (word) => word },
        { title: 'Also finds', cell: (word) => value[word]!.join(', ') },
        {
          title: 'Actions',
          unseen: true,
          cell: (word) => (
            <button
              type="button"
              class="quiet"
              aria-label={`Remove ${word}`}
              onClick={() => remove(word)}
            >
              <Icon name="close" />
            </button>
          ),
        },
      ]}
    />
  );
}
