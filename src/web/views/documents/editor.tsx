import { useState } from 'preact/hooks';
import { type Client, pathOf } from '../../client.ts';
import { deleteDocument, replaceDocument } from '../../document-changes.ts';
import { indentJson, parseJson } from '../../format.ts';
import { useAction, useLoaded } from '../../hooks.ts';
import type { IndexEntry } from '../../indexes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Field } from '../../parts/field.tsx';
import { Problem } from '../../parts/problem.tsx';
import { member } from '../../raw-json.ts';
import { useSession } from '../../session.ts';
import { joinVectors, partVectors, type Parted } from '../../vectors.ts';
import { EditorHints } from './editor-hints.tsx';
import { idOf } from './edits.ts';

interface Props {
  index: IndexEntry;
  /** null: a new document. */
  id: string | null;
  onClose(): void;
}

/**
 * Edits a document as text. Unchanged parts are sent back exactly as they came, including numbers
 * of any size and vectors, which are not shown.
 */
export function Editor({ index, id, onClose }: Props): JSX.Element {
  const { client } = useSession();
  const { uid, primaryKey } = index;
  const loaded = useLoaded(
    (signal) => load(client, index, id, signal),
    [client, uid, id, primaryKey],
  );
  const [draft, setDraft] = useState<string | null>(null);
  const action = useAction();
  const before = loaded.value?.document ?? '';
  const text = draft ?? before;
  // The text stays until the server has accepted it.
  const write = (work: () => Promise<string>): void =>
    action.run(async () => {
      const outcome = await work();
      onClose();
      return outcome;
    });
  const save = async (): Promise<string> => {
    parseJson(text);
    const key = primaryKey === null ? undefined : member(text, primaryKey);
    const document = joinVectors(text, loaded.value?.own ?? []);
    return replaceDocument(client, index, key === undefined ? null : idOf(key), document);
  };
  return (
    <Dialog
      title={id === null ? 'New document' : `Document ${id}`}
      dirty={draft !== null && draft !== before}
      onClose={onClose}
    >
      <Problem error={loaded.error ?? action.error} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          write(save);
        }}
      >
        <DocumentField text={text} onInput={setDraft} />
        <EditorHints uid={uid} text={text} own={loaded.value?.own ?? []} />
        <p class="buttons">
          <button type="submit" disabled={loaded.value === undefined || action.running}>
            Save
          </button>
          {id === null ? null : (
            <button
              type="button"
              class="danger"
              onClick={() => write(() => deleteDocument(client, index, id))}
            >
              Delete this document
            </button>
          )}
        </p>
      </form>
    </Dialog>
  );
}

async function load(
  client: Client,
  { uid, primaryKey }: IndexEntry,
  id: string | null,
  signal: AbortSignal,
): Promise<Parted> {
  if (id === null) {
    return { document: `{\n  ${JSON.stringify(primaryKey ?? 'id')}: \n}`, own: [] };
  }
  const path = pathOf(['indexes', uid, 'documents', id], { retrieveVectors: true });
  const parted = partVectors(await (await client.open('GET', path, { signal })).text());
  return { ...parted, document: indentJson(parted.document) };
}

function DocumentField(props: { text: string; onInput(text: string): void }): JSX.Element {
  return (
    <Field label="Document as JSON">
      {(id) => (
        <textarea
          id={id}
          rows={18}
          spellcheck={false}
          value={props.text}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
