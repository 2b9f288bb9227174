/**
 * Moves documents to the servers they belong to after the network has changed
 * (docs/behaviour/network.md).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../contract/errors.ts';
import type { Network, Remote } from '../../contract/responses.ts';
import type { TaskFilter, TaskRequest } from '../../contract/tasks.ts';
import type { IndexEntry } from '../../engine/registry.ts';
import { linesOf } from '../../archive/json-values.ts';
import { documentIdOf } from '../../network/document-id.ts';
import { readListing } from '../../network/listing.ts';
import { ORIGIN_REMOTE_HEADER, ORIGIN_TASK_HEADER } from '../../network/origin.ts';
import { Owners, type Shard } from '../../network/owner.ts';
import type { RemoteClient, RemoteRequest } from '../../network/remote-client.ts';
import type { RunContext, RunResult } from './run.ts';
import { succeeded } from './run.ts';

/** Documents in one request to another server. */
const CHUNK_DOCUMENTS = 1000;
const CHUNK_BYTES = 4 * 2 ** 20;
/** Bytes of documents that are read at a time. */
const READ_BYTES = 2 ** 20;
const LINE_BYTES_MAX = 2 ** 30;
/** Limit for one request including its retries, ms. */
const REQUEST_MS_MAX = 60_000;
/** How long to wait until documents that a server has accepted can be found there, ms. */
const ARRIVAL_MS_MAX = 10 * 60_000;
/** How long deletions that wait here may delay the move, ms. */
const DELETIONS_MS_MAX = 60_000;
const FIRST_POLL_MS = 20;
const POLL_MS_MAX = 1000;
const RESPONSE_BYTES_MAX = 2 ** 28;

export interface RebalanceOptions {
  network: () => Network;
  client: RemoteClient;
  register: (request: TaskRequest) => Promise<unknown>;
}

/** Returns the runner of `networkTopologyChange`. */
export function rebalanceRunner(
  options: RebalanceOptions,
): (context: RunContext) => Promise<RunResult> {
  return async (context) => {
    const { batch, shard, registry, cancel, progress } = context;
    const [uid] = batch.uids;
    // The move changes documents only through tasks of their own, so other batches may change them
    // meanwhile.
    context.allowConcurrent();
    let moved = 0;
    if (shard !== null) {
      const indexes = registry.list();
      for (const [n, [indexUid, entry]] of indexes.entries()) {
        cancel.check();
        progress.enter(1, `index \`${indexUid}\``, n, indexes.length);
        const move = new Move(options, context, shard, indexUid, entry);
        try {
          moved += await move.run();
        } catch (error) {
          cancel.check();
          throw error instanceof ApiError ? error.locatedAt({ index: indexUid }) : error;
        }
      }
    }
    return { ends: [succeeded(uid!, moved)] };
  };
}

/** Ids of documents that go to one server, and the total size of those documents in bytes. */
interface Chunk {
  ids: string[];
  bytes: number;
}

/**
 * Moves the documents of one index. A chunk is deleted here only after it is complete at its new
 * server. So a move that is interrupted loses no document, and the next move continues it.
 */
class Move {
  readonly #options: RebalanceOptions;
  readonly #context: RunContext;
  readonly #shard: Shard;
  readonly #uid: string;
  readonly #entry: IndexEntry;
  #moved = 0;

  constructor(
    options: RebalanceOptions,
    context: RunContext,
    shard: Shard,
    uid: string,
    entry: IndexEntry,
  ) {
    this.#options = options;
    this.#context = context;
    this.#shard = shard;
    this.#uid = uid;
    this.#entry = entry;
  }

  /** @returns the number of documents moved */
  async run(): Promise<number> {
    const { primaryKey } = this.#entry.summary;
    if (primaryKey === null) return 0;
    const { progress, cancel } = this.#context;
    const owners = new Owners(this.#shard.names);
    const chunks = new Map<string, Chunk>();
    const documents = await this.#entry.handle.openDocuments('{"filter":null}');
    let seen = 0;
    try {
      for await (const line of linesOf(documents.lines(READ_BYTES), LINE_BYTES_MAX)) {
        if (++seen % 1000 === 0) {
          cancel.check();
          progress.enter(2, 'document', seen, documents.total);
        }
        const id = documentIdOf(line, primaryKey);
        const owner = id === null ? this.#shard.self : owners.ownerOf(id);
        if (id === null || owner === this.#shard.self) continue;
        const chunk = chunks.get(owner) ?? { ids: [], bytes: 0 };
        chunks.set(owner, chunk);
        chunk.ids.push(id);
        chunk.bytes += line.length;
        if (chunk.ids.length < CHUNK_DOCUMENTS && chunk.bytes < CHUNK_BYTES) continue;
        chunks.delete(owner);
        await this.#send(owner, chunk.ids, primaryKey);
      }
    } finally {
      documents.close();
    }
    for (const [owner, { ids }] of chunks) await this.#send(owner, ids, primaryKey);
    return this.#moved;
  }

  async #send(owner: string, ids: readonly string[], primaryKey: string): Promise<void> {
    const { cancel } = this.#context;
    const remote = this.#options.network().remotes[owner];
    if (remote === undefined) throw new ApiError('unknown_remote', 'The network has changed.');
    await this.#deletionsDone();
    cancel.check();
    const documents = await this.#here(ids, primaryKey);
    if (documents.size === 0) return;
    const there = await this.#there(remote, [...documents.keys()], primaryKey);
    // The owner's documents are newer: writes have gone there since the network changed.
    const missing = [...documents].filter(([id]) => !there.has(id));
    if (missing.length > 0) {
      await this.#add(
        remote,
        missing.map(([, document]) => document),
        primaryKey,
      );
      await this.#arrived(
        remote,
        missing.map(([id]) => id),
        primaryKey,
      );
    }
    const { self } = this.#shard;
    await this.#options.register({
      type: 'documentDeletion',
      indexUid: this.#uid,
      by: { ids: [...documents.keys()] },
      network: { origin: { remoteName: self, taskUid: this.#context.batch.uids[0]! } },
    });
    this.#moved += documents.size;
  }

  /**
   * Waits for deletions. A document whose deletion waits here is already deleted elsewhere, and
   * must not come back.
   */
  async #deletionsDone(): Promise<void> {
    const { store, cancel } = this.#context;
    const waiting: TaskFilter = {
      types: ['documentDeletion'],
      statuses: ['enqueued', 'processing'],
      indexUids: [this.#uid],
    };
    const done = async (): Promise<boolean> => (await store.count(waiting, null)) === 0;
    if (await becomes(done, DELETIONS_MS_MAX, cancel.signal)) return;
    throw new ApiError(
      'unprocessed_network_task',
      'Deletions of documents wait for other tasks. Start the move again when they have ended.',
    );
  }

  /** The current documents by id. */
  async #here(ids: readonly string[], primaryKey: string): Promise<Map<string, Buffer>> {
    const listing = await this.#entry.handle.fetchAllDocuments(
      JSON.stringify({
        offset: 0,
        limit: ids.length,
        fields: null,
        filter: null,
        sort: null,
        ids,
        retrieveVectors: true,
      }),
    );
    const { documents } = await readListing(listing);
    return new Map(
      documents.map((document) => [
        documentIdOf(document, primaryKey)!,
        // No vectors and empty vectors are not the same.
        withoutEmptyVectors(document),
      ]),
    );
  }

  /** Returns which of the documents a server has. */
  async #there(
    remote: Remote,
    ids: readonly string[],
    primaryKey: string,
  ): Promise<ReadonlySet<string>> {
    const body = JSON.stringify({ ids, fields: [primaryKey], limit: ids.length });
    const path = `/indexes/${this.#uid}/documents/fetch`;
    const { documents } = await this.#ask(remote, { path, body }, readListing);
    return new Set(documents.map((document) => documentIdOf(document, primaryKey) ?? ''));
  }

  async #add(remote: Remote, documents: readonly Buffer[], primaryKey: string): Promise<void> {
    const { self } = this.#shard;
    await this.#ask(
      remote,
      {
        path: `/indexes/${this.#uid}/documents?primaryKey=${encodeURIComponent(primaryKey)}`,
        body: documents.join('\n'),
        headers: {
          'content-type': 'application/x-ndjson',
          [ORIGIN_REMOTE_HEADER]: encodeURIComponent(self),
          [ORIGIN_TASK_HEADER]: String(this.#context.batch.uids[0]),
        },
      },
      (bytes) => bytes,
    );
  }

  async #arrived(remote: Remote, ids: readonly string[], primaryKey: string): Promise<void> {
    const { cancel } = this.#context;
    const all = async (): Promise<boolean> =>
      (await this.#there(remote, ids, primaryKey)).size === ids.length;
    if (await becomes(all, ARRIVAL_MS_MAX, cancel.signal)) return;
    throw new ApiError(
      'remote_remote_error',
      'The remote accepted documents but does not show them; see its tasks.',
    );
  }

  #ask<T>(
    remote: Remote,
    request: Pick<RemoteRequest, 'path' | 'body' | 'headers'>,
    read: (body: Buffer) => T | Promise<T>,
  ): Promise<T> {
    return this.#options.client.ask(
      remote,
      {
        method: 'POST',
        apiKey: remote.writeApiKey,
        deadline: performance.now() + REQUEST_MS_MAX,
        signal: this.#context.cancel.signal,
        bytesMax: RESPONSE_BYTES_MAX,
        ...request,
      },
      read,
    );
  }
}

/** Polls, less and less often. @returns false when the condition has not become true in time */
async function becomes(
  isSo: () => Promise<boolean>,
  msMax: number,
  signal: AbortSignal,
): Promise<boolean> {
  const until = performance.now() + msMax;
  for (let ms = FIRST_POLL_MS; ; ms = Math.min(POLL_MS_MAX, ms * 2)) {
    if (await isSo()) return true;
    if (performance.now() > until) return false;
    await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

const EMPTY_VECTORS = ',"_vectors":{}}';

function withoutEmptyVectors(document: Buffer): Buffer {
  const at = document.length - EMPTY_VECTORS.length;
  return at > 0 && document.toString('latin1', at) === EMPTY_VECTORS
    ? Buffer.concat([document.subarray(0, at), Buffer.from('}')])
    : document;
}
