import { createWriteStream, type WriteStream } from 'node:fs';
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../base/thread.ts';
import { ApiError } from '../../contract/errors.ts';
import type { BatchOutcome, BatchStep } from '../../engine/native.ts';
import type { IndexEntry } from '../../engine/registry.ts';
import type { EditReply, EditWorkerData } from '../../rhai/worker.ts';
import { removeFile } from '../../store/payload-folder.ts';
import type { RowOf } from '../../contract/task-types.ts';
import type { TaskEnd } from '../../store/finish-batch.ts';
import { replaceStep, runOnIndex } from './documents.ts';
import { applySteps, type BatchTask, readTasks, type RunContext, type RunResult } from './run.ts';

/** Bytes of documents in one message to the thread that edits: pages grow and shrink towards it. */
const PAGE_BYTES = 2 ** 21;
const PAGE_DOCUMENTS_MAX = 2000;
const FIRST_PAGE_DOCUMENTS = 50;

/** Heap of the thread that edits, MiB. A function that needs more fails. */
const WORKER_HEAP_MB = 256;
const WORKER_STACK_MB = 4;

/**
 * Edits the documents that match: they are read in pages, edited in a thread of its own, and what has changed is
 * applied in one commit. When the function fails for one document nothing changes.
 */
export async function runEdition(context: RunContext): Promise<RunResult> {
  const { batch, progress, cancel } = context;
  progress.enter(1, 'retrieving config', 0, 3);
  const [task] = await readTasks(context);
  const row = task!.row as RowOf<'documentEdition'>;
  return runOnIndex(context, async ({ entry }) => {
    progress.enter(1, 'computing document changes', 1, 3);
    const file = `${context.store.payloadFile(batch.uids[0]!)}.edited`;
    try {
      const { edited, deleted } = await editDocuments(context, entry, row, file);
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

/** The end of an edition that the engine committed before a crash. */
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

/** Writes the changed documents into a file. Rejects with `ApiError` or `BatchCanceled`. */
async function editDocuments(
  context: RunContext,
  entry: IndexEntry,
  row: RowOf<'documentEdition'>,
  file: string,
): Promise<Edited> {
  const { cancel, progress } = context;
  const { primaryKey } = entry.summary;
  const edited: Edited = { edited: 0, deleted: [] };
  const thread = new EditThread({
    functionText: row.function,
    context: row.context === null ? null : JSON.stringify(row.context),
    primaryKey: primaryKey ?? '',
  });
  const output = createWriteStream(file);
  const outputEnd = once(output, 'close');
  output.on('error', () => {});
  cancel.listen(() => thread.stop());
  try {
    let limit = FIRST_PAGE_DOCUMENTS;
    let offset = 0;
    let total = Infinity;
    while (offset < total) {
      const page = await pageOf(entry, row.filter, offset, limit);
      total = totalOf(page);
      const { ndjson, ...counts } = await thread.edit(page);
      cancel.check();
      edited.edited += counts.edited;
      for (const id of counts.deleted) edited.deleted.push(id);
      await written(output, ndjson);
      offset += limit;
      progress.enter(2, 'document', Math.min(offset, total), total);
      limit = nextLimit(limit, page.length);
    }
    output.end();
    await outputEnd;
    if (output.errored !== null) throw output.errored;
    return edited;
  } catch (error) {
    // A thread that was stopped fails whatever it was doing.
    cancel.check();
    throw error;
  } finally {
    cancel.listen(null);
    thread.stop();
    output.destroy();
  }
}

function pageOf(
  entry: IndexEntry,
  filter: unknown,
  offset: number,
  limit: number,
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
  return entry.handle.fetchAllDocuments(JSON.stringify({ ...request, containsFilter: true }));
}

/** The member `total`, which is the last of the answer. */
function totalOf(page: Buffer): number {
  const tail = page.subarray(-64).toString();
  return Number(/"total":(\d+)\}$/.exec(tail)![1]);
}

function nextLimit(limit: number, bytes: number): number {
  const wanted = Math.floor((limit * PAGE_BYTES) / Math.max(bytes, 1));
  return Math.max(1, Math.min(wanted, limit * 4, PAGE_DOCUMENTS_MAX));
}

async function written(output: WriteStream, bytes: Uint8Array): Promise<void> {
  if (output.errored !== null) throw output.errored;
  if (bytes.length > 0 && !output.write(bytes)) {
    await Promise.race([once(output, 'drain'), once(output, 'close')]);
  }
}

interface Waiting {
  resolve: (reply: Extract<EditReply, { ok: true }>) => void;
  reject: (error: unknown) => void;
}

/** The thread that a function runs in. One page at a time. */
class EditThread {
  readonly #worker: Worker;
  #waiting: Waiting | null = null;
  /** Why the thread takes no more pages. */
  #end: Error | null = null;

  constructor(workerData: EditWorkerData) {
    const resourceLimits = { maxOldGenerationSizeMb: WORKER_HEAP_MB, stackSizeMb: WORKER_STACK_MB };
    this.#worker = startThread(import.meta.url, './edit-worker.cjs', '../../rhai/worker.ts', {
      ...{ workerData, resourceLimits },
    });
    this.#worker.on('message', (reply: EditReply) => {
      if (reply.ok) this.#take()?.resolve(reply);
      else this.#take()?.reject(reply.ofScript ? failure(reply.message) : new Error(reply.message));
    });
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      const outOfMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      this.#close(outOfMemory ? failure('It needs too much memory.') : error);
    });
    this.#worker.on('exit', () =>
      this.#close(new Error('the thread that edits documents has ended')),
    );
  }

  /** Rejects with `ApiError` when the function fails. */
  edit(page: Buffer): Promise<Extract<EditReply, { ok: true }>> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#end !== null) this.#take()!.reject(this.#end);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node
      else this.#worker.postMessage({ page });
    });
  }

  stop(): void {
    void this.#worker.terminate();
  }

  #take(): Waiting | null {
    const waiting = this.#waiting;
    this.#waiting = null;
    return waiting;
  }

  #close(error: Error): void {
    this.#end ??= error;
    this.#take()?.reject(this.#end);
  }
}

function failure(reason: string): ApiError {
  return new ApiError('edit_documents_by_function_error', `The function failed. ${reason}`);
}
