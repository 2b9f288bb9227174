/** Tasks: their store, what runs them, what is registered by time, and webhooks. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { BackupStore } from '../archive/backup-store.ts';
import { systemClock } from '../base/clock.ts';
import type { Logger, Logs } from '../base/logger.ts';
import { bad, type GivenOptions, type Options } from '../base/options.ts';
import type { Tracer } from '../base/tracing.ts';
import { masked, maskedUrl } from '../base/secrets.ts';
import type { FeatureSet } from '../contract/features.ts';
import { headersFault } from '../contract/formats.ts';
import { dumpRunner } from '../dump/write-dump.ts';
import type { EmbeddingService } from '../embedding/embedding-service.ts';
import type { NativeAddon } from '../engine/native.ts';
import { exportRunner } from '../export/run-export.ts';
import { RemoteClient } from '../network/remote-client.ts';
import { Replication } from '../network/replication.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import type { ServerCluster } from '../replica/server-cluster.ts';
import { ScriptProcesses } from '../rhai/script-process.ts';
import { snapshotRunner } from '../snapshot/write-snapshot.ts';
import { ChatStore } from '../store/chat-store.ts';
import type { DataFolder } from '../store/data-folder.ts';
import { FeatureStore } from '../store/feature-store.ts';
import { KeyStore } from '../store/key-store.ts';
import { NotificationStore } from '../store/notification-store.ts';
import { WebhookStore } from '../store/webhook-store.ts';
import { BackgroundEmbedding } from '../tasks/background-embedding.ts';
import { Expiry } from '../tasks/expiry.ts';
import { Notifier } from '../tasks/notifier.ts';
import { editionRunner } from '../tasks/run/edit.ts';
import { rebalanceRunner } from '../tasks/run/rebalance.ts';
import type { Scheduler } from '../tasks/scheduler.ts';
import { openTaskSystem, STORE_BYTES_MAX, type TaskSystem } from '../tasks/task-system.ts';
import type { AccessConfig } from './access.ts';
import { backupsAt, type BackupsConfig, scheduleBackups } from './backups.ts';
import { leads } from './cluster.ts';
import type { DataConfig } from './data.ts';
import type { EngineConfig } from './engine.ts';
import type { OutboundConfig } from './outbound.ts';
import type { Part } from './part.ts';

const BATCHED_BYTES_MAX = 10 * 2 ** 30;
/** How long a start waits for the record of the last batch. */
const RECOVERY_WAIT_MS = 2000;

export const OPTIONS = {
  'task-webhook-url': {
    kind: 'text',
    read: (url, name) => (URL.canParse(url) ? url : bad(name, maskedUrl(url), 'a URL')),
    help: 'URL of a webhook that is notified of every finished batch.',
  },
  'task-webhook-authorization-header': {
    kind: 'text',
    read: (authorization, name) =>
      headersFault({ authorization }) === null
        ? authorization
        : bad(name, masked(authorization), 'the value of a header'),
    help: 'Authorization header of its requests.',
  },
  'experimental-max-number-of-batched-tasks': {
    kind: 'count',
    otherwise: () => Infinity,
    shown: 'unlimited',
    help: 'Maximum number of tasks per batch; 0 runs none.',
  },
  'experimental-limit-batched-tasks-total-size': {
    kind: 'size',
    shown: 'half of max-indexing-memory, at most 10 GiB',
    help: 'Maximum bytes of payloads per batch.',
  },
} as const satisfies Options;

export type TasksConfig = ReturnType<typeof configure>;

export function configure(
  { values }: GivenOptions<typeof OPTIONS>,
  { indexingMemoryBytes }: EngineConfig,
) {
  const url = values['task-webhook-url'];
  return {
    webhook:
      url === null ? null : { url, authorization: values['task-webhook-authorization-header'] },
    batchedTasksMax: values['experimental-max-number-of-batched-tasks'],
    batchedTasksBytesMax:
      values['experimental-limit-batched-tasks-total-size'] ??
      Math.min(Math.floor(indexingMemoryBytes / 2), BATCHED_BYTES_MAX),
  };
}

type Config = TasksConfig & AccessConfig & BackupsConfig & DataConfig & OutboundConfig;

/** The parts that it uses. */
export interface TasksDeps {
  folder: DataFolder;
  native: NativeAddon;
  embedding: EmbeddingService;
  outbound: OutboundClient;
  proxy: OutboundClient;
  logs: Logs;
  tracer: Tracer | null;
  /** Version of this program. */
  version: string;
}

export interface Tasks {
  readonly system: TaskSystem;
  readonly stores: Stores;
  readonly scripts: ScriptProcesses;
  readonly replication: Replication;
  readonly notifier: Notifier;
  readonly background: BackgroundEmbedding;
  /** A random text unique to this process, by which it recognizes its own exports. */
  readonly processMark: string;
}

/** Tasks are accepted and nothing runs until `begin`. */
export function open(config: Config, deps: TasksDeps): Part & Tasks {
  const { native, embedding, outbound, proxy, logs, tracer } = deps;
  const scripts = new ScriptProcesses((pid, bytes) => native.limitProcess(pid, bytes));
  const processMark = randomUUID();
  const system = openSystem(config, deps, () => features.get());
  const { registry, queue, taskStore } = system;
  const stores = openStores(config, system.store);
  const { features } = stores;
  const { requestMsMax, retriesMsMax } = config.network;
  const network = () => (features.get().network ? system.network.get() : null);
  const replication = new Replication({ network, client: proxy, requestMsMax, retriesMsMax });
  const notifications = new NotificationStore(system.store);
  const notifier = new Notifier(
    taskStore,
    notifications,
    stores.webhooks,
    outbound,
    logs.of('webhooks'),
    tracer,
  );
  addRunners(config, { ...deps, system, scripts, processMark, stores });
  const background = new BackgroundEmbedding({
    registry,
    queue,
    taskStore,
    embedding,
    tracer,
    logger: logs.of('embedding'),
  });
  return {
    system,
    stores,
    scripts,
    replication,
    notifier,
    background,
    processMark,
    async close() {
      await notifier.stop();
      // A batch that ends does not wait for the responses of other servers.
      await outbound.close();
      await proxy.close();
      await system.close();
      await scripts.close();
    },
  };
}

/** Runs tasks, unless the server is a node of a cluster, whose leader runs them. */
export async function run({ system, notifier, background }: Tasks, log: Logger): Promise<void> {
  await recover(system.scheduler, log);
  notifier.wake();
  background.begin();
}

/** Registers tasks by time, until the stop; then batches end while responses are finished. */
export function work(
  config: BackupsConfig,
  { system, background }: Tasks,
  { cluster, log }: { cluster: ServerCluster | null; log: Logger },
): Part {
  const endSchedule = scheduleTasks(config, system, log, () => leads(cluster));
  return {
    end() {
      endSchedule();
      const batches = cluster === null ? system.scheduler.stop() : cluster.endWork();
      batches.catch(() => {});
      return background.end();
    },
    close() {},
  };
}

/** Registers from time to time what nobody asks for. Returns a function that stops this. */
function scheduleTasks(
  config: BackupsConfig,
  { queue, registry, taskStore }: TaskSystem,
  log: Logger,
  isLeader: () => boolean,
): () => void {
  const endBackups = scheduleBackups(config, queue, log, isLeader);
  const expiry = new Expiry({
    registry,
    queue,
    taskStore,
    clock: systemClock,
    leads: isLeader,
    log: (message, err) => log.error({ err }, message),
  });
  expiry.start();
  return () => {
    endBackups();
    expiry.stop();
  };
}

export interface Stores {
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
  parts: TasksDeps & Pick<Tasks, 'system' | 'scripts' | 'processMark' | 'stores'>,
): void {
  const { folder, system, scripts, outbound, proxy, processMark, stores, version } = parts;
  system.scheduler.addRunners({
    documentEdition: editionRunner(scripts),
    dumpCreation: dumpRunner({
      backups: stores.dumps,
      kept: config.keptDumps,
      instanceUid: folder.instanceUid,
      version,
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

function openSystem(
  config: Config,
  { folder, native, embedding, logs, tracer }: TasksDeps,
  features: () => FeatureSet,
): TaskSystem {
  const log = logs.of('scheduler');
  return openTaskSystem(folder, native, {
    clock: systemClock,
    batchedTasksMax: config.batchedTasksMax,
    batchedBytesMax: config.batchedTasksBytesMax,
    storeBytesMax: STORE_BYTES_MAX,
    embedding,
    features,
    tracer,
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

function launchWebhook({ webhook }: TasksConfig): ConstructorParameters<typeof WebhookStore>[1] {
  if (webhook === null) return null;
  const { url, authorization } = webhook;
  return { url, headers: authorization === null ? {} : { Authorization: authorization } };
}
