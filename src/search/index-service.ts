import { compareUtf8 } from '../base/json.ts';
import type { FetchRequest } from '../contract/documents.ts';
import { indexNotFound } from '../contract/errors.ts';
import type { FeatureSet } from '../contract/features.ts';
import type { IndexInfo, IndexStats, InstanceStats } from '../contract/responses.ts';
import { responseTooLarge, type RequestLimits } from '../contract/limits.ts';
import type { SettingsObject } from '../contract/settings.ts';
import { resultFrom } from '../engine/errors.ts';
import type { IndexEntry, IndexRegistry } from '../engine/registry.ts';
import type { SearchedIndex, SearchedIndexes } from '../engine/searched-index.ts';
import type { ListingPart, NativeAddon } from '../engine/native.ts';
import { withEngineText } from './plan.ts';
import type { Requester, SearchQueue } from './search-queue.ts';

/** Reads indexes: their records, statistics and settings, and their documents. */
export class Indexes {
  readonly documents: Documents;
  readonly #registry: IndexRegistry;
  readonly #storeSize: () => { diskBytes: number; usedBytes: number };
  readonly #branched: () => Iterable<string>;

  /**
   * @param storeSize size of everything on disk that is not an index
   * @param branched the uids of the indexes that may share files
   */
  constructor(
    registry: IndexRegistry,
    documents: Documents,
    storeSize: () => { diskBytes: number; usedBytes: number },
    branched: () => Iterable<string> = () => [],
  ) {
    this.#branched = branched;
    this.#registry = registry;
    this.documents = documents;
    this.#storeSize = storeSize;
  }

  /** Ascending uid. */
  list(): IndexInfo[] {
    return this.#registry.list().map(([uid, entry]) => infoOf(uid, entry));
  }

  /** @param uid or an alias */
  get(uid: string): IndexInfo | undefined {
    const entry = this.#registry.get(uid);
    return entry === undefined ? undefined : infoOf(this.#registry.targetOf(uid) ?? uid, entry);
  }

  /** @param withParts include the sizes of the parts of the index */
  stats(uid: string, withParts = false): IndexStats | undefined {
    const entry = this.#registry.get(uid);
    return entry === undefined ? undefined : statsOf(entry, withParts);
  }

  /** Bytes on disk by kind of data. Queries the file system for each file of the index. */
  partSizes(uid: string): Record<string, number> {
    return this.#registry.get(uid)?.partSizes() ?? {};
  }

  /** The `stats` of every index, without its parts. */
  async allStats(): Promise<InstanceStats> {
    const shared = await this.#registry.sharedBytes(this.#branched());
    const { diskBytes, usedBytes } = this.#storeSize();
    const all = this.#registry.list();
    const stats: InstanceStats = {
      databaseSize: diskBytes,
      usedDatabaseSize: usedBytes,
      indexes: Object.fromEntries(all.map(([uid, entry]) => [uid, statsOf(entry, false)])),
    };
    for (const [, { summary }] of all) {
      stats.databaseSize += summary.diskBytes;
      stats.usedDatabaseSize += summary.usedBytes;
    }
    if (shared === 0) return stats;
    const whole = stats.databaseSize;
    stats.databaseSize -= shared;
    stats.usedDatabaseSize = Math.round((stats.usedDatabaseSize * stats.databaseSize) / whole);
    return stats;
  }

  /** Bytes of the segments that are merged next. */
  mergeDebt(): number {
    return this.#registry.mergeDebt();
  }

  /** Complete, secrets in clear. Shared: do not modify. */
  settings(uid: string): SettingsObject | undefined {
    return this.#registry.get(uid)?.settings;
  }

  /** Names of the fields of the index, ascending. */
  fields(uid: string): string[] | undefined {
    return this.#registry.get(uid)?.handle.fields().sort(compareUtf8);
  }
}

/** Who reads documents. */
export type Reader = Required<Pick<Requester, 'access' | 'signal'>>;

export class Documents {
  readonly #registry: SearchedIndexes;
  readonly #queue: SearchQueue;
  readonly #features: () => FeatureSet;

  constructor(registry: SearchedIndexes, queue: SearchQueue, features: () => FeatureSet) {
    this.#registry = registry;
    this.#queue = queue;
    this.#features = features;
  }

  /** JSON text of one document, null when unknown. */
  getDocument(
    uid: string,
    id: string,
    params: { fields: string[] | null; retrieveVectors: boolean },
  ): Promise<Buffer | null> | Buffer | null {
    return this.#entry(uid).handle.getDocument(id, params.fields, params.retrieveVectors);
  }

  /**
   * The response body, in parts when it is long. Its first part goes through the search queue,
   * unless the feature `disableDocumentsFetchQueue` is on.
   */
  async fetch(
    uid: string,
    params: FetchRequest,
    { access, signal }: Reader,
  ): Promise<Buffer | AsyncIterable<Buffer>> {
    const { containsFilter, multimodal, disableDocumentsFetchQueue } = this.#features();
    const begin = async (): Promise<ListingPart> => {
      const features = { containsFilter, multimodal };
      const listing = withEngineText({ ...params, ...features }, (text) =>
        this.#entry(uid).handle.fetchDocuments(text, signal),
      );
      return resultFrom(uid, listing);
    };
    // A listing is no search: it is not counted.
    const reader = { access, signal };
    const first = await (disableDocumentsFetchQueue ? begin() : this.#queue.run(begin, reader));
    return first.rest === null ? first.bytes : new Listing(this.#registry.native, first);
  }

  #entry(uid: string): SearchedIndex {
    const entry = this.#registry.get(uid);
    if (entry === undefined) throw indexNotFound(uid);
    return entry;
  }
}

/** A listing as one piece. Rejects with `ApiError` when it exceeds the size limit of responses. */
export async function wholeListing(
  body: Buffer | AsyncIterable<Buffer>,
  limits: RequestLimits,
): Promise<Buffer> {
  if (Buffer.isBuffer(body)) return body;
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > limits.responseBytes) throw responseTooLarge(limits);
    parts.push(part);
  }
  return Buffer.concat(parts, bytes);
}

/** The parts of a listing, each produced on request. Can be iterated once. */
class Listing implements AsyncIterable<Buffer>, AsyncIterator<Buffer> {
  readonly #native: NativeAddon;
  #next: Promise<ListingPart> | null;
  #rest: ListingPart['rest'] = null;

  constructor(native: NativeAddon, first: ListingPart) {
    this.#native = native;
    this.#next = Promise.resolve(first);
    this.#rest = first.rest;
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this;
  }

  async next(): Promise<IteratorResult<Buffer>> {
    if (this.#next === null) {
      if (this.#rest === null) return { done: true, value: undefined };
      const rest = this.#rest;
      this.#rest = null;
      this.#next = this.#native.fetchRest(rest);
    }
    const part = await this.#next;
    this.#next = null;
    this.#rest = part.rest;
    return { done: false, value: part.bytes };
  }

  return(): Promise<IteratorResult<Buffer>> {
    if (this.#rest !== null) this.#native.dropRest(this.#rest);
    this.#rest = null;
    this.#next = null;
    return Promise.resolve({ done: true, value: undefined });
  }
}

function infoOf(uid: string, { createdAt, summary }: IndexEntry): IndexInfo {
  return { uid, createdAt, updatedAt: summary.updatedAt, primaryKey: summary.primaryKey };
}

function statsOf(entry: IndexEntry, withParts: boolean): IndexStats {
  const { summary, isIndexing } = entry;
  const { numberOfDocuments, rawDocumentDbSize } = summary;
  return {
    numberOfDocuments,
    rawDocumentDbSize,
    avgDocumentSize:
      numberOfDocuments === 0 ? 0 : Math.floor(rawDocumentDbSize / numberOfDocuments),
    indexSize: summary.diskBytes,
    usedIndexSize: summary.usedBytes,
    isIndexing,
    ...(withParts ? { internalDatabaseSizes: entry.partSizes() } : {}),
    numberOfEmbeddings: summary.numberOfEmbeddings,
    numberOfEmbeddedDocuments: summary.numberOfEmbeddedDocuments,
    fieldDistribution: summary.fieldDistribution,
  };
}
