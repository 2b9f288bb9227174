import { jsonString } from '../../base/json.ts';
import { createWriteStream, type WriteStream } from 'node:fs';
import { ApiError } from '../../contract/errors.ts';
import { type CancelSignal, cancelSignalOf } from '../../base/cancel-signal.ts';
import type { BatchOutcome, BatchStep } from '../../engine/native.ts';
import type { IndexEntry } from '../../engine/registry.ts';
import type { EditedPart } from '../../rhai/script-messages.ts';
import {
  type EditSession,
  ScriptProcessError,
  type ScriptProcesses,
} from '../../rhai/script-process.ts';
import { removeFile } from '../../store/payload-folder.ts';
import type { RowOf } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import { replaceStep, runOnIndex } from './documents.ts';
import {
  applySteps,
  type BatchTask,
  readTasks,
  type RunContext,
  type Runner,
  type RunResult,
} from './run.ts';

/**
 * Target size of the documents in one message to the editing process; pages grow and shrink towards
 * it.
 */
const PAGE_BYTES = 2 ** 21;
const PAGE_DOCUMENTS_MAX = 2000;
const FIRST_PAGE_DOCUMENTS = 50;

/** Maximum processor time of a function over the documents of a task. */
const TASK_CPU_MS_MAX = 3_600_000;

/**
 * Edited documents may have this many times the bytes of all documents read, or `EDITED_BYTES_MAX`
 * if that is more.
 */
const GROWTH_MAX = 10;
const EDITED_BYTES_MAX = 2 ** 30;

/**
 * Edits the documents that match: reads them in pages, edits them in a separate process, and
 * applies the changes in one commit. If the function fails for one document, nothing changes.
 */
export function editionRunner(scripts: ScriptProcesses): Runner {
  return (context) => runEdition(context, scripts);
}

async function runEdition(context: RunContext, scripts: ScriptProcesses): Promise<RunResult> {
  const { batch, progress, cancel } = context;
  progress.enter(1, 'retrieving config', 0, 3);
  const [task] = await readTasks(context);
  const row = task!.row as RowOf<'documentEdition'>;
  return runOnIndex(context, async ({ entry }) => {
    progress.enter(1, 'computing document changes', 1, 3);
    const file = `${context.store.payloadFile(batch.uids[0]!)}.edited`;
    try {
      const { edited, deleted } = await editDocuments(context, scripts, entry, row, file);
      cancel.check();
      progress.enter(1, 'indexing', 2, 3);
      const steps = stepsOf(task!.uid, file, edited, deleted);
      return concludeEdition(task!.uid, await applySteps(context, entry, steps, []));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const failed: TaskEnd = {
        uid: task!.uid,
        status: 'failed',
        result: null,
        error: error.toJSON(),
      };
      return [{ ...failed, details: { editedDocuments: 0, deletedDocuments: null } }];
    } finally {
      removeFile(file);
    }
  });
}

/** Reconstructs the end of an edition that the engine committed before a crash. */
export function recoverEdition(
  [task]: readonly BatchTask[],
  outcome: BatchOutcome,
  indexUid: string,
  entry: IndexEntry,
): RunResult {
  entry.refresh();
  return { ends: concludeEdition(task!.uid, outcome), indexes: new Map([[indexUid, entry]]) };
}

function concludeEdition(uid: number, { results }: BatchOutcome): TaskEnd[] {
  const failed = results.find(({ error }) => error !== undefined)?.error;
  if (failed !== undefined) {
    throw new ApiError(
      'edit_documents_by_function_error',
      `An edited document was refused: ${failed.message}`,
    );
  }
  const sum = (count: (result: BatchOutcome['results'][number]) => number | undefined): number =>
    results.reduce((total, result) => total + (count(result) ?? 0), 0);
  const details = {
    deletedDocuments: sum((result) => result.deletedDocuments),
    editedDocuments: sum((result) => result.indexedDocuments),
  };
  return [{ uid, status: 'succeeded', result: null, details }];
}

function stepsOf(task: number, file: string, edited: number, deleted: string[]): BatchStep[] {
  const steps: BatchStep[] = [];
  if (edited > 0) steps.push(replaceStep(task, file));
  if (deleted.length > 0) steps.push({ task, kind: 'deleteIds', ids: deleted });
  return steps;
}

interface Edited {
  edited: number;
  deleted: string[];
}

/** Writes the changed documents to a file. Rejects with `ApiError` or `BatchCanceled`. */
async function editDocuments(
  context: RunContext,
  scripts: ScriptProcesses,
  entry: IndexEntry,
  row: RowOf<'documentEdition'>,
  file: string,
): Promise<Edited> {
  const { cancel } = context;
  const output = createWriteStream(file);
  const outputEnd = new Promise<void>((done) => output.once('close', done));
  // `errored` is checked where it matters.
  output.on('error', () => {});
  let session: EditSession | null = null;
  try {
    session = await scripts.open({
      functionText: row.function,
      context: row.context === null ? null : jsonString(row.context),
      primaryKey: entry.summary.primaryKey ?? '',
      embedders: Object.keys(entry.settings.embedders ?? {}),
    });
    cancel.listen(() => session!.stop());
    const edited = await editPages(context, session, entry, row.filter, { output, outputEnd });
    output.end();
    await outputEnd;
    if (output.errored !== null) throw output.errored;
    return edited;
  } catch (error) {
    // A process that was stopped fails whatever it was doing.
    cancel.check();
    throw error instanceof ScriptProcessError && error.ofScript ? failure(error.message) : error;
  } finally {
    cancel.listen(null);
    session?.close();
    output.destroy();
  }
}

async function editPages(
  { cancel, progress }: RunContext,
  session: EditSession,
  entry: IndexEntry,
  filter: unknown,
  { output, outputEnd }: { output: WriteStream; outputEnd: Promise<void> },
): Promise<Edited> {
  const edited: Edited = { edited: 0, deleted: [] };
  const bytes = { read: 0, written: 0 };
  const cpuMsBefore = session.cpuMs();
  const take = async (part: EditedPart): Promise<void> => {
    edited.edited += part.edited;
    for (const id of part.deleted) edited.deleted.push(id);
    bytes.written += part.ndjson.length;
    if (bytes.written > Math.max(EDITED_BYTES_MAX, GROWTH_MAX * bytes.read)) {
      throw failure(`It makes the documents more than ${GROWTH_MAX} times as long.`);
    }
    if (session.cpuMs() - cpuMsBefore > TASK_CPU_MS_MAX)
      throw failure('It ran for more than an hour of processor time.');
    await written(output, part.ndjson, outputEnd);
  };
  const signal = cancelSignalOf(cancel.signal);
  let limit = FIRST_PAGE_DOCUMENTS;
  let offset = 0;
  let total = Infinity;
  while (offset < total) {
    const page = await pageOf(entry, filter, offset, limit, signal);
    cancel.check();
    total = totalOf(page);
    bytes.read += page.length;
    await session.edit(page, take);
    cancel.check();
    offset += limit;
    progress.enter(2, 'document', Math.min(offset, total), total);
    limit = nextLimit(limit, page.length);
  }
  return edited;
}

function pageOf(
  entry: IndexEntry,
  filter: unknown,
  offset: number,
  limit: number,
  signal: CancelSignal,
): Promise<Buffer> {
  const request = {
    offset,
    limit,
    fields: null,
    filter,
    sort: null,
    ids: null,
    retrieveVectors: true,
  };
  return entry.handle.fetchAllDocuments(
    JSON.stringify({ ...request, containsFilter: true }),
    signal,
  );
}

/** Reads the member `total`, which is the last one of the page. */
function totalOf(page: Buffer): number {
  const tail = page.subarray(-64).toString();
  return Number(/"total":(\d+)\}$/.exec(tail)![1]);
}

function nextLimit(limit: number, bytes: number): number {
  const wanted = Math.floor((limit * PAGE_BYTES) / Math.max(bytes, 1));
  return Math.max(1, Math.min(wanted, limit * 4, PAGE_DOCUMENTS_MAX));
}

async function written(
  output: WriteStream,
  bytes: Uint8Array,
  outputEnd: Promise<void>,
): Promise<void> {
  if (output.errored !== null) throw output.errored;
  if (bytes.length === 0 || output.write(bytes)) return;
  await Promise.race([new Promise<void>((done) => output.once('drain', done)), outputEnd]);
}

function failure(reason: string): ApiError {
  return new ApiError('edit_documents_by_function_error', `The function failed. ${reason}`);
}
