import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { FileFault, faultText } from '../../records/file-fault.ts';
import { delimiterOf, parseDelimiter } from '../../records/csv-records.ts';
import { Fault, pathOf, type TaskReceipt } from '../client.ts';
import { count, counted, indentJson, parseJson, percent, size } from '../format.ts';
import { useAction, useLoaded } from '../hooks.ts';
import { listIndexes, type IndexEntry } from '../indexes.ts';
import { Choice, Confirm, Dialog, Field, Outcome, Pages, Problem, TextField } from '../parts.tsx';
import { type FileType, fileType, type Piece, piecesOf } from '../pieces.ts';
import { goTo, placeHref, replacePlace, usePlace } from '../place.ts';
import { useSession } from '../session.ts';
import { ended, finish } from '../tasks.ts';

const PAGE = 20;
/** Of a file that is sent at once; well below the least limit that servers are given. */
const PIECE_BYTES = 20_000_000;

export function DocumentsView({ uid }: { uid: string | null }): JSX.Element {
  const { client } = useSession();
  const [changes, setChanges] = useState(0);
  // Asked for again with each index: it may be newer than the list.
  const list = useLoaded((signal) => listIndexes(client, signal), [client, uid, changes]);
  const indexes = list.value ?? [];
  const index = indexes.find((one) => one.uid === uid);
  return (
    <>
      <Problem error={list.error} />
      {indexes.length === 0 ? null : (
        <Choice
          label="Index"
          value={uid ?? ''}
          options={[['', 'choose …'], ...indexes.map((one) => [one.uid, one.uid] as const)]}
          onChoose={(chosen) => goTo(placeHref('documents', chosen === '' ? null : chosen))}
        />
      )}
      <Upload key={`upload ${uid}`} uid={uid} onDone={() => setChanges(changes + 1)} />
      {index === undefined ? null : (
        <DocumentList key={index.uid} index={index} changes={changes} />
      )}
    </>
  );
}

/** Pieces of a file. Throws what is wrong with it, by its name. */
async function cut(file: File, type: FileType, delimiter: string): Promise<Piece[]> {
  try {
    return await piecesOf(file, type, PIECE_BYTES, delimiter);
  } catch (error) {
    throw error instanceof FileFault ? new Error(faultText(file.name, error)) : error;
  }
}

/** What the server says of a piece counts lines from the begin of the piece. */
function ofPiece(error: unknown, line: number): unknown {
  if (!(error instanceof Fault) || line <= 2) return error;
  const { status, code, message } = error;
  return new Fault(status, code, `Of the part that begins in line ${line} of the file: ${message}`);
}

/** Files of documents, dropped or chosen. */
function Upload({ uid, onDone }: { uid: string | null; onDone(): void }): JSX.Element {
  const { client } = useSession();
  const [into, setInto] = useState(uid ?? '');
  const [primaryKey, setPrimaryKey] = useState('');
  const [method, setMethod] = useState('POST');
  const [delimiter, setDelimiter] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [over, setOver] = useState(false);
  const [sent, setSent] = useState<number | null>(null);
  const [indexed, setIndexed] = useState<number | null>(null);
  const [filled, setFilled] = useState<string | null>(null);
  const stop = useRef<AbortController | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const action = useAction();
  const type = file === null ? null : fileType(file.name);

  const send = (chosen: File): void => {
    const stopping = new AbortController();
    stop.current = stopping;
    setFilled(null);
    action.run(async () => {
      try {
        if (type === null)
          throw new Error('The name must end in .json, .ndjson, .jsonl, .csv or .tsv.');
        const between = delimiter === '' ? delimiterOf(chosen.name) : parseDelimiter(delimiter);
        if (between === null) throw new Error('The delimiter is one character of ASCII.');
        const path = pathOf(['indexes', into, 'documents'], {
          primaryKey,
          csvDelimiter: type === 'text/csv' ? between : undefined,
        });
        setSent(0);
        let before = 0;
        const receipts: TaskReceipt[] = [];
        for (const { blob: piece, line } of await cut(chosen, type, between)) {
          receipts.push(
            await client
              .upload<TaskReceipt>(method, path, piece, {
                type,
                signal: stopping.signal,
                onSent: (bytes) => setSent(before + bytes),
              })
              .catch((error: unknown) => {
                throw ofPiece(error, line);
              }),
          );
          before += piece.size;
        }
        setSent(null);
        let told = '';
        for (const [position, receipt] of receipts.entries()) {
          told = await ended(client, receipt, (percentage) =>
            setIndexed((position + percentage / 100) / receipts.length),
          );
        }
        setFile(null);
        if (input.current !== null) input.current.value = '';
        setFilled(into);
        onDone();
        return receipts.length > 1
          ? `${told} ${counted(receipts.length, 'piece')} were sent.`
          : told;
      } finally {
        setSent(null);
        setIndexed(null);
      }
    });
  };

  return (
    <section class="panel" aria-label="Add documents">
      <h2>Add documents</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (file !== null) send(file);
        }}
      >
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
            setFile(event.dataTransfer?.files[0] ?? null);
          }}
        >
          <Field
            label="File"
            hint="Drop a file here or choose one: JSON, NDJSON, CSV or TSV, in UTF-8. Large NDJSON and CSV files are sent in pieces."
          >
            {(id, hintId) => (
              <input
                ref={input}
                id={id}
                type="file"
                accept=".json,.ndjson,.jsonl,.csv,.tsv"
                aria-describedby={hintId}
                onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)}
              />
            )}
          </Field>
          {file === null ? null : (
            <p>
              {file.name}, {size(file.size)}
              {type === null ? ': the ending of this name is not known' : ''}
            </p>
          )}
        </div>
        <div class="row">
          <TextField
            label="Into the index"
            hint="A new name makes a new index."
            required
            value={into}
            onInput={setInto}
          />
          <TextField
            label="Primary key"
            hint="Empty: found by itself."
            value={primaryKey}
            onInput={setPrimaryKey}
          />
          <Choice
            label="Documents that exist"
            value={method}
            options={[
              ['POST', 'are replaced'],
              ['PUT', 'keep fields that are not in the file'],
            ]}
            onChoose={setMethod}
          />
          {type === 'text/csv' ? (
            <TextField
              label="Separator"
              hint="Empty: a comma, or a tab for .tsv. The word tab is a tab."
              value={delimiter}
              onInput={setDelimiter}
            />
          ) : null}
        </div>
        <p class="buttons">
          <button type="submit" disabled={file === null || into === '' || action.running}>
            Send
          </button>
          {sent === null ? null : (
            <button type="button" onClick={() => stop.current?.abort()}>
              Stop
            </button>
          )}
        </p>
      </form>
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
      <Outcome action={action} />
      {filled === null ? null : (
        <p class="buttons">
          <a href={placeHref('search', filled)}>Search {filled}</a>
          <a href={placeHref('settings', filled)}>Settings of {filled}</a>
        </p>
      )}
    </section>
  );
}

interface DocumentPage {
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
}

function DocumentList({ index, changes }: { index: IndexEntry; changes: number }): JSX.Element {
  const { client } = useSession();
  const { query } = usePlace();
  const { uid, primaryKey } = index;
  const page = Math.max(1, Number(query.page ?? 1) || 1);
  const filter = query.filter ?? '';
  const action = useAction();
  const [emptying, setEmptying] = useState(false);
  const loaded = useLoaded(
    (signal) =>
      client.send<DocumentPage>('POST', pathOf(['indexes', uid, 'documents', 'fetch']), {
        body: { offset: (page - 1) * PAGE, limit: PAGE, filter: filter === '' ? null : filter },
        signal,
      }),
    [client, uid, page, filter, changes, action.done],
  );
  const show = (part: Record<string, string>): void =>
    replacePlace(placeHref('documents', uid, { filter, ...part }));
  const { results = [], total = 0 } = loaded.value ?? {};
  return (
    <section aria-label="Documents">
      <h2>{counted(total, 'document')}</h2>
      <div class="row">
        <TextField
          label="Filter"
          hint={'Such as year > 1900; of filterable attributes.'}
          value={filter}
          onInput={(value) => show({ filter: value })}
        />
        <button
          type="button"
          disabled={primaryKey === null}
          onClick={() => show({ id: '', add: 'yes' })}
        >
          Add one
        </button>
        <button type="button" class="danger" onClick={() => setEmptying(true)}>
          Delete all
        </button>
      </div>
      <Problem error={loaded.error} />
      <Outcome action={action} />
      <ul class="documents">
        {results.map((document, position) => {
          const id = primaryKey === null ? undefined : document[primaryKey];
          return (
            <li key={id === undefined ? position : String(id)}>
              <code>{summary(document)}</code>
              {id === undefined ? null : (
                <a
                  href={placeHref('documents', uid, { filter, page: String(page), id: String(id) })}
                >
                  Edit<span class="unseen"> {String(id)}</span>
                </a>
              )}
            </li>
          );
        })}
      </ul>
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
          warning={`${count(total)} documents are deleted; the settings stay.`}
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

/** Characters of a document in the list. */
const SUMMARY_MAX = 300;

function summary(document: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(document);
  return text.length > SUMMARY_MAX ? `${text.slice(0, SUMMARY_MAX)} …` : text;
}

interface EditProps {
  index: IndexEntry;
  /** null: a new one. */
  id: string | null;
  onClose(): void;
  onWrite(work: () => Promise<string>): void;
}

/** A document as text: what is not touched goes back as it came, numbers of any size included. */
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
  return (
    <Dialog title={id === null ? 'A new document' : `Document ${id}`} onClose={onClose}>
      <Problem error={loaded.error ?? problem} />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const text = draft ?? loaded.value ?? '';
          try {
            parseJson(text);
          } catch (error) {
            setProblem(error as Error);
            return;
          }
          onWrite(async () => {
            const sending = { type: 'application/json', signal: new AbortController().signal };
            const body = new Blob([text]);
            const receipt = await client.upload<TaskReceipt>('POST', path, body, {
              ...sending,
              onSent: () => {},
            });
            return ended(client, receipt);
          });
          onClose();
        }}
      >
        <Field label="The document as JSON">
          {(fieldId) => (
            <textarea
              id={fieldId}
              rows={20}
              spellcheck={false}
              value={draft ?? loaded.value ?? ''}
              onInput={(event) => setDraft(event.currentTarget.value)}
            />
          )}
        </Field>
        <p class="buttons">
          <button type="submit" disabled={loaded.value === undefined}>
            Save
          </button>
          {id === null ? null : (
            <button
              type="button"
              class="danger"
              onClick={() => {
                onWrite(() => finish(client, 'DELETE', pathOf(['indexes', uid, 'documents', id])));
                onClose();
              }}
            >
              Delete this document
            </button>
          )}
        </p>
      </form>
    </Dialog>
  );
}
