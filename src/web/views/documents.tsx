import type { JSX, RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { FileFault, faultText } from '../../records/file-fault.ts';
import { delimiterOf, parseDelimiter } from '../../records/csv-records.ts';
import { type Client, Fault, pathOf, type TaskReceipt } from '../client.ts';
import { counted, indentJson, parseJson, percent, size } from '../format.ts';
import { type Action, type Loaded, useAction, useLoaded } from '../hooks.ts';
import type { IndexEntry } from '../indexes.ts';
import { Choice } from '../parts/choice.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Pages } from '../parts/pages.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { type FileType, fileType, type Piece, piecesOf } from '../pieces.ts';
import { viewHref, replaceAddress, useAddress } from '../address.ts';
import { useSession } from '../session.ts';
import { useIndexes } from '../shell/indexes-context.tsx';
import { ended, finish } from '../tasks.ts';

const PAGE = 20;
/** Maximum size of a request; well below the smallest body limit in common use. */
const PIECE_BYTES = 20_000_000;

export function DocumentsView({ uid }: { uid: string | null }): JSX.Element {
  const { list, error, current } = useIndexes();
  const [changes, setChanges] = useState(0);
  const shown = uid ?? current;
  const index = list.find((one) => one.uid === shown);
  return (
    <>
      <Problem error={error} />
      <Upload key={`upload ${uid}`} uid={shown} onDone={() => setChanges(changes + 1)} />
      {index === undefined ? null : (
        <DocumentList key={index.uid} index={index} changes={changes} />
      )}
    </>
  );
}

/** Splits a file into pieces. Throws an error that names the file if it is invalid. */
async function cut(file: File, type: FileType, delimiter: string): Promise<Piece[]> {
  try {
    return await piecesOf(file, type, PIECE_BYTES, delimiter);
  } catch (error) {
    throw error instanceof FileFault ? new Error(faultText(file.name, error)) : error;
  }
}

/** Adds the position of the piece to an error, whose line numbers are relative to the piece. */
function ofPiece(error: unknown, line: number): unknown {
  if (!(error instanceof Fault) || line <= 2) return error;
  const { status, code, message } = error;
  return new Fault(status, code, `In the part that begins at line ${line} of the file: ${message}`);
}

/** How a file is sent. */
interface Sending {
  into: string;
  primaryKey: string;
  /** POST or PUT. */
  method: string;
  /** As typed. */
  delimiter: string;
}

/** Called while a file is on its way. */
interface Telling {
  signal: AbortSignal;
  onSent(bytes: number | null): void;
  /** @param share from 0 to 1 */
  onIndexed(share: number): void;
}

/** Sends the pieces of a file and waits until they are indexed. Returns what the last task says. */
async function sendFile(
  client: Client,
  file: File,
  { into, primaryKey, method, delimiter }: Sending,
  { signal, onSent, onIndexed }: Telling,
): Promise<string> {
  const type = fileType(file.name);
  if (type === null) throw new Error('The name must end in .json, .ndjson, .jsonl, .csv or .tsv.');
  const between = delimiter === '' ? delimiterOf(file.name) : parseDelimiter(delimiter);
  if (between === null) throw new Error('The delimiter must be one ASCII character.');
  const path = pathOf(['indexes', into, 'documents'], {
    primaryKey,
    csvDelimiter: type === 'text/csv' ? between : undefined,
  });
  onSent(0);
  let before = 0;
  const receipts: TaskReceipt[] = [];
  for (const { blob: piece, line } of await cut(file, type, between)) {
    const begun = before;
    const options = { type, signal, onSent: (bytes: number) => onSent(begun + bytes) };
    receipts.push(
      await client.upload<TaskReceipt>(method, path, piece, options).catch((error: unknown) => {
        throw ofPiece(error, line);
      }),
    );
    before += piece.size;
  }
  onSent(null);
  let outcome = '';
  for (const [position, receipt] of receipts.entries()) {
    outcome = await ended(client, receipt, (percentage) =>
      onIndexed((position + percentage / 100) / receipts.length),
    );
  }
  return receipts.length > 1
    ? `${outcome} The file was sent in ${counted(receipts.length, 'piece')}.`
    : outcome;
}

interface UploadState {
  readonly action: Action;
  /** Bytes that are sent; null: nothing is on its way. */
  readonly sent: number | null;
  /** From 0 to 1; null: nothing is indexed. */
  readonly indexed: number | null;
  /** The index that has just got documents. */
  readonly filled: string | null;
  send(file: File, sending: Sending): void;
  stop(): void;
}

function useUpload(onDone: () => void): UploadState {
  const { client } = useSession();
  const [sent, setSent] = useState<number | null>(null);
  const [indexed, setIndexed] = useState<number | null>(null);
  const [filled, setFilled] = useState<string | null>(null);
  const stopping = useRef<AbortController | null>(null);
  const action = useAction();
  const send = (file: File, sending: Sending): void => {
    const { signal } = (stopping.current = new AbortController());
    setFilled(null);
    action.run(async () => {
      try {
        const telling = { signal, onSent: setSent, onIndexed: setIndexed };
        const outcome = await sendFile(client, file, sending, telling);
        setFilled(sending.into);
        onDone();
        return outcome;
      } finally {
        setSent(null);
        setIndexed(null);
      }
    });
  };
  return { action, sent, indexed, filled, send, stop: () => stopping.current?.abort() };
}

/** A form to add documents from a file, which can be dropped or chosen. */
function Upload({ uid, onDone }: { uid: string | null; onDone(): void }): JSX.Element {
  const [typed, setTyped] = useState<Partial<Sending>>({});
  const empty = { into: uid ?? '', primaryKey: '', method: 'POST', delimiter: '' };
  const sending: Sending = { ...empty, ...typed };
  const [file, setFile] = useState<File | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const upload = useUpload(() => {
    setFile(null);
    if (input.current !== null) input.current.value = '';
    onDone();
  });
  const { action, sent, filled } = upload;
  return (
    <section class="panel" aria-label="Add documents">
      <h2>Add documents</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (file !== null) upload.send(file, sending);
        }}
      >
        <FileField input={input} file={file} onChoose={setFile} />
        <SendingFields
          sending={sending}
          isCsv={file !== null && fileType(file.name) === 'text/csv'}
          onChange={(part) => setTyped({ ...typed, ...part })}
        />
        <p class="buttons">
          <button type="submit" disabled={file === null || sending.into === '' || action.running}>
            Send
          </button>
          {sent === null ? null : (
            <button type="button" onClick={upload.stop}>
              Stop
            </button>
          )}
        </p>
      </form>
      <UploadProgress file={file} sent={sent} indexed={upload.indexed} />
      <Outcome action={action} />
      {filled === null ? null : (
        <p class="buttons">
          <a href={viewHref('search', filled)}>Search {filled}</a>
          <a href={viewHref('settings', filled)}>Settings of {filled}</a>
        </p>
      )}
    </section>
  );
}

interface FileFieldProps {
  input: RefObject<HTMLInputElement | null>;
  file: File | null;
  onChoose(file: File | null): void;
}

function FileField({ input, file, onChoose }: FileFieldProps): JSX.Element {
  const [over, setOver] = useState(false);
  return (
    <div
      class={over ? 'drop over' : 'drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onChoose(event.dataTransfer?.files[0] ?? null);
      }}
    >
      <Field
        label="File"
        hint="Drop a file here or choose one: JSON, NDJSON, CSV or TSV in UTF-8. Large NDJSON and CSV files are sent in pieces."
      >
        {(id, hintId) => (
          <input
            ref={input}
            id={id}
            type="file"
            accept=".json,.ndjson,.jsonl,.csv,.tsv"
            aria-describedby={hintId}
            onChange={(event) => onChoose(event.currentTarget.files?.[0] ?? null)}
          />
        )}
      </Field>
      {file === null ? null : (
        <p>
          {file.name}, {size(file.size)}
          {fileType(file.name) === null ? ': this file extension is not supported' : ''}
        </p>
      )}
    </div>
  );
}

interface SendingFieldsProps {
  sending: Sending;
  isCsv: boolean;
  onChange(part: Partial<Sending>): void;
}

function SendingFields({ sending, isCsv, onChange }: SendingFieldsProps): JSX.Element {
  return (
    <div class="row">
      <TextField
        label="Index to add to"
        hint="A new name creates an index."
        required
        value={sending.into}
        onInput={(into) => onChange({ into })}
      />
      <TextField
        label="Primary key"
        hint="Empty: inferred from the documents."
        value={sending.primaryKey}
        onInput={(primaryKey) => onChange({ primaryKey })}
      />
      <Choice
        label="Existing documents"
        value={sending.method}
        options={[
          ['POST', 'are replaced'],
          ['PUT', 'are updated: other fields are kept'],
        ]}
        onChoose={(method) => onChange({ method })}
      />
      {isCsv ? (
        <TextField
          label="Separator"
          hint="Empty: a comma, or a tab for .tsv. Type the word tab for a tab."
          value={sending.delimiter}
          onInput={(delimiter) => onChange({ delimiter })}
        />
      ) : null}
    </div>
  );
}

interface UploadProgressProps {
  file: File | null;
  /** Bytes. */
  sent: number | null;
  /** From 0 to 1. */
  indexed: number | null;
}

function UploadProgress({ file, sent, indexed }: UploadProgressProps): JSX.Element {
  return (
    <>
      {sent === null || file === null ? null : (
        <label>
          {size(sent)} of {size(file.size)} sent
          <progress max={file.size} value={Math.min(sent, file.size)} />
        </label>
      )}
      {indexed === null ? null : (
        <label>
          {percent(indexed)} indexed
          <progress max="1" value={indexed} />
        </label>
      )}
    </>
  );
}

interface DocumentPage {
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
}

/** @param changed asks again when one of these changes */
function useDocuments(
  uid: string,
  page: number,
  filter: string,
  changed: readonly unknown[],
): Loaded<DocumentPage> {
  const { client } = useSession();
  return useLoaded(
    (signal) =>
      client.send<DocumentPage>('POST', pathOf(['indexes', uid, 'documents', 'fetch']), {
        body: { offset: (page - 1) * PAGE, limit: PAGE, filter: filter === '' ? null : filter },
        signal,
      }),
    [client, uid, page, filter, ...changed],
  );
}

function DocumentList({ index, changes }: { index: IndexEntry; changes: number }): JSX.Element {
  const { client } = useSession();
  const { query } = useAddress();
  const { uid } = index;
  const page = Math.max(1, Number(query.page ?? 1) || 1);
  const filter = query.filter ?? '';
  const action = useAction();
  const [emptying, setEmptying] = useState(false);
  const loaded = useDocuments(uid, page, filter, [changes, action.done]);
  const show = (part: Record<string, string>): void =>
    replaceAddress(viewHref('documents', uid, { filter, ...part }));
  const { results = [], total = 0 } = loaded.value ?? {};
  return (
    <section aria-label="Documents">
      <h2>{counted(total, 'document')}</h2>
      <DocumentTools
        filter={filter}
        mayAdd={index.primaryKey !== null}
        onFilter={(value) => show({ filter: value })}
        onAdd={() => show({ id: '', add: 'yes' })}
        onEmpty={() => setEmptying(true)}
      />
      <Problem error={loaded.error} />
      <Outcome action={action} />
      <DocumentRows
        documents={results}
        primaryKey={index.primaryKey}
        hrefOf={(id) => viewHref('documents', uid, { filter, page: String(page), id })}
      />
      <Pages
        page={page}
        pages={Math.ceil(total / PAGE)}
        onPage={(next) => show({ page: String(next) })}
      />
      {query.id !== undefined || query.add !== undefined ? (
        <Edit
          key={query.id ?? ''}
          index={index}
          id={query.id ?? null}
          onClose={() => show({ page: String(page) })}
          onWrite={(work) => action.run(work)}
        />
      ) : null}
      {emptying ? (
        <Confirm
          title={`Delete all documents of ${uid}`}
          warning={`This deletes ${counted(total, 'document')}. The settings are kept.`}
          name={uid}
          verb="Delete the documents"
          onClose={() => setEmptying(false)}
          onConfirm={() =>
            action.run(() => finish(client, 'DELETE', pathOf(['indexes', uid, 'documents'])))
          }
        />
      ) : null}
    </section>
  );
}

interface DocumentToolsProps {
  filter: string;
  mayAdd: boolean;
  onFilter(filter: string): void;
  onAdd(): void;
  onEmpty(): void;
}

function DocumentTools(props: DocumentToolsProps): JSX.Element {
  return (
    <div class="row">
      <TextField
        label="Filter"
        hint={'For example year > 1900. Attributes must be filterable.'}
        value={props.filter}
        onInput={props.onFilter}
      />
      <button type="button" disabled={!props.mayAdd} onClick={props.onAdd}>
        Add one
      </button>
      <button type="button" class="danger" onClick={props.onEmpty}>
        Delete all
      </button>
    </div>
  );
}

interface DocumentRowsProps {
  documents: DocumentPage['results'];
  primaryKey: string | null;
  /** Where a document is edited. */
  hrefOf(id: string): string;
}

function DocumentRows({ documents, primaryKey, hrefOf }: DocumentRowsProps): JSX.Element {
  return (
    <ul class="documents">
      {documents.map((document, position) => {
        const id = primaryKey === null ? undefined : document[primaryKey];
        return (
          <li key={id === undefined ? position : String(id)}>
            <code>{summary(document)}</code>
            {id === undefined ? null : (
              <a href={hrefOf(String(id))}>
                Edit<span class="unseen"> {String(id)}</span>
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Maximum number of characters shown of a document in the list. */
const SUMMARY_MAX = 300;

function summary(document: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(document);
  return text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX)} …` : text;
}

interface EditProps {
  index: IndexEntry;
  /** null: a new document. */
  id: string | null;
  onClose(): void;
  onWrite(work: () => Promise<string>): void;
}

/**
 * Edits a document as text. Unchanged parts are sent back exactly as they came, including numbers
 * of any size.
 */
function Edit({ index, id, onClose, onWrite }: EditProps): JSX.Element {
  const { client } = useSession();
  const { uid, primaryKey } = index;
  const path = pathOf(['indexes', uid, 'documents']);
  const loaded = useLoaded(
    async (signal) => {
      if (id === null) return `{\n  ${JSON.stringify(primaryKey ?? 'id')}: \n}`;
      const one = pathOf(['indexes', uid, 'documents', id], { retrieveVectors: true });
      return indentJson(await (await client.open('GET', one, { signal })).text());
    },
    [client, uid, id],
  );
  const [draft, setDraft] = useState<string | null>(null);
  const [problem, setProblem] = useState<Error | null>(null);
  const text = draft ?? loaded.value ?? '';
  const write = (work: () => Promise<string>): void => {
    onWrite(work);
    onClose();
  };
  const save = (): void => {
    try {
      parseJson(text);
    } catch (error) {
      setProblem(error as Error);
      return;
    }
    write(() => put(client, path, text));
  };
  return (
    <Dialog title={id === null ? 'New document' : `Document ${id}`} onClose={onClose}>
      <Problem error={loaded.error ?? problem} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <DocumentField text={text} onInput={setDraft} />
        <p class="buttons">
          <button type="submit" disabled={loaded.value === undefined}>
            Save
          </button>
          {id === null ? null : (
            <button
              type="button"
              class="danger"
              onClick={() =>
                write(() => finish(client, 'DELETE', pathOf(['indexes', uid, 'documents', id])))
              }
            >
              Delete this document
            </button>
          )}
        </p>
      </form>
    </Dialog>
  );
}

function DocumentField({
  text,
  onInput,
}: {
  text: string;
  onInput(text: string): void;
}): JSX.Element {
  return (
    <Field label="Document as JSON">
      {(id) => (
        <textarea
          id={id}
          rows={20}
          spellcheck={false}
          value={text}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Adds a document that is text. Returns what its task says. */
async function put(client: Client, path: string, text: string): Promise<string> {
  const { signal } = new AbortController();
  const options = { type: 'application/json', signal, onSent: () => {} };
  const body = new Blob([text]);
  return ended(client, await client.upload<TaskReceipt>('POST', path, body, options));
}
