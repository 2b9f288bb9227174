#!/usr/bin/env node
/** Builds the parts of the server, passes each its options, and stops them in reverse order. */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Completions } from './analytics/completions.ts';
import { PeerSearches } from './analytics/peer-searches.ts';
import { nodeSecret, Peers } from './analytics/peers.ts';
import { Recorder } from './analytics/recorder.ts';
import { Reporter } from './analytics/reporter.ts';
import { Authorizer } from './auth/authorize.ts';
import { createDefaultKeys } from './auth/keys.ts';
import { BufferPool } from './base/buffer-pool.ts';
import { rfc3339, systemClock } from './base/clock.ts';
import { type Logger, Logs } from './base/logger.ts';
import { openFilesMax } from './base/open-files.ts';
import { ServiceManager } from './base/service-manager.ts';
import { checkBlobs } from './cluster/blobs/check-blobs.ts';
import { DirectoryBlobs } from './cluster/blobs/directory-blobs.ts';
import { OpenUploads } from './cluster/blobs/open-uploads.ts';
import { S3Blobs } from './cluster/blobs/s3-blobs.ts';
import { EncryptedBlobs } from './cluster/blobs/encrypted-blobs.ts';
import { UnavailableError } from './cluster/errors.ts';
import { etcdClientOf } from './cluster/log/etcd-client.ts';
import { LogHold } from './cluster/log-hold.ts';
import { EtcdLog } from './cluster/log/etcd-log.ts';
import { ClusterSecret } from './cluster/secret.ts';
import { systemRuntime } from './cluster/system-runtime.ts';
import { type Command, command, INTERRUPTED, runCommand } from './commands/command.ts';
import { COMMANDS } from './commands/commands.ts';
import { completionCommand } from './commands/completion.ts';
import {
  dbPathOf,
  DB_PATH_OPTIONS,
  masterKeyNotice,
  OPTIONS,
  readConfig,
  type Config,
} from './config.ts';
import type { FeatureSet } from './contract/features.ts';
import type { SettingsObject } from './contract/settings.ts';
import { importDump } from './dump/import-dump.ts';
import { dumpRunner } from './dump/write-dump.ts';
import { EmbeddingService } from './embedding/embedding-service.ts';
import { RenderPool } from './embedding/render-pool.ts';
import { LocalModels } from './embedding/local-model.ts';
import { RerankerService } from './embedding/reranker-service.ts';
import { loadAddon } from './engine/addon.ts';
import { isDamage } from './engine/errors.ts';
import type { EngineOptions, NativeAddon } from './engine/native.ts';
import { ResponseMerger } from './engine/response-merger.ts';
import type { IndexRegistry } from './engine/registry.ts';
import type { Analytics, Dependencies, VersionInfo } from './http/dependencies.ts';
import { ProcessMetrics, RequestMetrics, searchObserver } from './http/metrics.ts';
import { Phase } from './http/phase.ts';
import { InnerRequests } from './http/inner-request.ts';
import { TaskStreams } from './http/task-streams.ts';
import { checkParts } from './http/routes/system.ts';
import { type HttpOptions, type HttpServer, type OtherAddress, startHttp } from './http/server.ts';
import type { Services } from './http/services.ts';
import { SharedMemory, type ThreadsSetup } from './http/threads/http-threads.ts';
import type { ThreadOptions } from './http/threads/thread.ts';
import { loadSocketLibrary, socketLibraryVersion } from './http/socket-library.ts';
import { exportRunner } from './export/run-export.ts';
import { refuseMissing, sourceOf } from './import-at-start.ts';
import {
  backupsAt,
  ownFolders,
  localArchive,
  refuseUnusableFolders,
  scheduleBackups,
  sweepBackups,
} from './backups.ts';
import type { BackupStore } from './archive/backup-store.ts';
import { KnownWrites } from './network/origin.ts';
import { Replication } from './network/replication.ts';
import { FanOut } from './network/fan-out.ts';
import { RemoteClient } from './network/remote-client.ts';
import { OutboundClient } from './outbound/outbound-client.ts';
import { ScriptProcesses } from './rhai/script-process.ts';
import {
  type InstallParts,
  installIfBehind,
  keepClusterId,
  markDamaged,
  mayServeAlone,
  wasCurrent,
} from './replica/install.ts';
import { leaderWork } from './replica/leader-work.ts';
import { clusterCommand, restoreCommand } from './cluster-commands.ts';
import { type ClusterParts, ServerCluster } from './replica/server-cluster.ts';
import { Documents, Indexes } from './search/index-service.ts';
import { LocalPermits, type PermitLimits } from './search/permits.ts';
import { SearchQueue } from './search/search-queue.ts';
import { NetworkDocuments } from './search/network-documents.ts';
import { NetworkSearch } from './search/run/network.ts';
import { SearchPipeline } from './search/execute.ts';
import { currentPins } from './search/rules-in-force.ts';
import { ForeignDocuments } from './search/foreign-documents.ts';
import { queryEmbedding } from './search/query-embedding.ts';
import { reranking } from './search/reranking.ts';
import { LocalSearch } from './search/run/local.ts';
import { type SearchObserver, SearchReport } from './search/report.ts';
import { importSnapshot } from './snapshot/import-snapshot.ts';
import { snapshotRunner } from './snapshot/write-snapshot.ts';
import { analyticsFolder, AnalyticsStore } from './store/analytics-store.ts';
import {
  type DataFolder,
  DataFolderError,
  openDataFolder,
  uploadNotes,
} from './store/data-folder.ts';
import { FeatureStore } from './store/feature-store.ts';
import { KeyStore } from './store/key-store.ts';
import { NotificationStore } from './store/notification-store.ts';
import { editionRunner } from './tasks/run/edit.ts';
import { rebalanceRunner } from './tasks/run/rebalance.ts';
import { Expiry } from './tasks/expiry.ts';
import { BackgroundEmbedding } from './tasks/background-embedding.ts';
import { Notifier } from './tasks/notifier.ts';
import { ChatLoad } from './chat/chat-load.ts';
import { McpLoad } from './mcp/mcp-load.ts';
import { ChatTotals } from './chat/totals.ts';
import { ChatStore } from './store/chat-store.ts';
import { WebhookStore } from './store/webhook-store.ts';
import { openTaskSystem, STORE_BYTES_MAX, type TaskSystem } from './tasks/task-system.ts';
import type { Scheduler } from './tasks/scheduler.ts';
import { faultsOf, VERIFY_PARTS, verifyFolder, verifyParts } from './verify.ts';
import { warmUp } from './warm-up.ts';

/** How long a start waits for the record of the last batch. */
const RECOVERY_WAIT_MS = 2000;
/**
 * How long a start waits to catch up with the cluster; after that it continues while the node lags.
 */
const CATCH_UP_MS_MAX = 60_000;
/** Requests that wait for the start are served first. */
const WARM_UP_AFTER_MS = 300;
/**
 * Share of the time for a stop in which responses under way are finished; after that the parts are
 * closed.
 */
const DRAIN_SHARE = 0.8;
/**
 * How long the event loop may take to end the process after the time for a stop, before a thread
 * ends it.
 */
const WATCH_MS = 100;
/** How long a stop waits for the reader of the log. */
const LOG_MS_MAX = 500;
/** How long a start may take without a report to the service manager, and how often it reports. */
const START_ALIVE_MS = 120_000;
const START_REPORT_MS = 30_000;

/** With fewer, a start fails somewhere in the middle, in libraries that do not report why. */
const OPEN_FILES_MIN = 256;

function versionInfo(): VersionInfo {
  const { version } = createRequire(import.meta.url)('#package') as { version: string };
  return {
    commitSha: process.env.GANNET_COMMIT_SHA ?? 'unknown',
    commitDate: process.env.GANNET_COMMIT_DATE ?? 'unknown',
    serverVersion: version,
  };
}

/** The version of the program; `isVerbose`: and of everything native that runs with it. */
function versionText(isVerbose: boolean): string {
  const { serverVersion, commitSha } = versionInfo();
  const first = `gannet ${serverVersion}\n`;
  if (!isVerbose) return first;
  const libraries = JSON.parse(process.env.GANNET_NATIVE_VERSIONS ?? '{}') as Record<
    string,
    string
  >;
  const { name, version } = socketLibraryVersion();
  const all = {
    commit: commitSha,
    'Node.js': `${process.versions.node} (${process.platform}-${process.arch})`,
    [name]: version,
    ...libraries,
  };
  return (
    first +
    Object.entries(all)
      .map(([what, its]) => `${what} ${its}\n`)
      .join('')
  );
}

function banner(
  config: Config,
  version: VersionInfo,
  instanceUid: string,
  { port, otherPorts, transport }: HttpServer,
): void {
  const notice = masterKeyNotice(config);
  const scheme = config.tls === null ? 'http' : 'https';
  const lines = [
    '',
    `  Gannet ${version.serverVersion} (commit ${version.commitSha})`,
    '',
    `  Configuration file  ${config.configFile ?? 'none'}`,
    `  Database            ${config.dbPath}`,
    `  Listening on        ${scheme}://${config.host}:${port}`,
    ...Object.entries(otherAddresses(config)).map(([name, { host }]) => {
      const title = name === 'events' ? 'Usage events on     ' : 'Metrics on          ';
      return `  ${title}${scheme}://${host}:${otherPorts[name as OtherAddress]}`;
    }),
    `  HTTP by             ${transport}`,
    `  Environment         ${config.production ? 'production' : 'development'}`,
    '  Telemetry           none is ever sent',
    '  Behind a proxy      docs/proxies.md; for HTTP/1.0: --http-transport node',
    `  Instance uid        ${instanceUid}`,
    `  Master key          ${config.masterKey === null ? 'none' : 'set'}`,
    ...(notice === null ? [] : ['', `  ${notice}`]),
    '',
  ];
  // If stderr cannot be written, there is nowhere to report it.
  process.stderr.on('error', () => {});
  process.stderr.write(`${lines.join('\n')}\n`);
}

/** Opens the parts that serve requests and tasks, one after another. */
// oxlint-disable-next-line max-lines-per-function -- a list of the parts, in the order of their use
async function openParts(config: Config) {
  const version = versionInfo();
  const logs = openLogs(config);
  const manager = new ServiceManager({
    env: process.env,
    warn: (message) => logs.of('start').warn(message),
  });
  const responseBuffers = new BufferPool();
  const native = loadEngine(config, responseBuffers);
  refuseUnusableFolders(config);
  await importAtStart(config, native, version.serverVersion, logs.of('import'), manager);
  const folder = await openDataFolder(config.dbPath, {
    version: version.serverVersion,
    upgrade: config.upgradeDb,
  });
  const outside = clusterOutside(config, logs.of('cluster'));
  await prepareCluster(config, outside, folder);
  const outbound = outboundClient(config);
  const proxy = outboundClient(config, config.network.connectMsMax);
  const { models, embedding, rerankers } = openEmbedding(config, outbound);
  const scripts = new ScriptProcesses((pid, bytes) => native.limitProcess(pid, bytes));
  const processMark = randomUUID();
  const renders = new RenderPool();
  const system = openSystem(
    config,
    folder,
    native,
    embedding,
    () => features.get(),
    logs.of('scheduler'),
  );
  const stores = openStores(config, system.store);
  const { features } = stores;
  const { requestMsMax, retriesMsMax } = config.network;
  const network = () => (features.get().network ? system.network.get() : null);
  const replication = new Replication({ network, client: proxy, requestMsMax, retriesMsMax });
  const notifier = new Notifier(
    system.taskStore,
    new NotificationStore(system.store),
    stores.webhooks,
    outbound,
    logs.of('webhooks'),
  );
  sweepBackups(config, logs.of('backups'));
  addRunners(config, { folder, system, scripts, outbound, proxy, processMark, stores, version });
  const { keys } = stores;
  const { registry, queue, taskStore } = system;
  const background = new BackgroundEmbedding({
    registry,
    queue,
    taskStore,
    embedding,
    logger: logs.of('embedding'),
  });
  const clusterParts = { folder, native, system, notifier, keys, background };
  const cluster = await openCluster(config, outside, clusterParts);
  const analytics = await openAnalytics(config, folder, logs.of('analytics'), cluster);
  if (cluster === null) await createDefaultKeys(keys, systemClock);
  markUpgraded(folder, logs.of('store'));
  return {
    version,
    logs,
    manager,
    responseBuffers,
    native,
    folder,
    outbound,
    proxy,
    models,
    embedding,
    rerankers,
    scripts,
    processMark,
    renders,
    system,
    stores,
    replication,
    notifier,
    analytics,
    cluster,
    background,
  };
}

async function openMarkingDamage(config: Config): ReturnType<typeof openParts> {
  try {
    return await openParts(config);
  } catch (error) {
    if (config.cluster !== null && isDamage(error)) markDamaged(config.dbPath);
    throw error;
  }
}

/** Starts the parts. A failure ends the process, so nothing is closed then. */
// oxlint-disable-next-line max-lines-per-function -- a list of what starts, in order
async function run(config: Config): Promise<void> {
  refuseFewFiles();
  const library = socketLibrary(config);
  const opened = await openMarkingDamage(config);
  const { version, logs, manager, responseBuffers, native, folder, outbound, proxy, models } =
    opened;
  const { embedding, scripts, processMark, renders, system, stores, replication } = opened;
  const { notifier, analytics, cluster, background, rerankers } = opened;
  const { keys, features, webhooks, chats, dumps } = stores;
  const { registry, scheduler } = system;
  const [startLog, taskLog] = [logs.of('start'), logs.of('scheduler')];
  const phase = new Phase();
  const memory = library === null ? null : sharedMemory(config);
  const parts = dependencies(
    config,
    { native, scripts, embedding, rerankers, system, keys, features, memory },
    {
      phase,
      version,
      logs,
      responseBuffers,
      webhooks,
      chats,
      outbound,
      replication,
      renders,
      processMark,
      cluster,
      analytics: analytics.parts,
      dumps,
      background,
    },
  );
  const threads = threadsSetup(config, memory, parts, { system, embedding, rerankers });
  const http = await startHttp(parts, httpOptions(config, library, logs.of('http'), threads));
  if (cluster === null) {
    await recover(scheduler, taskLog);
    notifier.wake();
    background.begin();
  } else await catchUp(cluster, folder, config, startLog);
  phase.current = 'ready';
  const leads = (): boolean => cluster === null || cluster.node.epochLed !== null;
  const endSchedule = scheduleTasks(config, system, taskLog, leads);
  banner(config, version, folder.instanceUid, http);
  manager.ready(`serving at ${config.host}:${http.port}`, () => {
    checkParts(parts.services);
    return true;
  });
  // In a cluster, the index for warming up would belong to all nodes.
  const endWarmUp =
    cluster === null && config.warmUpSearches !== 0
      ? warmUpLater(config, http, registry, folder, logs.of('http'))
      : async () => {};
  const stopping = { native, timeoutMs: config.shutdownSeconds * 1000, log: startLog };
  stopOnSignals(stopping, async (timeoutMs) => {
    phase.current = 'stopping';
    manager.stopping(timeoutMs);
    endSchedule();
    // Called first, so that batches end while responses under way are finished.
    const batches = cluster === null ? scheduler.stop() : cluster.endWork();
    batches.catch(() => {});
    await Promise.all([background.end(), endWarmUp()]);
    await http.stop(timeoutMs * DRAIN_SHARE);
    await cluster?.stop();
    await analytics.close();
    await notifier.stop();
    const others = [outbound, proxy, system, renders, embedding, rerankers, models, scripts];
    for (const part of [...others, folder]) await part.close();
    await manager.sent();
    await logs.written(LOG_MS_MAX);
  });
}

/** Registers from time to time what nobody asks for. Returns a function that stops this. */
function scheduleTasks(
  config: Config,
  { queue, registry, taskStore }: TaskSystem,
  log: Logger,
  leads: () => boolean,
): () => void {
  const endBackups = scheduleBackups(config, queue, log, leads);
  const expiry = new Expiry({
    registry,
    queue,
    taskStore,
    clock: systemClock,
    leads,
    log: (message, err) => log.error({ err }, message),
  });
  expiry.start();
  return () => {
    endBackups();
    expiry.stop();
  };
}

function openLogs(config: Config): Logs {
  const logs = new Logs(config.logLevel, config.logMode, process.stderr.isTTY === true);
  const log = logs.of('start');
  for (const notice of config.notices) log.warn(notice);
  if (config.takenVariables.length > 0) {
    log.info(`Variables used as if they began with GANNET_: ${config.takenVariables.join(', ')}.`);
  }
  return logs;
}

/** The connections of this node to the cluster. */
interface ClusterOutside extends InstallParts {
  /** The objects as they are stored: encrypted. */
  readonly store: DirectoryBlobs | S3Blobs;
  readonly secret: ClusterSecret;
  /** The client for requests to the object store and to other nodes. */
  readonly client: OutboundClient;
  readonly etcdClient: OutboundClient;
}

/** Returns null when this server is not a node of a cluster. */
function clusterOutside(
  { cluster: config, dbPath, masterKey }: Config,
  log: Logger,
): ClusterOutside | null {
  if (config === null) return null;
  // These addresses come from the person who starts the server.
  const client = new OutboundClient({ denyPrivate: false, allow: [] });
  const etcdClient = etcdClientOf(config.etcd);
  const secret = new ClusterSecret(masterKey, join(dbPath, 'cluster-key'));
  const store =
    config.store.kind === 'folder'
      ? new DirectoryBlobs(config.store.dir, config.nodeName)
      : new S3Blobs(config.store, client, new OpenUploads(uploadNotes(dbPath)));
  const etcdLog = new EtcdLog(config.name, config.etcd, etcdClient, secret);
  const runtime = systemRuntime((message) => log.info(message));
  return {
    client,
    store,
    secret,
    blobs: new EncryptedBlobs(store, secret),
    log: etcdLog,
    etcdClient,
    runtime,
    hold: new LogHold(etcdLog, runtime, config.nodeName),
    token: randomUUID().replaceAll('-', ''),
  };
}

/** Called before the data is opened: a node that is too far behind installs a checkpoint. */
async function prepareCluster(
  { cluster: config }: Config,
  outside: ClusterOutside | null,
  { dir }: DataFolder,
): Promise<void> {
  if (config === null || outside === null) return;
  const { store } = config;
  if (store.kind === 'folder') {
    const found = statSync(store.dir, { throwIfNoEntry: false });
    if (found?.isDirectory() !== true) {
      const state = found === undefined ? 'does not exist' : 'is a file';
      throw new DataFolderError(
        `--cluster-store: the folder ${store.dir} ${state}. Make it, or mount it.`,
      );
    }
  }
  outside.store.sweep().catch((error: unknown) => {
    outside.runtime.log(`An unfinished upload could not be aborted: ${(error as Error).message}`);
  });
  try {
    await checkBlobs(outside.blobs, outside.token);
  } catch (error) {
    // It is down: what this node has can be read nevertheless.
    if (!(error instanceof UnavailableError)) throw error;
    outside.runtime.log(`The object store could not be checked: ${error.message}`);
  }
  await installIfBehind(dir, outside);
}

/**
 * Ends this node with status 1, so that a supervisor starts it again. Further calls do nothing: a
 * second signal would cut the stop short.
 */
function endNode(reason: string): void {
  if (process.exitCode !== undefined) return;
  process.stderr.write(`${reason}\n`);
  process.exitCode = 1;
  // Nobody is served yet.
  if (process.listenerCount('SIGTERM') === 0) process.exit();
  process.kill(process.pid, 'SIGTERM');
}

/** What a node cannot continue after. */
function endings(
  name: string,
  dir: string,
): Pick<ClusterParts, 'onTooFarBehind' | 'onNameTaken' | 'onDatabaseDamaged' | 'onRefused'> {
  return {
    onRefused: (error) => endNode(error.message),
    // A node cannot take a checkpoint while its data is open.
    onTooFarBehind: () =>
      endNode('The log does not reach back to this node. The next start takes a checkpoint.'),
    onNameTaken: () =>
      endNode(`Another process is the node ${name}: give each its own --node-name.`),
    onDatabaseDamaged: (uuid) => {
      markDamaged(dir);
      endNode(`The database of indexes/${uuid} is damaged. The next start takes all data again.`);
    },
  };
}

/**
 * Makes this server a node of a cluster if it is configured so. Resolves once it follows the log.
 */
async function openCluster(
  { cluster: config }: Config,
  outside: ClusterOutside | null,
  parts: {
    folder: DataFolder;
    native: NativeAddon;
    system: TaskSystem;
    notifier: Notifier;
    keys: KeyStore;
    background: BackgroundEmbedding;
  },
): Promise<ServerCluster | null> {
  if (config === null || outside === null) {
    if (parts.system.store.cluster === null) return null;
    throw new DataFolderError(
      'The data folder is that of a node of a cluster: what a server alone writes would be lost. ' +
        'Start with --cluster-etcd, or import a snapshot of the cluster into another folder.',
    );
  }
  const { folder, native, system, notifier, keys, background } = parts;
  const { store, taskStore, registry } = system;
  const { log, blobs, runtime, token, hold, client, etcdClient, secret } = outside;
  const cluster = new ServerCluster(
    {
      cluster: config.name,
      name: config.nodeName,
      url: config.nodeUrl,
      token,
      join: config.join,
      servesAlone: mayServeAlone(folder.dir),
      leaseMs: config.leaseMs,
      retentionMs: config.retentionMs,
      proofOf: (salt) => secret.proofOf(salt),
      ...(config.checkpointLogBytes === undefined
        ? {}
        : { checkpointLogBytes: config.checkpointLogBytes }),
    },
    {
      native,
      store,
      taskStore,
      registry,
      blobs,
      log,
      runtime,
      hold,
      client,
      etcdClient,
      lagMsMax: config.lagMsMax,
      indexDir: folder.indexDir,
      incomingDir: join(folder.dir, 'incoming'),
      checkpointDir: join(folder.dir, 'outgoing'),
      ...endings(config.nodeName, folder.dir),
      ...(config.comparePauseMs === undefined ? {} : { comparePauseMs: config.comparePauseMs }),
      work: leaderWork({ system, notifier, keys, background }),
    },
  );
  await cluster.start();
  return cluster;
}

function outboundClient(config: Config, connectMsMax?: number): OutboundClient {
  return new OutboundClient({
    denyPrivate: config.outboundDenyPrivate,
    allow: config.outboundAllow,
    ...(connectMsMax === undefined ? {} : { connectMsMax }),
  });
}

function openEmbedding(
  config: Config,
  client: OutboundClient,
): { models: LocalModels; embedding: EmbeddingService; rerankers: RerankerService } {
  const models = new LocalModels({ client, threads: config.indexingThreads, ...config.models });
  const embedding = new EmbeddingService(
    client,
    { ...config.embedding, cacheEntries: config.embeddingCacheEntries },
    (embedder) => models.open(embedder),
  );
  return { models, embedding, rerankers: new RerankerService(client, config.embedding, models) };
}

interface Stores {
  keys: KeyStore;
  features: FeatureStore;
  webhooks: WebhookStore;
  chats: ChatStore;
  dumps: BackupStore;
}

function openStores(config: Config, store: TaskSystem['store']): Stores {
  return {
    keys: new KeyStore(store),
    features: new FeatureStore(store, config.launchFeatures),
    webhooks: new WebhookStore(store, launchWebhook(config)),
    chats: new ChatStore(store),
    dumps: backupsAt(config.dumpDir, config),
  };
}

/** Adds the runners of tasks that need more than indexes and the task store. */
function addRunners(
  config: Config,
  parts: {
    folder: DataFolder;
    system: TaskSystem;
    scripts: ScriptProcesses;
    outbound: OutboundClient;
    proxy: OutboundClient;
    processMark: string;
    stores: Stores;
    version: VersionInfo;
  },
): void {
  const { folder, system, scripts, outbound, proxy, processMark, stores, version } = parts;
  system.scheduler.addRunners({
    documentEdition: editionRunner(scripts),
    dumpCreation: dumpRunner({
      backups: stores.dumps,
      kept: config.keptDumps,
      instanceUid: folder.instanceUid,
      version: version.serverVersion,
      rules: system.searchRules,
      aliases: system.aliases,
      network: system.network,
      ...stores,
    }),
    networkTopologyChange: rebalanceRunner({
      network: () => system.network.get(),
      client: new RemoteClient(proxy),
      register: (request) => system.queue.register(request),
    }),
    export: exportRunner({
      client: outbound,
      processMark,
      features: () => stores.features.get(),
      aliases: system.aliases,
    }),
    snapshotCreation: snapshotRunner({
      backups: backupsAt(config.snapshotDir, config),
      kept: config.keptSnapshots,
      folder,
      store: system.store,
      storeBytesMax: STORE_BYTES_MAX,
    }),
  });
}

function markUpgraded(folder: DataFolder, log: Logger): void {
  if (folder.upgradedFrom === null) return;
  folder.markUpgraded();
  log.info(`the data of version ${folder.upgradedFrom} was upgraded`);
}

function loadEngine(config: Config, responseBuffers: BufferPool): NativeAddon {
  const native = loadAddon();
  native.configure({
    ...engineOptions(config),
    takeBuffer: (bytes) => responseBuffers.take(bytes),
  });
  return native;
}

function engineOptions(config: Config): Omit<EngineOptions, 'takeBuffer'> {
  return {
    searchThreads: availableParallelism(),
    indexingThreads: config.indexingThreads,
    indexingMemoryBytes: config.indexingMemoryBytes,
    tuning: config.tuning,
  };
}

/** The limits of the queues of searches. */
function searchLimits(config: Config): ThreadOptions['search'] {
  return {
    permits: permitsOf(config),
    waitingMax: config.searchQueueSize,
    waitMsMax: config.dropSearchAfterSeconds * 1000,
    queriesAtOnce: availableParallelism(),
  };
}

/**
 * More searches of one requester than two for each search thread would wait in the engine, ahead of
 * those of others. Without a queue they may hold all permits: what waits for its turn is refused.
 */
function permitsOf({ searchesPerCore, searchQueueSize }: Config): PermitLimits {
  const threads = availableParallelism();
  const count = threads * searchesPerCore;
  return { count, each: searchQueueSize === 0 ? count : Math.min(count, 2 * threads) };
}

/** null: the main thread serves everything. */
function sharedMemory({ httpThreads }: Config): SharedMemory | null {
  return httpThreads > 1 ? new SharedMemory(httpThreads) : null;
}

/** What HTTP threads need. */
function threadsSetup(
  config: Config,
  memory: SharedMemory | null,
  { phase, logs, processMark, services }: Dependencies,
  { system, embedding, rerankers }: Pick<Parts, 'system' | 'embedding' | 'rerankers'>,
): ThreadsSetup | null {
  if (memory === null) return null;
  const { masterKey, rateLimit, limits, slowSearchMs, tls, analytics } = config;
  const { registry, aliases, searchRules } = system;
  const { keys, features } = services;
  return {
    memory,
    common: {
      masterKey,
      rateLimit,
      limits,
      slowSearchMs,
      tls,
      processMark,
      engine: engineOptions(config),
      search: searchLimits(config),
      isRecording: analytics !== null,
      isMeasuring: config.metricsAddress !== null,
    },
    mirrored: { keys, features, aliases, searchRules, registry, phase, logs },
    embed: queryEmbedding(registry, embedding),
    rerank: reranking(registry, rerankers, logs.of('search')),
  };
}

/** Makes the database from a dump or a snapshot, if one is to be imported. Throws on failure. */
async function importAtStart(
  config: Config,
  native: NativeAddon,
  version: string,
  log: Logger,
  manager: ServiceManager,
): Promise<void> {
  const source = sourceOf(config);
  if (source === null) return;
  const archive = await localArchive(source.file, config);
  if (archive === null) {
    refuseMissing(source, config);
    return;
  }
  const begun = performance.now();
  const tell = (): void => manager.starting(`importing ${source.file}`, START_ALIVE_MS);
  tell();
  const reporting = setInterval(tell, START_REPORT_MS);
  const options = {
    file: archive.file,
    dbPath: config.dbPath,
    version,
  };
  try {
    if (source.kind === 'snapshot') {
      await importSnapshot({ ...options, verify: (dir) => faultsOf(dir, version) });
    } else {
      const storeBytesMax = STORE_BYTES_MAX;
      await importDump({ ...options, storeBytesMax, native, log: (text) => log.info(text) });
    }
  } finally {
    clearInterval(reporting);
    await archive.release();
  }
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  log.info(`the ${source.kind} ${source.file} was imported in ${seconds} s`);
}

function openSystem(
  config: Config,
  folder: DataFolder,
  native: NativeAddon,
  embedding: EmbeddingService,
  features: () => FeatureSet,
  log: Logger,
): TaskSystem {
  return openTaskSystem(folder, native, {
    clock: systemClock,
    batchedTasksMax: config.batchedTasksMax,
    batchedBytesMax: config.batchedTasksBytesMax,
    storeBytesMax: STORE_BYTES_MAX,
    embedding,
    features,
    log: (message, error) => {
      if (error === undefined) log.info(message);
      else log.error({ err: error }, message);
    },
  });
}

/**
 * Finishes what a crash left unrecorded, before the first request is served. A full disk may delay
 * this, and reads must not wait for it, so the wait is limited.
 */
async function recover(scheduler: Scheduler, log: Logger): Promise<void> {
  const recovered = scheduler.start();
  await Promise.race([recovered, delay(RECOVERY_WAIT_MS, undefined, { ref: false })]);
  recovered.catch((error: unknown) => log.error({ err: error }, 'no task will run'));
}

/**
 * Waits until this node has applied what the log held at the start; for a limited time only if its
 * data was current once. Data that is new was not: this node may have served later data before its
 * disk was lost.
 */
async function catchUp(
  cluster: ServerCluster,
  { dir }: DataFolder,
  { cluster: config }: Config,
  log: Logger,
): Promise<void> {
  const { catchUpMs = CATCH_UP_MS_MAX } = config!;
  const signal = wasCurrent(dir, cluster.id)
    ? AbortSignal.timeout(catchUpMs)
    : new AbortController().signal;
  try {
    await cluster.caughtUp(signal);
    if (!signal.aborted) keepClusterId(dir, cluster.id);
  } catch (error) {
    log.warn({ err: error }, 'the node may be behind the others');
  }
}

/** Parts that the routes get unchanged. */
type Shared = Pick<
  Dependencies,
  | 'phase'
  | 'version'
  | 'logs'
  | 'responseBuffers'
  | 'processMark'
  | 'webhooks'
  | 'chats'
  | 'dumps'
  | 'outbound'
  | 'replication'
  | 'analytics'
  | 'renders'
  | 'cluster'
  | 'background'
>;

/** The other parts that the routes are built from. */
interface Parts {
  native: NativeAddon;
  scripts: ScriptProcesses;
  embedding: EmbeddingService;
  rerankers: RerankerService;
  system: TaskSystem;
  keys: KeyStore;
  features: FeatureStore;
  /** null: there are no HTTP threads. */
  memory: SharedMemory | null;
}

/**
 * Services for searching and reading indexes, of this server and of the other servers of its
 * network.
 */
function searchServices(
  config: Config,
  { native, embedding, rerankers, system, features, memory }: Parts,
  { logs, outbound }: Shared,
  observer: SearchObserver,
): Pick<Services, 'indexes' | 'search' | 'networkDocuments' | 'foreign'> {
  const { store, registry, searchRules, aliases, network } = system;
  const { limits } = config;
  const { permits, queriesAtOnce, ...waiting } = searchLimits(config);
  const queue = new SearchQueue({
    ...waiting,
    onPermit: observer.permitted,
    permits: memory?.mainPermits(permits) ?? new LocalPermits(permits),
  });
  const enabled = (): FeatureSet => features.get();
  const settings = (uid: string): SettingsObject | undefined => registry.get(uid)?.settings;
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
    primaryKey: (uid) => registry.get(uid)?.summary.primaryKey ?? null,
    checkFilter: (filter) =>
      native.checkFilter(JSON.stringify(filter), enabled().containsFilter, enabled().multimodal),
    fetch: (uid, request, reader) => documents.fetch(uid, request, reader),
  });
  const embed = queryEmbedding(registry, embedding);
  const more = {
    ...limits,
    queriesAtOnce,
    ...(memory !== null && { degraded: new Int32Array(memory.degraded) }),
  };
  const rerank = reranking(registry, rerankers, logs.of('search'));
  const local = new LocalSearch(registry, queue, enabled, embed, more, rerank);
  const merger = new ResponseMerger(native);
  const elsewhere = { fanOut, documents: networkDocuments, settings, limits, merger };
  const search = new SearchPipeline({
    local,
    network: new NetworkSearch(local, elsewhere),
    foreign,
    pins: currentPins({ rules: searchRules, aliases, enabled, clock: systemClock }),
    report: new SearchReport(config.slowSearchMs, logs.of('search'), observer),
    settings,
  });
  const indexes = new Indexes(registry, documents, () => store.size());
  return { indexes, search, networkDocuments, foreign };
}

function dependencies(config: Config, parts: Parts, shared: Shared): Dependencies {
  const { native, scripts, system, keys, features } = parts;
  const { queue, searchRules, aliases, network } = system;
  const metrics = new RequestMetrics(
    () => config.metricsAddress !== null || features.get().metrics,
  );
  const observer = searchObserver(metrics);
  return {
    ...shared,
    services: { ...searchServices(config, parts, shared, observer), tasks: queue, keys, features },
    authorizer: new Authorizer(config.masterKey, keys, systemClock, config.rateLimit, aliases),
    clock: systemClock,
    searchRules,
    aliases,
    taskStreams: new TaskStreams(queue),
    inner: new InnerRequests(),
    mcpAllowsWrites: config.mcpAllowsWrites,
    network,
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

/**
 * The library that serves HTTP, or null for node:http. Throws when the library is not the expected
 * one.
 */
function socketLibrary({ tls, transport }: Config): HttpOptions['library'] {
  // Only node:http checks client certificates and staples OCSP responses.
  return tls?.authority || tls?.ocsp || transport === 'node' ? null : loadSocketLibrary();
}

function httpOptions(
  config: Config,
  library: HttpOptions['library'],
  logger: Logger,
  threads: ThreadsSetup | null,
): HttpOptions {
  return {
    ...(threads !== null && { threads }),
    host: config.host,
    port: config.port,
    tls: config.tls,
    library,
    tlsRequireAuth: config.tlsRequireAuth,
    logger,
    more: otherAddresses(config),
  };
}

function otherAddresses({ analytics, metricsAddress }: Config): HttpOptions['more'] {
  return {
    ...(analytics?.eventsAddress && { events: analytics.eventsAddress }),
    ...(metricsAddress && { metrics: metricsAddress }),
  };
}

const DAY_MS = 86_400_000;
/** Interval between removals of old rows when nothing is recorded, ms. */
const SWEEP_MS = 60_000;

/** Opens the recording of searches and their reports. `parts` is null when analytics are off. */
async function openAnalytics(
  config: Config,
  folder: DataFolder,
  logger: Logger,
  cluster: ServerCluster | null,
): Promise<{ parts: Analytics | null; close(): Promise<void> }> {
  const { analytics } = config;
  if (analytics === null) return { parts: null, close: async () => {} };
  const retentionMs = analytics.retentionDays * DAY_MS;
  const { bytesMax } = analytics;
  const store = new AnalyticsStore(analyticsFolder(folder.dir), { bytesMax, retentionMs });
  const { peers, userKey } = await usersOfCluster(config, cluster, store);
  const completions = new Completions(retentionMs);
  const clock = systemClock;
  const searches = peers === null ? null : new PeerSearches(peers, completions, { clock, logger });
  const recorder = new Recorder({
    store,
    userKey,
    clock,
    logger,
    onWritten: (rows) => (searches ?? completions).add(rows),
  });
  const closing = new AbortController();
  const loaded = completions
    .load(recordedBefore(store, () => closing.signal.aborted))
    .catch((error: unknown) =>
      logger.error({ err: error }, 'could not load recorded searches for suggestions'),
    )
    .then(() => searches?.run(closing.signal));
  const timer = setInterval(() => void recorder.sweep(), SWEEP_MS);
  timer.unref();
  const others =
    peers === null ? {} : { others: (from: number, to: number) => peers.rows(from, to) };
  const reporter = new Reporter({ store, recorder, clock, retentionMs, ...others });
  return {
    parts: { store, recorder, reporter, completions, peers },
    async close() {
      clearInterval(timer);
      closing.abort();
      await loaded;
      await recorder.stop();
      await store.close();
    },
  };
}

/**
 * The other nodes, and the key for hashing user ids: a user is the same one on all nodes of a
 * cluster.
 */
async function usersOfCluster(
  { masterKey, cluster: config }: Config,
  cluster: ServerCluster | null,
  store: AnalyticsStore,
): Promise<{ peers: Peers | null; userKey: Buffer }> {
  // Also in a cluster: a store without a key is not valid.
  const own = await store.userKey();
  if (cluster === null || config === null) return { peers: null, userKey: own };
  const { node, client, id } = cluster;
  const token = nodeSecret(masterKey, id, 'node of').toString('base64url');
  return {
    peers: new Peers({ name: config.nodeName, node, client, token }),
    userKey: nodeSecret(masterKey, id, 'users of'),
  };
}

/** Maximum number of chunks of recorded searches that completions are made of at a start. */
const COMPLETING_CHUNKS_MAX = 2000;

/** The last chunks of what was recorded before now. */
function* recordedBefore(store: AnalyticsStore, ends: () => boolean): Generator<string> {
  const from = store.startOfLast(COMPLETING_CHUNKS_MAX);
  const chunks = store.chunks(from, systemClock.now());
  for (let next = chunks.next(); next.done !== true; next = chunks.next()) {
    yield next.value;
    if (ends()) return;
  }
}

/** Warms up after a delay. Returns a function that interrupts this and waits for its end. */
function warmUpLater(
  { masterKey, warmUpSearches: searches }: Config,
  http: HttpServer,
  registry: IndexRegistry,
  { dir }: DataFolder,
  log: Logger,
): () => Promise<void> {
  const ending = new AbortController();
  const { signal } = ending;
  const folder = join(dir, 'warm-up');
  const warm = delay(WARM_UP_AFTER_MS, undefined, { signal })
    .then(() => {
      const now = rfc3339(systemClock.now());
      return warmUp({ http, registry, folder, now, masterKey, signal, searches });
    })
    .then(
      (searches) => log.debug(`warmed up with ${searches} searches`),
      (error: unknown) => log.debug({ err: error }, 'not warmed up'),
    );
  return () => {
    ending.abort();
    return warm;
  };
}

/**
 * Stops the parts at the first signal. A second signal ends the process at once, and so does the
 * end of the time: nothing acknowledged is lost by that. If the event loop is blocked, a thread of
 * the addon ends the process a moment later.
 */
function stopOnSignals(
  { native, timeoutMs, log }: { native: NativeAddon; timeoutMs: number; log: Logger },
  stopParts: (timeoutMs: number) => Promise<void>,
): void {
  const cutShort = `the stop is cut short after ${timeoutMs} ms`;
  let ending: number | null = null;
  const stop = async (status: number): Promise<void> => {
    if (ending !== null) process.exit(ending);
    ending = status;
    setTimeout(() => {
      log.warn(cutShort);
      process.exit(status);
    }, timeoutMs);
    try {
      await stopParts(timeoutMs);
    } catch (error) {
      log.error({ err: error }, 'the stop failed');
    }
    process.exit(status);
  };
  process.on('SIGTERM', () => void stop(Number(process.exitCode ?? 0)));
  process.on('SIGINT', () => void stop(INTERRUPTED));
  native.watchStops(timeoutMs + WATCH_MS, `${cutShort}: the event loop is blocked\n`);
}

function launchWebhook({ webhook }: Config): ConstructorParameters<typeof WebhookStore>[1] {
  if (webhook === null) return null;
  const { url, authorization } = webhook;
  return { url, headers: authorization === null ? {} : { Authorization: authorization } };
}

function refuseFewFiles(): void {
  const max = openFilesMax();
  if (max >= OPEN_FILES_MIN) return;
  throw new Error(
    `This process may have ${max} open files; it needs at least ${OPEN_FILES_MIN} (ulimit -n).`,
  );
}

/** `gannet verify`, which has exit statuses of its own. */
const verifyCommand: Command = command({
  name: 'verify',
  summary: 'Checks everything stored in a folder that no server uses, and reports damage.',
  operands: '',
  notes: '',
  examples: ['verify --db-path ./data.gannet'],
  options: DB_PATH_OPTIONS,
  exits:
    '0 everything is valid; 1 something is damaged; 2 the check was not possible, for example while a server uses the folder',
  run: (given, _, { output }) =>
    verifyFolder(dbPathOf(given, process.env), versionInfo().serverVersion, (line) => {
      output.write(`${line}\n`);
    }),
});

const ALL_COMMANDS: readonly Command[] = [
  ...COMMANDS,
  verifyCommand,
  restoreCommand(() => versionInfo().serverVersion),
  command(clusterCommand),
  completionCommand(() => ALL_COMMANDS, OPTIONS),
];

async function runAndExit(declared: Command, argv: readonly string[]): Promise<void> {
  const ending = new AbortController();
  const end = (): void => {
    // A person who interrupts twice does not want to wait.
    if (ending.signal.aborted) process.exit(INTERRUPTED);
    ending.abort();
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // EPIPE: the reader of the pipe has seen enough.
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
  const status = await runCommand(declared, argv, process.env, {
    input: process.stdin,
    output: process.stdout,
    complaints: process.stderr,
    signal: ending.signal,
  });
  process.exit(status);
}

function main(): void {
  // All files that the program writes hold data, so only its user may read them.
  process.umask(0o077);
  const argv = process.argv.slice(2);
  const [name = '', dir] = argv;
  if (name === VERIFY_PARTS) {
    endWith(verifyParts(dir!));
    return;
  }
  const chosen = ALL_COMMANDS.find((one) => one.name === name);
  if (chosen !== undefined) {
    endWith(runAndExit(chosen, argv.slice(1)));
    return;
  }
  const launch = readConfig(argv, process.env, ALL_COMMANDS);
  if (!launch.ok) {
    process.stderr.write(`${launch.error}\n`);
    process.exitCode = 2;
    return;
  }
  switch (launch.value.kind) {
    case 'help':
      process.stdout.write(launch.value.text);
      return;
    case 'version':
      process.stdout.write(versionText(launch.value.isVerbose));
      return;
    case 'run':
      endWith(run(launch.value.config));
  }
}

/** Ends the process with the message of a failure. */
function endWith(work: Promise<void>): void {
  work.catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}

main();
