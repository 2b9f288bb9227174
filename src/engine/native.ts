/**
 * The functions of the native addon, with the types of their C++ counterparts in `native/addon/`.
 *
 * Everything passed is a number, a string of JSON or bytes. Functions that return a promise do
 * their work on a native thread; the others take less than a millisecond. A rejected promise or a
 * thrown error is an `Error` whose `code` is a code of the error catalogue (`contract/errors.ts`)
 * such as `invalid_search_filter`, `no_space_left_on_device`, `io_error`, or `internal`.
 * An error about a part of the request has the `ErrorLocation` `at`.
 */
import type { EngineTuning } from './tuning.ts';

export interface NativeAddon {
  /** Sizes the thread pools. Call once, before any index is opened. */
  configure(options: EngineOptions): void;

  /**
   * Opens the index stored in `dir`. Returns its handle. Removes no file.
   * @param creates create the index if it does not exist; otherwise a missing or empty record is
   *   refused as damaged
   */
  openIndex(dir: string, creates: boolean): number;
  /**
   * Removes the files that the record of the index does not name. Call it only when the index is
   * known to be the right one.
   */
  sweepIndex(handle: number): void;
  /**
   * Stops merges, and closes the index when nothing uses it any more. Resolves then, or when its
   * folder is opened again before that. A second call resolves at once.
   */
  closeIndex(handle: number): Promise<void>;
  /**
   * After the first SIGTERM or SIGINT the process has this much time. Then `message` is written to
   * standard error and the process exits with status 0 or 130, even if the event loop is blocked.
   * Call once, after the handlers of these signals are set.
   */
  watchStops(milliseconds: number, message: string): void;
  /**
   * Whether segments are being merged or waiting to be: closing the index would stop that until its
   * next batch.
   */
  isMerging(handle: number): boolean;
  /** Bytes of the segments that are merged next; 0: there is nothing to merge. */
  mergeDebt(handle: number): number;
  /**
   * Call it every few seconds: when no batch has run between two calls, the smallest segments are
   * merged, which searches would read one by one.
   */
  mergeAtRest(handle: number): void;
  /** Whether a block of its files that was read since the index was opened is damaged. */
  isDamaged(handle: number): boolean;
  /** Why merges have failed since the last call, or null. */
  takeMergeFault(handle: number): string | null;
  /** JSON text of {@link IndexState}: the last committed state. */
  indexState(handle: number): string;
  /** The settings of the last committed state; null when they were never set. */
  indexSettings(handle: number): StoredSettings | null;
  /** JSON list of the names of all fields of the index, including nested ones and their parents. */
  indexFields(handle: number): string;

  /**
   * Runs one search. `request`: JSON of {@link EngineSearchRequest}. Resolves to its result, or to
   * a request for a vector.
   */
  search(
    handle: number,
    request: EngineText,
    cancelId?: number,
    timed?: boolean,
  ): Promise<EngineResult>;
  /**
   * Finishes a search that waits for a vector. Consumes `search`, as `dropSearch` does; its index
   * is no longer needed.
   * @param vector null: there is none, words have to suffice
   */
  resumeSearch(
    search: PendingSearch,
    vector: Float32Array | null,
    cancelId?: number,
    timed?: boolean,
  ): Promise<EngineResult>;
  dropSearch(search: PendingSearch): void;
  /**
   * Cancels the search or listing that was given this id, a 32-bit number but 0: it ends soon, with
   * a partial result or with code `canceled`. Does nothing when it has ended.
   */
  cancelSearch(cancelId: number): void;
  /**
   * Runs several searches merged into one list. `handles[i]` belongs to `request.queries[i]`; the
   * handles of `request.otherIndexes`, whose facets are only checked, follow them.
   */
  federatedSearch(
    handles: number[],
    request: EngineText,
    cancelId?: number,
    timed?: boolean,
  ): Promise<EngineResult>;
  /**
   * Parses the response of a server of the network to a federated search. `bytes` must not change
   * until it is merged. Rejects with `remote_bad_response` and the fault.
   */
  readResponse(bytes: Buffer): Promise<ServerResponse>;
  /** The same for a facet search. */
  readFacetHits(bytes: Buffer): Promise<ServerFacetHits>;
  /** `request`: JSON of {@link EngineMergeRequest}. Consumes the responses. */
  mergeResponses(request: EngineText, responses: ServerResponse[]): Promise<EngineResult>;
  /**
   * Merges the best hits of the groups of several servers. `request`: JSON of {@link
   * EngineMergeRequest} with `grouping`. Consumes the responses.
   */
  mergeBest(request: EngineText, responses: ServerResponse[]): Promise<BestOfGroups>;
  /**
   * The response with these groups. Consumes `groups` and the responses with their hits, which may
   * be none.
   */
  mergeGroups(
    groups: ServerGroups,
    request: EngineText,
    responses: ServerResponse[],
  ): Promise<EngineResult>;
  /** `request`: JSON of {@link EngineFacetMergeRequest}. Consumes the responses. */
  mergeFacetHits(request: EngineText, responses: ServerFacetHits[]): Promise<EngineResult>;
  /**
   * Orders the hits of a page by the scores of the first of them, and keeps those that were asked
   * for. Like the next functions, takes pages that were neither written nor dropped, none of which
   * another call uses at the time.
   * @returns the size of the response
   */
  reorderPage(page: [HeldPage], scores: Float64Array | null, cancelId?: number): Promise<number>;
  /**
   * `keys`: JSON of the foreign keys, for each page by query. Resolves to JSON of a list of
   * {@link References}. Call it once for a page.
   */
  findReferences(pages: HeldPage[], keys: EngineText, cancelId?: number): Promise<string>;
  /**
   * Replaces the ids found for the index `uid` by the documents of a listing, which must not change
   * until the pages are written.
   * @param hidesKey without the member `primaryKey`
   */
  attachDocuments(
    pages: HeldPage[],
    uid: string,
    listing: Buffer,
    primaryKey: string,
    hidesKey: boolean,
    cancelId?: number,
  ): Promise<void>;
  /** Consumes the page. `extra`: JSON of members to add, each with a comma before it. */
  writePage(page: [HeldPage], extra: EngineText, cancelId?: number): Promise<EngineResult>;
  /**
   * Consumes the page, of a federated search that is merged here: the response of this server, for
   * `mergeResponses`.
   */
  responseOfPage(page: [HeldPage], cancelId?: number): Promise<ServerResponse>;
  dropPage(page: HeldPage): void;
  /** `request`: JSON of {@link EngineFacetSearchRequest}. Resolves like `search`. */
  facetSearch(
    handle: number,
    request: EngineText,
    cancelId?: number,
    timed?: boolean,
  ): Promise<EngineResult>;
  /** `request`: JSON of {@link EngineSimilarRequest}. */
  similar(
    handle: number,
    request: EngineText,
    cancelId?: number,
    timed?: boolean,
  ): Promise<EngineResult>;
  /**
   * `request`: JSON of the parameters of documents/fetch. Resolves to the first part of the
   * response body.
   * @param unlimited no time limit for the parts; `cancelId` applies to all of them
   */
  fetchDocuments(
    handle: number,
    request: EngineText,
    cancelId?: number,
    unlimited?: boolean,
  ): Promise<ListingPart>;
  /**
   * Resolves to the next part. Consumes `rest`, as `dropRest` does; its index is no longer needed.
   */
  fetchRest(rest: ListingRest): Promise<ListingPart>;
  dropRest(rest: ListingRest): void;
  /** One document as JSON text, or null when unknown. `fields`: null for all. */
  getDocument(
    handle: number,
    id: string,
    fields: string[] | null,
    retrieveVectors: boolean,
  ): Buffer | null;

  /**
   * Opens a stream of the documents as currently committed, in the order of their docids; the
   * stream does not see later changes, and survives closing the index. `request`: JSON of `filter`
   * as in documents/fetch, null for all documents, and of `containsFilter`, `multimodal` and
   * `foreignKeys`. Rejects with `invalid_document_filter`.
   */
  openDocuments(
    handle: number,
    request: string,
    cancelId?: number,
  ): Promise<{ stream: DocumentStream; total: number }>;
  /**
   * Resolves to the next documents, whole and with their vectors, one line of JSON each: at least
   * one, and more until they have `bytes` together; empty at the end. One call at a time.
   */
  nextDocuments(stream: DocumentStream, bytes: number): Promise<Buffer>;
  /** Restarts the stream. */
  rewindDocuments(stream: DocumentStream): void;
  /** Releases what the stream holds. A second call does nothing. */
  closeDocuments(stream: DocumentStream): void;

  /**
   * Creates the folder `dir`, which must not exist, with the index as currently committed: its
   * files as hard links where the file system supports them. Commits of the index wait meanwhile.
   * Not synced.
   */
  copyIndex(handle: number, dir: string): Promise<void>;

  /**
   * Checks the syntax of a payload and counts its documents. CSV is rewritten as NDJSON. Rejects
   * with `malformed_payload`.
   * @param source a file, or the bytes themselves
   * @param output path for the NDJSON of a CSV file; ignored for bytes and for other formats
   */
  checkPayload(
    source: string | Buffer,
    format: PayloadFormat,
    csvDelimiter: string,
    output: string,
  ): Promise<PayloadSummary>;

  /**
   * Applies one batch in one commit. `job`: JSON of {@link BatchJob}. Resolves to JSON of {@link
   * BatchOutcome}.
   * @param embed called with documents to embed, JSON of a list; each call must be followed by
   *   `completeEmbed` or `failEmbed`. Absent: nothing is embedded, and documents keep the
   *   embeddings they have
   */
  applyBatch(
    handle: number,
    job: string,
    payloads: Buffer[],
    embed?: ((call: number, documents: Buffer) => void) | null,
  ): Promise<string>;
  /** Delivers the embeddings that a call has asked for; the bytes are those of `chunkResult`. */
  completeEmbed(handle: number, call: number, result: Buffer): void;
  /** Ends the batch with this error, or as canceled with code `canceled`. */
  failEmbed(handle: number, call: number, code: string, message: string): void;
  /** Merges all segments as far as possible; can be stopped like a batch. */
  compactIndex(handle: number): Promise<void>;
  /**
   * From now on every commit of an index is a record first. `onCommit` gets the number of a call,
   * the folder of the index and the names of its new files, which are durable; `prepareCommit` and
   * `endCommit` follow. null: commits are applied at once.
   */
  setCommitLog(onCommit: ((call: number, dir: string, files: string[]) => void) | null): void;
  /**
   * Whether this process may commit from now on: segments are merged, and files that it makes have
   * no smaller numbers than `firstNumber`. null: it may not.
   */
  lead(firstNumber: bigint | null): void;
  /**
   * Makes the record of a commit, once all records before it are applied. Rejects when the commit
   * cannot happen any more; it has ended then.
   */
  prepareCommit(call: number): Promise<Buffer>;
  /**
   * What became of a commit. Unless it was applied, its batch ends with this error, or as canceled
   * with `canceled`.
   */
  endCommit(
    call: number,
    end: 'applied' | 'notWritten' | 'unknown',
    code: string,
    message: string,
  ): void;
  /**
   * Applies a record, whose files are in the folder of the index. `delta` must not change until
   * then.
   * @returns false: it was applied before
   */
  applyRecord(handle: number, logId: string, sequence: number, delta: Buffer): Promise<boolean>;
  /** Asks the running batch of the index to stop; its promise then rejects with code `canceled`. */
  cancelBatch(handle: number): void;
  /** JSON of {@link BatchProgress} of the running batch, or the text `null` when idle. */
  batchProgress(handle: number): string;

  /**
   * Parses a filter (string or arrays, as JSON text). Throws `invalid_search_filter` or
   * `feature_not_enabled`.
   */
  checkFilter(filter: string, containsFilter: boolean, multimodal: boolean): void;
  /** Throws `invalid_settings_ranking_rules` if the rule is a formula with a fault. */
  checkRankingRule(rule: string): void;
  /** The same on a native thread; rejects instead of throwing. */
  checkLargeFilter(filter: EngineText, containsFilter: boolean, multimodal: boolean): Promise<void>;

  /**
   * Verifies all data of the index in `dir`, which must not be open. Resolves to JSON of {@link
   * IndexReport}.
   */
  verifyIndex(dir: string): Promise<string>;

  /**
   * Locks a file until its descriptor is closed or the process dies.
   * @param kind a lock of one process alone, which the file then names (`holder`) or does not
   *   (`data`, for a file that holds data and is not written); or a shared lock of processes that
   *   only read (`reader`). The first two create the file
   * @returns the descriptor; or a text that names the holder of the lock. Throws when the file
   *   cannot be locked
   */
  lockFile(path: string, kind: 'holder' | 'data' | 'reader'): number | string;
  /**
   * From now on a fatal signal of this process writes `!` over the first byte of the open file,
   * unless it was raised by a thread that does not work for a batch. -1: turns this off.
   */
  markCrashes(descriptor: number): void;
  /**
   * Limits the private memory of another process of the same user, and disables its core dumps.
   * @returns false where the system has no such limits
   */
  limitProcess(pid: number, dataBytes: number): boolean;
  /**
   * Reads every page of an LMDB file that is not open for writing. Returns the damage found, or
   * null.
   */
  checkDatabase(path: string): string | null;
  /** The checksum stored with a value of a table: u32. */
  sumOfValue(table: string, key: string, value: Uint8Array): number;
}

/** JSON, as a string or as UTF-8. */
export type EngineText = string | Buffer;

export interface EngineResult {
  /** The response body, JSON. */
  bytes: Buffer;
  head: ResultHead;
}

/** Metadata of a result. */
export interface ResultHead {
  /** Whole milliseconds. */
  processingTimeMs: number;
  /** The time limit was reached before all was done. */
  degraded: boolean;
  /** Number of reachable hits. null: the result has no total. */
  totalHits: number | null;
  /**
   * When hits are `reranked`: a list of `ChunkDocument`, the documents of these hits. Absent if
   * there are fewer than two.
   */
  sources?: Buffer;
  /** For a merged result with metadata: uids by query. */
  queryUids?: string[];
  /**
   * What each of two lists has given to a drafted page: keys of documents, eight digits each.
   * Absent: nothing.
   */
  teams?: (string | undefined)[];
  /** When the request `keepsPage`: the response, which is not written yet, and its size. */
  page?: HeldPage;
  pageBytes?: number;
  /**
   * The search has not ended, and there are no bytes: a hybrid search whose words alone are not
   * good enough.
   */
  needsVector?: PendingSearch;
  /** The processor time that a search took on its thread. */
  cpuMs?: number;
  /** Present if the search is `timed`. */
  stages?: EngineStage[];
}

/** A stage of a search; together they are the time from the call until the thread was done. */
export interface EngineStage {
  name: string;
  ms: number;
  /** Processor time; the rest was waiting. Absent: unknown. */
  cpuMs?: number;
  /** What `size` counts, such as `documents`; absent: nothing. */
  unit?: string;
  size?: number;
}

/** A response that is not written yet. */
export interface HeldPage {
  readonly heldPage: unique symbol;
}

/** A search that waits for its vector. */
export interface PendingSearch {
  readonly pendingSearch: unique symbol;
}

export interface ListingPart {
  bytes: Buffer;
  /** null: this was the last part. */
  rest: ListingRest | null;
}

/** The rest of a listing. */
export interface ListingRest {
  readonly listingRest: unique symbol;
}

/** A parsed response of a server of the network. */
export interface ServerResponse {
  readonly serverResponse: unique symbol;
}

/** Groups of several servers, of which only the best hits are known. */
export interface ServerGroups {
  readonly serverGroups: unique symbol;
}

export interface BestOfGroups {
  groups: ServerGroups;
  /** JSON list: for each group, what finds its hits. */
  values: string;
}

export interface ServerFacetHits {
  readonly serverFacetHits: unique symbol;
}

export interface EngineOptions {
  searchThreads: number;
  indexingThreads: number;
  /** Budget of private memory for one indexing job, bytes. */
  indexingMemoryBytes: number;
  /**
   * Allocates memory for the bytes of a result, all of which are overwritten. Absent: each result
   * allocates its own.
   */
  takeBuffer?(bytes: number): Buffer;
  /** Absent: the defaults. */
  tuning?: EngineTuning;
}

declare const documentStream: unique symbol;
/** A stream of the engine; opaque here. */
export interface DocumentStream {
  readonly [documentStream]: true;
}

export type PayloadFormat = 'json' | 'ndjson' | 'csv';

export interface PayloadSummary {
  documents: number;
  /** NDJSON of a CSV that was given as bytes. */
  ndjson?: Buffer;
}

/** See `base/long-values.ts`. */
export interface StoredSettings {
  /** The complete API object, with `embedderStates`; without its long values. */
  json: string;
  /** JSON of the long values, by name. */
  long: Record<string, Buffer>;
}

export interface IndexState {
  primaryKey: string | null;
  numberOfDocuments: number;
  /** The sum over all embedders. */
  numberOfEmbeddings: number;
  /** Documents with at least one embedding. */
  numberOfEmbeddedDocuments: number;
  rawDocumentDbSize: number;
  /** Bytes on disk of the whole index, and of the part that holds live data. */
  diskBytes: number;
  usedBytes: number;
  fieldDistribution: Record<string, number>;
  /** Seconds since 1970 of the first moment at which a document expires; absent: none does. */
  firstExpiry?: number;
  /** RFC 3339 time of the last committed batch, null for a new index. */
  updatedAt: string | null;
  /** The last committed batch, for recovery after a crash. */
  lastBatch: { batchUid: number; taskUids: number[]; outcome: BatchOutcome } | null;
}

/** Work of one batch on one index, applied in order, in one commit. */
export interface BatchJob {
  batchUid: number;
  taskUids: number[];
  /** RFC 3339; becomes `updatedAt`. */
  now: string;
  steps: BatchStep[];
}

/** A file, or the index of a buffer in `payloads`. */
export type PayloadSource = { file: string } | { buffer: number };

export type BatchStep =
  | {
      task: number;
      kind: 'documents';
      method: 'replace' | 'update';
      payload: PayloadSource;
      format: 'json' | 'ndjson';
      primaryKey: string | null;
      skipCreation: boolean;
    }
  | { task: number; kind: 'deleteIds'; ids: string[] }
  /** The ids are a JSON list of texts. */
  | { task: number; kind: 'deleteIds'; payload: PayloadSource }
  | { task: number; kind: 'deleteFilter'; filter: unknown }
  /** Documents that have expired by the setting `expiresAtAttribute`. */
  | { task: number; kind: 'deleteExpired' }
  | { task: number; kind: 'clear' }
  /**
   * `settings`: the complete merged object in the form of GET /settings, with `embedderStates`.
   * `long`: indexes of the buffers with its long values, which `IndexHandle.applyBatch` takes out
   * of it. `embeddings`: embedders by name whose embeddings are regenerated, for all documents that
   * have not opted out or only those whose text has changed.
   */
  | {
      task: number;
      kind: 'settings';
      settings: Readonly<Record<string, unknown>>;
      long?: Readonly<Record<string, number>>;
      embeddings?: Readonly<Record<string, 'all' | 'changed'>>;
    }
  /** Fails with `index_primary_key_already_exists` when documents exist and the key differs. */
  | { task: number; kind: 'primaryKey'; primaryKey: string };

export interface BatchOutcome {
  /** One per step, in order. A step with an error has changed nothing. */
  results: StepResult[];
  numberOfDocuments: number;
}

export interface StepResult {
  task: number;
  error?: { code: string; message: string };
  /** For `documents`: number of distinct ids applied. */
  indexedDocuments?: number;
  /** For deletions: number of documents that existed and were deleted. */
  deletedDocuments?: number;
}

export interface IndexReport {
  /** The damage found; files are relative to the folder of the index. */
  faults: { file: string; structure: string; message: string }[];
  /** Files that the index does not use. */
  unused: string[];
  lastBatch: IndexState['lastBatch'];
  documents: number;
  segments: number;
  words: number;
  tokens: number;
  bytes: number;
}

export interface BatchProgress {
  /** Outermost first; names of the task specification. */
  steps: { currentStep: string; finished: number; total: number }[];
}
