/** HTTP: addresses, TLS, limits of requests, and the threads that serve searches. */
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { Authorizer } from '../auth/authorize.ts';
import type { Tracer } from '../base/tracing.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { BufferPool } from '../base/buffer-pool.ts';
import { rfc3339, systemClock } from '../base/clock.ts';
import type { Logger, Logs } from '../base/logger.ts';
import { memoryBytes } from '../base/machine.ts';
import { BadOption, type Environment, type GivenOptions, type Options } from '../base/options.ts';
import { ChatLoad } from '../chat/chat-load.ts';
import { ChatTotals } from '../chat/totals.ts';
import type { EmbeddingService } from '../embedding/embedding-service.ts';
import type { RenderPool } from '../embedding/render-pool.ts';
import type { RerankerService } from '../embedding/reranker-service.ts';
import type { NativeAddon } from '../engine/native.ts';
import type { IndexRegistry } from '../engine/registry.ts';
import type { TlsFiles } from '../http/connection.ts';
import type { Analytics, Dependencies, VersionInfo } from '../http/dependencies.ts';
import { InnerRequests } from '../http/inner-request.ts';
import { ProcessMetrics, RequestMetrics, searchObserver } from '../http/metrics.ts';
import { Phase } from '../http/phase.ts';
import { type HttpOptions, type HttpServer, startHttp } from '../http/server.ts';
import { loadSocketLibrary } from '../http/socket-library.ts';
import { TaskStreams } from '../http/task-streams.ts';
import { SharedMemory, type ThreadsSetup } from '../http/threads/http-threads.ts';
import { McpLoad } from '../mcp/mcp-load.ts';
import { KnownWrites } from '../network/origin.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import type { ServerCluster } from '../replica/server-cluster.ts';
import { queryEmbedding } from '../search/query-embedding.ts';
import { reranking } from '../search/reranking.ts';
import type { DataFolder } from '../store/data-folder.ts';
import type { AccessConfig } from './access.ts';
import type { AnalyticsConfig } from './analytics.ts';
import { type BackupsConfig, ownFolders } from './backups.ts';
import type { DataConfig } from './data.ts';
import { type EngineConfig, engineOptions } from './engine.ts';
import type { OutboundConfig } from './outbound.ts';
import type { Part } from './part.ts';
import { AllInsights, Insights } from '../search/insights.ts';
import { open as openSearch, type SearchConfig, searchLimits } from './search.ts';
import type { Tasks } from './tasks.ts';
import { address, numberIn } from './values.ts';
import { warmUp } from './warm-up.ts';

const THREADS_MAX = 64;
/** Requests that wait for the start are served first. */
const WARM_UP_AFTER_MS = 300;
/**
 * Share of the time for a stop in which responses under way are finished; after that the parts are
 * closed.
 */
const DRAIN_SHARE = 0.8;

const CERTIFICATE = ['ssl-cert-path', 'ssl-key-path'] as const;

export const OPTIONS = {
  'http-addr': {
    kind: 'text',
    common: true,
    initial: 'localhost:7700',
    read: address,
    help: 'Address and port to listen on.',
  },
  'http-payload-size-limit': {
    kind: 'size',
    initial: '100 MB',
    help: 'Largest request body, after decompression.',
  },
  'search-payload-size-limit': {
    kind: 'size',
    ours: true,
    initial: '10 MB',
    help: 'Largest body of a search or of documents/fetch, after decompression.',
  },
  'search-answer-size-limit': {
    kind: 'size',
    ours: true,
    initial: '128 MB',
    help: 'Largest response of a search, before compression.',
  },
  'multi-search-queries-limit': {
    kind: 'count',
    ours: true,
    initial: '1000',
    min: 1,
    help: 'Maximum number of queries in a multi-search.',
  },
  'highlight-tag-size-limit': {
    kind: 'size',
    ours: true,
    initial: '4 KiB',
    help: 'Largest highlight tag or crop marker.',
  },
  'ssl-cert-path': { kind: 'text', help: 'Certificate chain (PEM).' },
  'ssl-key-path': { kind: 'text', help: 'Private key (PEM).' },
  'ssl-auth-path': {
    kind: 'text',
    needs: CERTIFICATE,
    help: 'Certificate authorities (PEM) that verify client certificates.',
  },
  'ssl-ocsp-path': {
    kind: 'text',
    needs: CERTIFICATE,
    help: 'OCSP response (DER) to staple; served by node:http.',
  },
  'ssl-require-auth': {
    kind: 'flag',
    needs: ['ssl-auth-path', ...CERTIFICATE],
    help: 'Refuse clients without a certificate.',
  },
  'ssl-resumption': {
    kind: 'flag',
    needs: CERTIFICATE,
    help: 'Resume TLS 1.2 sessions from a cache; uWebSockets.js always does.',
  },
  'ssl-tickets': {
    kind: 'flag',
    needs: CERTIFICATE,
    help: 'Resume sessions with tickets; uWebSockets.js always does.',
  },
  'chat-allow-non-streaming': {
    kind: 'flag',
    ours: true,
    help: 'Answer chat requests without a stream if `stream` is false or absent.',
  },
  'mcp-allow-writes': {
    kind: 'flag',
    ours: true,
    help: 'Offer assistants (`/mcp`) tools that change documents.',
  },
  'metrics-addr': {
    kind: 'text',
    ours: true,
    read: address,
    help: 'An additional address and port for metrics, which needs no experimental feature.',
  },
  'http-transport': {
    kind: 'text',
    ours: true,
    initial: 'fastest',
    oneOf: ['fastest', 'node'],
    help: '`fastest`, or `node` for node:http.',
  },
  'http-threads': {
    kind: 'count',
    ours: true,
    shown: 'one for every four cores and GiB of memory, 1 to 64',
    min: 1,
    max: THREADS_MAX,
    help: 'Threads that serve searches and reads of documents; not with http-transport `node`. While searches are recorded the default is 1.',
  },
} as const satisfies Options;

export type HttpConfig = ReturnType<typeof configure>;

export function configure(
  { values }: GivenOptions<typeof OPTIONS>,
  { analytics }: AnalyticsConfig,
  env: Environment,
) {
  return {
    ...values['http-addr'],
    /** Where the metrics are, in addition to the main address; null: nowhere. */
    metricsAddress: values['metrics-addr'],
    limits: {
      payloadBytes: values['http-payload-size-limit'],
      searchPayloadBytes: values['search-payload-size-limit'],
      responseBytes: values['search-answer-size-limit'],
      queries: values['multi-search-queries-limit'],
      tagBytes: values['highlight-tag-size-limit'],
    },
    tls: tlsFiles(values),
    tlsRequireAuth: values['ssl-require-auth'],
    chatAllowNonStreaming: values['chat-allow-non-streaming'],
    /** Assistants may change documents. */
    mcpAllowsWrites: values['mcp-allow-writes'],
    transport: values['http-transport'],
    /** Undefined: as many as warm up. Tests, which start servers all the time, need none. */
    warmUpSearches: numberIn(env, 'GANNET_WARM_UP_SEARCHES'),
    // While searches are recorded, all threads send their requests on to the main thread.
    httpThreads:
      values['http-threads'] ??
      (analytics === null ? httpThreadsOf(availableParallelism(), memoryBytes()) : 1),
  };
}

/**
 * The default of `http-threads`. A loop keeps some search threads busy, and takes up to 60 MB: a
 * container may have all cores of a large machine, and little memory.
 */
export function httpThreadsOf(cores: number, memory: number): number {
  const threads = Math.min(Math.floor(cores / 4), Math.floor(memory / 2 ** 30), THREADS_MAX);
  return Math.max(1, threads);
}

function tlsFiles(values: GivenOptions<typeof OPTIONS>['values']): TlsFiles | null {
  const certificate = values['ssl-cert-path'];
  const key = values['ssl-key-path'];
  if ((certificate === null) !== (key === null)) {
    throw new BadOption('ssl-cert-path and ssl-key-path must be given together.');
  }
  if (certificate === null || key === null) return null;
  return {
    certificate,
    key,
    authority: values['ssl-auth-path'],
    ocsp: values['ssl-ocsp-path'],
    resumption: values['ssl-resumption'],
    tickets: values['ssl-tickets'],
  };
}

type Config = HttpConfig &
  AccessConfig &
  AnalyticsConfig &
  BackupsConfig &
  DataConfig &
  EngineConfig &
  OutboundConfig &
  SearchConfig;

/** The parts that it uses. */
export interface HttpDeps {
  library: HttpOptions['library'];
  version: VersionInfo;
  tracer: Tracer | null;
  audit: AuditLog | null;
  logs: Logs;
  native: NativeAddon;
  responseBuffers: BufferPool;
  outbound: OutboundClient;
  embedding: EmbeddingService;
  rerankers: RerankerService;
  renders: RenderPool;
  tasks: Tasks;
  cluster: ServerCluster | null;
  analytics: Analytics | null;
}

/** The services that searches of every thread ask. */
type Asking = Pick<ThreadsSetup, 'embed' | 'rerank'>;

/** Listens. Requests are refused until `phase` is `ready`. */
export async function open(
  config: Config,
  deps: HttpDeps,
): Promise<Part & { http: HttpServer; phase: Phase; dependencies: Dependencies }> {
  const phase = new Phase();
  const memory = deps.library === null ? null : sharedMemory(config);
  const { registry } = deps.tasks.system;
  const asking = {
    embed: queryEmbedding(registry, deps.embedding),
    rerank: reranking(registry, deps.rerankers, deps.logs.of('search')),
  };
  const parts = dependencies(config, deps, asking, memory, phase);
  const threads = memory === null ? null : threadsSetup(config, memory, parts, deps, asking);
  const http = await startHttp(parts, {
    ...(threads !== null && { threads }),
    host: config.host,
    port: config.port,
    tls: config.tls,
    library: deps.library,
    tlsRequireAuth: config.tlsRequireAuth,
    logger: deps.logs.of('http'),
    more: otherAddresses(config),
  });
  return {
    http,
    phase,
    dependencies: parts,
    end() {
      phase.current = 'stopping';
    },
    close: (timeoutMs) => http.stop(timeoutMs * DRAIN_SHARE),
  };
}

export function otherAddresses({
  analytics,
  metricsAddress,
}: HttpConfig & AnalyticsConfig): NonNullable<HttpOptions['more']> {
  return {
    ...(analytics?.eventsAddress && { events: analytics.eventsAddress }),
    ...(metricsAddress && { metrics: metricsAddress }),
  };
}

/**
 * The library that serves HTTP, or null for node:http. Throws when the library is not the expected
 * one.
 */
export function socketLibrary({ tls, transport }: HttpConfig): HttpOptions['library'] {
  // Only node:http checks client certificates and staples OCSP responses.
  return tls?.authority || tls?.ocsp || transport === 'node' ? null : loadSocketLibrary();
}

function dependencies(
  config: Config,
  deps: HttpDeps,
  asking: Asking,
  memory: SharedMemory | null,
  phase: Phase,
): Dependencies {
  const { native, version, logs, responseBuffers, outbound, renders } = deps;
  const { tracer, audit, cluster, analytics } = deps;
  const { system, stores, scripts, replication, background, processMark } = deps.tasks;
  const { queue, searchRules, aliases, branches, network } = system;
  const { keys, features, webhooks, chats, dumps } = stores;
  const metrics = new RequestMetrics(
    () => config.metricsAddress !== null || features.get().metrics,
  );
  const observer = searchObserver(metrics);
  const insights = new Insights('0');
  const more = { features, memory, logs, outbound, observer, insights };
  const search = { native, ...asking, system, ...more };
  return {
    phase,
    version,
    tracer,
    audit,
    logs,
    responseBuffers,
    webhooks,
    chats,
    outbound,
    replication,
    renders,
    processMark,
    cluster,
    analytics,
    dumps,
    background,
    services: { ...openSearch(config, search), tasks: queue, keys, features },
    authorizer: new Authorizer(
      ...([config.masterKey, keys, systemClock, config.rateLimit, aliases] as const),
      config.previousMasterKey,
    ),
    clock: systemClock,
    searchRules,
    aliases,
    branches,
    taskStreams: new TaskStreams(queue),
    inner: new InnerRequests(),
    mcpAllowsWrites: config.mcpAllowsWrites,
    network,
    insights: new AllInsights(insights),
    chatTotals: new ChatTotals(),
    chatLoad: new ChatLoad(),
    mcpLoad: new McpLoad(),
    knownWrites: new KnownWrites(),
    chatAllowNonStreaming: config.chatAllowNonStreaming,
    metrics,
    folders: ownFolders(config),
    processMetrics: new ProcessMetrics(),
    production: config.production,
    limits: config.limits,
    checkPayload: (...args) => native.checkPayload(...args),
    checkFunction: (...args) => scripts.check(...args),
    checkFilter: (...args) => native.checkFilter(...args),
    checkRankingRule: (...args) => native.checkRankingRule(...args),
    checkLargeFilter: (...args) => native.checkLargeFilter(...args),
  };
}

/** null: the main thread serves everything. */
function sharedMemory({ httpThreads }: HttpConfig): SharedMemory | null {
  return httpThreads > 1 ? new SharedMemory(httpThreads) : null;
}

/** What HTTP threads need. */
function threadsSetup(
  config: Config,
  memory: SharedMemory,
  { phase, logs, processMark, services }: Dependencies,
  { tasks: { system }, tracer }: HttpDeps,
  asking: Asking,
): ThreadsSetup {
  const { masterKey, previousMasterKey, rateLimit, limits, slowSearchMs, tls, analytics } = config;
  const { registry, aliases, searchRules } = system;
  const { keys, features } = services;
  return {
    memory,
    common: {
      masterKey,
      previousMasterKey,
      rateLimit,
      limits,
      slowSearchMs,
      tls,
      processMark,
      engine: engineOptions(config),
      search: searchLimits(config),
      isRecording: analytics !== null || tracer !== null,
      isMeasuring: config.metricsAddress !== null,
    },
    mirrored: { keys, features, aliases, searchRules, registry, phase, logs },
    ...asking,
  };
}

/** Warms up after a delay. */
export function warmUpLater(
  { masterKey, warmUpSearches: searches }: AccessConfig & HttpConfig,
  http: HttpServer,
  registry: IndexRegistry,
  { dir }: DataFolder,
  log: Logger,
): Part {
  const ending = new AbortController();
  const { signal } = ending;
  const folder = join(dir, 'warm-up');
  const warm = delay(WARM_UP_AFTER_MS, undefined, { signal })
    .then(() => {
      const now = rfc3339(systemClock.now());
      return warmUp({ http, registry, folder, now, masterKey, signal, searches });
    })
    .then(
      (asked) => log.debug(`warmed up with ${asked} searches`),
      (error: unknown) => log.debug({ err: error }, 'not warmed up'),
    );
  return {
    end() {
      ending.abort();
      return warm;
    },
    close() {},
  };
}
