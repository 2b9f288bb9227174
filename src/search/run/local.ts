import { randomBytes } from 'node:crypto';
import { jsonText } from '../../base/json-slices.ts';
import { pauser } from '../../base/pauser.ts';
import { ApiError, indexNotFound } from '../../contract/errors.ts';
import { searchKind, type VectorRequest } from '../../contract/search-kind.ts';
import type { FeatureSet } from '../../contract/features.ts';
import { SEARCH_CUTOFF_MS } from '../../contract/settings/registry.ts';
import { isGiven } from '../../contract/settings/setting.ts';
import type {
  FacetSearchRequest,
  Federation,
  MultiSearchQuery,
  SearchRequest,
  SimilarRequest,
} from '../../contract/search.ts';
import { DEFAULT_LIMITS, type RequestLimits } from '../../contract/limits.ts';
import { cancelable } from '../../engine/handle.ts';
import type { EngineResult } from '../../engine/native.ts';
import { type Page, withPage } from '../../engine/page.ts';
import type {
  SearchedHandle,
  SearchedIndex,
  SearchedIndexes,
} from '../../engine/searched-index.ts';
import { resultFrom, fromEngine } from '../../engine/errors.ts';
import {
  planFacetSearch,
  planFederated,
  planSearch,
  planSimilar,
  type Merged,
  type QueryVector,
  type SearchMetadata,
  withEngineText,
} from '../plan.ts';
import { type SearchResponse, written } from '../response.ts';
import type { SearchCaller } from '../caller.ts';
import { ofQuery } from '../of-query.ts';
import type { SearchQueue, Permit } from '../search-queue.ts';
import type { Stages } from '../stages.ts';
import { type Reranking, rerankingOf } from '../reranked.ts';
import { severally } from './severally.ts';
import { SuspendedSearches } from '../suspended-searches.ts';

/** Options of a run apart from its request and its caller. */
export interface RunOptions {
  /**
   * Hits of a federated search, or values of a facet, will be merged with those of other servers.
   */
  merged?: Merged | undefined;
  /** The hits of the first page, where the window begins there but spans several pages. */
  firstPage?: number | undefined;
  /** Responses are changed before they are written. */
  keepsPage?: boolean;
}

export interface SearchLoad {
  running: number;
  /** Searches that may run at once. */
  permits: number;
  waiting: number;
  waitingMax: number;
  /** Searches since the start that reached their time limit before they were done. */
  degraded: number;
}

export interface SearchLimits extends RequestLimits {
  /** Queries of one multi-search that run or wait for a permit concurrently. */
  queriesAtOnce: number;
  /** One cell, which counts searches that reached their time limit. Absent: one of its own. */
  degraded?: Int32Array;
  /** Bytes of results and documents that searches hold while rerankers are asked. */
  rerankingBytes?: number;
}

const RERANKING_BYTES_MAX = 256 * 2 ** 20;

/**
 * Embeds the query of a search with an embedder of the index. Rejects with
 * `vector_embedding_error`.
 * @param deadline ms since the epoch
 */
export type EmbedQuery = (
  uid: string,
  embedder: string,
  query: Pick<SearchRequest, 'q' | 'media'>,
  deadline: number,
) => Promise<Float32Array>;

/** What a reranker is given. */
export interface RerankedQuery {
  q: string;
  /** See `ResultHead`. */
  sources: Uint8Array;
}

/**
 * The scores of documents by a reranker of the index, the best highest. null: it could not make
 * them in time.
 * @param deadline ms since the epoch
 */
export type RerankHits = (
  uid: string,
  model: string,
  query: RerankedQuery,
  deadline: number,
  signal?: AbortSignal,
) => Promise<readonly number[] | null>;

/** A search of one index. */
interface Asked<T> {
  uid: string;
  /** Returns the index, looked up each time. Throws when it does not exist. */
  find(): SearchedIndex;
  params: T;
}

/** Searches the indexes of this server. */
export class LocalSearch {
  readonly #registry: SearchedIndexes;
  readonly #queue: SearchQueue;
  readonly #features: () => FeatureSet;
  readonly #limits: SearchLimits;
  readonly #embedQuery: EmbedQuery;
  readonly #suspended: SuspendedSearches;
  readonly #degraded: Int32Array;
  readonly #rerank: RerankHits;
  /** See `SearchLimits.rerankingBytes`. */
  #rerankingBytes = 0;

  constructor(
    registry: SearchedIndexes,
    queue: SearchQueue,
    features: () => FeatureSet,
    embedQuery: EmbedQuery,
    limits: SearchLimits = { ...DEFAULT_LIMITS, queriesAtOnce: 1 },
    rerank: RerankHits = () => Promise.resolve(null),
  ) {
    this.#rerank = rerank;
    this.#limits = limits;
    this.#degraded = limits.degraded ?? new Int32Array(1);
    this.#registry = registry;
    this.#queue = queue;
    this.#features = features;
    this.#embedQuery = embedQuery;
    this.#suspended = new SuspendedSearches(registry.native, queue.permits);
  }

  search(
    uid: string,
    params: SearchRequest,
    caller: SearchCaller,
    { keepsPage }: RunOptions = {},
  ): Promise<SearchResponse> {
    caller.stages?.begin('permit');
    return this.#queue.run((permit) => {
      caller.stages?.begin('request');
      const find = (): SearchedIndex => this.#entry(uid);
      const more = { responseBytesMax: this.#limits.responseBytes, keepsPage };
      return this.#one(permit, { uid, find, params }, more, caller);
    }, caller);
  }

  /** A search of one index that holds a permit. */
  async #one(
    permit: Permit,
    asked: Asked<SearchRequest>,
    extras: { responseBytesMax: number; indexUid?: string; keepsPage: boolean | undefined },
    caller: SearchCaller,
  ): Promise<SearchResponse> {
    const { uid, find, params } = asked;
    const entry = find();
    const metadata = caller.includeMetadata ? metadataOf(uid, entry, params) : undefined;
    checkReranker(entry, params);
    const reranking = rerankingOf(params);
    const more = {
      ...extras,
      requestUid: uuidV7(),
      metadata,
      ...(reranking !== null && { keepsPage: true, reranked: reranking.documents }),
    };
    const deadline = this.#deadlineOf(uid);
    const found = await this.#withVector(permit, asked, caller, (vector) => {
      const request = planSearch(params, this.#features(), more, vector);
      return withEngineText(request, (text) =>
        staged(caller.stages, (timed) => find().handle.search(text, caller.signal, timed)),
      );
    });
    if (found.head.degraded) Atomics.add(this.#degraded, 0, 1);
    const { sources, ...head } = found.head;
    const result = sources === undefined ? found : { ...found, head };
    const response = withPage(this.#registry.native, result, caller.signal);
    if (reranking !== null) {
      await away(permit, caller, ['rerank', 'write'], () =>
        this.#rerankPage(uid, reranking, response.page!, sources, deadline, caller),
      );
    }
    return metadata === undefined ? response : { ...response, queryUids: [metadata.queryUid] };
  }

  /**
   * Puts the documents of a page into the order of the reranker. They stay as they are if too much
   * memory is held: searches hold their pages, without a permit, for as long as a service takes.
   * @param sources absent: there is nothing to put into order
   */
  async #rerankPage(
    uid: string,
    { model, q }: Reranking,
    page: Page,
    sources: Uint8Array | undefined,
    deadline: number,
    { signal }: SearchCaller,
  ): Promise<void> {
    if (sources === undefined) return page.reorder([]);
    const bytes = page.bytes + sources.length;
    const { rerankingBytes = RERANKING_BYTES_MAX } = this.#limits;
    if (this.#rerankingBytes > 0 && this.#rerankingBytes + bytes > rerankingBytes) {
      return page.reorder(null);
    }
    const canceling = new AbortController();
    signal.onAbort(() => canceling.abort());
    this.#rerankingBytes += bytes;
    try {
      const query = { q, sources };
      await page.reorder(await this.#rerank(uid, model, query, deadline, canceling.signal));
    } catch (error) {
      page.drop();
      throw error;
    } finally {
      this.#rerankingBytes -= bytes;
    }
  }

  /** See {@link written}. */
  written(
    responses: readonly SearchResponse[],
    extra: (position: number) => string,
  ): Promise<SearchResponse[]> {
    return written(responses, extra, this.#limits);
  }

  facetSearch(
    uid: string,
    params: FacetSearchRequest,
    caller: SearchCaller,
    { merged }: RunOptions = {},
  ): Promise<EngineResult> {
    caller.stages?.begin('permit');
    return this.#queue.run((permit) => {
      caller.stages?.begin('request');
      const more = { responseBytesMax: this.#limits.responseBytes, merged };
      const find = (): SearchedIndex => this.#entry(uid);
      const ask = (vector?: QueryVector): Promise<EngineResult> => {
        const request = planFacetSearch(params, this.#features(), more, vector);
        return withEngineText(request, (text) =>
          staged(caller.stages, (timed) => find().handle.facetSearch(text, caller.signal, timed)),
        );
      };
      // Without a minimum score vectors find every document, so any vector will do.
      const cutoff = this.#registry.get(uid)?.settings.semanticCutoff ?? 'off';
      const every = !isGiven(params.hybrid?.minScore) && cutoff === 'off';
      return every
        ? resultFrom(uid, ask())
        : this.#withVector(permit, { uid, find, params }, caller, ask);
    }, caller);
  }

  similar(
    uid: string,
    params: SimilarRequest,
    caller: SearchCaller,
    { keepsPage }: RunOptions = {},
  ): Promise<SearchResponse> {
    caller.stages?.begin('permit');
    return this.#queue.run(async () => {
      caller.stages?.begin('request');
      const more = { responseBytesMax: this.#limits.responseBytes, keepsPage };
      const filter = caller.access.tenantFilter(uid);
      const request = planSimilar(params, this.#features(), filter, more);
      const response = withEngineText(request, (text) =>
        staged(caller.stages, (timed) =>
          this.#entry(uid).handle.similar(text, caller.signal, timed),
        ),
      );
      return withPage(this.#registry.native, await resultFrom(uid, response), caller.signal);
    }, caller);
  }

  /**
   * Calls the engine, with the embedding of the query where one is needed and `vector` is not
   * given: immediately where only vectors count, otherwise once the engine finds that the words are
   * not good enough. If there is no embedding in time, words have to suffice. The permit is given
   * back while the query is embedded.
   */
  async #withVector(
    permit: Permit,
    { uid, find, params }: Asked<VectorRequest>,
    caller: SearchCaller,
    ask: (vector?: QueryVector) => Promise<EngineResult>,
  ): Promise<EngineResult> {
    if (!needsVector(params)) return resultFrom(uid, ask());
    const deadline = this.#deadlineOf(uid);
    const embed = (): Promise<QueryVector> =>
      away(permit, caller, ['embed', 'request'], () => this.#vectorOf(uid, params, deadline));
    if (searchKind(params) !== 'hybrid') return resultFrom(uid, ask(await embed()));
    const first = await resultFrom(uid, ask());
    const pending = first.head.needsVector;
    if (pending === undefined) return first;
    const { result: vector, search } = await this.#suspended.during(
      pending,
      caller.signal,
      async () => {
        const made = await embed();
        // The index may have been deleted meanwhile.
        find();
        return made;
      },
    );
    if (search === null) return resultFrom(uid, ask(vector));
    const { native } = this.#registry;
    const made = vector instanceof Float32Array ? vector : null;
    const rest = staged(caller.stages, (timed) =>
      cancelable(native, caller.signal, (cancelId) =>
        native.resumeSearch(search, made, cancelId, timed),
      ),
    );
    const { head, ...more } = await resultFrom(uid, rest.catch(rethrow));
    const cpuMs = (first.head.cpuMs ?? 0) + (head.cpuMs ?? 0);
    return { ...more, head: { ...head, cpuMs } };
  }

  #deadlineOf(uid: string): number {
    return Date.now() + (this.#registry.get(uid)?.settings.searchCutoffMs ?? SEARCH_CUTOFF_MS);
  }

  /** Undefined where the engine needs none. */
  async #vectorOf(uid: string, params: VectorRequest, deadline: number): Promise<QueryVector> {
    if (!needsVector(params)) return undefined;
    try {
      const { q = null, media = null, hybrid } = params;
      return await this.#embedQuery(uid, hybrid!.embedder, { q, media }, deadline);
    } catch (error) {
      const isMissing = error instanceof ApiError && error.code === 'vector_embedding_error';
      if (isMissing && searchKind(params) === 'hybrid') return 'none';
      throw error;
    }
  }

  /** The same search with its vector added, so that no other server has to make it. */
  async embedded<T extends VectorRequest>(uid: string, params: T): Promise<T> {
    if (!needsVector(params) || this.#registry.get(uid) === undefined) return params;
    const vector = await this.#vectorOf(uid, params, this.#deadlineOf(uid));
    if (vector === undefined || vector === 'none') return params;
    return { ...params, media: null, vector: [...vector] };
  }

  /** The same search with its vector added; of words only, if there is none. */
  async embeddedOrWords(uid: string, params: SearchRequest): Promise<SearchRequest> {
    const made = await this.embedded(uid, params);
    if (!needsVector(made) || this.#registry.get(uid) === undefined) return made;
    return { ...made, hybrid: null, media: null };
  }

  load(): SearchLoad {
    const { running, permits, waiting, waitingMax } = this.#queue;
    return { running, permits, waiting, waitingMax, degraded: Atomics.load(this.#degraded, 0) };
  }

  /** The searches of one request; each takes its own permit. */
  separate(
    queries: readonly MultiSearchQuery[],
    caller: SearchCaller,
    options: RunOptions = {},
  ): Promise<SearchResponse[]> {
    const { queriesAtOnce } = this.#limits;
    return this.#queue.runSeveral(
      (run) =>
        severally(queries.length, queriesAtOnce, this.#limits, caller, (position, bytesLeft, one) =>
          run((permit) =>
            this.#ofMany(permit, queries[position]!, position, bytesLeft, one, options),
          ),
        ),
      caller,
    );
  }

  /** Queries whose hits are merged into one list; they share one permit. */
  federated(
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: SearchCaller,
    options: RunOptions = {},
  ): Promise<SearchResponse> {
    caller.stages?.begin('permit');
    return this.#queue.run(
      (permit) => this.#federated(permit, queries, federation, caller, options),
      caller,
      queries.length,
    );
  }

  async #ofMany(
    permit: Permit,
    query: MultiSearchQuery,
    position: number,
    responseBytesMax: number,
    caller: SearchCaller,
    { keepsPage }: RunOptions,
  ): Promise<SearchResponse> {
    const { indexUid, federationOptions: _, ...params } = query;
    caller.stages?.begin('request');
    const find = (): SearchedIndex => this.#entryOfQuery(indexUid, position);
    const begun = performance.now();
    const asked = { uid: indexUid, find, params };
    try {
      const response = await this.#one(
        permit,
        asked,
        { indexUid, responseBytesMax, keepsPage },
        caller,
      );
      return { ...response, durationMs: performance.now() - begun };
    } catch (error) {
      throw ofQuery(error, position);
    }
  }

  async #federated(
    permit: Permit,
    queries: readonly MultiSearchQuery[],
    federation: Federation,
    caller: SearchCaller,
    { merged, firstPage, keepsPage }: RunOptions,
  ): Promise<SearchResponse> {
    caller.stages?.begin('request');
    const vectors = await this.#vectorsOf(permit, queries, caller);
    const entries = queries.map(({ indexUid }, position) => this.#entryOfQuery(indexUid, position));
    const queried = new Set(queries.map(({ indexUid }) => indexUid));
    const otherIndexes = Object.keys(federation.facetsByIndex ?? {}).filter(
      (uid) => !queried.has(uid),
    );
    const others = otherIndexes.map((uid) => this.#entryOfFacets(uid));
    const metadata = caller.includeMetadata
      ? queries.map((query, n) => metadataOf(query.indexUid, entries[n]!, query))
      : undefined;
    const { responseBytes: responseBytesMax } = this.#limits;
    const more = {
      requestUid: uuidV7(),
      responseBytesMax,
      otherIndexes,
      metadata,
      keepsPage,
      merged,
      firstPage,
    };
    const request = planFederated(federation, queries, this.#features(), more, vectors);
    const held: SearchedHandle[] = [];
    const numbers: number[] = [];
    const pause = pauser();
    try {
      for (const { handle } of [...entries, ...others]) {
        // Held now, so that opening the next index cannot close this one.
        const number = handle.hold();
        numbers.push(typeof number === 'number' ? number : await number);
        held.push(handle);
        await pause();
      }
      const { native } = this.#registry;
      const text = await jsonText(request);
      const result = await staged(caller.stages, (timed) =>
        cancelable(native, caller.signal, (cancelId) =>
          native.federatedSearch(numbers, text, cancelId, timed),
        ),
      );
      const response = withPage(native, result, caller.signal);
      if (response.head.degraded) Atomics.add(this.#degraded, 0, 1);
      return metadata === undefined
        ? response
        : { ...response, queryUids: metadata.map(({ queryUid }) => queryUid) };
    } catch (error) {
      throw fromEngine(error);
    } finally {
      for (const handle of held) handle.release();
    }
  }

  /** Embeds the queries that came without a vector. Reports the first failure in order. */
  async #vectorsOf(
    permit: Permit,
    queries: readonly MultiSearchQuery[],
    caller: SearchCaller,
  ): Promise<QueryVector[]> {
    if (!queries.some(needsVector)) return [];
    const vectorOf = async (query: MultiSearchQuery, position: number): Promise<QueryVector> => {
      this.#entryOfQuery(query.indexUid, position);
      return this.#vectorOf(query.indexUid, query, this.#deadlineOf(query.indexUid));
    };
    const made = await away(permit, caller, ['embed', 'request'], () =>
      Promise.allSettled(queries.map(vectorOf)),
    );
    return made.map((vector, position) => {
      if (vector.status === 'rejected') throw ofQuery(vector.reason, position);
      return vector.value;
    });
  }

  #entry(uid: string): SearchedIndex {
    const entry = this.#registry.get(uid);
    if (entry === undefined) throw indexNotFound(uid);
    return entry;
  }

  #entryOfQuery(uid: string, position: number): SearchedIndex {
    const entry = this.#registry.get(uid);
    if (entry === undefined) throw ofQuery(indexNotFound(uid, 400), position);
    return entry;
  }

  /** An index that appears only in `facetsByIndex`. */
  #entryOfFacets(uid: string): SearchedIndex {
    const entry = this.#registry.get(uid);
    if (entry !== undefined) return entry;
    const { code, message, status } = indexNotFound(uid, 400);
    const context = `Inside \`.federation.facetsByIndex.${uid}\` (an index of no query)`;
    throw new ApiError(code, `${context}: ${message}`, status);
  }
}

function checkReranker({ settings }: SearchedIndex, { rerank }: SearchRequest): void {
  if (!isGiven(rerank) || Object.hasOwn(settings.rerankers, rerank.model)) return;
  throw new ApiError('invalid_search_rerank', `The index has no reranker \`${rerank.model}\`.`);
}

/** Calls the engine, and takes the stages of its work if somebody asks for them. */
function staged(
  stages: Stages | undefined,
  ask: (timed: boolean) => Promise<EngineResult>,
): Promise<EngineResult> {
  return stages === undefined ? ask(false) : stages.ofEngine(() => ask(true));
}

/**
 * Waits for another server without a permit.
 * @param during the stage meanwhile
 * @param after the stage that begins once the permit is back
 */
async function away<T>(
  permit: Permit,
  { stages }: SearchCaller,
  [during, after]: readonly [string, string],
  work: () => Promise<T>,
): Promise<T> {
  if (stages === undefined) return permit.away(work);
  const result = await permit.away(async () => {
    stages.begin(during);
    try {
      return await work();
    } finally {
      stages.begin('permit');
    }
  });
  stages.begin(after);
  return result;
}

/** Whether an embedder has to make the decisive vector. */
function needsVector(params: VectorRequest): boolean {
  return searchKind(params) !== 'words' && !isGiven(params.vector);
}

function rethrow(error: unknown): never {
  throw fromEngine(error);
}

function metadataOf(indexUid: string, entry: SearchedIndex, { q }: SearchRequest): SearchMetadata {
  const { primaryKey } = entry.summary;
  return {
    ...(typeof q === 'string' && { query: q }),
    queryUid: uuidV7(),
    indexUid,
    ...(primaryKey !== null && { primaryKey }),
  };
}

/** Hexadecimal digits, and how many were used. */
let random = '';
let used = 0;

/** RFC 9562: 48 bits of time in milliseconds, then random bits. */
export function uuidV7(now = Date.now()): string {
  if (used + 19 > random.length) {
    random = randomBytes(9500).toString('hex');
    used = 0;
  }
  const at = used;
  used += 19;
  const time = now.toString(16).padStart(12, '0');
  const variant = ((parseInt(random[at + 3]!, 16) & 3) | 8).toString(16);
  return (
    `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(at, at + 3)}-` +
    `${variant}${random.slice(at + 4, at + 7)}-${random.slice(at + 7, at + 19)}`
  );
}
