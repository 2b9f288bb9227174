/**
 * What the HTTP layer needs from the rest of the server. `tasks/` and `search/` implement it and
 * `parts/http.ts` passes it in; nothing here depends on the implementation. Failures for the client
 * are `ApiError`s, thrown or as rejections.
 */
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { FetchRequest } from '../contract/documents.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type {
  IndexVisibility,
  TaskFilter,
  TaskNetwork,
  TaskPaging,
  TaskRequest,
  TaskTotals,
} from '../contract/tasks.ts';
import type {
  BatchView,
  EmbedderStatus,
  IndexInfo,
  IndexStats,
  InstanceStats,
  TaskPage,
  TaskSummary,
  TaskView,
} from '../contract/responses.ts';
import type { SearchedSettings } from '../engine/searched-index.ts';
import type { SearchPipeline } from '../search/execute.ts';
import type { Reader } from '../search/index-service.ts';
import type { SearchCaller } from '../search/caller.ts';
import type { FeatureStore } from '../store/feature-store.ts';
import type { KeyStore } from '../store/key-store.ts';
import type { TaskChange } from '../store/task-store.ts';

/** What searches and reads of documents need: every HTTP thread has it. */
export interface ReadServices {
  readonly indexes: Pick<IndexService, 'documents'> & {
    get(uid: string): object | undefined;
    settings(uid: string): Pick<SearchedSettings, 'embedders'> | undefined;
  };
  /** The implementation enforces what the caller may see. */
  readonly search: Pick<SearchPipeline, 'execute' | 'load'>;
  /** Documents of the whole network. */
  readonly networkDocuments: NetworkDocumentService;
  readonly foreign: ForeignFilters;
  readonly features: FeatureStore;
}

export interface Services extends ReadServices {
  readonly tasks: TaskService;
  readonly indexes: IndexService;
  readonly keys: KeyStore;
}

export interface ForeignFilters {
  /** The filter with conditions on other indexes resolved. Rejects with `ApiError`. */
  filter(
    uid: string,
    filter: unknown,
    caller: Pick<SearchCaller, 'access' | 'signal' | 'meter'>,
  ): Promise<unknown>;
}

/** Embeddings that are made in the background. */
export interface EmbedderService {
  /** null: the index has no such embedder. REQUIRES: the index exists */
  status(indexUid: string, embedder: string): Promise<EmbedderStatus | null>;
  /** Tries documents that have failed again, and a provider that is down at once. */
  retry(indexUid: string, embedder: string): void;
}

export interface TaskService {
  /**
   * Appends a task durably and resolves to its summary. A payload file belongs to the task from the
   * call on, even when the promise rejects.
   */
  register(request: TaskRequest): Promise<TaskSummary>;
  /** Records in a task its outcome on other servers; durable once resolved. */
  setNetwork(uid: number, network: TaskNetwork): Promise<void>;
  /**
   * Calls `watcher` after each change of the status of tasks. Returns a function that ends this.
   */
  watch(watcher: (change: TaskChange) => void): () => void;
  /** The uids that the next task and the next batch will have. */
  readonly nextUids: { readonly task: number; readonly batch: number };
  /** Yields to other requests. A page ends early when its tasks are long; `next` says where. */
  page(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): Promise<TaskPage<TaskView>>;
  /** undefined: unknown, deleted, or not visible. */
  get(uid: number, visible: IndexVisibility): TaskView | undefined;
  /** `filter.uids` are task uids; `page.from` is a batch uid. Yields as `page` does. */
  batchPage(
    filter: TaskFilter,
    page: TaskPaging,
    visible: IndexVisibility,
  ): Promise<TaskPage<BatchView>>;
  getBatch(uid: number, visible: IndexVisibility): BatchView | undefined;
  countMatching(filter: TaskFilter, visible: IndexVisibility): Promise<number>;
  /** Counts all tasks in one pass. */
  totals(): Promise<TaskTotals>;
  /**
   * Releases the unused space of the store. Resolves to the size of its file before and after,
   * bytes.
   */
  compact(): Promise<{ before: number; after: number }>;
  /**
   * Bytes: the maximum size of the task store, the size in use, and what is left before new tasks
   * are refused.
   */
  storeSize(): { maxBytes: number; usedBytes: number; freeBytes: number };
  /**
   * The documents of an addition that has not ended, one JSON text per line, in pieces; null: there
   * are none. A `payload` in a file is read while the pieces are consumed.
   */
  documents(uid: number): AsyncIterable<Buffer> | null;
  /**
   * A new empty file on the filesystem of the task payloads. Pass it to `register` or remove it.
   */
  newPayloadFile(): { path: string };
  removePayloadFile(path: string): void;
}

export interface IndexService {
  /** Ascending uid. */
  list(): IndexInfo[];
  get(uid: string): IndexInfo | undefined;
  /** @param withParts include the sizes of the internal databases */
  stats(uid: string, withParts?: boolean): IndexStats | undefined;
  /** Bytes on disk by kind of data; empty for an index that is missing. */
  partSizes(uid: string): Record<string, number>;
  /**
   * Statistics of every index, without its parts; the caller removes those that may not be seen.
   */
  allStats(): Promise<InstanceStats>;
  /** Bytes of the segments that are merged next. */
  mergeDebt(): number;
  /**
   * The complete object in the order of GET, with secrets in clear; undefined when the index is
   * missing.
   */
  settings(uid: string): SettingsObject | undefined;
  /** Names of the fields that the index knows, ascending; undefined when the index is missing. */
  fields(uid: string): string[] | undefined;
  readonly documents: DocumentService;
}

export interface DocumentService {
  /** JSON text of one document, null when unknown. Rejects with `index_not_found`. */
  getDocument(
    uid: string,
    id: string,
    params: { fields: string[] | null; retrieveVectors: boolean },
  ): Promise<Buffer | null> | Buffer | null;
  /** The response body, in parts when it is long. */
  fetch(uid: string, params: FetchRequest, reader: Reader): Promise<Buffer | AsyncIterable<Buffer>>;
}

export interface NetworkDocumentService {
  /** The response body. */
  fetch(uid: string, params: FetchRequest, reader: Reader): Promise<Buffer>;
  /** JSON text of one document, null when no reachable server has it. */
  getDocument(
    uid: string,
    id: string,
    params: { fields: string[] | null; retrieveVectors: boolean },
    signal: CancelSignal,
  ): Promise<Buffer | null>;
}
