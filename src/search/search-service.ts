import { randomBytes } from 'node:crypto';
import type { BufferPool } from '../base/buffer-pool.ts';
import { ApiError, indexNotFound } from '../contract/errors.ts';
import type { FeatureSet } from '../contract/features.ts';
import type {
  FacetSearchRequest,
  MultiSearchQuery,
  MultiSearchRequest,
  SearchRequest,
} from '../contract/search.ts';
import type { IndexHandle } from '../engine/handle.ts';
import type { IndexEntry, IndexRegistry } from '../engine/registry.ts';
import { answerOf, fromEngine } from '../engine/errors.ts';
import { planFacetSearch, planFederated, planSearch, type SearchMetadata } from './plan.ts';
import type { OnGone, SearchQueue } from './search-queue.ts';

/** What a search is told besides its parameters. */
export interface SearchCaller {
  includeMetadata: boolean;
  onGone: OnGone;
}

/** Searches of one or many indexes. Each method resolves to the finished response body. */
export class Search {
  readonly #registry: IndexRegistry;
  readonly #queue: SearchQueue;
  readonly #features: () => FeatureSet;
  readonly #answerBuffers: BufferPool;

  constructor(
    registry: IndexRegistry,
    queue: SearchQueue,
    features: () => FeatureSet,
    answerBuffers: BufferPool,
  ) {
    this.#registry = registry;
    this.#queue = queue;
    this.#features = features;
    this.#answerBuffers = answerBuffers;
  }

  search(uid: string, params: SearchRequest, caller: SearchCaller): Promise<Buffer> {
    return this.#queue.run(() => {
      const entry = this.#entry(uid);
      const requestUid = uuidV7();
      const metadata = caller.includeMetadata ? { metadata: metadataOf(uid, entry) } : {};
      const request = planSearch(params, this.#features(), { requestUid, ...metadata });
      return answerOf(uid, entry.handle.search(request));
    }, caller.onGone);
  }

  facetSearch(uid: string, params: FacetSearchRequest, caller: SearchCaller): Promise<Buffer> {
    return this.#queue.run(() => {
      const request = planFacetSearch(params, this.#features());
      return answerOf(uid, this.#entry(uid).handle.facetSearch(request));
    }, caller.onGone);
  }

  load(): { running: number; waiting: number; waitingMax: number } {
    const { running, waiting, waitingMax } = this.#queue;
    return { running, waiting, waitingMax };
  }

  /** One permit, whatever the number of queries. */
  multiSearch(params: MultiSearchRequest, caller: SearchCaller): Promise<Buffer> {
    const { queries, federation } = params;
    return this.#queue.run(
      () =>
        federation === undefined || federation === null
          ? this.#separate(queries, caller)
          : this.#federated(queries, federation, caller),
      caller.onGone,
    );
  }

  async #separate(queries: readonly MultiSearchQuery[], caller: SearchCaller): Promise<Buffer> {
    // Later queries start before earlier ones have ended; the first failing one in order is reported.
    const answers = await Promise.allSettled(
      queries.map(async (query, position) => {
        const { indexUid, federationOptions: _, ...params } = query;
        const entry = this.#entryOfQuery(indexUid, position);
        const metadata = caller.includeMetadata ? { metadata: metadataOf(indexUid, entry) } : {};
        const more = { indexUid, requestUid: uuidV7(), ...metadata };
        return answerOf(indexUid, entry.handle.search(planSearch(params, this.#features(), more)));
      }),
    );
    const parts: Buffer[] = [RESULTS_OPEN];
    answers.forEach((answer, position) => {
      if (answer.status === 'rejected') throw ofQuery(answer.reason, position);
      if (position > 0) parts.push(COMMA);
      parts.push(answer.value);
    });
    parts.push(RESULTS_CLOSE);
    const body = Buffer.concat(parts);
    for (const part of parts) this.#answerBuffers.giveBack(part);
    return body;
  }

  async #federated(
    queries: readonly MultiSearchQuery[],
    federation: NonNullable<MultiSearchRequest['federation']>,
    caller: SearchCaller,
  ): Promise<Buffer> {
    const entries = queries.map(({ indexUid }, position) => this.#entryOfQuery(indexUid, position));
    const queried = new Set(queries.map(({ indexUid }) => indexUid));
    const otherIndexes = Object.keys(federation.facetsByIndex ?? {}).filter(
      (uid) => !queried.has(uid),
    );
    const others = otherIndexes.map((uid) => this.#entryOfFacets(uid));
    const metadata = caller.includeMetadata
      ? { metadata: queries.map(({ indexUid }, n) => metadataOf(indexUid, entries[n]!)) }
      : {};
    const more = { requestUid: uuidV7(), otherIndexes, ...metadata };
    const request = planFederated(federation, queries, this.#features(), more);
    const handles: IndexHandle[] = [];
    try {
      for (const { handle } of [...entries, ...others]) {
        // Busy at once, so that opening the next index cannot close this one.
        handle.busy++;
        handles.push(handle);
      }
      const numbers = handles.map(({ number }) => number);
      return await this.#registry.native.federatedSearch(numbers, request);
    } catch (error) {
      throw fromEngine(error);
    } finally {
      for (const handle of handles) handle.busy--;
    }
  }

  #entry(uid: string): IndexEntry {
    const entry = this.#registry.get(uid);
    if (entry === undefined) throw indexNotFound(uid);
    return entry;
  }

  #entryOfQuery(uid: string, position: number): IndexEntry {
    const entry = this.#registry.get(uid);
    if (entry === undefined) throw ofQuery(indexNotFound(uid, 400), position);
    return entry;
  }

  /** An index that only `facetsByIndex` names. */
  #entryOfFacets(uid: string): IndexEntry {
    const entry = this.#registry.get(uid);
    if (entry !== undefined) return entry;
    const { code, message, status } = indexNotFound(uid, 400);
    const place = `Inside \`.federation.facetsByIndex.${uid}\` (an index of no query)`;
    throw new ApiError(code, `${place}: ${message}`, status);
  }
}

const RESULTS_OPEN = Buffer.from('{"results":[');
const COMMA = Buffer.from(',');
const RESULTS_CLOSE = Buffer.from(']}');

/** The error of one of several queries, with its position in front. */
function ofQuery(error: unknown, position: number): Error {
  if (!(error instanceof ApiError)) return error as Error;
  const prefix = `Inside \`.queries[${position}]\`: `;
  if (error.message.startsWith(prefix)) return error;
  return new ApiError(error.code, prefix + error.message, error.status);
}

function metadataOf(indexUid: string, entry: IndexEntry): SearchMetadata {
  return { queryUid: uuidV7(), indexUid, primaryKey: entry.summary.primaryKey };
}

/** Hexadecimal digits, and how many were taken. */
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
