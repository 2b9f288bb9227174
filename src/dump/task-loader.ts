/** Loads the tasks and batches of a dump into a store. */
import { createReadStream, existsSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { linesOf } from '../archive/json-values.ts';
import { Counts } from '../base/counts.ts';
import type { ExactDates, TaskStatus, TaskType } from '../contract/tasks.ts';
import type { BatchStats } from '../contract/responses.ts';
import { type ImportedTask, TaskImport } from '../store/import-tasks.ts';
import { PayloadFolder } from '../store/payload-folder.ts';
import type { Store } from '../store/store.ts';
import type { BatchRow } from '../store/task-row.ts';
import { newTask } from '../tasks/new-task.ts';
import { dateOf, exactDates } from './dump-dates.ts';
import { type DumpContents, parseObject } from './dump-contents.ts';
import { DumpError } from './dump-error.ts';
import { legacyTask } from './legacy-tasks.ts';
import { type DumpedTask, readTask } from './read-task.ts';

/** Maximum size of a task line in bytes. A deletion of many documents lists all their ids. */
export const TASK_LINE_BYTES_MAX = 256 * 2 ** 20;

/** A payload of the dump, as JSON lines. */
export interface SpooledPayload {
  file: string;
  bytes: number;
  documents: number;
}

export interface SpooledTasks {
  /** Files with one task per line. `folder`: that of their index; null: all indexes. */
  tasks: { file: string; path: string; folder: string | null }[];
  /** File of batches; null: the dump has none. */
  batches: string | null;
  /** Payloads by the name that tasks use. */
  payloads: ReadonlyMap<string, SpooledPayload>;
}

/** A batch of finished tasks. */
interface NewBatch {
  startedAt: number;
  finishedAt: number;
  exactDates: ExactDates | undefined;
  statuses: Counts<TaskStatus>;
  types: Counts<TaskType>;
  indexUids: Counts;
  count: number;
}

/**
 * @returns the number of tasks loaded, and of tasks skipped because their types are unknown
 */
export async function loadTasks(
  store: Store,
  payloadDir: string,
  contents: DumpContents,
  spooled: SpooledTasks,
): Promise<{ loaded: number; unknown: number }> {
  return new TaskLoader(store, payloadDir, contents, spooled).load();
}

class TaskLoader {
  readonly #import: TaskImport;
  readonly #payloads: PayloadFolder;
  readonly #contents: DumpContents;
  readonly #spooled: SpooledTasks;
  /** Uids of batches by their dates. */
  readonly #byDates = new Map<string, number>();
  readonly #listed = new Set<number>();
  readonly #used = new Set<number>();
  readonly #made = new Map<number, NewBatch>();
  #nextBatchUid = 0;

  constructor(store: Store, payloadDir: string, contents: DumpContents, spooled: SpooledTasks) {
    this.#import = new TaskImport(store);
    this.#payloads = new PayloadFolder(payloadDir);
    this.#contents = contents;
    this.#spooled = spooled;
  }

  async load(): Promise<{ loaded: number; unknown: number }> {
    for await (const { uid, startedAt, finishedAt } of this.#batches()) {
      this.#listed.add(uid);
      this.#byDates.set(`${startedAt} ${finishedAt}`, uid);
      this.#nextBatchUid = Math.max(this.#nextBatchUid, uid + 1);
    }
    let loaded = 0;
    let unknown = 0;
    for (const { file, path, folder } of this.#spooled.tasks) {
      let number = 0;
      for await (const line of linesIn(file, path)) {
        number++;
        const location = `${path}, line ${number}`;
        const task = this.#read(parseObject(line, location), folder, loaded, location);
        if (task === 'unfinished') continue;
        if (task === null) unknown++;
        else if (await this.#import.addTask(await this.#imported(task.task, task.payload)))
          loaded++;
      }
    }
    for await (const { uid, row } of this.#batches()) {
      if (this.#used.has(uid)) await this.#import.addBatch(uid, row);
    }
    for (const [uid, batch] of this.#made) await this.#import.addBatch(uid, rowOf(batch));
    await this.#import.finish();
    await this.#payloads.sync();
    return { loaded, unknown };
  }

  #read(
    line: Record<string, unknown>,
    folder: string | null,
    number: number,
    location: string,
  ): { task: DumpedTask; payload: string } | 'unfinished' | null {
    const { version, date } = this.#contents;
    let given = line;
    let payload: string | null = null;
    if (version < 6) {
      const about = folder ?? line.uuid;
      const index = this.#contents.indexes.find(
        (one) => one.folder === about || one.folder === `index-${String(about)}`,
      );
      const legacy = legacyTask(version, line, index?.uid ?? null, number);
      if (legacy === null) return 'unfinished';
      ({ line: given, payload } = legacy);
    } else if (line.status === 'processing' && isDump(line)) {
      // That of the dump itself: it is done, or it would not be read.
      given = { ...line, status: 'succeeded', finishedAt: line.finishedAt ?? date };
    }
    const task = readTask(given, location);
    return task === null ? null : { task, payload: payload ?? String(task.uid) };
  }

  async #imported(dumped: DumpedTask, payload: string): Promise<ImportedTask> {
    const { uid, request, matched, enqueuedAt, status, startedAt, finishedAt } = dumped;
    const exact = dumped.exactDates;
    const dates = { enqueuedAt, ...(exact !== undefined && { exactDates: exact }) };
    let payloadFileBytes: number | null = null;
    if (status === 'enqueued' && request.type === 'documentAdditionOrUpdate') {
      const found = this.#spooled.payloads.get(payload);
      payloadFileBytes = found?.bytes ?? 0;
      if (found !== undefined && existsSync(found.file)) {
        await rename(found.file, this.#payloads.file(uid));
        request.documents = found.documents;
      } else await (await open(this.#payloads.file(uid), 'w')).close();
    }
    const task = newTask(request, null, { matching: () => Promise.resolve(matched) });
    if (status === 'enqueued') return { uid, task, payloadFileBytes, ...dates, end: null };
    const { result, canceledBy, error, details } = dumped;
    return {
      uid,
      task,
      payloadFileBytes,
      ...dates,
      end: {
        status,
        result,
        canceledBy,
        startedAt: startedAt!,
        finishedAt: finishedAt!,
        batchUid: this.#batchOf(dumped),
        ...(error === undefined ? {} : { error }),
        ...(details === undefined ? {} : { details }),
      },
    };
  }

  /** The batch of a task. Tasks without one that have the same dates share a new batch. */
  #batchOf(task: DumpedTask): number {
    const { batchUid, startedAt, finishedAt, status, request } = task;
    const dates = `${startedAt} ${finishedAt}`;
    let uid = batchUid ?? this.#byDates.get(dates);
    if (uid === undefined) {
      uid = this.#nextBatchUid++;
      this.#byDates.set(dates, uid);
    }
    this.#nextBatchUid = Math.max(this.#nextBatchUid, uid + 1);
    if (this.#listed.has(uid)) this.#used.add(uid);
    else {
      let batch = this.#made.get(uid);
      if (batch === undefined) {
        batch = {
          startedAt: startedAt!,
          finishedAt: finishedAt!,
          count: 0,
          exactDates: task.exactDates,
          statuses: new Counts(),
          types: new Counts(),
          indexUids: new Counts(),
        };
        this.#made.set(uid, batch);
      }
      batch.count++;
      batch.statuses.add(status);
      batch.types.add(request.type);
      if ('indexUid' in request) batch.indexUids.add(request.indexUid);
    }
    return uid;
  }

  async *#batches(): AsyncGenerator<{
    uid: number;
    startedAt: number;
    finishedAt: number;
    row: BatchRow;
  }> {
    const { batches } = this.#spooled;
    if (batches === null) return;
    const path = 'batches/queue.jsonl';
    let number = 0;
    for await (const bytes of linesIn(batches, path)) {
      const location = `${path}, line ${++number}`;
      const line = parseObject(bytes, location);
      const { uid, details, stats, batchStrategy } = line;
      const finishedAt = dateOf(line.finishedAt);
      if (finishedAt === null || !Number.isInteger(uid)) continue;
      const startedAt = Math.min(dateOf(line.startedAt) ?? finishedAt, finishedAt);
      const exact = exactDates({ startedAt: line.finishedAt, ...line, enqueuedAt: null });
      const row: BatchRow = {
        startedAt,
        finishedAt,
        ...(exact !== undefined && { exactDates: exact }),
        strategy: typeof batchStrategy === 'string' ? batchStrategy : 'unspecified',
        details: (details ?? {}) as BatchRow['details'],
        stats: (stats ?? {}) as BatchStats,
      };
      yield { uid: uid as number, startedAt, finishedAt, row };
    }
  }
}

function isDump({ type }: Record<string, unknown>): boolean {
  return typeof type === 'object' && type !== null && 'dumpCreation' in type;
}

function rowOf({ startedAt, finishedAt, exactDates: exact, ...batch }: NewBatch): BatchRow {
  const { statuses, types, indexUids, count } = batch;
  return {
    startedAt,
    finishedAt,
    ...(exact !== undefined && { exactDates: exact }),
    strategy: 'unspecified',
    details: {},
    stats: {
      totalNbTasks: count,
      status: statuses.toObject(),
      types: types.toObject(),
      indexUids: indexUids.toObject(),
    },
  };
}

async function* linesIn(file: string, path: string): AsyncGenerator<Buffer, undefined> {
  try {
    yield* linesOf(createReadStream(file), TASK_LINE_BYTES_MAX);
  } catch (error) {
    if (error instanceof DumpError) throw error;
    throw new DumpError(`${path}: ${(error as Error).message}`);
  }
}
