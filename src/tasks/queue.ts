import { randomUUID } from 'node:crypto';
import { closeSync, createReadStream, linkSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { objectLines } from '../archive/json-values.ts';
import { danglingAlias } from '../contract/aliases.ts';
import { FLAG } from '../contract/task-types/task-type.ts';
import { ApiError, toApiError } from '../contract/errors.ts';
import { taskTypeEntry } from '../contract/task-types.ts';
import type {
  IndexVisibility,
  TaskFilter,
  TaskNetwork,
  TaskPaging,
  TaskPayload,
  TaskRequest,
  TaskTotals,
} from '../contract/tasks.ts';
import type { BatchView, TaskPage, TaskSummary, TaskView } from '../contract/responses.ts';
import type { IndexRegistry } from '../engine/registry.ts';
import { removeFile } from '../store/payload-folder.ts';
import type { Store } from '../store/store.ts';
import { STATUS_CODES, TYPE_CODES } from '../store/task-chunk.ts';
import { isBatchVisible, isVisible } from '../store/task-query.ts';
import type { NewTask } from '../store/append-tasks.ts';
import type { ListedTasks, TaskChange, TaskStore } from '../store/task-store.ts';
import { fromRuns } from '../base/uid-runs.ts';
import type { Followers } from './followers.ts';
import { deletionOf, newTask } from './new-task.ts';
import type { Scheduler } from './scheduler.ts';
import { batchView, taskSummary, taskView } from './view.ts';

/** Share of the task store that may be in use before new tasks are refused. */
const STORE_SHARE_MAX = 0.4;

/** How long a measured size of the store counts as current. */
const SIZE_AGE_MS = 500;

/** Prefix of payload files that do not yet belong to a task. */
const UPLOAD_PREFIX = 'upload-';

/** The indexes by uid, and their aliases. */
type AliasedIndexes = Pick<IndexRegistry, 'has' | 'targetOf'>;

/** Tasks that are repeated in the branches that follow their index. */
const REPEATED: ReadonlySet<string> = new Set<TaskRequest['type']>([
  'documentAdditionOrUpdate',
  'documentDeletion',
  'documentEdition',
]);

/** The interface of the tasks to the rest of the server: registers, lists and shows them. */
export class TaskQueue {
  readonly #store: TaskStore;
  readonly #disk: Store;
  readonly #scheduler: Scheduler;
  readonly #indexes: AliasedIndexes;
  readonly #followers: Followers;
  readonly #storeBytesMax: number;
  #size = { at: -Infinity, full: false };

  /** @param storeBytesMax size at which the task store would be full */
  constructor(
    store: TaskStore,
    disk: Store,
    scheduler: Scheduler,
    indexes: AliasedIndexes,
    followers: Followers,
    storeBytesMax: number,
  ) {
    this.#followers = followers;
    this.#indexes = indexes;
    this.#store = store;
    this.#disk = disk;
    this.#scheduler = scheduler;
    this.#storeBytesMax = storeBytesMax;
    scheduler.prune = (matched, originalFilter) => this.#registerPruning(matched, originalFilter);
  }

  /**
   * Appends a task durably and resolves to its summary. The payload file belongs to the task as
   * soon as you call this, even if the promise rejects.
   * @param isOwn the task is about this index only: branches that follow it do not repeat it
   */
  async register(given: TaskRequest, isOwn = false): Promise<TaskSummary> {
    let request = given;
    try {
      request = unaliased(given, this.#indexes);
      if (this.#isFull()) await this.#refuseWhenFull(request);
      const sent = payloadOf(request);
      // Tasks without a payload file are appended in the order of the calls.
      const payload = sent !== null && 'file' in sent ? await syncedFile(sent.file) : sent;
      const task = newTask(request, payload, this.#store);
      const repeated =
        isOwn || !REPEATED.has(task.type) ? [] : this.#repetitions(task, task.indexUid!);
      const appended = this.#store.append(task, repeated);
      const record = await this.#followers.after(request, appended);
      if (record.type === 'taskCancelation') this.#cancelRunning(record.uid);
      this.#scheduler.wake();
      return taskSummary(record, request.customMetadata);
    } catch (error) {
      const payload = payloadOf(request);
      if (payload !== null && 'file' in payload) this.removePayloadFile(payload.file);
      throw toApiError(error);
    }
  }

  /** The same task for each branch that follows the index, in the order of the uids. */
  #repetitions(task: NewTask, origin: string): NewTask[] {
    return this.#followers.of(origin).map((indexUid) => {
      const flags = (task.flags & ~FLAG.mayCreateIndex) | FLAG.followed;
      let { payload } = task;
      if (payload !== null && 'file' in payload) {
        const file = this.#newUploadPath();
        linkSync(payload.file, file);
        payload = { ...payload, file };
      }
      return { ...task, indexUid, flags, payload };
    });
  }

  /** See `TaskStore.watch`. */
  watch(watcher: (change: TaskChange) => void): () => void {
    return this.#store.watch(watcher);
  }

  /** The uids that the next task and the next batch will have. */
  get nextUids(): { task: number; batch: number } {
    const { nextTaskUid, nextBatchUid } = this.#store.table;
    return { task: nextTaskUid, batch: nextBatchUid };
  }

  setNetwork(uid: number, network: TaskNetwork): Promise<void> {
    return this.#store.setNetwork(uid, network);
  }

  /** Yields to other requests meanwhile. A page of long tasks ends early. */
  async page(
    filter: TaskFilter,
    paging: TaskPaging,
    visible: IndexVisibility,
  ): Promise<TaskPage<TaskView>> {
    const listed = await this.#store.list(filter, bounded(paging, PAGE_TASKS_MAX), visible);
    const { results, next } = await inSlices(
      listed,
      (uid) => this.#store.rowSize(uid),
      (uid) => this.get(uid, visible),
    );
    return pageOf(results, { ...listed, next }, paging);
  }

  get(uid: number, visible: IndexVisibility): TaskView | undefined {
    return isVisible(this.#store.table, uid, visible) ? taskView(this.#store, uid) : undefined;
  }

  /** Yields and ends early as `page` does. */
  async batchPage(
    filter: TaskFilter,
    paging: TaskPaging,
    visible: IndexVisibility,
  ): Promise<TaskPage<BatchView>> {
    const listed = await this.#store.listBatches(
      filter,
      bounded(paging, PAGE_BATCHES_MAX),
      visible,
    );
    const { results, next } = await inSlices(
      listed,
      (uid) => this.#store.batchSize(uid),
      (uid) => this.#batch(uid),
    );
    return pageOf(results, { ...listed, next }, paging);
  }

  getBatch(uid: number, visible: IndexVisibility): BatchView | undefined {
    return isBatchVisible(this.#store.table, uid, visible) ? this.#batch(uid) : undefined;
  }

  countMatching(filter: TaskFilter, visible: IndexVisibility): Promise<number> {
    return this.#store.count(filter, visible);
  }

  async totals(): Promise<TaskTotals> {
    const { statuses, types, indexes } = await this.#store.counts();
    const named = [...indexes].map((count, n) => [this.#store.indexName(n)!, count] as const);
    return {
      ofStatus: (status) => statuses[STATUS_CODES[status]]!,
      ofType: (type) => types[TYPE_CODES[type]]!,
      byIndex: new Map(named),
    };
  }

  /**
   * LMDB keeps free pages for later writes instead of returning them to the file system. The file
   * keeps its size while the server runs, and its free pages are used first.
   */
  compact(): Promise<{ before: number; after: number }> {
    const { diskBytes } = this.#disk.size();
    return Promise.resolve({ before: diskBytes, after: diskBytes });
  }

  documents(uid: number): AsyncIterable<Buffer> | null {
    const record = this.#store.record(uid);
    const row = this.#store.row(uid);
    if (record === undefined || row?.type !== 'documentAdditionOrUpdate') return null;
    if (record.status !== 'enqueued' && record.status !== 'processing') return null;
    const payload = this.#payload(uid, (record.flags & FLAG.payloadFile) !== 0);
    return payload === null || row.format === 'ndjson' ? payload : objectLines(payload);
  }

  #payload(uid: number, inFile: boolean): Readable | null {
    if (!inFile) {
      const payload = this.#store.payload(uid);
      return payload === undefined ? null : Readable.from([payload]);
    }
    try {
      // The name may disappear when the task ends; an open file stays readable.
      const fd = openSync(this.#store.payloadFile(uid), 'r');
      return createReadStream('', { fd, highWaterMark: PIECE_BYTES });
    } catch {
      return null;
    }
  }

  storeSize(): { maxBytes: number; usedBytes: number; freeBytes: number } {
    const { usedBytes } = this.#disk.size();
    const maxBytes = this.#storeBytesMax;
    return { maxBytes, usedBytes, freeBytes: Math.max(0, STORE_SHARE_MAX * maxBytes - usedBytes) };
  }

  /** Creates an empty file next to the payloads. Pass it to `register` or remove it. */
  newPayloadFile(): { path: string } {
    const path = this.#newUploadPath();
    closeSync(openSync(path, 'wx'));
    return { path };
  }

  #newUploadPath(): string {
    return this.#store.payloadPath(UPLOAD_PREFIX + randomUUID());
  }

  removePayloadFile(path: string): void {
    removeFile(path);
  }

  #batch(uid: number): BatchView | undefined {
    // A batch that has just ended may still count as running.
    const row = this.#store.batch(uid);
    return row === undefined ? this.#scheduler.runningView(uid) : batchView(uid, row);
  }

  #isFull(): boolean {
    const now = performance.now();
    if (now - this.#size.at > SIZE_AGE_MS) {
      this.#size = { at: now, full: this.storeSize().freeBytes === 0 };
    }
    return this.#size.full;
  }

  async #refuseWhenFull(request: TaskRequest): Promise<void> {
    if (
      taskTypeEntry(request.type).freesSpace === true &&
      'filter' in request &&
      'visible' in request
    ) {
      const { filter, visible } = request;
      if ((await this.#store.count(filter as TaskFilter, visible)) > 0) return;
    }
    throw new ApiError(
      'no_space_left_on_device',
      'The task store is full. Delete finished tasks with DELETE /tasks, then write again.',
    );
  }

  #cancelRunning(uid: number): void {
    const row = this.#store.row(uid);
    if (row?.type === 'taskCancelation') this.#scheduler.cancelRunning([...fromRuns(row.matched)]);
  }

  async #registerPruning(matched: number[], originalFilter: string): Promise<void> {
    await this.#store.append(deletionOf(matched, originalFilter));
  }
}

/** Bytes of a payload that are read at a time. */
const PIECE_BYTES = 256 * 1024;

/**
 * Maximum number of tasks on a page. For a greater limit the page ends early, and `next` continues
 * it.
 */
const PAGE_TASKS_MAX = 1000;
/** Lower than for tasks, because a batch takes several times as long to show. */
const PAGE_BATCHES_MAX = 200;

/** A page ends after the entry with which its stored bytes exceed this. */
const PAGE_BYTES_MAX = 16 * 1024 * 1024;
/** Entries, and stored bytes, that are made between two yields to the event loop. */
const SLICE_ENTRIES_MAX = 100;
const SLICE_BYTES_MAX = 128 * 1024;

/**
 * Shows entries until together they are too long for a page; `next` is then the first one left out.
 */
async function inSlices<T>(
  { uids, next }: ListedTasks,
  sizeOf: (uid: number) => number,
  shown: (uid: number) => T | undefined,
): Promise<{ results: T[]; next: number | null }> {
  const results: T[] = [];
  let bytes = 0;
  let sliceEntries = 0;
  let sliceBytes = 0;
  for (const uid of uids) {
    if (bytes > PAGE_BYTES_MAX) return { results, next: uid };
    if (sliceEntries >= SLICE_ENTRIES_MAX || sliceBytes >= SLICE_BYTES_MAX) {
      await setImmediate();
      sliceEntries = 0;
      sliceBytes = 0;
    }
    const size = sizeOf(uid);
    const view = shown(uid);
    if (view !== undefined) results.push(view);
    bytes += size;
    sliceBytes += size;
    sliceEntries++;
  }
  return { results, next };
}

function pageOf<T>(
  results: T[],
  { uids, total, next }: ListedTasks,
  { limit }: TaskPaging,
): TaskPage<T> {
  return { results, total, limit, from: uids[0] ?? null, next };
}

function bounded(page: TaskPaging, limitMax: number): TaskPaging {
  return page.limit <= limitMax ? page : { ...page, limit: limitMax };
}

/**
 * The request with the uid of the index instead of an alias: a write goes to the index that the
 * alias stands for when it is registered. Throws `ApiError`. An index is not created by an alias.
 */
function unaliased(request: TaskRequest, indexes: AliasedIndexes): TaskRequest {
  if (!('indexUid' in request) || request.type === 'indexCreation') return request;
  const { indexUid: alias } = request;
  const target = indexes.targetOf(alias);
  if (target === undefined) return request;
  const entry = taskTypeEntry(request.type);
  if (entry.refusesAlias?.(request) === true) {
    throw new ApiError(
      'alias_not_allowed',
      `\`${alias}\` is an alias of the index \`${target}\`; name the index itself.`,
    );
  }
  if (!indexes.has(target)) throw danglingAlias(alias, target);
  const isCreating = 'allowIndexCreation' in request && { allowIndexCreation: false };
  return { ...request, indexUid: target, ...isCreating } as TaskRequest;
}

function payloadOf(request: TaskRequest): TaskPayload | null {
  return 'payload' in request ? (request.payload ?? null) : null;
}

/** Syncs a payload file, so that it is on disk before its task is. */
async function syncedFile(file: string): Promise<{ file: string; size: number }> {
  const opened = await open(file, 'r+');
  try {
    await opened.sync();
    return { file, size: (await opened.stat()).size };
  } finally {
    await opened.close();
  }
}
