/** Searches and reads of documents, here and on the other servers of the network. */
import { availableParallelism } from 'node:os';
import type { Logs } from '../base/logger.ts';
import type { GivenOptions, Options } from '../base/options.ts';
import { systemClock } from '../base/clock.ts';
import type { FeatureSet } from '../contract/features.ts';
import type { RequestLimits } from '../contract/limits.ts';
import type { SettingsObject } from '../contract/settings.ts';
import type { NativeAddon } from '../engine/native.ts';
import { ResponseMerger } from '../engine/response-merger.ts';
import type { Services } from '../http/services.ts';
import type { SharedMemory } from '../http/threads/http-threads.ts';
import type { ThreadOptions } from '../http/threads/thread.ts';
import { FanOut } from '../network/fan-out.ts';
import { RemoteClient } from '../network/remote-client.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import { SearchPipeline } from '../search/execute.ts';
import { ForeignDocuments } from '../search/foreign-documents.ts';
import { Documents, Indexes } from '../search/index-service.ts';
import { NetworkDocuments } from '../search/network-documents.ts';
import { LocalPermits, type PermitLimits } from '../search/permits.ts';
import type { Insights } from '../search/insights.ts';
import { type SearchObserver, SearchReport } from '../search/report.ts';
import { currentPins } from '../search/rules-in-force.ts';
import { type EmbedQuery, LocalSearch, type RerankHits } from '../search/run/local.ts';
import { InterleavedSearch } from '../search/run/interleaved.ts';
import { NetworkSearch } from '../search/run/network.ts';
import { SearchQueue } from '../search/search-queue.ts';
import type { FeatureStore } from '../store/feature-store.ts';
import type { TaskSystem } from '../tasks/task-system.ts';
import type { OutboundConfig } from './outbound.ts';

export const OPTIONS = {
  'slow-search-ms': {
    kind: 'count',
    ours: true,
    shown: 'none',
    help: 'Log searches that take at least this many milliseconds, including waiting.',
  },
  'experimental-search-queue-size': {
    kind: 'count',
    initial: '1000',
    help: 'How many searches may wait; fewer if they would take more than 4 s.',
  },
  'experimental-drop-search-after': {
    kind: 'count',
    initial: '60',
    min: 1,
    help: 'Refuse a search that has waited this many seconds.',
  },
  'experimental-nb-searches-per-core': {
    kind: 'count',
    initial: '4',
    min: 1,
    help: 'Concurrent searches per core.',
  },
} as const satisfies Options;

export type SearchConfig = ReturnType<typeof configure>;

export function configure({ values }: GivenOptions<typeof OPTIONS>) {
  return {
    /** Searches that take at least this long are logged; null: none. */
    slowSearchMs: values['slow-search-ms'],
    searchQueueSize: values['experimental-search-queue-size'],
    dropSearchAfterSeconds: values['experimental-drop-search-after'],
    searchesPerCore: values['experimental-nb-searches-per-core'],
  };
}

/** The parts that it uses. */
interface SearchDeps {
  native: NativeAddon;
  embed: EmbedQuery;
  rerank: RerankHits;
  system: TaskSystem;
  features: FeatureStore;
  /** null: there are no HTTP threads. */
  memory: SharedMemory | null;
  logs: Logs;
  outbound: OutboundClient;
  observer: SearchObserver;
  insights: Insights;
}

/**
 * Services for searching and reading indexes, of this server and of the other servers of its
 * network.
 */
export function open(
  config: SearchConfig & OutboundConfig & { limits: RequestLimits },
  { native, embed, rerank, system, features, memory, ...others }: SearchDeps,
): Pick<Services, 'indexes' | 'search' | 'networkDocuments' | 'foreign'> {
  const { logs, outbound, observer, insights } = others;
  const { store, registry, searchRules, aliases, branches, network } = system;
  const { limits } = config;
  const { permits, queriesAtOnce, ...waiting } = searchLimits(config);
  const queue = new SearchQueue({
    ...waiting,
    onPermit: observer.permitted,
    permits: memory?.mainPermits(permits) ?? new LocalPermits(permits),
  });
  const enabled = (): FeatureSet => features.get();
  const settings = (uid: string): SettingsObject | undefined => registry.get(uid)?.settings;
  const primaryKey = (uid: string): string | null => registry.get(uid)?.summary.primaryKey ?? null;
  const documents = new Documents(registry, queue, enabled);
  const fanOut = new FanOut({
    network: () => (enabled().network ? network.get() : null),
    client: new RemoteClient(outbound),
    msMax: config.network.searchMsMax,
    bytesMax: limits.responseBytes,
  });
  const networkDocuments = new NetworkDocuments({ documents, fanOut, limits });
  const foreign = new ForeignDocuments({
    features: enabled,
    settings,
    limits,
    primaryKey,
    checkFilter: (filter) =>
      native.checkFilter(JSON.stringify(filter), enabled().containsFilter, enabled().multimodal),
    fetch: (uid, request, reader) => documents.fetch(uid, request, reader),
  });
  const more = {
    ...limits,
    queriesAtOnce,
    ...(memory !== null && { degraded: new Int32Array(memory.degraded) }),
  };
  const local = new LocalSearch(registry, queue, enabled, embed, more, rerank);
  const merger = new ResponseMerger(native);
  const elsewhere = { fanOut, documents: networkDocuments, settings, limits, merger };
  const search = new SearchPipeline({
    local,
    network: new NetworkSearch(local, elsewhere),
    interleaved: new InterleavedSearch({ local, merger, settings, primaryKey, limits }),
    foreign,
    pins: currentPins({ rules: searchRules, aliases, enabled, clock: systemClock }),
    report: new SearchReport(config.slowSearchMs, logs.of('search'), observer, insights),
    settings,
  });
  const indexes = new Indexes(
    registry,
    documents,
    () => store.size(),
    () => branches.related(),
  );
  return { indexes, search, networkDocuments, foreign };
}

/** The limits of the queues of searches. */
export function searchLimits(config: SearchConfig): ThreadOptions['search'] {
  return {
    permits: permitsOf(config),
    waitingMax: config.searchQueueSize,
    waitMsMax: config.dropSearchAfterSeconds * 1000,
    queriesAtOnce: availableParallelism(),
  };
}

/**
 * One requester keeps all search threads busy; one search more, so that none waits while the next
 * is handed over. The engine has further threads for the first searches of others. Without a queue
 * all permits may be used: what waits for its turn is refused.
 */
function permitsOf({ searchesPerCore, searchQueueSize }: SearchConfig): PermitLimits {
  const threads = availableParallelism();
  const count = threads * searchesPerCore;
  return { count, busy: searchQueueSize === 0 ? count : Math.min(count, threads + 1) };
}
