/**
 * The functions of the native addon, typed beside their C++ twins in `native/addon/`.
 *
 * Everything that crosses is a number, a string of JSON or bytes. Functions that return a promise do
 * their work on a native thread; the others take less than a millisecond. A rejected promise or a
 * thrown error is an `Error` whose `code` is a code of the error catalogue (`contract/errors.ts`) such
 * as `invalid_search_filter`, `no_space_left_on_device`, `io_error`, or `internal`.
 */
import type { EngineTuning } from './tuning.ts';

export interface NativeAddon {
  /** Sizes the thread pools. Call once, before any index is opened. */
  configure(options: EngineOptions): void;

  /**
   * Opens the index stored in `dir`. Returns its handle. Removes no file.
   * @param creates makes the index when there is none; else a missing or empty record is refused as damaged
   */
  openIndex(dir: string, creates: boolean): number;
  /** Removes the files that the record of the index does not name. To be called once it is known to be the right one. */
  sweepIndex(handle: number): void;
  /**
   * Stops merges, and closes the index once nothing works on it any more; resolves then, or when its folder is opened
   * again before that. A second call resolves at once.
   */
  closeIndex(handle: number): Promise<void>;
  /**
   * From the first SIGTERM or SIGINT on the process has this time. Then `message` is written to standard error and the
   * process ends, with status 0 or 130, also when the event loop is blocked. Call once, after the handlers of these
   * signals are set.
   */
  watchStops(milliseconds: number, message: string): void;
  /** Whether segments are being merged, or will be: closing the index would stop that until its next batch. */
  isMerging(handle: number): boolean;
  /** What merges have failed of since this was last asked, or null. */
  takeMergeFault(handle: number): string | null;
  /**
   * The engine takes `json` in the place of that of {@link StoredSettings}, until the next change of settings stores them: the
   * same settings in today's form, before the first search and the first batch.
   */
  replaceSettings(handle: number, json: string): void;
  /** JSON text of {@link IndexState}: the last committed state. */
  indexState(handle: number): string;
  /** The settings of the last committed state; null when they were never set. */
  indexSettings(handle: number): StoredSettings | null;
  /** JSON list of the names of all fields that the index knows, nested ones and their parents too. */
  indexFields(handle: number): string;

  /** Runs one search. `request`: JSON of {@link EngineSearchRequest}. Resolves to its answer, or to what it needs. */
  search(handle: number, request: EngineText, cancelId?: number): Promise<EngineResult>;
  /**
   * Ends a search that needs a vector. It is used up by this, or by `dropSearch`; it does not need its index any more.
   * @param vector null: there is none, words have to do
   */
  resumeSearch(
    search: PendingSearch,
    vector: Float32Array | null,
    cancelId?: number,
  ): Promise<EngineResult>;
  dropSearch(search: PendingSearch): void;
  /**
   * Nobody waits any more for the search or the listing that was given this ticket, a number of 32 bits but 0: it ends
   * soon, with whatever it has or with code `canceled`. Nothing happens when it has ended.
   */
  cancelSearch(cancelId: number): void;
  /**
   * Runs several searches merged into one list. `handles[i]` belongs to `request.queries[i]`; behind them come the
   * handles of `request.otherIndexes`, whose facets are checked only.
   */
  federatedSearch(handles: number[], request: EngineText, cancelId?: number): Promise<EngineResult>;
  /**
   * Reads what a server of the network has answered to a federated search. `bytes` must not change until it is merged.
   * Rejects with `remote_bad_response`, and what is wrong.
   */
  readResponse(bytes: Buffer): Promise<ServerResponse>;
  /** The same of a facet search. */
  readFacetHits(bytes: Buffer): Promise<ServerFacetHits>;
  /** `request`: JSON of {@link EngineMergeRequest}. The responses are used up. */
  mergeResponses(request: EngineText, responses: ServerResponse[]): Promise<EngineResult>;
  /** `request`: JSON of {@link EngineFacetMergeRequest}; the same. */
  mergeFacetHits(request: EngineText, responses: ServerFacetHits[]): Promise<EngineResult>;
  /** `request`: JSON of {@link EngineFacetSearchRequest}. Resolves like `search`. */
  facetSearch(handle: number, request: EngineText, cancelId?: number): Promise<EngineResult>;
  /** `request`: JSON of {@link EngineSimilarRequest}. */
  similar(handle: number, request: EngineText, cancelId?: number): Promise<EngineResult>;
  /**
   * `request`: JSON of the parameters of documents/fetch. Resolves to the first part of the response body.
   * @param unlimited the parts may take as long as they need; the ticket counts for all of them
   */
  fetchDocuments(
    handle: number,
    request: EngineText,
    cancelId?: number,
    unlimited?: boolean,
  ): Promise<ListingPart>;
  /** Resolves to the next part. A `rest` is used up by this, or by `dropRest`; it does not need its index any more. */
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
   * Opens a stream of the documents as they are committed now, in the order of their docids; they stay so for the
   * stream, also when the index changes or closes.
   * `request`: JSON of `filter` as in documents/fetch, null for all documents, and of `containsFilter`, `multimodal` and `foreignKeys`.
   * Rejects with `invalid_document_filter`.
   */
  openDocuments(
    handle: number,
    request: string,
    cancelId?: number,
  ): Promise<{ stream: DocumentStream; total: number }>;
  /**
   * Resolves to the next documents, whole and with their vectors, a line of JSON each: at least one, and lines until they have
   * `bytes` together; empty at the end. One call at a time.
   */
  nextDocuments(stream: DocumentStream, bytes: number): Promise<Buffer>;
  /** The stream begins anew. */
  rewindDocuments(stream: DocumentStream): void;
  /** Lets go of what the stream reads. A second call does nothing. */
  closeDocuments(stream: DocumentStream): void;

  /**
   * Makes the folder `dir`, which is absent, with the index as it is committed now: its files by further names where
   * the file system has such. Commits of the index wait meanwhile. Not synced.
   */
  copyIndex(handle: number, dir: string): Promise<void>;

  /**
   * Checks the syntax of a payload and counts its documents. CSV is rewritten as NDJSON.
   * @param source a file, or the bytes themselves
   * @param output where the NDJSON of a CSV file goes; ignored for bytes and for other formats
   * Rejects with `malformed_payload`.
   */
  checkPayload(
    source: string | Buffer,
    format: PayloadFormat,
    csvDelimiter: string,
    output: string,
  ): Promise<PayloadSummary>;

  /**
   * Applies one batch in one commit. `job`: JSON of {@link BatchJob}. Resolves to JSON of {@link BatchOutcome}.
   * @param embed called with documents to embed, JSON of a list; each call must be answered with `completeEmbed` or
   *   `failEmbed`. Absent: nothing is embedded, and documents keep the embeddings they have
   */
  applyBatch(
    handle: number,
    job: string,
    payloads: Buffer[],
    embed?: ((call: number, documents: Buffer) => void) | null,
  ): Promise<string>;
  /** The embeddings that a call has asked for; the bytes are those of `chunkResult`. */
  completeEmbed(handle: number, call: number, result: Buffer): void;
  /** Ends the batch with this error, or as canceled with code `canceled`. */
  failEmbed(handle: number, call: number, code: string, message: string): void;
  /** Merges all segments as far as can be; stopped as a batch is. */
  compactIndex(handle: number): Promise<void>;
  /** Asks the running batch of the index to stop; its promise then rejects with code `canceled`. */
  cancelBatch(handle: number): void;
  /** JSON of {@link BatchProgress} of the running batch, or the text `null` when idle. */
  batchProgress(handle: number): string;

  /** Parses a filter (string or arrays, as JSON text). Throws `invalid_search_filter` or `feature_not_enabled`. */
  checkFilter(filter: string, containsFilter: boolean, multimodal: boolean): void;
  /** The same on a native thread, rejecting. */
  checkLargeFilter(filter: EngineText, containsFilter: boolean, multimodal: boolean): Promise<void>;

  /** Reads everything of the index in `dir`, which nobody has open. Resolves to JSON of {@link IndexReport}. */
  verifyIndex(dir: string): Promise<string>;

  /**
   * Locks a file until its descriptor is closed or the process dies.
   * @param kind the lock of one process alone, which the file then names (`holder`) or of which it tells nothing (`data`,
   *   a file that holds data and is not written); or one of any that write nothing (`reader`). The first two make the file
   * @returns the descriptor; or a text that says who holds the lock. Throws when the file cannot be locked
   */
  lockFile(path: string, kind: 'holder' | 'data' | 'reader'): number | string;
  /**
   * From now on a fatal signal of this process writes `!` over the first byte of the open file, unless it was raised by a
   * thread that does not work for a batch. -1: nothing any more.
   */
  markCrashes(descriptor: number): void;
  /**
   * Limits the private memory of another process of the same user, and its core dumps to none.
   * @returns false where the system has no such limits
   */
  limitProcess(pid: number, dataBytes: number): boolean;
  /** Reads every page of an LMDB file that nobody has open for writing. Returns what is damaged, or null. */
  checkDatabase(path: string): string | null;
  /** The checksum that a value of a table carries: u32. */
  sumOfValue(table: string, key: string, value: Uint8Array): number;
}

/** JSON, as a string or as UTF-8. */
export type EngineText = string | Buffer;

export interface EngineResult {
  /** The response body, JSON. */
  bytes: Buffer;
  head: ResultHead;
}

/** What is known of an answer besides its bytes. */
export interface ResultHead {
  /** Whole milliseconds. */
  processingTimeMs: number;
  /** The time was up before all was done. */
  degraded: boolean;
  /** As far as hits can be reached. null: the answer has no total. */
  totalHits: number | null;
  /** Where the request asks for `hitSpans`: of each hit its first byte and the byte behind it. Absent without hits. */
  hitSpans?: Uint32Array;
  /** With them, for a federated search: of each hit its query. */
  hitQueries?: Uint32Array;
  /** Of a merged answer with metadata: by query. */
  queryUids?: string[];
  /** The search has not ended, and there are no bytes: a hybrid search whose words alone are not good enough. */
  needsVector?: PendingSearch;
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

/** What is left of a listing. */
export interface ListingRest {
  readonly listingRest: unique symbol;
}

/** What a server of the network has answered, as the engine has read it. */
export interface ServerResponse {
  readonly serverResponse: unique symbol;
}

export interface ServerFacetHits {
  readonly serverFacetHits: unique symbol;
}

export interface EngineOptions {
  searchThreads: number;
  indexingThreads: number;
  /** Budget of private memory for one indexing job, bytes. */
  indexingMemoryBytes: number;
  /** Memory for the bytes of an answer, all of which are overwritten. Absent: each answer has its own. */
  takeBuffer?(bytes: number): Buffer;
  /** Absent: the defaults. */
  tuning?: EngineTuning;
}

declare const documentStream: unique symbol;
/** A stream of the engine; what is in it is the engine's. */
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
  /** The complete API object, and `embedderStates` beside it; without its long values. */
  json: string;
  /** JSON by name. */
  long: Record<string, Buffer>;
}

export interface IndexState {
  primaryKey: string | null;
  /** Every embedder has a state with a distribution, null perhaps: see `completeStates`. */
  embeddersComplete: boolean;
  numberOfDocuments: number;
  /** Of all embedders together. */
  numberOfEmbeddings: number;
  /** Documents with at least one embedding. */
  numberOfEmbeddedDocuments: number;
  rawDocumentDbSize: number;
  /** Bytes on disk of the whole index, and of the part that holds live data. */
  diskBytes: number;
  usedBytes: number;
  fieldDistribution: Record<string, number>;
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

/** A file, or the number of a buffer in `payloads`. */
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
  | { task: number; kind: 'clear' }
  /**
   * `settings`: the complete merged object in the form of GET /settings, and `embedderStates` beside it. `long`: numbers of the
   * buffers with its long values, which `IndexHandle.applyBatch` takes out of it. `embeddings`: embedders by name whose embeddings are made anew, of all documents that are not opted out or of those whose text is
   * another now.
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
  /** Of `documents`: distinct ids applied. */
  indexedDocuments?: number;
  /** Of the deletions: documents that existed and were deleted. */
  deletedDocuments?: number;
}

export interface IndexReport {
  /** What is damaged; files are below the folder of the index. */
  faults: { file: string; structure: string; message: string }[];
  /** Files that count for nothing. */
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
