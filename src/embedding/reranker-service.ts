/** Scores documents by rerankers: renders their texts, and asks a service or a local model. */
import { jsonHeaders, type Protocol } from '../contract/embedders/protocol.ts';
import { RequestTemplate, ScoresTemplate, TEXT } from '../contract/embedders/rest-template.ts';
import type { Reranker } from '../contract/settings/rerankers.ts';
import { ConcurrencyLimit } from '../outbound/concurrency-limit.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { EmbeddingError } from './embedding-error.ts';
import type { LocalModels } from './local-model.ts';
import { type RequestLimits, RequestProvider } from './provider.ts';
import { RenderPool } from './render-pool.ts';

/** Requests to services that run concurrently. */
const REQUESTS_MAX = 40;

export interface RerankerCall {
  reranker: Reranker;
  /** The setting `searchableAttributes`. */
  searchable: string[];
  q: string;
  /** JSON of a list of `ChunkDocument`. */
  sources: Uint8Array;
  /** Ms since the epoch. */
  deadline: number;
  signal?: AbortSignal | undefined;
}

export class RerankerService {
  readonly #client: OutboundClient;
  readonly #limits: RequestLimits;
  readonly #models: Pick<LocalModels, 'score'>;
  readonly #renders = new RenderPool();
  readonly #requests = new ConcurrencyLimit(REQUESTS_MAX);

  constructor(client: OutboundClient, limits: RequestLimits, models: Pick<LocalModels, 'score'>) {
    this.#client = client;
    this.#limits = limits;
    this.#models = models;
  }

  close(): Promise<void> {
    return this.#renders.close();
  }

  /** A score for each document. Throws `EmbeddingError`, or the reason of the signal. */
  async scores(call: RerankerCall): Promise<number[]> {
    const ending = new AbortController();
    const late = new EmbeddingError(
      'The documents were not reranked within the time of the search',
    );
    const timer = setTimeout(() => ending.abort(late), Math.max(0, call.deadline - Date.now()));
    const signals = call.signal === undefined ? [] : [call.signal];
    const signal = AbortSignal.any([ending.signal, ...signals]);
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      if (signal.aborted) reject(signal.reason as Error);
    });
    try {
      return await Promise.race([this.#scores(call, signal), stopped]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #scores(call: RerankerCall, signal: AbortSignal): Promise<number[]> {
    const texts = await this.#textsOf(call, signal);
    signal.throwIfAborted();
    const { reranker, q, deadline } = call;
    if (reranker.source === 'huggingFace') {
      const { model, revision } = reranker;
      return this.#models.score({ model: model!, revision }, q, texts, { deadline, signal });
    }
    const provider = new RequestProvider(
      protocolOf(reranker, q, texts.length),
      1,
      this.#client,
      this.#limits,
      'reranker',
    );
    const scores = await provider.embed(texts, {
      deadline,
      signal,
      limit: this.#requests,
      once: true,
      whole: true,
    });
    return scores.map(([score]) => score!);
  }

  async #textsOf(
    { reranker, searchable, sources }: RerankerCall,
    signal: AbortSignal,
  ): Promise<string[]> {
    const { documentTemplate: template, documentTemplateMaxBytes: bytesMax } = reranker;
    const renderer = this.#renders.prepare({
      searchable,
      embedders: [{ kind: 'template', template, bytesMax }],
      ignoreFaults: false,
    });
    // Documents that wait to be rendered are dropped.
    signal.addEventListener('abort', () => renderer.close(), { once: true });
    try {
      const rendered = await renderer.render(sources).catch((error: unknown) => {
        throw new EmbeddingError(`Templates: ${(error as Error).message}`);
      });
      if (rendered.kind === 'fault') throw new EmbeddingError(rendered.message);
      return rendered.rows.map(([rows]) => String(rows?.[0]?.input?.value ?? ''));
    } finally {
      renderer.close();
    }
  }
}

/** All documents go into one request. */
function protocolOf(reranker: Reranker, q: string, documents: number): Protocol {
  const { url, apiKey, headers } = reranker;
  const request = new RequestTemplate(reranker.request, TEXT);
  const response = new ScoresTemplate(reranker.response);
  const names = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    url: url!,
    headers: { ...jsonHeaders(apiKey), ...Object.fromEntries(names) },
    bodySecrets: reranker.request,
    inputsMax: documents,
    bytesMax: null,
    body: (inputs) => request.body(inputs, q),
    embeddings: (received) => response.scores(received),
    explain: () => null,
    shorten: null,
  };
}
