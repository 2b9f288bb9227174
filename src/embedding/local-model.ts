/**
 * Models that run on this machine, in a separate process that is started on demand and ended when
 * idle.
 */
import { builtFile } from '../base/built-file.ts';
import { type Call, Isolate } from '../base/isolate.ts';
import { EmbeddingError } from './embedding-error.ts';
import type { EmbedResponse, EmbedRequest, ModelWork } from './local-model-process.ts';
import { type ModelFiles, modelFiles, type ModelSource, poolingOf } from './model-files.ts';
import type { EmbedCall, Provider } from './provider.ts';
import type { LocalEmbedder } from './providers.ts';

const IDLE_MS_MAX = 300_000;
/** Maximum texts per request to the process. A query waits for at most one such request. */
const TEXTS_PER_REQUEST = 16;
/** Fewer, so that the process soon does other work when a search has ended. */
const PAIRS_PER_REQUEST = 4;
/** More of a document than a model reads. */
const DOCUMENT_CHARACTERS_MAX = 16_384;
/** Nice value, so that the server's request handling has priority. */
const NICE = 5;

export interface LocalModelOptions extends ModelSource {
  threads: number;
}

interface Job {
  request: Omit<EmbedRequest, 'job'>;
  resolve(embeddings: Float32Array[]): void;
  reject(error: unknown): void;
  signal: AbortSignal | undefined;
  /** Milliseconds since the epoch. Only queries have a deadline. */
  deadline: number | undefined;
}

/** Whether the embeddings are no longer needed. */
function isLate({ signal, deadline = Infinity }: Job): boolean {
  return signal?.aborted === true || deadline <= Date.now();
}

export class LocalModels {
  readonly #options: LocalModelOptions;
  #process: Isolate<EmbedRequest, EmbedResponse> | null = null;
  /** Waiting jobs. Queries have priority over documents. */
  readonly #waiting: { queries: Job[]; documents: Job[] } = { queries: [], documents: [] };
  #running: { number: number; call: Call<EmbedResponse> } | null = null;
  /** Files of models that score, which are being looked for or downloaded. */
  readonly #scoring = new Map<string, Promise<ModelFiles>>();
  #next = 1;
  #closed = false;

  constructor(options: LocalModelOptions) {
    this.#options = options;
  }

  open({ model, revision, pooling }: LocalEmbedder): Provider {
    let files: Promise<ModelFiles> | null = null;
    const provider: Provider = {
      dimensions: null,
      embed: async (inputs, call) => {
        files ??= modelFiles(model, revision, this.#options, call.signal);
        const found = await files.catch((error: unknown) => {
          files = null;
          throw error;
        });
        const work = { is: 'embed', pooling: poolingOf(found.folder, pooling) } as const;
        const embeddings: Float32Array[] = [];
        for (let at = 0; at < inputs.length; at += TEXTS_PER_REQUEST) {
          const texts = inputs.slice(at, at + TEXTS_PER_REQUEST).map(String);
          embeddings.push(...(await this.#run(found, work, texts, call)));
          call.onEmbedded?.(texts.length);
        }
        const other = embeddings.find(
          ({ length }) => provider.dimensions !== null && length !== provider.dimensions,
        );
        if (other !== undefined) {
          throw new EmbeddingError(
            `The model \`${model}\` gives ${other.length} dimensions where ${provider.dimensions} are expected`,
          );
        }
        return embeddings;
      },
    };
    return provider;
  }

  /** A score of each text for the query. Throws `EmbeddingError`, or the reason of the signal. */
  async score(
    { model, revision }: { model: string; revision?: string | undefined },
    query: string,
    texts: readonly string[],
    call: Pick<EmbedCall, 'signal' | 'deadline'>,
  ): Promise<number[]> {
    const files = await this.#scoringFiles(model, revision);
    const scores: number[] = [];
    for (let at = 0; at < texts.length; at += PAIRS_PER_REQUEST) {
      call.signal?.throwIfAborted();
      const some = texts
        .slice(at, at + PAIRS_PER_REQUEST)
        .map((text) => text.slice(0, DOCUMENT_CHARACTERS_MAX));
      const made = await this.#run(files, { is: 'score', query }, some, call);
      scores.push(...made.map(([score]) => score!));
    }
    return scores;
  }

  /** A download takes longer than a search, so it goes on when the search has ended. */
  #scoringFiles(model: string, revision: string | undefined): Promise<ModelFiles> {
    const key = JSON.stringify([model, revision]);
    let files = this.#scoring.get(key);
    if (files === undefined) {
      files = modelFiles(model, revision, this.#options, undefined);
      this.#scoring.set(key, files);
      const end = (): void => void this.#scoring.delete(key);
      files.then(end, end);
    }
    return files;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#process?.end(new EmbeddingError('The server is stopping'));
  }

  #run(
    files: ModelFiles,
    work: ModelWork,
    texts: string[],
    { signal, deadline }: Pick<EmbedCall, 'signal' | 'deadline'>,
  ): Promise<Float32Array[]> {
    if (this.#closed) return Promise.reject(new EmbeddingError('The server is stopping'));
    return new Promise((resolve, reject) => {
      const request = { files, work, texts, threads: this.#options.threads };
      const waiting = deadline === undefined ? this.#waiting.documents : this.#waiting.queries;
      const stop = (): void => {
        // Searches that have ended leave no texts behind, even if the process hangs.
        const at = waiting.indexOf(job);
        if (at >= 0) waiting.splice(at, 1);
        reject(signal!.reason);
      };
      // The signal of a batch outlives the job, so the listener must be removed.
      const end = (): void => signal?.removeEventListener('abort', stop);
      const job: Job = {
        request,
        resolve: (embeddings) => (end(), resolve(embeddings)),
        reject: (error) => (end(), reject(error)),
        signal,
        deadline,
      };
      signal?.addEventListener('abort', stop, { once: true });
      waiting.push(job);
      this.#runNext();
    });
  }

  #runNext(): void {
    if (this.#running !== null) return;
    const { queries, documents } = this.#waiting;
    let job = queries.shift() ?? documents.shift();
    while (job !== undefined && isLate(job)) {
      job.reject(new EmbeddingError('The model was busy for too long'));
      job = queries.shift() ?? documents.shift();
    }
    if (job === undefined) return;
    void this.#ask(job);
  }

  async #ask(job: Job): Promise<void> {
    const process = this.#started();
    const number = this.#next++;
    const call = process.open<EmbedResponse>();
    this.#running = { number, call };
    process.send({ job: number, ...job.request });
    try {
      const response = await call.result;
      if ('embeddings' in response) job.resolve(response.embeddings);
      else job.reject(new EmbeddingError(messageOf(response, job.request.files)));
    } catch (error) {
      const { queries, documents } = this.#waiting;
      for (const one of [job, ...queries.splice(0), ...documents.splice(0)]) one.reject(error);
    }
    this.#running = null;
    this.#runNext();
  }

  #started(): Isolate<EmbedRequest, EmbedResponse> {
    if (this.#process?.hasEnded === false) return this.#process;
    this.#process = new Isolate<EmbedRequest, EmbedResponse>({
      host: {
        process: builtFile('local-model.cjs'),
        options: {
          serialization: 'advanced',
          stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
          execArgv: [],
        },
        nice: NICE,
      },
      take: (response) => {
        if (response.job === this.#running?.number) this.#running.call.resolve(response);
      },
      fault: ({ cause }) => new EmbeddingError(`The process that runs models has ended (${cause})`),
      idleMs: IDLE_MS_MAX,
    });
    return this.#process;
  }
}

function messageOf(
  { fault, missing }: Extract<EmbedResponse, { fault: string }>,
  { folder }: ModelFiles,
): string {
  return missing === true
    ? `Models cannot be run here: \`npm run install:models\` installs what runs them in a clone, docs/embedders.md says what does elsewhere (${fault})`
    : `The model in \`${folder}\` cannot be run: ${fault}`;
}
