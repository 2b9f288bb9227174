/**
 * The HTTP threads, as the main thread sees them. The main thread accepts connections and hands
 * them to the threads in turn. A thread serves searches and reads of documents; it sends other
 * requests on to the main thread.
 *
 * A thread is no `Isolate`: it asks as well as answers, and its end is that of the process, since
 * nothing can take over its connections.
 */
import { Worker } from 'node:worker_threads';
import { builtFile } from '../../base/built-file.ts';
import type { Logs } from '../../base/logger.ts';
import { toApiError } from '../../contract/errors.ts';
import type { IndexRegistry } from '../../engine/registry.ts';
import { SharedHandles, sharedHandleMemory } from '../../engine/shared-handles.ts';
import { type PermitLimits, SharedPermits, sharedPermitMemory } from '../../search/permits.ts';
import type { KnownSearches } from '../../search/insights.ts';
import type { EmbedQuery, RerankHits } from '../../search/run/local.ts';
import type { Connection } from '../connection.ts';
import type { RequestMetrics } from '../metrics.ts';
import type { Route } from '../route.ts';
import type { Socket } from '../socket-types.ts';
import { ForwardedRequests } from './forwarded-connection.ts';
import type { Call, CallFault, Calls, FromThread, Notes, ToThread } from './messages.ts';
import { type MirroredParts, StatePublisher } from './state.ts';
import type { ThreadOptions } from './thread.ts';

/** How long the end of the process waits until the threads have dropped their connections. */
const DROP_MS_MAX = 300;

/** Memory that the main thread and all HTTP threads share. */
export class SharedMemory {
  /** Number of HTTP threads. */
  readonly threads: number;
  readonly handles = sharedHandleMemory();
  readonly permits: SharedArrayBuffer;
  /** See `SearchLimits.degraded`. */
  readonly degraded = new SharedArrayBuffer(4);

  constructor(threads: number) {
    this.threads = threads;
    this.permits = sharedPermitMemory(threads + 1);
  }

  /** The permits for the queue of the main thread. */
  mainPermits(limits: PermitLimits): SharedPermits {
    return new SharedPermits(this.permits, { ...limits, queue: 0 });
  }
}

export interface ThreadsSetup {
  memory: SharedMemory;
  /** The same for all threads. */
  common: Omit<ThreadOptions, 'state' | 'memory' | 'closed' | 'queue' | 'routes'>;
  mirrored: MirroredParts & { registry: IndexRegistry };
  embed: EmbedQuery;
  rerank: RerankHits;
}

/** What serves the requests and notes of the threads. */
interface MainParts {
  routes: readonly Pick<Route, 'method' | 'path'>[];
  handle: (connection: Connection) => void;
  metrics: Pick<RequestMetrics, 'record'>;
  logs: Logs;
}

export class HttpThreads {
  /** See `ListenOptions.children`. */
  readonly descriptors: readonly Socket.AppDescriptor[];
  readonly #threads: readonly HttpThread[];
  readonly #closed: Int32Array;

  /** Resolves when all threads are ready. */
  static async start(setup: ThreadsSetup, parts: MainParts): Promise<HttpThreads> {
    const { memory, common, mirrored } = setup;
    mirrored.registry.shared = new SharedHandles(memory.handles);
    const publisher = new StatePublisher();
    const routes = parts.routes.map(({ method, path }) => ({ method, path }));
    const closed = new SharedArrayBuffer(4);
    const threads = Array.from({ length: memory.threads }, (_, n) => {
      const state = publisher.add();
      const { handles, permits, degraded } = memory;
      const shared = { handles, permits, degraded };
      return new HttpThread(
        { ...common, routes, state, closed, memory: shared, queue: n + 1 },
        setup,
        parts,
      );
    });
    publisher.follow(mirrored);
    const descriptors = await Promise.all(threads.map(({ ready }) => ready));
    return new HttpThreads(threads, descriptors, new Int32Array(closed));
  }

  private constructor(
    threads: HttpThread[],
    descriptors: Socket.AppDescriptor[],
    closed: Int32Array,
  ) {
    this.#threads = threads;
    this.descriptors = descriptors;
    this.#closed = closed;
    process.on('exit', this.#onExit);
  }

  /** The process ends while threads run: those with open connections would abort it. */
  readonly #onExit = (): void => {
    for (const thread of this.#threads) thread.drop();
    const until = performance.now() + DROP_MS_MAX;
    for (;;) {
      const dropped = Atomics.load(this.#closed, 0);
      const left = until - performance.now();
      if (dropped === this.#threads.length || left <= 0) return;
      Atomics.wait(this.#closed, 0, dropped, left);
    }
  };

  /** Resolves when everything that happened in the threads so far is in log and metrics. */
  async flush(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.ask({ is: 'flush' }, 'flushed')));
  }

  /** What each thread knows of its searches. */
  async insights(hours: number): Promise<KnownSearches[]> {
    const question = { is: 'insights', hours } as const;
    const asked = this.#threads.map((thread) => thread.ask(question, 'insights'));
    return (await Promise.all(asked)).map(({ known }) => known);
  }

  /** Whether a thread runs this search, which is canceled then. */
  async cancelSearch(id: string): Promise<boolean> {
    const question = { is: 'cancelSearch', id } as const;
    const asked = this.#threads.map((thread) => thread.ask(question, 'canceled'));
    return (await Promise.all(asked)).some(({ found }) => found);
  }

  /** Resolves when no thread has a request in progress, after `graceMs` at the latest. */
  async drained(graceMs: number): Promise<void> {
    await Promise.all(
      this.#threads.map((thread) => thread.ask({ is: 'drain', graceMs }, 'drained')),
    );
  }

  /** Drops all connections. Resolves when the threads have ended. */
  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
    process.off('exit', this.#onExit);
  }
}

class HttpThread {
  readonly ready: Promise<Socket.AppDescriptor>;
  readonly #worker: Worker;
  readonly #setup: ThreadsSetup;
  readonly #parts: MainParts;
  readonly #requests: ForwardedRequests;
  readonly #awaited = new Map<FromThread['is'], ((message: FromThread) => void)[]>();
  /** Calls that can be canceled, by their numbers. */
  readonly #reranking = new Map<number, AbortController>();
  #onReady: (descriptor: Socket.AppDescriptor) => void = () => {};
  #isClosing = false;

  constructor(options: ThreadOptions, setup: ThreadsSetup, parts: MainParts) {
    this.#setup = setup;
    this.#parts = parts;
    this.ready = new Promise((resolve) => (this.#onReady = resolve));
    const { port } = options.state;
    this.#worker = new Worker(builtFile('http-thread.cjs'), {
      workerData: options,
      transferList: [port],
    });
    this.#requests = new ForwardedRequests(this.#worker, parts.handle);
    this.#worker.on('message', (message: FromThread) => this.#take(message));
    // The process cannot go on without the connections of the thread.
    this.#worker.on('error', (error) => {
      throw error;
    });
    this.#worker.on('exit', () => {
      if (!this.#isClosing) throw new Error('an HTTP thread has ended');
    });
  }

  /** Resolves with the next message `awaited`. */
  ask<Is extends FromThread['is']>(
    question: ToThread,
    awaited: Is,
  ): Promise<Extract<FromThread, { is: Is }>> {
    return new Promise((resolve) => {
      const take = resolve as (message: FromThread) => void;
      const waiting = this.#awaited.get(awaited);
      if (waiting === undefined) this.#awaited.set(awaited, [take]);
      else waiting.push(take);
      this.#post(question);
    });
  }

  drop(): void {
    this.#post({ is: 'drop' });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    const ended = new Promise((resolve) => this.#worker.on('exit', resolve));
    this.#post({ is: 'close' });
    await ended;
  }

  #take(message: FromThread): void {
    switch (message.is) {
      case 'ready':
        this.#onReady(message.descriptor);
        return;
      case 'call':
        void this.#respondTo(message);
        return;
      case 'cancel':
        this.#reranking.get(message.call)?.abort();
        return;
      case 'notes':
        this.#note(message.notes);
        return;
      case 'flushed':
      case 'drained':
      case 'insights':
      case 'canceled':
        this.#awaited.get(message.is)?.shift()?.(message);
        return;
      default:
        this.#requests.take(message);
    }
  }

  async #respondTo(call: Call): Promise<void> {
    try {
      const result = await this.#called(call);
      this.#post({ is: 'result', call: call.call, result });
    } catch (error) {
      const { code, message, status } = toApiError(error);
      const fault: CallFault = { code, message, status };
      this.#post({ is: 'fault', call: call.call, fault });
    }
  }

  async #called(call: Call): Promise<Calls[Call['name']]['result']> {
    const { registry } = this.#setup.mirrored;
    switch (call.name) {
      case 'open':
        return registry.openFor(call.asked.folder);
      case 'embed': {
        const { uid, embedder, query, deadline } = call.asked;
        return this.#setup.embed(uid, embedder, query, deadline);
      }
      case 'rerank': {
        const { uid, model, query, deadline } = call.asked;
        const canceling = new AbortController();
        this.#reranking.set(call.call, canceling);
        try {
          return await this.#setup.rerank(uid, model, query, deadline, canceling.signal);
        } finally {
          this.#reranking.delete(call.call);
        }
      }
    }
  }

  #note({ logged, counted }: Notes): void {
    const { logs, metrics } = this.#parts;
    for (const event of logged) logs.takeEvent(event);
    for (const one of counted) metrics.record(one);
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message, []);
  }
}
