import { randomUUID } from 'node:crypto';
import { openSync, closeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { ApiError, toApiError } from '../contract/errors.ts';
import type {
  BatchView,
  IndexVisibility,
  TaskFilter,
  TaskPage,
  TaskPaging,
  TaskPayload,
  TaskRequest,
  TaskSummary,
  TaskView,
} from '../contract/tasks.ts';
import type { NewTask } from '../store/append-tasks.ts';
import { removeFile } from '../store/payload-folder.ts';
import type { Store } from '../store/store.ts';
import { FLAG } from '../store/task-chunk.ts';
import { isBatchVisible, isVisible } from '../store/task-query.ts';
import type { TaskRow } from '../store/task-row.ts';
import type { TaskStore } from '../store/task-store.ts';
import { fromRuns, runsOf } from '../store/uid-runs.ts';
import type { Scheduler } from './scheduler.ts';
import { batchView, taskSummary, taskView } from './view.ts';

/** Share of the task store that may be in use before new tasks are refused. */
const STORE_SHARE_MAX = 0.4;

/** How long a measured size of the store is believed. */
const SIZE_AGE_MS = 500;

/** Payload files that belong to no task yet. */
const UPLOAD_PREFIX = 'upload-';

/** The tasks for the rest of the server: registers, lists, shows. */
export class TaskQueue {
  readonly #store: TaskStore;
  readonly #disk: Store;
  readonly #scheduler: Scheduler;
  readonly #storeBytesMax: number;
  #size = { at: -Infinity, full: false };

  /** @param storeBytesMax size at which the task store would be full */
  constructor(store: TaskStore, disk: Store, scheduler: Scheduler, storeBytesMax: number) {
    this.#store = store;
    this.#disk = disk;
    this.#scheduler = scheduler;
    this.#storeBytesMax = storeBytesMax;
    scheduler.prune = (matched, originalFilter) => this.#registerPruning(matched, originalFilter);
  }

  /**
   * Appends a task durably and resolves to its summary. A payload file belongs to the task from the call
   * on, also when the promise rejects.
   */
  async register(request: TaskRequest): Promise<TaskSummary> {
    try {
      this.#refuseWhenFull(request);
      const given = payloadOf(request);
      // Tasks with nothing to wait for are appended in the order of the calls.
      const payload = given !== null && 'file' in given ? await syncedFile(given.file) : given;
      const record = await this.#store.append(this.#newTask(request, payload));
      if (record.type === 'taskCancelation') this.#cancelRunning(record.uid);
      this.#scheduler.wake();
      return taskSummary(record, request.customMetadata);
    } catch (error) {
      const payload = payloadOf(request);
      if (payload !== null && 'file' in payload) this.removePayloadFile(payload.file);
      throw toApiError(error);
    }
  }

  list(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): TaskPage<TaskView> {
    const { uids, total, next } = this.#store.list(filter, page, visible);
    const results = uids
      .map((uid) => taskView(this.#store, uid))
      .filter((view) => view !== undefined);
    return { results, total, limit: page.limit, from: uids[0] ?? null, next };
  }

  get(uid: number, visible: IndexVisibility): TaskView | undefined {
    return isVisible(this.#store.table, uid, visible) ? taskView(this.#store, uid) : undefined;
  }

  listBatches(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): TaskPage<BatchView> {
    const { uids, total, next } = this.#store.listBatches(filter, page, visible);
    const results = uids.map((uid) => this.#batch(uid)).filter((view) => view !== undefined);
    return { results, total, limit: page.limit, from: uids[0] ?? null, next };
  }

  getBatch(uid: number, visible: IndexVisibility): BatchView | undefined {
    return isBatchVisible(this.#store.table, uid, visible) ? this.#batch(uid) : undefined;
  }

  countMatching(filter: TaskFilter, visible: IndexVisibility): number {
    return this.#store.count(filter, visible);
  }

  storeSize(): { maxBytes: number; usedBytes: number; freeBytes: number } {
    const { usedBytes } = this.#disk.size();
    const maxBytes = this.#storeBytesMax;
    return { maxBytes, usedBytes, freeBytes: Math.max(0, STORE_SHARE_MAX * maxBytes - usedBytes) };
  }

  /** A new empty file beside the payloads. Handed to `register` or removed. */
  newPayloadFile(): { path: string } {
    const path = this.#store.payloadPath(UPLOAD_PREFIX + randomUUID());
    closeSync(openSync(path, 'wx'));
    return { path };
  }

  removePayloadFile(path: string): void {
    removeFile(path);
  }

  #batch(uid: number): BatchView | undefined {
    const running = this.#scheduler.runningView(uid);
    if (running !== undefined) return running;
    const row = this.#store.batch(uid);
    return row === undefined ? undefined : batchView(uid, row);
  }

  #refuseWhenFull(request: TaskRequest): void {
    const now = performance.now();
    if (now - this.#size.at > SIZE_AGE_MS) {
      this.#size = { at: now, full: this.storeSize().freeBytes === 0 };
    }
    if (!this.#size.full) return;
    const { type } = request;
    if (type === 'taskCancelation' || type === 'taskDeletion') {
      if (this.#store.count(request.filter, request.visible) > 0) return;
    }
    throw new ApiError(
      'no_space_left_on_device',
      'The task store is full. Delete finished tasks with DELETE /tasks to go on writing.',
    );
  }

  #cancelRunning(uid: number): void {
    const row = this.#store.row(uid);
    if (row?.type === 'taskCancelation') this.#scheduler.cancelRunning([...fromRuns(row.matched)]);
  }

  async #registerPruning(matched: number[], originalFilter: string): Promise<void> {
    await this.#store.append({
      ...PLAIN,
      type: 'taskDeletion',
      row: () => ({
        type: 'taskDeletion',
        originalFilter,
        matchedTasks: [...fromRuns(matched)].length,
        matched,
      }),
    });
  }

  /** `payload`: of an addition. */
  #newTask(request: TaskRequest, payload: NewTask['payload']): NewTask {
    const { customMetadata } = request;
    const task = this.#plainTask(request, payload);
    if (customMetadata === undefined) return task;
    return {
      ...task,
      row: (uid, numberOf) => ({ ...task.row(uid, numberOf), customMetadata }),
    };
  }

  #plainTask(request: TaskRequest, payload: NewTask['payload']): NewTask {
    switch (request.type) {
      case 'documentAdditionOrUpdate': {
        const { type, method, format, documents, primaryKey, skipCreation, indexUid } = request;
        let flags = request.allowIndexCreation ? FLAG.mayCreateIndex : 0;
        if (primaryKey !== null) flags |= FLAG.primaryKey;
        if (method === 'update') flags |= FLAG.update;
        return onIndex(indexUid, flags, payload, {
          type,
          method,
          format,
          documents,
          primaryKey,
          skipCreation,
        });
      }
      case 'documentDeletion': {
        const { type, by, indexUid } = request;
        if ('all' in by) return onIndex(indexUid, FLAG.all, null, { type, by: 'all' });
        if ('filter' in by) {
          return onIndex(indexUid, FLAG.byFilter, null, { type, by: 'filter', filter: by.filter });
        }
        const payload = { bytes: Buffer.from(JSON.stringify(by.ids)) };
        return onIndex(indexUid, 0, payload, { type, by: 'ids', ids: by.ids.length });
      }
      case 'documentEdition': {
        const { type, context, filter, indexUid } = request;
        return onIndex(indexUid, 0, null, { type, function: request.function, context, filter });
      }
      case 'settingsUpdate': {
        const { type, settings, indexUid } = request;
        const mayCreate = request.allowIndexCreation && !request.isReset;
        return onIndex(indexUid, mayCreate ? FLAG.mayCreateIndex : 0, null, { type, settings });
      }
      case 'indexCreation': {
        const { type, primaryKey, indexUid } = request;
        return onIndex(indexUid, 0, null, { type, primaryKey });
      }
      case 'indexDeletion':
        return onIndex(request.indexUid, 0, null, { type: request.type });
      case 'indexUpdate': {
        const { type, primaryKey = null, newUid, indexUid: oldUid } = request;
        if (newUid === undefined) return onIndex(oldUid, 0, null, { type, primaryKey });
        return {
          ...PLAIN,
          type,
          indexUid: oldUid,
          alsoIndexes: [newUid],
          row: (_, numberOf) => {
            const rename = { oldUid, newUid, target: numberOf(newUid) };
            return { type, primaryKey, rename };
          },
        };
      }
      case 'indexSwap': {
        const { type, swaps } = request;
        return {
          ...PLAIN,
          type,
          alsoIndexes: swaps.flatMap(({ indexes }) => indexes),
          row: (_, numberOf) => ({
            type,
            swaps: swaps.map(({ indexes: [a, b], rename }) => ({
              pair: [numberOf(a), numberOf(b)],
              rename,
            })),
          }),
        };
      }
      case 'taskCancelation':
      case 'taskDeletion': {
        const { type, filter, originalFilter, visible } = request;
        return {
          ...PLAIN,
          type,
          late: true,
          row: () => {
            const uids = this.#store.matching(filter, visible);
            return { type, originalFilter, matchedTasks: uids.length, matched: runsOf(uids) };
          },
        };
      }
      case 'dumpCreation':
      case 'snapshotCreation': {
        const { type } = request;
        return { ...PLAIN, type, row: () => ({ type }) };
      }
      case 'export': {
        const { type, url, apiKey, payloadSizeBytes, indexes } = request;
        return { ...PLAIN, type, row: () => ({ type, url, apiKey, payloadSizeBytes, indexes }) };
      }
    }
  }
}

const PLAIN = {
  indexUid: null,
  alsoIndexes: [],
  flags: 0,
  payload: null,
  late: false,
} satisfies Partial<NewTask>;

function onIndex(
  indexUid: string,
  flags: number,
  payload: NewTask['payload'],
  row: TaskRow,
): NewTask {
  return { ...PLAIN, type: row.type, indexUid, flags, payload, row: () => row };
}

function payloadOf(request: TaskRequest): TaskPayload | null {
  return request.type === 'documentAdditionOrUpdate' ? request.payload : null;
}

/** The content of a payload file is on disk before its task is. */
async function syncedFile(file: string): Promise<{ file: string; size: number }> {
  const opened = await open(file, 'r+');
  try {
    await opened.sync();
    return { file, size: (await opened.stat()).size };
  } finally {
    await opened.close();
  }
}
