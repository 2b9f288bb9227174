import { useState } from 'preact/hooks';
import { isTestable, type Embedder } from '../../embedder-test.ts';
import { Choice } from '../../parts/choice.tsx';
import { Icon } from '../../parts/icon.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { choices, type Schema } from '../../schema.ts';
import { Members } from '../../parts/schema-field.tsx';
import { TestEmbedder } from './test-embedder.tsx';

type Embedders = Readonly<Record<string, Embedder>>;

/** The fields that an embedder of each source needs, or usually has. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  openAi: ['model', 'apiKey', 'dimensions', 'documentTemplate'],
  huggingFace: ['model', 'revision', 'pooling', 'documentTemplate'],
  ollama: ['url', 'model', 'dimensions', 'documentTemplate'],
  rest: ['url', 'apiKey', 'dimensions', 'request', 'response', 'headers', 'documentTemplate'],
  userProvided: ['dimensions'],
  composite: ['searchEmbedder', 'indexingEmbedder'],
};

interface Props {
  uid: string;
  schema: Schema | undefined;
  value: Embedders;
  /** The value that the server has. */
  saved: Embedders;
  onChange(value: Embedders): void;
}

/** A form for each embedder, with the fields of its source. */
export function EmbeddersEditor({ uid, schema, value, saved, onChange }: Props): JSX.Element {
  const one = schema?.additionalProperties;
  if (typeof one !== 'object') return <></>;
  return (
    <>
      {Object.entries(value).map(([name, embedder]) => (
        <EmbedderForm
          key={name}
          uid={uid}
          name={name}
          schema={one}
          embedder={embedder}
          saved={saved[name]}
          onChange={(next) => onChange({ ...value, [name]: next })}
          onRemove={() => {
            const { [name]: _, ...rest } = value;
            onChange(rest);
          }}
        />
      ))}
      <AddEmbedder
        sources={choices(one.properties?.source) ?? []}
        taken={Object.keys(value)}
        onAdd={(name, source) => onChange({ ...value, [name]: { source } })}
      />
    </>
  );
}

interface FormProps {
  uid: string;
  name: string;
  schema: Schema;
  embedder: Embedder;
  saved: Embedder | undefined;
  onChange(embedder: Embedder): void;
  onRemove(): void;
}

function EmbedderForm(props: FormProps): JSX.Element {
  const { uid, name, schema, embedder, saved, onChange, onRemove } = props;
  const source = typeof embedder.source === 'string' ? embedder.source : 'openAi';
  const usual = FIELDS[source] ?? [];
  const others = Object.keys(schema.properties ?? {}).filter(
    (field) => !['source', ...(FIELDS.composite ?? []), ...usual].includes(field),
  );
  const change = (value: unknown): void => onChange(value as Embedder);
  return (
    <fieldset>
      <legend>
        {name} <span class="count">{source}</span>
      </legend>
      <Members schema={schema} value={embedder} names={usual} onChange={change} />
      <details>
        <summary>More</summary>
        <Members schema={schema} value={embedder} names={others} onChange={change} />
      </details>
      {isTestable(embedder) ? (
        <TestEmbedder uid={uid} name={name} embedder={embedder} saved={saved} />
      ) : null}
      <button type="button" class="danger" onClick={onRemove}>
        Remove {name}
      </button>
    </fieldset>
  );
}

interface AddProps {
  sources: readonly string[];
  taken: readonly string[];
  onAdd(name: string, source: string): void;
}

function AddEmbedder({ sources, taken, onAdd }: AddProps): JSX.Element {
  const [name, setName] = useState('');
  const [source, setSource] = useState('openAi');
  return (
    <div class="row">
      <TextField label="Name of a new embedder" value={name} onInput={setName} />
      <Choice
        label="Source"
        value={source}
        options={sources.map((one) => [one, one])}
        onChoose={setSource}
      />
      <button
        type="button"
        disabled={name === '' || taken.includes(name)}
        onClick={() => {
          onAdd(name, source);
          setName('');
        }}
      >
        <Icon name="plus" /> Add<span class="unseen"> an embedder</span>
      </button>
    </div>
  );
}
