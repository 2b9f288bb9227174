/**
 * Makes the embeddings of embedders in the mode `background`, outside of batches, so that no batch
 * waits for a provider.
 *
 * Documents that wait are those that are regenerated and have no embeddings: the index itself is
 * the queue, so nothing is lost with the process. For each embedder of an index, a lane lists a
 * page of them and sends each as an update that changes nothing. The batch of that task renders
 * their inputs and finds no embeddings: the lane notes the inputs. It embeds them, and sends the
 * same update again, whose batch now finds the embeddings and stores them. If a document has
 * changed meanwhile, its input is another one, and it waits again.
 */
import { setImmediate as nextIteration, setTimeout as delay } from 'node:timers/promises';
import { exactText, losslessText, parseJson } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { own } from '../base/own.ts';
import { rooted, type Tracer } from '../base/tracing.ts';
import type { EmbedderStatus } from '../contract/responses.ts';
import { computes, type ComputedEmbedder, embedsLater } from '../contract/embedders/sources.ts';
import { quotedInFilter } from '../contract/filters.ts';
import { identity } from '../embedding/embedder-state.ts';
import { EmbeddingError } from '../embedding/embedding-error.ts';
import type { EmbeddingService, InputOf, MadeEmbeddings } from '../embedding/embedding-service.ts';
import { EMBEDDER_STATES, type EmbedderStates } from '../engine/embedder-states.ts';
import type { IndexEntry, IndexRegistry } from '../engine/registry.ts';
import { backoffMs } from '../outbound/retry.ts';
import type { TaskChange, TaskStore } from '../store/task-store.ts';
import type { TaskQueue } from './queue.ts';

/** Maximum documents that are embedded together. */
export const PAGE_DOCUMENTS = 200;
/** Bytes of inputs, as JSON, after which the other documents of a page are left for later. */
const PAGE_BYTES_MAX = 8 * 2 ** 20;
/** Maximum failed documents of a lane whose reasons are known; no more are tried beyond it. */
export const FAILED_MAX = 10_000;
/** Waits while a provider is down. */
const WAITS = { firstMs: 500, factor: 2, msMax: 60_000 };

export interface BackgroundParts {
  registry: IndexRegistry;
  queue: Pick<TaskQueue, 'register'>;
  taskStore: Pick<TaskStore, 'record' | 'watch'>;
  embedding: Pick<EmbeddingService, 'embedInputs' | 'background'>;
  tracer?: Tracer | null;
  logger: Logger;
}

export class BackgroundEmbedding implements MadeEmbeddings {
  readonly #parts: BackgroundParts;
  readonly #lanes = new Map<string, Lane>();
  #ending: AbortController | null = null;
  #beginning: Promise<void> = Promise.resolve();

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
    parts.embedding.background = this;
    parts.taskStore.watch((change) => this.#onChange(change));
  }

  /** Documents are listed once the batch that stored them has ended. */
  #onChange({ uids, finishedAt }: TaskChange): void {
    if (finishedAt === null || this.#lanes.size === 0) return;
    // The tasks of a batch are of one index.
    const indexUid = this.#parts.taskStore.record(uids[0]!)?.indexUid;
    for (const lane of this.#lanes.values()) lane.onEnded(uids, indexUid);
  }

  /** Called when this server may register tasks: at the start, or when it leads its cluster. */
  begin(): void {
    if (this.#ending !== null) return;
    const ending = new AbortController();
    this.#ending = ending;
    this.#beginning = this.#findAll(ending.signal).catch((error: unknown) => {
      this.#parts.logger.error({ err: error }, 'documents that wait for embeddings are not found');
    });
  }

  /** Stops the work; what waits goes on waiting. */
  async end(): Promise<void> {
    this.#ending?.abort(new Error('the server is stopping'));
    this.#ending = null;
    await this.#beginning;
    const lanes = [...this.#lanes.values()];
    this.#lanes.clear();
    await Promise.all(lanes.map((lane) => lane.ended));
  }

  find({ indexUid, embedder, documentId }: InputOf, model: string, input: unknown) {
    const lane = this.#lane(indexUid, embedder);
    return lane?.find(documentId, model, input) ?? null;
  }

  refuse({ indexUid, embedder, documentId }: InputOf, reason: string): void {
    this.#lane(indexUid, embedder)?.refuse(documentId, reason);
  }

  /** null: the index has no such embedder. REQUIRES: the index exists */
  async status(given: string, name: string): Promise<EmbedderStatus | null> {
    const { registry } = this.#parts;
    const indexUid = registry.targetOf(given) ?? given;
    const entry = registry.get(indexUid)!;
    const embedder = own(entry.settings.embedders, name);
    if (embedder === undefined) return null;
    const waiting = (await listed(entry, waitingFilter(name), 0, 0)).total;
    const done = (await listed(entry, `${pathOf(name)} EXISTS`, 0, 0)).total;
    const lane = this.#lanes.get(keyOf(indexUid, name));
    const failed = lane === undefined ? [] : [...lane.failed];
    // A document that was deleted meanwhile may still count as failed.
    const left = Math.max(0, waiting - failed.length);
    return {
      indexUid,
      name,
      source: embedder.source,
      mode: computes(embedder) ? (embedder.mode ?? 'batch') : null,
      done,
      waiting: left,
      failed: failed.length,
      failures: failed.map(([documentId, reason]) => ({ documentId, reason })),
      // The last documents are found before their task has ended.
      problem: left > 0 ? (lane?.problem ?? null) : null,
    };
  }

  /** Tries documents that have failed again, and a provider that is down at once. */
  retry(indexUid: string, name: string): void {
    this.#lane(this.#parts.registry.targetOf(indexUid) ?? indexUid, name)?.retry();
  }

  async #findAll(signal: AbortSignal): Promise<void> {
    for (const [uid, { summary }] of this.#parts.registry.list()) {
      if (summary.embedsLater !== true) continue;
      await nextIteration();
      if (signal.aborted) return;
      const embedders = this.#parts.registry.get(uid)?.settings.embedders ?? {};
      for (const [name, embedder] of Object.entries(embedders)) {
        if (embedsLater(embedder)) this.#lane(uid, name)?.wake();
      }
    }
  }

  #lane(indexUid: string, name: string): Lane | null {
    if (this.#ending === null) return null;
    const key = keyOf(indexUid, name);
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      const { signal } = this.#ending;
      lane = new Lane(indexUid, name, this.#parts, signal, () => {
        if (this.#lanes.get(key) === lane) this.#lanes.delete(key);
      });
      this.#lanes.set(key, lane);
    }
    return lane;
  }
}

/** A document of a page: its id as JSON, as it is stored. */
interface Waiting {
  id: string;
  json: string;
  inputs: unknown[];
}

/** The work for one embedder of one index. */
class Lane {
  readonly #indexUid: string;
  readonly #name: string;
  readonly #parts: BackgroundParts;
  readonly #signal: AbortSignal;
  readonly #onUnused: () => void;
  /** Reasons by id of the document. */
  readonly failed = new Map<string, string>();
  problem: EmbedderStatus['problem'] = null;
  ended: Promise<void> = Promise.resolve();
  #running = false;
  /** There may be documents that were not listed yet. */
  #isDirty = false;
  /** The same once the running batch of the index has ended. */
  #willBeDirty = false;
  /** The task that is waited for; null: none. */
  #sent: { uid: number | null; ended: Set<number>; onEnd: () => void } | null = null;
  /** Documents whose inputs are noted, by id. */
  #noted = new Map<string, Waiting>();
  #notedBytes = 0;
  /** The embeddings that are being stored, by input, and the model that they are from. */
  #made = new Map<string, Float32Array>();
  #model = '';
  #pause: AbortController | null = null;
  #retries = 0;

  constructor(
    indexUid: string,
    name: string,
    parts: BackgroundParts,
    signal: AbortSignal,
    onUnused: () => void,
  ) {
    this.#indexUid = indexUid;
    this.#name = name;
    this.#parts = parts;
    this.#signal = signal;
    this.#onUnused = onUnused;
  }

  find(documentId: string, model: string, input: unknown): Float32Array | null {
    const key = JSON.stringify(input);
    const made = model === this.#model ? this.#made.get(key) : undefined;
    if (made !== undefined) return made;
    const noted = this.#noted.get(documentId);
    if (noted === undefined || model !== this.#model) {
      this.#willBeDirty = true;
      // It has changed.
      this.failed.delete(documentId);
    } else if (noted.inputs.length > 0 || this.#notedBytes < PAGE_BYTES_MAX) {
      // The inputs of a document are noted all or none, so that it becomes complete.
      this.#notedBytes += key.length;
      noted.inputs.push(input);
    } else this.#willBeDirty = true;
    return null;
  }

  refuse(documentId: string, reason: string): void {
    if (this.failed.size < FAILED_MAX) this.failed.set(documentId, reason);
  }

  /** Tasks of a batch of an index have ended. */
  onEnded(uids: readonly number[], indexUid: string | null | undefined): void {
    const sent = this.#sent;
    if (sent?.uid === null) for (const uid of uids) sent.ended.add(uid);
    else if (sent !== null && uids.includes(sent.uid)) sent.onEnd();
    if (!this.#willBeDirty || indexUid !== this.#indexUid) return;
    this.#willBeDirty = false;
    this.wake();
  }

  wake(): void {
    this.#isDirty = true;
    if (this.#running) return;
    this.#running = true;
    this.ended = this.#run();
  }

  retry(): void {
    this.failed.clear();
    this.#retries = 0;
    this.#pause?.abort();
    this.wake();
  }

  async #run(): Promise<void> {
    await nextIteration();
    while (this.#isDirty && !this.#signal.aborted) {
      this.#isDirty = false;
      try {
        await this.#pass();
      } catch (error) {
        if (this.#signal.aborted) break;
        this.#isDirty = true;
        await this.#wait((error as Error).message);
      }
    }
    this.problem = null;
    this.#running = false;
    if (this.failed.size === 0 && !this.#willBeDirty) this.#onUnused();
  }

  /** Embeds every document that waits now. */
  async #pass(): Promise<void> {
    // Documents that keep waiting: those that have failed, or have nothing to embed.
    let left = 0;
    for (;;) {
      this.#signal.throwIfAborted();
      const found = this.#embedder();
      if (found === null) {
        this.failed.clear();
        return;
      }
      const { entry, embedder, dimensions } = found;
      this.#model = identity(embedder);
      const page = await listed(entry, waitingFilter(this.#name), left, PAGE_DOCUMENTS);
      if (page.documents.length === 0) return;
      if (this.failed.size >= FAILED_MAX) {
        throw new Error(`${this.failed.size} documents have failed, so no others are tried`);
      }
      const untried = page.documents.filter(({ id }) => !this.failed.has(id));
      const noted = await this.#note(untried);
      const ready = await this.#embed(noted, embedder, dimensions);
      if (ready.length > 0) await this.#send(ready);
      this.#made = new Map();
      this.#retries = 0;
      this.problem = null;
      left += page.documents.length - ready.length;
    }
  }

  /** Renders the inputs of documents. Returns those that have any. */
  async #note(documents: readonly Waiting[]): Promise<Waiting[]> {
    if (documents.length === 0) return [];
    this.#noted = new Map(documents.map((document) => [document.id, document]));
    this.#notedBytes = 0;
    try {
      await this.#send(documents);
    } finally {
      this.#noted = new Map();
    }
    return documents.filter(({ inputs }) => inputs.length > 0);
  }

  /** Returns the documents whose embeddings are made. Throws while the provider is down. */
  async #embed(
    documents: readonly Waiting[],
    embedder: ComputedEmbedder,
    dimensions: number | null,
  ): Promise<Waiting[]> {
    if (documents.length === 0) return [];
    const inputs = documents.flatMap((document) => document.inputs);
    try {
      const { embedding, tracer = null } = this.#parts;
      const attributes = { 'gannet.index': this.#indexUid, 'gannet.inputs': inputs.length };
      const made = await rooted(tracer, 'embedding', attributes, () =>
        embedding.embedInputs(embedder, dimensions, inputs, this.#signal),
      );
      for (const [i, input] of inputs.entries()) this.#made.set(JSON.stringify(input), made[i]!);
      return [...documents];
    } catch (error) {
      if (!(error instanceof EmbeddingError) || !error.refusesInput) throw error;
      if (documents.length === 1) {
        this.failed.set(documents[0]!.id, error.message);
        return [];
      }
    }
    // Finds the documents that are refused.
    const half = Math.ceil(documents.length / 2);
    const first = await this.#embed(documents.slice(0, half), embedder, dimensions);
    return [...first, ...(await this.#embed(documents.slice(half), embedder, dimensions))];
  }

  /** Sends an update that changes nothing, and waits for the end of its task. */
  async #send(documents: readonly Waiting[]): Promise<void> {
    const { queue, taskStore } = this.#parts;
    const bytes = Buffer.from(`[${documents.map(({ json }) => json).join()}]`);
    let onEnd = (): void => {};
    const end = new Promise<void>((resolve) => (onEnd = resolve));
    const sent = { uid: null as number | null, ended: new Set<number>(), onEnd };
    this.#sent = sent;
    this.#signal.addEventListener('abort', onEnd, { once: true });
    try {
      // A branch embeds its documents itself.
      const request = {
        type: 'documentAdditionOrUpdate',
        indexUid: this.#indexUid,
        method: 'update',
        payload: { bytes },
        format: 'json',
        documents: documents.length,
        primaryKey: null,
        skipCreation: true,
        allowIndexCreation: false,
        customMetadata: `embeddings of ${this.#name}`,
      } as const;
      const { taskUid } = await queue.register(request, true);
      sent.uid = taskUid;
      if (!sent.ended.has(taskUid)) await end;
      this.#signal.throwIfAborted();
      const status = taskStore.record(taskUid)?.status;
      if (status === 'failed' || status === 'canceled') {
        throw new Error(`task ${taskUid}, which stores embeddings, is ${status}`);
      }
    } finally {
      this.#sent = null;
      this.#signal.removeEventListener('abort', onEnd);
    }
  }

  #embedder(): {
    entry: IndexEntry;
    embedder: ComputedEmbedder;
    dimensions: number | null;
  } | null {
    const entry = this.#parts.registry.get(this.#indexUid);
    const embedder = entry === undefined ? undefined : own(entry.settings.embedders, this.#name);
    if (entry === undefined || embedder === undefined || !embedsLater(embedder)) return null;
    const states = (entry.storedSettings?.[EMBEDDER_STATES] ?? {}) as EmbedderStates;
    return { entry, embedder, dimensions: own(states, this.#name)?.dimensions ?? null };
  }

  /** Waits longer after each failure. */
  async #wait(reason: string): Promise<void> {
    const ms = backoffMs(WAITS, this.#retries++);
    this.problem = { reason, retryAt: new Date(Date.now() + ms).toISOString() };
    this.#parts.logger.warn(
      `Embedder \`${this.#name}\` of the index \`${this.#indexUid}\`: ${reason}. Documents wait.`,
    );
    this.#pause = new AbortController();
    const signal = AbortSignal.any([this.#signal, this.#pause.signal]);
    await delay(ms, undefined, { signal }).catch(() => {});
    this.#pause = null;
  }
}

function keyOf(indexUid: string, name: string): string {
  return `${indexUid} ${name}`;
}

function pathOf(name: string): string {
  return `_vectors.${quotedInFilter(name)}`;
}

function waitingFilter(name: string): string {
  return `${pathOf(name)}.regenerate EXISTS AND ${pathOf(name)} NOT EXISTS`;
}

/** Documents that match, with their ids alone. */
async function listed(
  entry: IndexEntry,
  filter: string,
  offset: number,
  limit: number,
): Promise<{ documents: Waiting[]; total: number }> {
  const { primaryKey } = entry.summary;
  if (primaryKey === null) return { documents: [], total: 0 };
  const request = { offset, limit, fields: [primaryKey], filter, sort: null, ids: null };
  const body = await entry.handle.fetchAllDocuments(
    JSON.stringify({ ...request, retrieveVectors: false, multimodal: true }),
  );
  const parsed = parseJson(body, { exact: true });
  if (!parsed.ok) throw new Error(parsed.error);
  const { results, total } = parsed.value as {
    results: Record<string, unknown>[];
    total: number;
  };
  const documents = results.map((document) => ({
    id: exactText(document[primaryKey]),
    json: losslessText(document),
    inputs: [],
  }));
  return { documents, total };
}
