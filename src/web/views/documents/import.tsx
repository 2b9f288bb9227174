import type { RefObject } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { parseDelimiter } from '../../../records/csv-records.ts';
import { viewHref } from '../../address.ts';
import { download } from '../../download.ts';
import { counted, size } from '../../format.ts';
import { useAction, useLoaded, type Action, type Loaded } from '../../hooks.ts';
import {
  badRows,
  badRowsFile,
  checkedRow,
  detectPrimaryKey,
  proposedIndex,
  type BadRow,
  type Column,
  type Mapping,
  type Mended,
  type Target,
} from '../../import/columns.ts';
import {
  FileSender,
  NOT_BEGUN,
  sampleOf,
  type Progress,
  type Sample,
  type Sending,
} from '../../import/send-file.ts';
import { Choice } from '../../parts/choice.tsx';
import { Field } from '../../parts/field.tsx';
import { Problem } from '../../parts/problem.tsx';
import { TextField } from '../../parts/text-field.tsx';
import { useSession } from '../../session.ts';
import { useIndexes } from '../../shell/indexes-context.tsx';
import { useUnsaved } from '../../unsaved.ts';
import { BadRows } from './bad-rows.tsx';
import { ImportColumns, repeatedName } from './import-columns.tsx';
import { ImportProgress } from './import-progress.tsx';

/** What was typed or chosen; undefined: as it was found in the file. */
interface Typed {
  readonly into?: string;
  readonly method?: string;
  readonly delimiter?: string;
  readonly primaryKey?: string;
  readonly columns?: readonly Column[];
  readonly mended?: Mended;
}

const NONE: Mended = new Map();

interface ImportState {
  readonly action: Action;
  readonly progress: Progress;
  /** What was sent last. */
  readonly sent: Sending | null;
  /** Rows that were left out, as they are mended since. */
  readonly mended: Mended;
  onMend(mended: Mended): void;
  start(from: File | readonly BadRow[], sending: Sending): void;
  stop(): void;
  /** Shows no result any more. */
  forget(): void;
}

function useImport(onDone: () => void): ImportState {
  const { client } = useSession();
  const action = useAction();
  const [progress, setProgress] = useState(NOT_BEGUN);
  const [sent, setSent] = useState<ImportState['sent']>(null);
  const [mended, setMended] = useState(NONE);
  const stopping = useRef<AbortController | null>(null);
  const send = async (sender: FileSender, from: File | readonly BadRow[]): Promise<Progress> => {
    const result = await (from instanceof File
      ? sender.send(from)
      : sender.sendRows(from, progress.badCount - from.length));
    const refused = result.pieces.find(({ outcome }) => outcome instanceof Error);
    if (refused !== undefined) throw refused.outcome as Error;
    if (result.pieces.length === 0) throw new Error('No row of the file can become a document.');
    return result;
  };
  const start: ImportState['start'] = (from, sending) => {
    const { signal } = (stopping.current = new AbortController());
    setProgress(NOT_BEGUN);
    setSent(sending);
    const isFile = from instanceof File;
    if (isFile) setMended(NONE);
    action.run(async () => {
      const sender = new FileSender(client, sending, signal, setProgress);
      const { pieces, badCount } = await send(sender, from).catch((error: unknown) => {
        if (!isFile) setProgress(progress);
        throw error;
      });
      // After a failure, the file and what was chosen or mended stay, to be sent again.
      setMended(NONE);
      if (isFile) onDone();
      const bad = badCount === 0 ? '' : ` ${counted(badCount, 'row')} left out.`;
      const cut =
        pieces.length > 1 ? ` The file was sent in ${counted(pieces.length, 'piece')}.` : '';
      return `${String(pieces.at(-1)!.outcome)}${bad}${cut}`;
    });
  };
  return {
    action,
    progress,
    sent,
    mended,
    onMend: setMended,
    start,
    stop: () => stopping.current?.abort(),
    forget: () => {
      setSent(null);
      setMended(NONE);
    },
  };
}

/** Reads the beginning of the file, again for another delimiter. */
function useSample(file: File | null, delimiter: string | undefined): Loaded<Sample | null> {
  return useLoaded(async () => {
    if (file === null) return null;
    if (delimiter === undefined || delimiter === '') return sampleOf(file, null);
    const given = parseDelimiter(delimiter);
    if (given === null) throw new Error('The delimiter must be one ASCII character.');
    return sampleOf(file, given);
  }, [file, delimiter]);
}

/** Adds documents from a file, after a look at its first rows. */
export function Import({ uid }: { uid: string | null }): JSX.Element {
  const { list, stats } = useIndexes();
  const targets = list.map((index) => ({
    uid: index.uid,
    primaryKey: index.primaryKey,
    fields: Object.keys(stats?.indexes[index.uid]?.fieldDistribution ?? {}),
  }));
  const proposedFor = ({ name }: File, { columns }: Sample): string =>
    proposedIndex(name, columns, targets, uid);
  const [file, setFile] = useState<File | null>(null);
  const [typed, setTyped] = useState<Typed>({});
  const input = useRef<HTMLInputElement>(null);
  const choose = (next: File | null): void => {
    setFile(next);
    // The fields belong to the file.
    setTyped(({ into, method }) => ({
      ...(method !== undefined && { method }),
      ...(into !== undefined && { into }),
    }));
  };
  const state = useImport(() => {
    setFile(null);
    setTyped(({ method }) => (method === undefined ? {} : { method }));
    if (input.current !== null) input.current.value = '';
  });
  const loaded = useSample(file, typed.delimiter);
  const sample = file === null || loaded.error !== null ? null : (loaded.value ?? null);
  const proposed = file === null || sample === null ? '' : proposedFor(file, sample);
  const into = typed.into ?? proposed;
  const known = list.find((index) => index.uid === into)?.primaryKey ?? null;
  useUnsaved(file !== null || state.mended.size > 0 || state.action.running, true);
  return (
    <section class="panel" aria-label="Add documents">
      <h2>Add documents</h2>
      <FileField
        input={input}
        file={file}
        onChoose={(next) => {
          state.forget();
          choose(next);
        }}
      />
      <Problem error={file === null ? null : loaded.error} />
      {file === null || sample === null ? null : (
        <Plan
          file={file}
          sample={sample}
          typed={typed}
          into={into}
          known={known}
          state={state}
          targets={targets}
          onType={(part) => setTyped({ ...typed, ...part })}
        />
      )}
      <Result state={state} />
    </section>
  );
}

interface PlanProps {
  file: File;
  sample: Sample;
  typed: Typed;
  into: string;
  /** The primary key that the index has. */
  known: string | null;
  state: ImportState;
  targets: readonly Target[];
  onType(part: Typed): void;
}

/** What becomes of the file. */
function Plan(props: PlanProps): JSX.Element {
  const { file, sample, typed, into, known, state, onType } = props;
  const columns = typed.columns ?? sample.columns;
  const primaryKey = known ?? typed.primaryKey ?? detectPrimaryKey(columns);
  const mapping: Mapping = { ...sample, columns, primaryKey };
  const repeated = repeatedName(columns);
  const { mended = NONE } = typed;
  const rows = badRows(mapping, sample.records, mended);
  const bad = rows.filter(({ reason }) => reason !== null);
  const { action } = state;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        state.start(file, { into, method: typed.method ?? 'POST', mapping, mended });
      }}
    >
      <PlanFields {...props} mapping={mapping} />
      <ImportColumns
        isCsv={sample.type === 'csv'}
        columns={columns}
        onChange={(next) => onType({ columns: next })}
      />
      <BadRows
        title={`${bad.length} of the first ${counted(sample.records.length, 'row')} cannot be used`}
        rows={rows}
        mapping={mapping}
        mended={mended}
        onMend={(next) => onType({ mended: next })}
      >
        <p>
          Rows that you do not mend are left out. Values that do not fit the type of their field are
          kept if you choose the type text.
        </p>
      </BadRows>
      {repeated === null ? null : <p class="warning">Two fields have the name {repeated}.</p>}
      <p class="buttons">
        <button type="submit" disabled={into === '' || repeated !== null || action.running}>
          Send
        </button>
        {action.running ? (
          <button type="button" onClick={state.stop}>
            Stop
          </button>
        ) : null}
      </p>
      {action.running ? <ImportProgress file={file} progress={state.progress} /> : null}
    </form>
  );
}

function PlanFields(props: PlanProps & { mapping: Mapping }): JSX.Element {
  const { sample, typed, into, known, mapping, targets, onType } = props;
  return (
    <div class="row">
      <TextField
        label="Index to add to"
        hint={
          targets.some((target) => target.uid === into)
            ? 'An index that exists.'
            : 'A new name creates an index.'
        }
        required
        value={into}
        onInput={(next) => onType({ into: next })}
      />
      <PrimaryKey known={known} mapping={mapping} onType={onType} />
      <Choice
        label="Existing documents"
        value={typed.method ?? 'POST'}
        options={[
          ['POST', 'are replaced'],
          ['PUT', 'are updated: other fields are kept'],
        ]}
        onChoose={(method) => onType({ method })}
      />
      {sample.type === 'csv' ? (
        <TextField
          label="Separator"
          hint="Type the word tab for a tab."
          value={typed.delimiter ?? (sample.delimiter === '\t' ? 'tab' : sample.delimiter)}
          // Cells are mended for one separator.
          onInput={(delimiter) => onType({ delimiter, mended: NONE })}
        />
      ) : null}
    </div>
  );
}

interface PrimaryKeyProps {
  known: string | null;
  mapping: Mapping;
  onType(part: Typed): void;
}

function PrimaryKey({ known, mapping, onType }: PrimaryKeyProps): JSX.Element {
  const names = mapping.columns.filter(({ kept }) => kept).map(({ name }) => name);
  return (
    <Choice
      label="Primary key"
      hint={known === null ? 'A field whose value differs in each document.' : 'The index has it.'}
      value={mapping.primaryKey}
      options={
        known === null
          ? [['', 'the server finds it'], ...names.map((name) => [name, name] as const)]
          : [[known, known]]
      }
      onChoose={(primaryKey) => onType({ primaryKey })}
    />
  );
}

/** What became of the last file. */
function Result({ state }: { state: ImportState }): JSX.Element {
  const { action, progress, sent } = state;
  if (action.running || sent === null) return <></>;
  return (
    <>
      <Problem error={action.error} uid={sent.into} />
      {progress.pieces.length === 0 ? null : (
        <>
          <p>
            {counted(progress.sent, 'document')} sent to {sent.into}.
          </p>
          <ul>
            {progress.pieces.map(({ taskUid, first, last, documents, outcome }) => (
              <li key={taskUid}>
                <a href={viewHref('tasks', null, { from: String(taskUid) })}>Task {taskUid}</a>:{' '}
                {counted(documents, 'document')}, lines {first} to {last}.{' '}
                {outcome instanceof Error ? `Refused: ${outcome.message}` : outcome}
              </li>
            ))}
          </ul>
          <p class="buttons">
            <a href={viewHref('search', sent.into)}>Search {sent.into}</a>
            <a href={viewHref('settings', sent.into)}>Settings of {sent.into}</a>
          </p>
        </>
      )}
      <LeftOut state={state} sent={sent} />
    </>
  );
}

/** Rows that were left out: to be mended here and sent, or downloaded. */
function LeftOut({ state, sent }: { state: ImportState; sent: Sending }): JSX.Element {
  const { progress, mended } = state;
  const { mapping } = sent;
  const rows = progress.bad.map((row) =>
    mended.has(row.position) ? checkedRow(row, row.position, mapping, mended) : row,
  );
  const ready = rows.filter(({ reason }) => reason === null).length;
  return (
    <BadRows
      title={`${counted(progress.badCount, 'row')} left out`}
      rows={rows}
      all={progress.badCount}
      mapping={mapping}
      mended={mended}
      onMend={state.onMend}
    >
      <p class="buttons">
        <button
          type="button"
          disabled={ready === 0}
          onClick={() => state.start(rows, { ...sent, mended })}
        >
          Send {counted(ready, 'mended row')}
        </button>
        <button
          type="button"
          onClick={() => {
            const file = badRowsFile(mapping, rows);
            download(new Blob([file.text]), file.name);
          }}
        >
          Download {rows.length === 1 ? 'this row' : `these ${counted(rows.length, 'row')}`}
        </button>
        <span>Mend the file and add it like any other.</span>
      </p>
    </BadRows>
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
      class={over ? 'card drop over' : 'card drop'}
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
        hint="Drop a file here or choose one: JSON, NDJSON, CSV or TSV in UTF-8. Nothing is sent before you have seen its first rows."
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
        </p>
      )}
    </div>
  );
}
