import { builtFile } from '../base/built-file.ts';
import { type Call, Isolate, type Watch } from '../base/isolate.ts';
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

type Job = RenderRequest & { job: number };

/**
 * The event loop's handle of a render thread. The thread runs one job at a time. A job that
 * is stuck ends the thread, because nothing else can stop a filter that does not return.
 */
export class RenderThread {
  readonly #limits: RenderLimits;
  readonly #thread: Isolate<RenderRequest, RenderResponse | typeof READY>;
  /** Number of the current rendering; see `render-worker.ts`. */
  readonly #rendering = new Int32Array(new SharedArrayBuffer(4));
  /** The renderers that the thread has prepared. */
  readonly #prepared = new Set<number>();
  #isReady = false;
  #job: { number: number; call: Call<unknown> } | null = null;

  /** @param onEnd called when the thread has ended and its job has failed */
  constructor(limits: RenderLimits, onEnd: () => void) {
    this.#limits = limits;
    this.#thread = new Isolate({
      host: {
        thread: builtFile('render-worker.cjs'),
        options: {
          resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
          workerData: this.#rendering.buffer,
        },
      },
      take: (message) => {
        if (message === READY) this.#isReady = true;
        else this.#receive(message);
      },
      // The thread failed by itself: it is out of memory, or has a bug.
      fault: ({ error }) =>
        new RenderStopped(
          `rendering was stopped${error === null ? '' : `: ${error.message}`}`,
          true,
        ),
      onEnd,
    });
  }

  /**
   * Runs a job. Rejects with `RenderStopped`. REQUIRES: no job is running.
   * @param spec the spec of the request's renderer, if it has one
   */
  run(request: Job, spec: RenderSpec | null): Promise<unknown> {
    if (request.kind === 'render' && spec !== null && !this.#prepared.has(request.renderer)) {
      const { renderer } = request;
      this.#prepared.add(renderer);
      this.#thread.send({ kind: 'prepare', renderer, spec });
    }
    const call = this.#thread.open<unknown>(this.#watchOf(request));
    this.#job = { number: request.job, call };
    this.#thread.send(request);
    return call.result;
  }

  /** Whether the thread accepts no further jobs. */
  get isEnding(): boolean {
    return this.#thread.hasEnded;
  }

  forget(renderer: number): void {
    if (this.#prepared.delete(renderer)) this.#thread.send({ kind: 'forget', renderer });
  }

  stop(reason: RenderStopped): Promise<void> {
    return this.#thread.end(reason);
  }

  #receive(response: RenderResponse): void {
    if (this.#job?.number !== response.job) return;
    const { call } = this.#job;
    if ('fault' in response) call.reject(new Error(response.fault));
    else call.resolve(response.value);
  }

  /** The time limit of a job, which begins once the thread is loaded. */
  #watchOf({ kind }: Job): Watch {
    const { jobMsMax, templateMsMax } = this.#limits;
    let [rendering, jobMs, renderingMs] = [0, 0, 0];
    return {
      everyMs: Math.min(jobMsMax, templateMsMax) / 8,
      look: (passedMs) => {
        if (!this.#isReady) return null;
        jobMs += passedMs;
        renderingMs += passedMs;
        const current = Atomics.load(this.#rendering, 0);
        if (current !== rendering) {
          rendering = current;
          renderingMs = 0;
          if (kind === 'render') jobMs = 0;
        }
        return jobMs > jobMsMax || (rendering !== 0 && renderingMs > templateMsMax)
          ? new RenderStopped('rendering took too long and was stopped', true)
          : null;
      },
    };
  }
}
