/**
 * The pool of render threads. They are started on demand and ended when idle. Jobs of different
 * requesters are interleaved, and no requester gets all threads, so each waits for at most one job
 * of another.
 */
import { availableParallelism } from 'node:os';
import { type CancelSignal, NEVER_CANCELED } from '../base/cancel-signal.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { losslessText, parseJson } from '../base/json.ts';
import {
  type ChunkDocument,
  type FittingFragment,
  noRows,
  type RenderedChunk,
  type RenderSpec,
  rowsOfFaulty,
  type SearchScope,
} from './render.ts';
import type { RenderRequest } from './render-messages.ts';
import type {
  FoundPassages,
  Hits,
  PassagesQuery,
  RequestInput,
  RequestOutcome,
  RequestTemplate,
  TextsRequest,
} from './render-request.ts';
import { type RenderLimits, RenderStopped, RenderThread } from './render-thread.ts';

export interface RenderPoolOptions extends RenderLimits {
  threads: number;
}

const OPTIONS: RenderPoolOptions = {
  threads: Math.min(4, Math.max(2, availableParallelism())),
  jobMsMax: 20_000,
  templateMsMax: 10_000,
};
const IDLE_MS_MAX = 60_000;
/** Time in which a canceled job may end by itself: starting another thread costs as much. */
const CANCELED_MS_MAX = 100;

interface Job {
  requester: string;
  request: RenderRequest & { job: number };
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class RenderPool {
  readonly #options: RenderPoolOptions;
  /** The threads, with the current job; null: idle. */
  readonly #threads = new Map<RenderThread, Job | null>();
  readonly #waiting = new FairQueue<Job>();
  #idle: NodeJS.Timeout | null = null;
  readonly #specs = new Map<number, RenderSpec>();
  #next = 1;
  #closed = false;

  constructor(options: Partial<RenderPoolOptions> = {}) {
    this.#options = { ...OPTIONS, ...options };
  }

  /**
   * A renderer for the documents of one batch. Chunks that wait when it is closed are dropped. If
   * the thread is stuck or fails, each document of its chunk is tried once more alone.
   */
  prepare(spec: RenderSpec): { render(chunk: Uint8Array): Promise<RenderedChunk>; close(): void } {
    const renderer = this.#next++;
    const requester = `batch ${renderer}`;
    this.#specs.set(renderer, spec);
    const render = (chunk: Uint8Array): Promise<RenderedChunk> =>
      this.#run(requester, (job) => ({
        kind: 'render',
        job,
        renderer,
        chunk,
      })) as Promise<RenderedChunk>;
    return {
      render: (chunk) =>
        render(chunk).catch((error: unknown) => {
          if (!(error instanceof RenderStopped && error.isFault)) throw error;
          return renderSingly(chunk, spec, render);
        }),
      close: () => {
        this.#specs.delete(renderer);
        for (const { reject } of this.#waiting.removeAll(requester)) {
          reject(new RenderStopped('nobody waits for it'));
        }
        for (const thread of this.#threads.keys()) thread.forget(renderer);
      },
    };
  }

  /** @param requester the name under which jobs share the threads, here and below */
  fit(
    requester: string,
    fragments: Record<string, { value: unknown }>,
    scope: SearchScope,
  ): Promise<FittingFragment> {
    return this.#run(requester, (job) => ({
      kind: 'fit',
      job,
      fragments,
      scope,
    })) as Promise<FittingFragment>;
  }

  /** The first `tokensMax` tokens of a text (cl100k_base), or null if it has fewer. */
  firstTokens(requester: string, text: string, tokensMax: number): Promise<number[] | null> {
    return this.#run(requester, (job) => ({
      kind: 'tokens',
      job,
      text,
      tokensMax,
    })) as Promise<number[] | null>;
  }

  /**
   * Renders a template for one request. If the render thread has to be stopped, the outcome is a
   * failure.
   * @param input null: the template is only parsed
   * @param signal here and below: a canceled job is dropped, and its thread stopped
   */
  forRequest(
    requester: string,
    template: RequestTemplate,
    input: RequestInput | null,
    signal?: CancelSignal,
  ): Promise<RequestOutcome> {
    return this.#outcome(requester, (job) => ({ kind: 'request', job, template, input }), signal);
  }

  /** Renders the documents of an engine result to one text. */
  texts(
    requester: string,
    request: TextsRequest,
    signal?: CancelSignal,
  ): Promise<RequestOutcome<string>> {
    return this.#outcome(requester, (job) => ({ kind: 'texts', job, request }), signal);
  }

  /** Chooses passages of an engine result. Rejects with `RenderStopped`. */
  passages(
    requester: string,
    request: PassagesQuery,
    signal?: CancelSignal,
  ): Promise<FoundPassages> {
    const asked = (job: number): Job['request'] => ({ kind: 'passages', job, request });
    return this.#run(requester, asked, signal) as Promise<FoundPassages>;
  }

  /** Reads the hits of an engine result. Rejects with `RenderStopped`. */
  hits(
    requester: string,
    result: Uint8Array,
    primaryKey: string | null,
    hidden: readonly string[] = [],
    signal?: CancelSignal,
  ): Promise<Hits> {
    const asked = (job: number): Job['request'] => ({
      kind: 'hits',
      job,
      result,
      primaryKey,
      hidden,
    });
    return this.#run(requester, asked, signal) as Promise<Hits>;
  }

  async #outcome<T>(
    requester: string,
    request: (job: number) => Job['request'],
    signal?: CancelSignal,
  ): Promise<RequestOutcome<T>> {
    try {
      return (await this.#run(requester, request, signal)) as RequestOutcome<T>;
    } catch (error) {
      if (!(error instanceof RenderStopped)) throw error;
      return { kind: 'failed', reason: error.message };
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const reason = new RenderStopped('the server is stopping');
    for (const { reject } of this.#waiting.drain()) reject(reason);
    await this.#stopAll(reason);
  }

  #run(
    requester: string,
    request: (job: number) => Job['request'],
    signal: CancelSignal = NEVER_CANCELED,
  ): Promise<unknown> {
    if (this.#closed) return Promise.reject(new RenderStopped('the server is stopping'));
    return new Promise((resolve, reject) => {
      const job: Job = { requester, request: request(this.#next++), resolve, reject };
      this.#waiting.push(requester, job);
      this.#dispatch();
      signal.onAbort(() => this.#drop(job));
    });
  }

  #drop(job: Job): void {
    const reason = new RenderStopped('nobody waits for it');
    if (this.#waiting.remove(job.requester, job)) {
      job.reject(reason);
      return;
    }
    const stop = (): void => {
      for (const [thread, one] of this.#threads) if (one === job) void thread.stop(reason);
    };
    setTimeout(stop, CANCELED_MS_MAX).unref();
  }

  /** Assigns jobs to idle threads. */
  #dispatch(): void {
    while (this.#waiting.size > 0) {
      const thread = this.#freeThread();
      if (thread === null) return;
      const next = this.#waiting.next((requester) =>
        this.#mayHaveThread(requester) ? 0 : Infinity,
      );
      if (next === undefined) return;
      void this.#give(thread === 'new' ? this.#newThread() : thread, this.#waiting.take(next));
    }
  }

  /** An idle thread; `new`: one may be started; null: all are busy. */
  #freeThread(): RenderThread | 'new' | null {
    for (const [thread, job] of this.#threads) if (job === null) return thread;
    return this.#threads.size < this.#options.threads ? 'new' : null;
  }

  #mayHaveThread(requester: string): boolean {
    let count = 0;
    for (const job of this.#threads.values()) if (job?.requester === requester) count++;
    return count < Math.max(1, this.#options.threads - 1);
  }

  #newThread(): RenderThread {
    const thread: RenderThread = new RenderThread(this.#options, () => {
      this.#threads.delete(thread);
      this.#dispatch();
    });
    return thread;
  }

  async #give(thread: RenderThread, job: Job): Promise<void> {
    const { request, resolve, reject } = job;
    this.#threads.set(thread, job);
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    const spec = request.kind === 'render' ? (this.#specs.get(request.renderer) ?? null) : null;
    try {
      resolve(await thread.run(request, spec));
    } catch (error) {
      reject(error as Error);
    }
    // A stopped thread is removed when it has ended.
    if (!thread.isEnding && this.#threads.has(thread)) this.#threads.set(thread, null);
    this.#dispatch();
    this.#restLater();
  }

  #restLater(): void {
    if (this.#waiting.size > 0 || [...this.#threads.values()].some((one) => one !== null)) return;
    this.#idle = setTimeout(() => void this.#stopAll(new RenderStopped('idle')), IDLE_MS_MAX);
    this.#idle.unref();
  }

  async #stopAll(reason: RenderStopped): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    await Promise.all([...this.#threads.keys()].map((thread) => thread.stop(reason)));
  }
}

/** Renders the documents of a chunk one after the other. */
async function renderSingly(
  chunk: Uint8Array,
  { embedders, ignoreFaults }: RenderSpec,
  render: (chunk: Uint8Array) => Promise<RenderedChunk>,
): Promise<RenderedChunk> {
  const parsed = parseJson(Buffer.from(chunk), { exact: true });
  if (!parsed.ok) throw new Error(parsed.error);
  const all = { kind: 'rows' as const, ...noRows() };
  for (const document of parsed.value as ChunkDocument[]) {
    const one = await render(Buffer.from(`[${losslessText(document)}]`)).catch((error: unknown) => {
      if (!(error instanceof RenderStopped && error.isFault)) throw error;
      const { message } = error;
      if (ignoreFaults || embedders.every(({ waits }) => waits === true)) {
        return { kind: 'rows' as const, ...rowsOfFaulty(document, message) };
      }
      throw new RenderStopped(`the document ${losslessText(document.id)}: ${message}`, true);
    });
    if (one.kind === 'fault') return one;
    const at = all.rows.length;
    all.rows.push(...one.rows);
    all.wants.push(...one.wants);
    all.stored.push(...one.stored);
    all.ids.push(...one.ids);
    all.faults.push(...one.faults.map((fault) => ({ ...fault, document: at })));
  }
  return all;
}
