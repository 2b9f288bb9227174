import type { Embedder } from '../../embedder-test.ts';
import { takes, type Schema } from '../../schema.ts';
import { spaced } from '../../spaced.ts';
import type { TypoSettings } from '../../typo-match.ts';
import { AttributesEditor } from './attributes-editor.tsx';
import { EmbeddersEditor } from './embedders-editor.tsx';
import { RankingEditor } from './ranking-editor.tsx';
import { Members, SchemaField } from '../../parts/schema-field.tsx';
import { SynonymsEditor } from './synonyms-editor.tsx';
import { TypoBox } from './typo-box.tsx';
import { WordsEditor } from './words-editor.tsx';

interface Props {
  uid: string;
  name: string;
  schema: Schema | undefined;
  value: unknown;
  /** The value that the server has. */
  saved: unknown;
  /** Fields of the documents, to choose from. */
  fields: readonly string[];
  onChange(value: unknown): void;
}

const ATTRIBUTES = [
  'searchableAttributes',
  'displayedAttributes',
  'filterableAttributes',
  'sortableAttributes',
];

/** The editor that suits a setting. */
export function Editor(props: Props): JSX.Element {
  const { uid, name, schema, value, saved, fields, onChange } = props;
  if (ATTRIBUTES.includes(name)) {
    return (
      <AttributesEditor
        label={spaced(name).toLowerCase()}
        value={(value ?? []) as string[]}
        weighted={name === 'searchableAttributes'}
        fields={fields}
        onChange={onChange}
      />
    );
  }
  switch (name) {
    case 'rankingRules':
      return (
        <RankingEditor value={(value ?? []) as string[]} fields={fields} onChange={onChange} />
      );
    case 'synonyms':
      return (
        <SynonymsEditor value={(value ?? {}) as Record<string, string[]>} onChange={onChange} />
      );
    case 'embedders':
      return (
        <EmbeddersEditor
          uid={uid}
          schema={schema}
          value={(value ?? {}) as Record<string, Embedder>}
          saved={(saved ?? {}) as Record<string, Embedder>}
          onChange={onChange}
        />
      );
    case 'typoTolerance':
      return (
        <>
          <Members schema={schema ?? {}} value={value} onChange={onChange} />
          {value === null ? null : <TypoBox settings={value as TypoSettings} />}
        </>
      );
  }
  if (takes(schema, 'array') && schema?.items?.type === 'string') {
    return (
      <WordsEditor
        label={spaced(name).toLowerCase()}
        value={(value ?? []) as string[]}
        onChange={onChange}
      />
    );
  }
  if (schema?.properties !== undefined) {
    return <Members schema={schema} value={value} onChange={onChange} />;
  }
  // The description is next to the control already.
  const { description: _, ...bare } = schema ?? {};
  return <SchemaField name={name} schema={bare} value={value} onChange={onChange} />;
}
