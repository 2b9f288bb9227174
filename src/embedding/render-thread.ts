import { Worker } from 'node:worker_threads';
import { builtFile } from '../base/built-file.ts';
import type { RenderSpec } from './render.ts';
import { READY, type RenderAnswer, type RenderRequest } from './render-answer.ts';

const HEAP_MB_MAX = 512;

export interface RenderLimits {
  /** For one job, from its begin. A chunk of documents takes some milliseconds. */
  jobMsMax: number;
  /** For one template. It ends itself after half a second; this is for one that cannot. */
  templateMsMax: number;
}

/** Rendering was stopped: its message says why. */
export class RenderStopped extends Error {
  override readonly name = 'RenderStopped';
}

/**
 * One thread that renders, seen from the event loop. It does one job at a time; a job that takes
 * too long ends the thread, because nothing else stops a filter that does not come back.
 */
export class RenderThread {
  readonly #limits: RenderLimits;
  readonly #worker: Worker;
  /** See `render-worker.ts`. */
  readonly #rendering = new Int32Array(new SharedArrayBuffer(4));
  /** The renderers that the thread knows. */
  readonly #prepared = new Set<number>();
  #isReady = false;
  #job: { number: number; resolve(value: unknown): void; reject(error: Error): void } | null = null;
  #watch: NodeJS.Timeout | null = null;
  #ended: RenderStopped | null = null;

  /** @param onEnd the thread has ended, its job has failed, and it takes no further one */
  constructor(limits: RenderLimits, onEnd: () => void) {
    this.#limits = limits;
    this.#worker = new Worker(builtFile('render-worker.cjs'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
      workerData: this.#rendering.buffer,
    });
    this.#worker.on('message', (message: RenderAnswer | typeof READY) => {
      if (message === READY) {
        this.#isReady = true;
        this.#watchJob();
      } else this.#answered(message);
    });
    // It ended by itself: out of memory, or a fault of ours.
    this.#worker.on('error', (error: Error) => {
      this.#fail(`rendering was stopped: ${error.message}`);
    });
    this.#worker.on('exit', () => {
      this.#fail('rendering was stopped');
      onEnd();
    });
  }

  /**
   * REQUIRES: no job is under way. Rejects with `RenderStopped`.
   * @param spec of the renderer of the request, if it has one
   */
  run(request: RenderRequest & { job: number }, spec: RenderSpec | null): Promise<unknown> {
    if (this.#ended !== null) return Promise.reject(this.#ended);
    if (request.kind === 'render' && spec !== null && !this.#prepared.has(request.renderer)) {
      const { renderer } = request;
      this.#prepared.add(renderer);
      this.#worker.postMessage({ kind: 'prepare', renderer, spec } satisfies RenderRequest);
    }
    return new Promise((resolve, reject) => {
      this.#job = { number: request.job, resolve, reject };
      this.#worker.ref();
      this.#worker.postMessage(request);
      this.#watchJob();
    });
  }

  /** It takes no further job. */
  get isEnding(): boolean {
    return this.#ended !== null;
  }

  forget(renderer: number): void {
    if (!this.#prepared.delete(renderer)) return;
    this.#worker.postMessage({ kind: 'forget', renderer } satisfies RenderRequest);
  }

  async stop(reason: string): Promise<void> {
    this.#fail(reason);
    await this.#worker.terminate();
  }

  #answered(answer: RenderAnswer): void {
    const job = this.#job;
    if (job?.number !== answer.job) return;
    this.#end();
    if ('fault' in answer) job.reject(new Error(answer.fault));
    else job.resolve(answer.value);
  }

  #fail(reason: string): void {
    this.#ended ??= new RenderStopped(reason);
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

  /** Loading the thread does not count. */
  #watchJob(): void {
    if (!this.#isReady || this.#job === null || this.#watch !== null) return;
    const { jobMsMax, templateMsMax } = this.#limits;
    const begin = performance.now();
    let seen = { rendering: 0, since: begin };
    this.#watch = setInterval(
      () => {
        const now = performance.now();
        const rendering = Atomics.load(this.#rendering, 0);
        if (rendering !== seen.rendering) seen = { rendering, since: now };
        const runsAway = rendering !== 0 && now - seen.since > templateMsMax;
        if (runsAway || now - begin > jobMsMax) {
          void this.stop('rendering took too long and was stopped');
        }
      },
      Math.min(jobMsMax, templateMsMax) / 4,
    );
    this.#watch.unref();
  }
}
