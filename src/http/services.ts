/**
 * What the HTTP layer needs from the rest of the server. `tasks/` and `search/` implement it, `main.ts`
 * hands it over; nothing here knows how it is done. Failures the client is told are `ApiError`s, thrown
 * or as rejections.
 */
import type { CancelSignal } from '../base/cancel-signal.ts';
import type { FetchRequest } from '../contract/documents.ts';
import type { IndexInfo, IndexStats, InstanceStats } from '../contract/indexes.ts';
import type {
  FacetSearchRequest,
  Federation,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../contract/search.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type {
  BatchView,
  IndexVisibility,
  TaskFilter,
  TaskNetwork,
  TaskPage,
  TaskPaging,
  TaskRequest,
  TaskSummary,
  TaskView,
} from '../contract/tasks.ts';
import type { SearchResponse } from '../search/response.ts';
import type { SearchCaller } from '../search/caller.ts';
import type { FeatureStore } from '../store/feature-store.ts';
import type { KeyStore } from '../store/key-store.ts';

export interface Services {
  readonly tasks: TaskService;
  readonly indexes: IndexService;
  readonly search: SearchService;
  /** Documents of the whole network. */
  readonly networkDocuments: NetworkDocumentService;
  readonly foreign: ForeignFilters;
  readonly keys: KeyStore;
  readonly features: FeatureStore;
}

export interface ForeignFilters {
  /** The filter with conditions on other indexes resolved. Rejects with `ApiError`. */
  filter(
    uid: string,
    filter: unknown,
    caller: Pick<SearchCaller, 'access' | 'signal'>,
  ): Promise<unknown>;
}

export interface TaskService {
  /**
   * Appends a task durably and resolves to its summary. A payload file belongs to the task from the
   * call on, also when the promise rejects.
   */
  register(request: TaskRequest): Promise<TaskSummary>;
  /** Adds to a task what became of it on other servers; durable once resolved. */
  setNetwork(uid: number, network: TaskNetwork): Promise<void>;
  list(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): TaskPage<TaskView>;
  /** Like `list`, with others served meanwhile. A page ends early when its tasks are long; `next` tells where. */
  page(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): Promise<TaskPage<TaskView>>;
  /** undefined: unknown, deleted, or not visible. */
  get(uid: number, visible: IndexVisibility): TaskView | undefined;
  /** `filter.uids` are task uids; `page.from` is a batch uid. */
  listBatches(filter: TaskFilter, page: TaskPaging, visible: IndexVisibility): TaskPage<BatchView>;
  /** Like `listBatches`, as `page` is like `list`. */
  batchPage(
    filter: TaskFilter,
    page: TaskPaging,
    visible: IndexVisibility,
  ): Promise<TaskPage<BatchView>>;
  getBatch(uid: number, visible: IndexVisibility): BatchView | undefined;
  countMatching(filter: TaskFilter, visible: IndexVisibility): number;
  /** Gives back what is free in the store. Bytes of its file before and after. */
  compact(): Promise<{ before: number; after: number }>;
  /** Bytes: what the task store may grow to, what is in use, and what is left before new tasks are refused. */
  storeSize(): { maxBytes: number; usedBytes: number; freeBytes: number };
  /**
   * The documents of an addition that has not ended, one JSON text a line, in pieces; null: there are none. `payload`
   * of a file is read while the pieces are taken.
   */
  documents(uid: number): AsyncIterable<Buffer> | null;
  /** A new empty file on the filesystem of the task payloads. Handed to `register` or removed. */
  newPayloadFile(): { path: string };
  removePayloadFile(path: string): void;
}

export interface IndexService {
  /** Ascending uid. */
  list(): IndexInfo[];
  get(uid: string): IndexInfo | undefined;
  /** @param withParts sizes of the internal databases too */
  stats(uid: string, withParts?: boolean): IndexStats | undefined;
  /** Bytes on disk by what they hold; none of an index that is missing. */
  partSizes(uid: string): Record<string, number>;
  /** Of every index, without its parts; the caller leaves out what may not be seen. */
  allStats(): InstanceStats;
  /** The complete object in the order of GET, secrets in clear; undefined when the index is missing. */
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
  fetch(
    uid: string,
    params: FetchRequest,
    signal: CancelSignal,
  ): Promise<Buffer | AsyncIterable<Buffer>>;
}

export interface NetworkDocumentService {
  /** The response body. */
  fetch(uid: string, params: FetchRequest, signal: CancelSignal): Promise<Buffer>;
  /** JSON text of one document, null when no server that answers has it. */
  getDocument(
    uid: string,
    id: string,
    params: { fields: string[] | null; retrieveVectors: boolean },
    signal: CancelSignal,
  ): Promise<Buffer | null>;
}

export interface SearchService {
  /**
   * Each resolves to the finished response body and what is known of it. `params` is validated; what the caller may see is
   * seen to.
   * @param hidesOrigin hits of a search of the whole network do not say where they are from
   */
  search(
    uid: string,
    params: SearchRequest,
    caller: SearchCaller,
    hidesOrigin?: boolean,
  ): Promise<SearchResponse>;
  /** The queries of a multi-search, each by itself. */
  separate(queries: readonly MultiSearchQuery[], caller: SearchCaller): Promise<SearchResponse[]>;
  /** The same, merged into one list. */
  federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: SearchCaller,
  ): Promise<SearchResponse>;
  facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: SearchCaller,
  ): Promise<SearchResponse>;
  similar(uid: string, params: SimilarRequest, caller: SearchCaller): Promise<SearchResponse>;
  /** The searches that run and that wait, how many may wait, and how many since the start their time limit has cut. */
  load(): { running: number; waiting: number; waitingMax: number; degraded: number };
}
