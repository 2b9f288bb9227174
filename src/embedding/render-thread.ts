import { Worker } from 'node:worker_threads';
import { builtFile } from '../base/built-file.ts';
import type { RenderSpec } from './render.ts';
import { READY, type RenderResponse, type RenderRequest } from './render-messages.ts';

const HEAP_MB_MAX = 512;

/**
 * Limits for the case that a job is stuck: what a template may do is limited by its work
 * (`templates/work-limit.ts`). They count time in which this process runs.
 */
export interface RenderLimits {
  /** Maximum ms of one job; for a chunk of documents, between two of its renderings. */
  jobMsMax: number;
  /** Maximum ms of one template. */
  templateMsMax: number;
}

/** Rendering was stopped. The message says why. */
export class RenderStopped extends Error {
  override readonly name = 'RenderStopped';
  /** Whether the thread was stuck or has failed, and not ended on purpose. */
  readonly isFault: boolean;

  constructor(message: string, isFault = false) {
    super(message);
    this.isFault = isFault;
  }
}

/**
 * The event loop's handle of a render thread. The thread runs one job at a time. A job that
 * is stuck ends the thread, because nothing else can stop a filter that does not return.
 */
export class RenderThread {
  readonly #limits: RenderLimits;
  readonly #worker: Worker;
  /** Number of the current rendering; see `render-worker.ts`. */
  readonly #rendering = new Int32Array(new SharedArrayBuffer(4));
  /** The renderers that the thread has prepared. */
  readonly #prepared = new Set<number>();
  #isReady = false;
  #job: {
    request: RenderRequest & { job: number };
    resolve(value: unknown): void;
    reject(error: Error): void;
  } | null = null;
  #watch: NodeJS.Timeout | null = null;
  #ended: RenderStopped | null = null;

  /** @param onEnd called when the thread has ended and its job has failed */
  constructor(limits: RenderLimits, onEnd: () => void) {
    this.#limits = limits;
    this.#worker = new Worker(builtFile('render-worker.cjs'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
      workerData: this.#rendering.buffer,
    });
    this.#worker.on('message', (message: RenderResponse | typeof READY) => {
      if (message === READY) {
        this.#isReady = true;
        this.#watchJob();
      } else this.#receive(message);
    });
    // The thread failed by itself: it is out of memory, or has a bug.
    this.#worker.on('error', (error: Error) => {
      this.#fail(new RenderStopped(`rendering was stopped: ${error.message}`, true));
    });
    this.#worker.on('exit', () => {
      this.#fail(new RenderStopped('rendering was stopped', true));
      onEnd();
    });
  }

  /**
   * Runs a job. Rejects with `RenderStopped`. REQUIRES: no job is running.
   * @param spec the spec of the request's renderer, if it has one
   */
  run(request: RenderRequest & { job: number }, spec: RenderSpec | null): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    if (request.kind === 'render' && spec !== null && !this.#prepared.has(request.renderer)) {
      const { renderer } = request;
      this.#prepared.add(renderer);
      this.#worker.postMessage({ kind: 'prepare', renderer, spec } satisfies RenderRequest);
    }
    return new Promise((resolve, reject) => {
      this.#job = { request, resolve, reject };
      this.#worker.ref();
      this.#worker.postMessage(request);
      this.#watchJob();
    });
  }

  /** Whether the thread accepts no further jobs. */
  get isEnding(): boolean {
    return this.#ended !== null;
  }

  forget(renderer: number): void {
    if (!this.#prepared.delete(renderer)) return;
    this.#worker.postMessage({ kind: 'forget', renderer } satisfies RenderRequest);
  }

  async stop(reason: RenderStopped): Promise<void> {
    this.#fail(reason);
    await this.#worker.terminate();
  }

  #receive(response: RenderResponse): void {
    const job = this.#job;
    if (job?.request.job !== response.job) return;
    this.#end();
    if ('fault' in response) job.reject(new Error(response.fault));
    else job.resolve(response.value);
  }

  #fail(reason: RenderStopped): void {
    this.#ended ??= reason;
    const job = this.#job;
    this.#end();
    job?.reject(this.#ended);
  }

  #end(): void {
    this.#job = null;
    if (this.#watch !== null) clearInterval(this.#watch);
    this.#watch = null;
    this.#worker.unref();
  }

  /** Starts the job's time limit once the thread is loaded. */
  #watchJob(): void {
    if (!this.#isReady || this.#job === null || this.#watch !== null) return;
    const { jobMsMax, templateMsMax } = this.#limits;
    const isChunk = this.#job.request.kind === 'render';
    const intervalMs = Math.min(jobMsMax, templateMsMax) / 8;
    let [rendering, jobMs, renderingMs] = [0, 0, 0];
    let before = performance.now();
    this.#watch = setInterval(() => {
      const now = performance.now();
      // A pause of the whole process is no time that the thread had.
      const passed = Math.min(now - before, 2 * intervalMs);
      before = now;
      jobMs += passed;
      renderingMs += passed;
      const current = Atomics.load(this.#rendering, 0);
      if (current !== rendering) {
        rendering = current;
        renderingMs = 0;
        if (isChunk) jobMs = 0;
      }
      if (jobMs > jobMsMax || (rendering !== 0 && renderingMs > templateMsMax)) {
        void this.stop(new RenderStopped('rendering took too long and was stopped', true));
      }
    }, intervalMs);
    this.#watch.unref();
  }
}
