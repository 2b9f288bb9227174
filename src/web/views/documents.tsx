import type { JSX, RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { FileFault, faultText } from '../../records/file-fault.ts';
import { delimiterOf, parseDelimiter } from '../../records/csv-records.ts';
import { type Client, Fault, pathOf, type TaskReceipt } from '../client.ts';
import { counted, percent, size } from '../format.ts';
import { type Action, useAction } from '../hooks.ts';
import { Choice } from '../parts/choice.tsx';
import { Field } from '../parts/field.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Problem } from '../parts/problem.tsx';
import { TextField } from '../parts/text-field.tsx';
import { type FileType, fileType, type Piece, piecesOf } from '../pieces.ts';
import { viewHref } from '../address.ts';
import { useSession } from '../session.ts';
import { useIndexes } from '../shell/indexes-context.tsx';
import { ended } from '../tasks.ts';
import { DocumentList } from './documents/list.tsx';

/** Maximum size of a request; well below the smallest body limit in common use. */
const PIECE_BYTES = 20_000_000;

export function DocumentsView({ uid }: { uid: string | null }): JSX.Element {
  const { list, error, current } = useIndexes();
  const shown = uid ?? current;
  const index = list.find((one) => one.uid === shown);
  return (
    <>
      <Problem error={error} />
      <Upload key={`upload ${uid}`} uid={shown} />
      {index === undefined ? null : <DocumentList key={index.uid} index={index} />}
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
function Upload({ uid }: { uid: string | null }): JSX.Element {
  const [typed, setTyped] = useState<Partial<Sending>>({});
  const empty = { into: uid ?? '', primaryKey: '', method: 'POST', delimiter: '' };
  const sending: Sending = { ...empty, ...typed };
  const [file, setFile] = useState<File | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const upload = useUpload(() => {
    setFile(null);
    if (input.current !== null) input.current.value = '';
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
