/**
 * The thread that renders, seen from the event loop. Started when it is first needed; ended when a job takes too long, as
 * only that stops a filter that does not come back, and when it has been idle.
 */
import type { Worker } from 'node:worker_threads';
import { startThread } from '../base/thread.ts';
import type { FittingFragment, RenderedChunk, RenderSpec, SearchScope } from './render.ts';
import type {
  Hits,
  RequestInput,
  RequestOutcome,
  RequestTemplate,
  TextsRequest,
} from './render-request.ts';
import { READY, type RenderAnswer, type RenderRequest } from './render-answer.ts';

/** For one job, from the end of the one before. A chunk of documents takes some milliseconds; each template is limited to half a second. */
const JOB_MS_MAX = 20_000;
const IDLE_MS_MAX = 60_000;
const HEAP_MB_MAX = 512;

/** Rendering was stopped: its message says why. */
export class RenderStopped extends Error {
  override readonly name = 'RenderStopped';
}

interface Job {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class RenderPool {
  readonly #jobMsMax: number;
  #worker: Worker | null = null;
  /** The thread has loaded what it needs. */
  #ready = false;
  /** Ends the thread. Runs since the last answer, while there are jobs: each may take its time, waiting does not count. */
  #watch: NodeJS.Timeout | null = null;
  #idle: NodeJS.Timeout | null = null;
  readonly #jobs = new Map<number, Job>();
  readonly #specs = new Map<number, RenderSpec>();
  #next = 1;
  #closed = false;

  constructor(jobMsMax = JOB_MS_MAX) {
    this.#jobMsMax = jobMsMax;
  }

  /** A renderer for the documents of one batch. */
  prepare(spec: RenderSpec): { render(chunk: Uint8Array): Promise<RenderedChunk>; close(): void } {
    const renderer = this.#next++;
    this.#specs.set(renderer, spec);
    this.#worker?.postMessage({ kind: 'prepare', renderer, spec } satisfies RenderRequest);
    return {
      render: (chunk) =>
        this.#run((job) => ({ kind: 'render', job, renderer, chunk })) as Promise<RenderedChunk>,
      close: () => {
        this.#specs.delete(renderer);
        this.#worker?.postMessage({ kind: 'forget', renderer } satisfies RenderRequest);
      },
    };
  }

  fit(fragments: Record<string, { value: unknown }>, scope: SearchScope): Promise<FittingFragment> {
    return this.#run((job) => ({ kind: 'fit', job, fragments, scope })) as Promise<FittingFragment>;
  }

  /** The first tokens of a text (cl100k_base), or null when it has fewer. */
  firstTokens(text: string, tokensMax: number): Promise<number[] | null> {
    return this.#run((job) => ({ kind: 'tokens', job, text, tokensMax })) as Promise<
      number[] | null
    >;
  }

  /** Of one request. A renderer that had to be stopped has failed. @param input null: the template is only parsed */
  forRequest(template: RequestTemplate, input: RequestInput | null): Promise<RequestOutcome> {
    return this.#outcome((job) => ({ kind: 'request', job, template, input }));
  }

  /** The documents of an answer of the engine as one text. */
  texts(request: TextsRequest): Promise<RequestOutcome<string>> {
    return this.#outcome((job) => ({ kind: 'texts', job, request }));
  }

  /** What an answer of the engine lists. Rejects with `RenderStopped`. */
  hits(answer: Uint8Array, primaryKey: string | null): Promise<Hits> {
    return this.#run((job) => ({ kind: 'hits', job, answer, primaryKey })) as Promise<Hits>;
  }

  async #outcome<T>(request: (job: number) => RenderRequest): Promise<RequestOutcome<T>> {
    try {
      return (await this.#run(request)) as RequestOutcome<T>;
    } catch (error) {
      if (!(error instanceof RenderStopped)) throw error;
      return { kind: 'failed', reason: error.message };
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#stop('the server is stopping');
  }

  #run(request: (job: number) => RenderRequest): Promise<unknown> {
    if (this.#closed) return Promise.reject(new RenderStopped('the server is stopping'));
    const worker = this.#running();
    const number = this.#next++;
    return new Promise((resolve, reject) => {
      this.#jobs.set(number, { resolve, reject });
      if (this.#watch === null) this.#watchJobs();
      worker.ref();
      worker.postMessage(request(number));
    });
  }

  #watchJobs(): void {
    if (this.#watch !== null) clearTimeout(this.#watch);
    this.#watch = null;
    if (!this.#ready || this.#jobs.size === 0) return;
    this.#watch = setTimeout(() => {
      void this.#stop('rendering took too long and was stopped');
    }, this.#jobMsMax);
    this.#watch.unref();
  }

  #running(): Worker {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#worker !== null) return this.#worker;
    const worker = startThread(import.meta.url, './render-worker.cjs', './render-worker.ts', {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.on('message', (message: RenderAnswer | typeof READY) => {
      if (this.#worker !== worker) return;
      if (message !== READY) this.#end(message);
      else this.#ready = true;
      this.#watchJobs();
    });
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#fail(error);
    });
    this.#worker = worker;
    for (const [renderer, spec] of this.#specs) {
      worker.postMessage({ kind: 'prepare', renderer, spec } satisfies RenderRequest);
    }
    return worker;
  }

  #end(answer: RenderAnswer): void {
    const job = this.#jobs.get(answer.job);
    if (job === undefined) return;
    this.#jobs.delete(answer.job);
    if ('fault' in answer) job.reject(new Error(answer.fault));
    else job.resolve(answer.value);
    if (this.#jobs.size > 0) return;
    this.#worker?.unref();
    this.#idle = setTimeout(() => void this.#stop('idle'), IDLE_MS_MAX);
    this.#idle.unref();
  }

  /** The thread ended by itself: out of memory, or a fault of ours. */
  #fail(error: Error): void {
    this.#worker = null;
    this.#rejectAll(new RenderStopped(`rendering was stopped: ${error.message}`));
  }

  async #stop(reason: string): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#rejectAll(new RenderStopped(reason));
    await worker?.terminate();
  }

  #rejectAll(error: Error): void {
    for (const job of this.#jobs.values()) job.reject(error);
    this.#jobs.clear();
    this.#ready = false;
    this.#watchJobs();
  }
}
