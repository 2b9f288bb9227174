/**
 * The service for all embeddings: sets embedders up when settings change, renders and embeds the
 * documents of a batch in chunks, and embeds queries of searches.
 */
import { compareUtf8 } from '../base/json.ts';
import { own } from '../base/own.ts';
import type { PartEmbedder } from '../contract/embedders/composite.ts';
import type { AnyFields, Chunks } from '../contract/embedders/fields.ts';
import {
  type ComputedEmbedder,
  computes,
  type Embedder,
  type Embedders,
  indexingPart,
  searchPart,
} from '../contract/embedders/sources.ts';
import type { EmbedderState, EmbedderStates } from '../engine/embedder-states.ts';
import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { chunkResult } from './chunk-result.ts';
import { cosineDistance } from './cosine-distance.ts';
import type { EmbedderRequests } from './embedder-requests.ts';
import {
  identity,
  indexingFragments,
  numberFragments,
  searchFragments,
  setUpIdentity,
} from './embedder-state.ts';
import { EmbeddingError } from './embedding-error.ts';
import { type EmbedCall, learnDimensions, type Provider } from './provider.ts';
import { openProvider, type ProviderOptions, type ProviderParts } from './providers.ts';
import { QueryCache } from './query-cache.ts';
import type { RenderedChunk, RenderedEmbedder, RenderedRow, SearchScope } from './render.ts';
import { RenderPool } from './render-pool.ts';
import { RenderStopped } from './render-thread.ts';

/** Maximum number of concurrent requests for indexing, and separately for queries. */
const REQUESTS_MAX = 40;
const OPENAI_TOKENS_MAX = 8_191;
/** Maximum number of documents listed in an error. */
const NAMED_MAX = 10;
const FRAGMENTS_MAX = 255;

const SAMPLES = [
  'test',
  'a brave dog',
  'This is a sample text. It is meant to compare similarity.',
];
const DISTANCE_MAX = 0.01;

export interface EmbeddingOptions extends ProviderOptions {
  /** Number of cached query embeddings per embedder. */
  cacheEntries: number;
  ignoreTemplateFailures: boolean;
  ignoreEmbedderFailures: boolean;
}

/** A template cannot be rendered. The message is for the error `invalid_document_fields`. */
export class TemplateFault extends Error {
  override readonly name = 'TemplateFault';
}

/** Failures of providers that concern all inputs, by name of the embedder. */
export type EmbedderFailures = Map<string, EmbeddingError>;

export interface BatchCall {
  requests: EmbedderRequests;
  failures?: EmbedderFailures;
  signal: AbortSignal;
}

/** Where the embeddings of embedders in the mode `background` come from. */
export interface MadeEmbeddings {
  /**
   * The embedding of an input of a document; null: it is not made yet, and the document waits for
   * it.
   * @param model what identifies the embeddings, see `identity`
   */
  find(document: InputOf, model: string, input: unknown): Float32Array | null;
  /** A document whose input cannot be rendered waits until it or its template changes. */
  refuse(document: InputOf, reason: string): void;
}

export interface InputOf {
  indexUid: string;
  embedder: string;
  documentId: string;
}

/** Embeds the documents of one batch. */
export interface BatchEmbedding {
  /**
   * @param chunk JSON of a list of `ChunkDocument`
   * @returns see `chunkResult`. Throws `EmbeddingError`, `TemplateFault` or the reason of the
   * signal
   */
  embed(chunk: Uint8Array): Promise<Buffer>;
  /** The number of texts and fragments requested so far, and how many of them are embedded. */
  texts(): { embedded: number; total: number };
  close(): void;
}

/**
 * The embedders of an index. The engine numbers those that compute embeddings by the order of their
 * names.
 */
export interface BatchEmbedders {
  embedders: Embedders;
  states: EmbedderStates;
  searchableAttributes: string[];
}

export interface Query {
  embedder: Embedder;
  dimensions: number | null;
  scope: SearchScope;
  /** Ms since the epoch. */
  deadline: number;
}

/** The parts used to embed the chunks of a batch. */
interface BatchParts {
  indexUid: string;
  /** Identities of the embedders in the mode `background`, by number; null: another mode. */
  background: (string | null)[];
  renderer: ReturnType<RenderPool['prepare']>;
  /** Providers by number of the embedder, like the names. */
  providers: Provider[];
  names: string[];
  texts: { embedded: number; total: number };
}

export class EmbeddingService {
  readonly #options: EmbeddingOptions;
  readonly #parts: ProviderParts;
  /** null: the mode `background` is like `batch`. */
  background: MadeEmbeddings | null = null;
  readonly #renders = new RenderPool();
  readonly #indexing = new ConcurrencyLimit(REQUESTS_MAX);
  readonly #searching = new ConcurrencyLimit(REQUESTS_MAX);
  readonly #cache: QueryCache;
  readonly #embedderNames = new WeakMap<Embedder, string>();
  #embeddersNamed = 0;
  /** Queries that are being embedded, by embedder and text. */
  readonly #pending = new Map<string, Promise<Float32Array>>();

  constructor(
    client: OutboundClient,
    options: EmbeddingOptions,
    localModel: ProviderParts['localModel'],
  ) {
    this.#options = options;
    this.#cache = new QueryCache(options.cacheEntries);
    this.#parts = {
      client,
      options,
      localModel,
      shortenText: (text, signal) => this.#shortenText(text, signal),
    };
  }

  close(): Promise<void> {
    return this.#renders.close();
  }

  /**
   * Sets up the embedders affected by a change of settings. Throws `EmbeddingError`.
   * @returns the states of all embedders afterwards
   */
  async setUp(
    before: { embedders: Embedders; states: EmbedderStates },
    after: Embedders,
    call: BatchCall,
  ): Promise<EmbedderStates> {
    const states = new Map<string, EmbedderState>();
    for (const [name, embedder] of Object.entries(after)) {
      const old = own(before.embedders, name);
      const state = own(before.states, name);
      if (!computes(embedder)) {
        states.set(name, { dimensions: embedder.dimensions });
        continue;
      }
      const known =
        old !== undefined && state !== undefined && setUpIdentity(old) === setUpIdentity(embedder);
      const dimensions = known ? state.dimensions : await this.#setUp(name, embedder, call);
      const names = Object.keys(indexingFragments(embedder));
      if (names.length > FRAGMENTS_MAX) {
        throw new EmbeddingError(
          `\`.embedders.${name}\`: at most ${FRAGMENTS_MAX} indexing fragments are possible, but there are ${names.length}.`,
        );
      }
      const keeps = old !== undefined && Object.keys(indexingFragments(old)).length > 0;
      states.set(name, {
        dimensions,
        ...(names.length === 0
          ? {}
          : { fragments: numberFragments(names, keeps ? state?.fragments : {}) }),
      });
    }
    return Object.fromEntries(states);
  }

  async #setUp(name: string, embedder: ComputedEmbedder, { signal }: BatchCall): Promise<number> {
    // Requests that set up an embedder are not counted.
    const call: EmbedCall = { signal, limit: this.#indexing };
    try {
      const indexing = openProvider(indexingPart(embedder), this.#parts);
      if (embedder.source !== 'composite') return await learnDimensions(indexing, call);
      const search = openProvider(searchPart(embedder), this.#parts);
      return await agreedDimensions(embedder, indexing, search, call);
    } catch (error) {
      if (!(error instanceof EmbeddingError)) throw error;
      throw new EmbeddingError(`\`.embedders.${name}\`: ${error.message}`);
    }
  }

  openBatch(
    indexUid: string,
    { embedders, states, searchableAttributes }: BatchEmbedders,
    call: BatchCall,
  ): BatchEmbedding {
    const computed = Object.entries(embedders)
      .filter((entry): entry is [string, ComputedEmbedder] => computes(entry[1]))
      .toSorted(([a], [b]) => compareUtf8(a, b));
    const names = computed.map(([name]) => name);
    const providers = computed.map(([name, embedder]) => {
      const provider = openProvider(indexingPart(embedder), this.#parts);
      provider.dimensions = states[name]?.dimensions ?? provider.dimensions;
      if (provider.dimensions === null) {
        throw new EmbeddingError(
          `The dimensions of the embedder \`${name}\` are not known. Set its \`dimensions\`, or set it up again.`,
        );
      }
      return provider;
    });
    const renderer = this.#renders.prepare({
      searchable: searchableAttributes,
      ignoreFaults: this.#options.ignoreTemplateFailures,
      embedders: computed.map(([name, embedder]) => ({
        ...renderedEmbedder(embedder, states[name]?.fragments),
        waits: embedder.mode === 'background',
      })),
    });
    const texts = { embedded: 0, total: 0 };
    const background = computed.map(([, embedder]) =>
      embedder.mode === 'background' && this.background !== null ? identity(embedder) : null,
    );
    return {
      close: () => renderer.close(),
      texts: () => texts,
      embed: (chunk) =>
        this.#embedChunk(chunk, { indexUid, background, renderer, providers, names, texts }, call),
    };
  }

  async #embedChunk(
    chunk: Uint8Array,
    { indexUid, background, renderer, providers, names, texts }: BatchParts,
    call: BatchCall,
  ): Promise<Buffer> {
    call.signal.throwIfAborted();
    const rendered = await renderer.render(chunk).catch((error: unknown) => {
      call.signal.throwIfAborted();
      throw error instanceof RenderStopped
        ? new TemplateFault(`Templates: ${error.message}.`)
        : error;
    });
    if (rendered.kind === 'fault') throw new TemplateFault(rendered.message);
    const { rows, wants } = rendered;
    for (const { document, embedder, message } of rendered.faults) {
      const documentId = String(rendered.ids[document]);
      this.background?.refuse({ indexUid, embedder: names[embedder]!, documentId }, message);
    }
    const embeddings = new Map<RenderedRow, Float32Array>();
    await Promise.all(
      inputsOf(rendered, providers.length).map(async (list, number) => {
        if (list.length === 0) return;
        const model = background[number]!;
        if (model !== null) {
          for (const { row, value, document } of list) {
            const documentId = String(rendered.ids[document]);
            const of = { indexUid, embedder: names[number]!, documentId };
            const made = this.background!.find(of, model, value);
            if (made !== null) embeddings.set(row, made);
          }
          return;
        }
        texts.total += list.length;
        const onEmbedded = (count: number): void => void (texts.embedded += count);
        const parts = { provider: providers[number]!, name: names[number]!, ids: rendered.ids };
        const made = await this.#embedList(list, parts, { ...call, onEmbedded });
        made?.forEach((embedding, at) => embeddings.set(list[at]!.row, embedding));
      }),
    );
    // A row without an embedding belongs to an embedder whose failures are ignored.
    const isMade = (row: RenderedRow): boolean => row.input === null || embeddings.has(row);
    const complete = rows.map((wanted, document) =>
      wanted.map((want, position) => {
        if (want === null || want.every(isMade)) return want;
        if (background[wants[document]![position]!] === null) return want.filter(isMade);
        // It waits with no embeddings at all: that is how it is found again.
        return rendered.stored[document]![position] ? [] : null;
      }),
    );
    const made = complete.flat().flatMap((want) => want ?? []);
    return chunkResult(
      complete,
      made.filter(({ input }) => input !== null).map((row) => embeddings.get(row)!),
    );
  }

  /** null: the failure is ignored. */
  async #embedList(
    list: readonly Input[],
    { provider, name, ids }: { provider: Provider; name: string; ids: readonly unknown[] },
    call: BatchCall & Pick<EmbedCall, 'onEmbedded'>,
  ): Promise<Float32Array[] | null> {
    try {
      const known = call.failures?.get(name);
      if (known !== undefined) throw known;
      const values = list.map(({ value }) => value);
      return await provider.embed(values, { ...call, limit: this.#indexing });
    } catch (error) {
      if (!(error instanceof EmbeddingError)) throw error;
      if (this.#options.ignoreEmbedderFailures) return null;
      if (!error.refusesInput) {
        call.failures?.set(name, new EmbeddingError(error.message));
      }
      const concerned = list.slice(...(error.inputs ?? [0, list.length]));
      const named = namesOf([...new Set(concerned.map(({ document }) => ids[document]))]);
      throw new EmbeddingError(
        `The embedder \`${name}\` has made no embeddings for ${named}: ${error.message}`,
      );
    }
  }

  /**
   * Embeds inputs of documents, each request once. Throws `EmbeddingError` or the reason of the
   * signal.
   * @param dimensions null: unknown
   */
  embedInputs(
    embedder: ComputedEmbedder,
    dimensions: number | null,
    inputs: readonly unknown[],
    signal: AbortSignal,
  ): Promise<Float32Array[]> {
    const provider = openProvider(indexingPart(embedder), this.#parts);
    provider.dimensions = dimensions ?? provider.dimensions;
    return provider.embed(inputs, { signal, limit: this.#indexing, once: true });
  }

  /** The embedding of a query. Throws `EmbeddingError`. */
  async embedQuery({ embedder, dimensions, scope, deadline }: Query): Promise<Float32Array> {
    if (!computes(embedder)) {
      throw new EmbeddingError(
        'The embedder has the source `userProvided`: it embeds no queries, so `vector` must be given.',
      );
    }
    const input = await this.#queryInput(embedder, scope);
    const part = searchPart(embedder);
    const identity = JSON.stringify(part);
    const text = typeof input === 'string' ? input : JSON.stringify(input);
    const kept = this.#cache.get(identity, text);
    if (kept !== undefined) return kept;
    const key = `${identity}\n${typeof input}\n${text}`;
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      pending = this.#embed(part, dimensions, input, deadline).finally(() =>
        this.#pending.delete(key),
      );
      this.#pending.set(key, pending);
      pending.then(
        (embedding) => this.#cache.set(identity, text, embedding),
        () => {},
      );
    }
    return withinDeadline(pending, deadline);
  }

  async #embed(
    part: PartEmbedder,
    dimensions: number | null,
    input: unknown,
    deadline: number,
  ): Promise<Float32Array> {
    const provider = openProvider(part, this.#parts);
    provider.dimensions = dimensions ?? provider.dimensions;
    const [embedding] = await provider.embed([input], { deadline, limit: this.#searching });
    return embedding!;
  }

  /** The requester name of an embedder, so that embedders share render threads fairly. */
  #nameOf(embedder: Embedder): string {
    let name = this.#embedderNames.get(embedder);
    if (name === undefined) {
      name = `queries ${++this.#embeddersNamed}`;
      this.#embedderNames.set(embedder, name);
    }
    return name;
  }

  async #queryInput(embedder: Embedder, scope: SearchScope): Promise<unknown> {
    const fragments = searchFragments(embedder);
    if (Object.keys(fragments).length === 0) {
      if (scope.media !== undefined && scope.media !== null) {
        throw new EmbeddingError('`media` needs an embedder with search fragments.');
      }
      return scope.q ?? '';
    }
    const fitting = await this.#renders
      .fit(this.#nameOf(embedder), fragments, scope)
      .catch((error: unknown) => {
        throw new EmbeddingError(`Search fragments: ${(error as Error).message}.`);
      });
    if (fitting.kind === 'one') return fitting.value;
    throw new EmbeddingError(
      fitting.kind === 'none'
        ? 'No search fragment fits the query: each has a variable that is not given.'
        : `More than one search fragment fits the query: \`${fitting.names[0]}\` and \`${fitting.names[1]}\`.`,
    );
  }

  async #shortenText(text: string, signal: AbortSignal | undefined): Promise<string | number[]> {
    signal?.throwIfAborted();
    const tokens = await this.#renders
      .firstTokens('tokens', text, OPENAI_TOKENS_MAX)
      .catch((error: unknown) => {
        throw new EmbeddingError(
          `The tokens of a text cannot be counted: ${(error as Error).message}`,
        );
      });
    return tokens ?? text;
  }
}

async function agreedDimensions(
  embedder: Embedder,
  indexing: Provider,
  search: Provider,
  call: EmbedCall,
): Promise<number> {
  const fragments = [indexingFragments(embedder), searchFragments(embedder)];
  if (fragments.some((map) => Object.keys(map).length > 0)) {
    const both = [await learnDimensions(indexing, call), await learnDimensions(search, call)];
    if (both[0] !== both[1]) throw differentDimensions(both);
    return both[0]!;
  }
  if (indexing.dimensions !== null && search.dimensions !== null) {
    const both = [indexing.dimensions, search.dimensions];
    if (both[0] !== both[1]) throw differentDimensions(both);
  }
  const [documents, queries] = await Promise.all([
    indexing.embed(SAMPLES, call),
    search.embed(SAMPLES, call),
  ]);
  for (const [number, document] of documents.entries()) {
    const query = queries[number]!;
    if (document.length !== query.length)
      throw differentDimensions([document.length, query.length]);
    const distance = cosineDistance(document, query);
    if (distance > DISTANCE_MAX) {
      throw new EmbeddingError(
        `\`indexingEmbedder\` and \`searchEmbedder\` do not agree: their embeddings of \`${SAMPLES[number]}\` ` +
          `have the cosine distance ${distance.toFixed(4)}, at most ${DISTANCE_MAX} is accepted.`,
      );
    }
  }
  return documents[0]!.length;
}

function differentDimensions([indexing, search]: readonly number[]): EmbeddingError {
  return new EmbeddingError(
    `\`indexingEmbedder\` has ${indexing} dimensions and \`searchEmbedder\` has ${search}; they must be the same.`,
  );
}

/** An input of a document, and the row of its embedding. */
interface Input {
  value: unknown;
  document: number;
  row: RenderedRow;
}

/** The inputs of each embedder, by its number. */
function inputsOf(
  { rows, wants }: Extract<RenderedChunk, { kind: 'rows' }>,
  embedders: number,
): Input[][] {
  const inputs = Array.from({ length: embedders }, (): Input[] => []);
  for (const [document, wanted] of rows.entries()) {
    for (const [position, want] of wanted.entries()) {
      for (const row of want ?? []) {
        if (row.input === null) continue;
        inputs[wants[document]![position]!]!.push({ value: row.input.value, document, row });
      }
    }
  }
  return inputs;
}

function renderedEmbedder(
  embedder: Embedder,
  known: Readonly<Record<string, number>> | undefined,
): RenderedEmbedder {
  const { documentTemplate, documentTemplateMaxBytes, chunks }: AnyFields = indexingPart(embedder);
  const fragments = indexingFragments(embedder);
  const numbers = known ?? numberFragments(Object.keys(fragments));
  const names = Object.keys(fragments).toSorted((a, b) => numbers[a]! - numbers[b]!);
  if (names.length === 0) {
    const rendered = { template: documentTemplate!, bytesMax: documentTemplateMaxBytes! };
    return { kind: 'template', ...rendered, chunks: (chunks as Chunks | undefined) ?? null };
  }
  return {
    kind: 'fragments',
    fragments: names.map((name) => ({ number: numbers[name]!, value: fragments[name]!.value })),
  };
}

function namesOf(ids: readonly unknown[]): string {
  const named = ids.slice(0, NAMED_MAX).map((id) => JSON.stringify(id));
  const more = ids.length - named.length;
  return `the document${ids.length === 1 ? '' : 's'} ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Rejects at the deadline, even if the request continues for another query. */
async function withinDeadline<T>(work: Promise<T>, deadline: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const ended = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new EmbeddingError('The query was not embedded within the time of the search.')),
      Math.max(0, deadline - Date.now()),
    );
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
  }
}
