import type { AuditLog } from '../audit/audit-log.ts';
import type { Authorizer } from '../auth/authorize.ts';
import type { BackupStore } from '../archive/backup-store.ts';
import type { BufferPool } from '../base/buffer-pool.ts';
import type { Clock } from '../base/clock.ts';
import type { Tracer } from '../base/tracing.ts';
import type { ClusterNode } from '../cluster/node.ts';
import type { RequestLimits } from '../contract/limits.ts';
import type { NativeAddon } from '../engine/native.ts';
import type { Completions } from '../analytics/completions.ts';
import type { Recorder } from '../analytics/recorder.ts';
import type { Peers } from '../analytics/peers.ts';
import type { AnalyticsStore } from '../store/analytics-store.ts';
import type { Reporter } from '../analytics/reporter.ts';
import type { ChatLoad } from '../chat/chat-load.ts';
import type { McpLoad } from '../mcp/mcp-load.ts';
import type { ChatTotals } from '../chat/totals.ts';
import type { RenderPool } from '../embedding/render-pool.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import type { ScriptProcesses } from '../rhai/script-process.ts';
import type { AliasStore } from '../store/alias-store.ts';
import type { BranchStore } from '../store/branch-store.ts';
import type { ChatStore } from '../store/chat-store.ts';
import type { KnownWrites } from '../network/origin.ts';
import type { Replication } from '../network/replication.ts';
import type { NetworkStore } from '../store/network-store.ts';
import type { RuleStore } from '../store/rule-store.ts';
import type { WebhookStore } from '../store/webhook-store.ts';
import type { Logs } from '../base/logger.ts';
import type { AllInsights } from '../search/insights.ts';
import type { InnerRequests } from './inner-request.ts';
import type { RequestMetrics, ProcessMetrics } from './metrics.ts';
import type { Phase } from './phase.ts';
import type { EmbedderService, ReadServices, Services } from './services.ts';
import type { TaskStreams } from './task-streams.ts';

export interface VersionInfo {
  commitSha: string;
  commitDate: string;
  /** Version of this program. */
  serverVersion: string;
}

export interface Analytics {
  store: AnalyticsStore;
  recorder: Recorder;
  reporter: Reporter;
  completions: Completions;
  /** The other nodes of the cluster; null: there is none. */
  peers: Peers | null;
}

/** This server as a node of a cluster. */
export interface ClusterMember {
  /** The name of this node. */
  readonly name: string;
  readonly node: Pick<
    ClusterNode,
    | 'route'
    | 'applied'
    | 'lagMs'
    | 'status'
    | 'waitFor'
    | 'leaderSignal'
    | 'silentMs'
    | 'trouble'
    | 'storeFault'
    | 'damagedObjects'
    | 'isDrained'
    | 'logBytes'
    | 'commitsSinceCheckpoint'
  >;
  readonly client: OutboundClient;
  readonly lagMsMax: number;
}

/** What the routes use that HTTP threads serve as well. */
export interface ReadDependencies {
  services: ReadServices;
  network: Pick<NetworkStore, 'get'>;
  /** null: analytics are off. */
  analytics: Analytics | null;
  limits: RequestLimits;
  /** Buffers for responses of the engine; they are returned after sending. */
  responseBuffers: BufferPool;
  checkFilter: NativeAddon['checkFilter'];
  checkLargeFilter: NativeAddon['checkLargeFilter'];
}

/** Everything that the routes use. */
export interface Dependencies extends ReadDependencies {
  services: Services;
  authorizer: Authorizer;
  clock: Clock;
  phase: Phase;
  webhooks: WebhookStore;
  chats: ChatStore;
  searchRules: RuleStore;
  aliases: AliasStore;
  branches: BranchStore;
  dumps: BackupStore;
  inner: InnerRequests;
  /** Assistants may change documents, if their key may. */
  mcpAllowsWrites: boolean;
  taskStreams: TaskStreams;
  network: NetworkStore;
  replication: Replication;
  knownWrites: KnownWrites;
  insights: AllInsights;
  chatTotals: ChatTotals;
  chatLoad: ChatLoad;
  mcpLoad: McpLoad;
  /** Respond to `stream: false` with the whole conversation instead of refusing it. */
  chatAllowNonStreaming: boolean;
  outbound: OutboundClient;
  background: EmbedderService;
  /**
   * Renders the templates of requests. Batches have their own pool, so that neither waits for the
   * other.
   */
  renders: RenderPool;
  logs: Logs;
  metrics: RequestMetrics;
  processMetrics: ProcessMetrics;
  /** null: nothing is traced. */
  tracer: Tracer | null;
  /** null: changes are not recorded. */
  audit: AuditLog | null;
  /** The folders whose file systems the metrics show. */
  folders: Readonly<Record<string, string>>;
  version: VersionInfo;
  /** A random text unique to this process, by which it recognizes its own exports. */
  processMark: string;
  production: boolean;
  /** null: this server is none of a cluster. */
  cluster: ClusterMember | null;
  checkPayload: NativeAddon['checkPayload'];
  /** Returns why a function that edits documents does not compile, or null when it does. */
  checkFunction: ScriptProcesses['check'];
  checkRankingRule: NativeAddon['checkRankingRule'];
}
