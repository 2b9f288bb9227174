/** An HTTP thread: serves searches and reads of documents from a copy of the state. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Authorizer } from '../../auth/authorize.ts';
import { BufferPool } from '../../base/buffer-pool.ts';
import { systemClock } from '../../base/clock.ts';
import { Logs } from '../../base/logger.ts';
import type { RequestLimits } from '../../contract/limits.ts';
import { NO_NETWORK } from '../../contract/network.ts';
import type { RateLimit } from '../../contract/responses.ts';
import { loadAddon } from '../../engine/addon.ts';
import { MirroredIndexes } from '../../engine/mirrored-indexes.ts';
import type { EngineOptions, NativeAddon } from '../../engine/native.ts';
import { SharedHandles } from '../../engine/shared-handles.ts';
import { type SearchParts, SearchPipeline } from '../../search/execute.ts';
import { NoForeignDocuments } from '../../search/foreign-documents.ts';
import { Documents } from '../../search/index-service.ts';
import { type PermitLimits, SharedPermits } from '../../search/permits.ts';
import { Insights } from '../../search/insights.ts';
import { SearchReport } from '../../search/report.ts';
import { currentPins } from '../../search/rules-in-force.ts';
import { LocalSearch } from '../../search/run/local.ts';
import { SearchQueue } from '../../search/search-queue.ts';
import { AliasStore } from '../../store/alias-store.ts';
import { FeatureStore } from '../../store/feature-store.ts';
import { KeyStore } from '../../store/key-store.ts';
import { MirroredTables } from '../../store/mirrored-tables.ts';
import { RuleStore } from '../../store/rule-store.ts';
import { serveAsChild, type TlsFiles } from '../connection.ts';
import type { ReadDependencies } from '../dependencies.ts';
import { Lifecycle } from '../lifecycle.ts';
import { type RequestMetrics, searchObserver } from '../metrics.ts';
import { Phase } from '../phase.ts';
import type { Method, ReadRoute, RequestContext, RouteResponse } from '../route.ts';
import { DOCUMENT_READ_ROUTES } from '../routes/documents.ts';
import { SEARCH_ROUTES } from '../routes/search.ts';
import { loadSocketLibrary } from '../socket-library.ts';
import { Calling } from './calling.ts';
import { Forwarder } from './forwarder.ts';
import type { FromThread, Notes, StateChange, ToThread } from './messages.ts';
import { StateReader, type StateSource } from './state.ts';

export interface ThreadOptions {
  state: StateSource;
  memory: Record<'handles' | 'permits' | 'degraded', SharedArrayBuffer>;
  /** One cell: the number of threads that have dropped all connections. */
  closed: SharedArrayBuffer;
  /** Number of the search queue of this thread. */
  queue: number;
  /** All routes of the server. */
  routes: readonly { method: Method; path: string }[];
  engine: Omit<EngineOptions, 'takeBuffer'>;
  masterKey: string | null;
  previousMasterKey: string | null;
  rateLimit: RateLimit | null;
  limits: RequestLimits;
  search: { permits: PermitLimits; waitingMax: number; waitMsMax: number; queriesAtOnce: number };
  slowSearchMs: number | null;
  processMark: string;
  tls: TlsFiles | null;
  /** Searches are recorded or traced: the main thread serves all requests. */
  isRecording: boolean;
  /** Metrics are collected, also while the feature is off. */
  isMeasuring: boolean;
}

/** Requests that involve other servers are for the main thread: see `mainThread.wants`. */
const elsewhere = (): never => {
  throw new Error('an HTTP thread has a request that involves other servers');
};
const NO_OTHER_SERVERS: SearchParts['network'] = {
  isAskedBy: () => false,
  search: elsewhere,
  facetSearch: elsewhere,
  similar: elsewhere,
  federated: elsewhere,
  separate: elsewhere,
};

/** Time to send responses that are already written. */
const FLUSH_MS = 20;

/** Collects what happens here; sent in the next iteration of the event loop. */
class NoteBook {
  readonly #post: (notes: Notes) => void;
  #notes: Notes | null = null;

  constructor(post: (notes: Notes) => void) {
    this.#post = post;
  }

  get open(): Notes {
    if (this.#notes === null) {
      this.#notes = { logged: [], counted: [] };
      setImmediate(() => this.send());
    }
    return this.#notes;
  }

  send(): void {
    const notes = this.#notes;
    this.#notes = null;
    if (notes !== null) this.#post(notes);
  }
}

class Thread {
  readonly #options: ThreadOptions;
  readonly #port: MessagePort;
  readonly #native: NativeAddon;
  readonly #notes: NoteBook;
  readonly #calling: Calling;
  readonly #forwarder: Forwarder;
  readonly #tables = new MirroredTables();
  readonly #features: FeatureStore;
  readonly #indexes: MirroredIndexes;
  readonly #phase = new Phase();
  readonly #logs: Logs;
  readonly #metrics: Pick<RequestMetrics, 'enabled' | 'record'> = {
    enabled: () => this.#options.isMeasuring || this.#features.get().metrics,
    record: (observed) => void this.#notes.open.counted.push(observed),
  };
  readonly #insights: Insights;
  readonly #state: StateReader;
  readonly #lifecycle: Lifecycle<ReadDependencies>;
  readonly #closeApp: () => void;

  constructor(options: ThreadOptions, port: MessagePort) {
    this.#options = options;
    this.#port = port;
    this.#native = loadAddon();
    this.#insights = new Insights(String(options.queue));
    const responseBuffers = new BufferPool();
    this.#native.configure({
      ...options.engine,
      takeBuffer: (bytes) => responseBuffers.take(bytes),
    });
    this.#notes = new NoteBook((notes) => this.#post({ is: 'notes', notes }));
    this.#logs = new Logs('off', 'json', false, (event) => this.#notes.open.logged.push(event));
    this.#calling = new Calling(port);
    this.#forwarder = new Forwarder(port, (message) => this.#take(message));
    this.#features = new FeatureStore(this.#tables);
    const aliases = new AliasStore(this.#tables);
    this.#indexes = new MirroredIndexes({
      native: this.#native,
      shared: new SharedHandles(options.memory.handles),
      open: (folder) => this.#calling.ask('open', { folder }),
      targetOf: (alias) => aliases.targetOf(alias),
    });
    this.#state = new StateReader(options.state, (change) => this.#change(change));
    this.#lifecycle = this.#lifecycleOf(this.#services(aliases, responseBuffers), aliases);
    const { descriptor, close } = serveAsChild(loadSocketLibrary()!, {
      tls: options.tls,
      onRequest: (connection) => {
        this.#state.catchUp();
        this.#lifecycle.handle(connection, true);
      },
    });
    this.#closeApp = close;
    // A thread that ends with open connections aborts the process.
    process.on('exit', close);
    port.on('message', (message: ToThread) => {
      this.#forwarder.handleDeferred();
      this.#take(message);
    });
    this.#post({ is: 'ready', descriptor });
  }

  #post(message: FromThread): void {
    this.#port.postMessage(message, []);
  }

  #take(message: ToThread): void {
    switch (message.is) {
      case 'result':
      case 'fault':
        // The result may refer to a change.
        this.#state.catchUp();
        this.#calling.take(message);
        return;
      case 'flush':
        this.#notes.send();
        this.#post({ is: 'flushed' });
        return;
      case 'insights': {
        const totals = this.#insights.totals(message.hours);
        this.#post({ is: 'insights', known: { totals, running: this.#insights.running() } });
        return;
      }
      case 'cancelSearch':
        this.#post({ is: 'canceled', found: this.#insights.cancel(message.id) });
        return;
      case 'drain':
        void this.#lifecycle.drained(message.graceMs).then(() => {
          this.#notes.send();
          this.#post({ is: 'drained' });
        });
        return;
      case 'close':
        setTimeout(() => process.exit(), FLUSH_MS);
        return;
      case 'drop': {
        this.#closeApp();
        const closed = new Int32Array(this.#options.closed);
        Atomics.add(closed, 0, 1);
        Atomics.notify(closed, 0);
        return;
      }
      default:
        this.#forwarder.take(message);
    }
  }

  #change(change: StateChange): void {
    switch (change.is) {
      case 'record':
        this.#tables.change(change.table, change.key, change.value);
        return;
      case 'name':
        this.#indexes.name(change.uid, change.index);
        return;
      case 'index':
        this.#indexes.change(change.index);
        return;
      case 'phase':
        this.#phase.current = change.phase;
        return;
      case 'logged':
        this.#logs.setStderrFilter(change.filter);
    }
  }

  #lifecycleOf(server: ReadDependencies, aliases: AliasStore): Lifecycle<ReadDependencies> {
    const { masterKey, rateLimit, limits, processMark, routes, isRecording } = this.#options;
    const keys = new KeyStore(this.#tables);
    const here = [...SEARCH_ROUTES, ...DOCUMENT_READ_ROUTES];
    const isHere = ({ method, path }: { method: Method; path: string }): boolean =>
      here.some((one) => one.method === method && one.path === path);
    return new Lifecycle({
      routes: here.map((one) => this.#prepared(one)),
      mainThread: {
        routes: routes.filter((one) => !isHere(one)),
        wants: ({ headers }) => {
          const { network, foreignKeys } = this.#features.get();
          return isRecording || network || foreignKeys || headers.waitFor !== undefined;
        },
        forward: (connection) => this.#forwarder.forward(connection),
      },
      server,
      limits,
      processMark,
      phase: this.#phase,
      logs: this.#logs,
      cluster: null,
      // While requests are traced, the main thread serves them.
      tracer: null,
      // Their routes change nothing.
      audit: null,
      authorizer: new Authorizer(
        ...([masterKey, keys, systemClock, rateLimit, aliases] as const),
        this.#options.previousMasterKey,
      ),
      logger: this.#logs.of('http'),
      metrics: this.#metrics,
      responseBuffers: server.responseBuffers,
    });
  }

  /** The route, whose handler finds everything about the indexes of its request. */
  #prepared(one: ReadRoute): ReadRoute {
    return {
      ...one,
      handle: (context, server) => {
        const unready = [...uidsOf(context)].flatMap((uid) => {
          const index = this.#indexes.get(uid);
          return index === undefined || index.isReady ? [] : [index];
        });
        if (unready.length === 0) return one.handle(context, server);
        return this.#handlePrepared(one, context, server, unready);
      },
    };
  }

  async #handlePrepared(
    one: ReadRoute,
    context: RequestContext,
    server: ReadDependencies,
    unready: readonly { prepare(): Promise<void> }[],
  ): Promise<RouteResponse> {
    for (const index of unready) await index.prepare();
    return one.handle(context, server);
  }

  /** Only what the routes of this thread use; the main thread has the rest. */
  #services(aliases: AliasStore, responseBuffers: BufferPool): ReadDependencies {
    const { limits, search: searching, memory, queue: number, slowSearchMs } = this.#options;
    const { permits, waitingMax, waitMsMax, queriesAtOnce } = searching;
    const indexes = this.#indexes;
    const native = this.#native;
    const enabled = () => this.#features.get();
    const settings = (uid: string) => indexes.get(uid)?.settings;
    const observer = searchObserver(this.#metrics);
    const queue = new SearchQueue({
      permits: new SharedPermits(memory.permits, { ...permits, queue: number }),
      waitingMax,
      waitMsMax,
      onPermit: observer.permitted,
    });
    const documents = new Documents(indexes, queue, enabled);
    const local = new LocalSearch(
      ...([indexes, queue, enabled] as const),
      (uid, embedder, query, deadline) =>
        this.#calling.ask('embed', { uid, embedder, query, deadline }),
      { ...limits, queriesAtOnce, degraded: new Int32Array(memory.degraded) },
      (uid, model, query, deadline, signal) =>
        this.#calling.ask('rerank', { uid, model, query, deadline }, signal),
    );
    const foreign = new NoForeignDocuments({
      isKnown: (uid) => indexes.get(uid) !== undefined,
      checkFilter: (filter) =>
        native.checkFilter(JSON.stringify(filter), enabled().containsFilter, enabled().multimodal),
    });
    const rules = new RuleStore(this.#tables);
    const search = new SearchPipeline({
      local,
      network: NO_OTHER_SERVERS,
      interleaved: { search: elsewhere },
      foreign,
      pins: currentPins({ rules, aliases, enabled, clock: systemClock }),
      report: new SearchReport(slowSearchMs, this.#logs.of('search'), observer, this.#insights),
      settings,
    });
    return {
      services: {
        search,
        foreign,
        features: this.#features,
        indexes: { get: (uid) => indexes.get(uid), settings, documents },
        networkDocuments: { fetch: elsewhere, getDocument: elsewhere },
      },
      limits,
      responseBuffers,
      analytics: null,
      network: { get: () => NO_NETWORK },
      checkFilter: native.checkFilter,
      checkLargeFilter: native.checkLargeFilter,
    };
  }
}

/** The names of the indexes in a request. */
function* uidsOf({ params, body }: RequestContext): Generator<string> {
  if (params.index_uid !== undefined) yield params.index_uid;
  const { queries } = (body ?? {}) as { queries?: readonly { indexUid: string }[] };
  for (const { indexUid } of queries ?? []) yield indexUid;
}

/** Kept as long as the thread runs. */
export const thread =
  parentPort === null ? null : new Thread(workerData as ThreadOptions, parentPort);
