/** This server as a node of a cluster. */
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  bad,
  BadOption,
  type Environment,
  type GivenOptions,
  type Options,
} from '../base/options.ts';
import type { Logger } from '../base/logger.ts';
import { checkBlobs } from '../cluster/blobs/check-blobs.ts';
import { DirectoryBlobs } from '../cluster/blobs/directory-blobs.ts';
import { EncryptedBlobs } from '../cluster/blobs/encrypted-blobs.ts';
import { OpenUploads } from '../cluster/blobs/open-uploads.ts';
import { S3Blobs, type S3Options } from '../cluster/blobs/s3-blobs.ts';
import { UnavailableError } from '../cluster/errors.ts';
import { etcdClientOf, type EtcdOptions } from '../cluster/log/etcd-client.ts';
import { LogHold } from '../cluster/log-hold.ts';
import { EtcdLog } from '../cluster/log/etcd-log.ts';
import { ClusterSecret } from '../cluster/secret.ts';
import { systemRuntime } from '../cluster/system-runtime.ts';
import type { NativeAddon } from '../engine/native.ts';
import { OutboundClient } from '../outbound/outbound-client.ts';
import {
  type InstallParts,
  installIfBehind,
  keepClusterId,
  markDamaged,
  mayServeAlone,
  wasCurrent,
} from '../replica/install.ts';
import { leaderWork } from '../replica/leader-work.ts';
import { type ClusterParts, ServerCluster } from '../replica/server-cluster.ts';
import { type DataFolder, DataFolderError, uploadNotes } from '../store/data-folder.ts';
import type { KeyStore } from '../store/key-store.ts';
import type { BackgroundEmbedding } from '../tasks/background-embedding.ts';
import type { Notifier } from '../tasks/notifier.ts';
import type { TaskSystem } from '../tasks/task-system.ts';
import type { AccessConfig } from './access.ts';
import type { DataConfig } from './data.ts';
import type { Part } from './part.ts';
import { bucketOf, missing, numberIn, serviceUrl, TIMER_SECONDS_MAX } from './values.ts';

/**
 * How long a start waits to catch up with the cluster; after that it continues while the node lags.
 */
const CATCH_UP_MS_MAX = 60_000;
const RETENTION_HOURS_MAX = 36_500 * 24;

const OF_CLUSTER = { kind: 'text', ours: true, needs: ['cluster-etcd'] } as const;

/** Where the log of a cluster is. */
export const LOG_OPTIONS = {
  'cluster-etcd': {
    kind: 'text',
    ours: true,
    read: (text, name) => text.split(',').map((url) => serviceUrl(url.trim(), name)),
    help: 'URLs of the etcd members of the cluster, comma-separated.',
  },
  'cluster-etcd-user': {
    ...OF_CLUSTER,
    read: etcdUser,
    help: 'Name and password for etcd: `name:password`.',
  },
  'cluster-etcd-ca': {
    ...OF_CLUSTER,
    read: contentOf,
    help: 'File of the authorities (PEM) to trust for etcd, instead of those of Node.',
  },
  'cluster-etcd-cert': {
    ...OF_CLUSTER,
    read: contentOf,
    help: 'File of the certificate (PEM) to show to etcd.',
  },
  'cluster-etcd-key': { ...OF_CLUSTER, read: contentOf, help: 'File of its key (PEM).' },
  'cluster-name': { ...OF_CLUSTER, read: clusterName, help: 'Name of the cluster.' },
} as const satisfies Options;

/** Where the objects of a cluster are. */
export const STORE_OPTIONS = {
  'cluster-store': {
    ...OF_CLUSTER,
    help: 'Where the nodes share files: a folder or `s3://bucket/prefix`.',
  },
  'cluster-store-endpoint': { ...OF_CLUSTER, help: 'URL of the S3 service.' },
  'cluster-store-region': {
    ...OF_CLUSTER,
    initial: 'us-east-1',
    help: 'Region of the S3 service.',
  },
  'cluster-store-access-key': { ...OF_CLUSTER, help: 'Access key of the S3 service.' },
  'cluster-store-secret-key': { ...OF_CLUSTER, help: 'Secret key of the S3 service.' },
  'cluster-ca': {
    ...OF_CLUSTER,
    read: contentOf,
    help: 'As cluster-etcd-ca, for the S3 service and other nodes.',
  },
} as const satisfies Options;

export const OPTIONS = {
  ...LOG_OPTIONS,
  ...STORE_OPTIONS,
  'node-name': {
    ...OF_CLUSTER,
    read: clusterName,
    help: 'Name of this node, unique in its cluster.',
  },
  'node-url': {
    ...OF_CLUSTER,
    read: serviceUrl,
    help: 'URL at which the other nodes reach this one.',
  },
  'cluster-join': {
    ...OF_CLUSTER,
    kind: 'flag',
    help: 'Make the data folder the beginning of a new cluster.',
  },
  'cluster-lease-seconds': {
    ...OF_CLUSTER,
    kind: 'count',
    initial: '5',
    min: 1,
    max: 600,
    help: 'How long a leader that is cut off stays the leader.',
  },
  'cluster-max-lag-seconds': {
    ...OF_CLUSTER,
    kind: 'count',
    initial: '30',
    min: 1,
    max: TIMER_SECONDS_MAX,
    help: 'A node that is further behind reports itself unhealthy.',
  },
  'cluster-retention-hours': {
    ...OF_CLUSTER,
    kind: 'count',
    initial: '24',
    max: RETENTION_HOURS_MAX,
    help: 'How long checkpoints are kept for recovery to a point in time.',
  },
} as const satisfies Options;

export type ClusterConfig = ReturnType<typeof configure>;
type Config = ClusterConfig & AccessConfig & DataConfig;

/** `cluster` is null when this server is none of a cluster. */
export function configure(given: GivenOptions<typeof OPTIONS>, env: Environment) {
  return { cluster: nodeOf(given, env) };
}

function nodeOf(given: GivenOptions<typeof OPTIONS>, env: Environment) {
  const log = clusterLogOf(given);
  if (log === null) return null;
  const { values } = given;
  const needed = (name: 'node-name' | 'node-url'): string =>
    values[name] ?? missing(name, 'cluster-etcd');
  return {
    etcd: log.options,
    name: log.name,
    store:
      values['cluster-store'] === null
        ? missing('cluster-store', 'cluster-etcd')
        : clusterStoreOf(given),
    authorities: values['cluster-ca'],
    nodeName: needed('node-name'),
    nodeUrl: needed('node-url'),
    join: values['cluster-join'],
    leaseMs: values['cluster-lease-seconds'] * 1000,
    lagMsMax: values['cluster-max-lag-seconds'] * 1000,
    retentionMs: values['cluster-retention-hours'] * 3_600_000,
    // Thresholds that tests move.
    checkpointLogBytes: numberIn(env, 'GANNET_CHECKPOINT_BYTES'),
    comparePauseMs: numberIn(env, 'GANNET_COMPARE_PAUSE_MS'),
    catchUpMs: numberIn(env, 'GANNET_CATCH_UP_MS'),
  };
}

/** Where the log of a cluster is; null: not given. Throws `BadOption`. */
export function clusterLogOf({
  values,
}: GivenOptions<typeof LOG_OPTIONS>): { name: string; options: EtcdOptions } | null {
  const endpoints = values['cluster-etcd'];
  if (endpoints === null) return null;
  const name = values['cluster-name'] ?? missing('cluster-name', 'cluster-etcd');
  const user = values['cluster-etcd-user'] ?? undefined;
  const authorities = values['cluster-etcd-ca'];
  const certificate = values['cluster-etcd-cert'];
  const key = values['cluster-etcd-key'];
  if ((certificate === null) !== (key === null)) {
    throw new BadOption('cluster-etcd-cert and cluster-etcd-key must be given together.');
  }
  const tls = {
    ...(authorities === null ? {} : { authorities }),
    ...(certificate === null || key === null ? {} : { identity: { certificate, key } }),
  };
  return { name, options: { endpoints, user, tls } };
}

/** Where the objects of a cluster are. Throws `BadOption`. */
export function clusterStoreOf(
  given: GivenOptions<typeof STORE_OPTIONS>,
): { kind: 'folder'; dir: string } | ({ kind: 's3' } & S3Options) {
  const { values } = given;
  const text = values['cluster-store'];
  if (text === null)
    throw new BadOption('--cluster-store is required: where the cluster shares files.');
  const bucket = bucketOf(text);
  if (bucket === null) {
    if (text.includes('://')) bad('cluster-store', text, 'a folder, or `s3://bucket/prefix`');
    return { kind: 'folder', dir: text };
  }
  const needed = (name: `cluster-store-${'endpoint' | 'access-key' | 'secret-key'}`): string =>
    values[name] ?? bad(name, '', 'set for a store of S3');
  return {
    kind: 's3',
    ...bucket,
    endpoint: needed('cluster-store-endpoint'),
    region: values['cluster-store-region'],
    accessKeyId: needed('cluster-store-access-key'),
    secretAccessKey: needed('cluster-store-secret-key'),
  };
}

/** The client for requests to the object store and to other nodes. */
export function clusterClient(authorities: string | null): OutboundClient {
  // These addresses come from the person who starts the server.
  const policy = { denyPrivate: false, allow: [] };
  return new OutboundClient({ ...policy, ...(authorities === null ? {} : { authorities }) });
}

function clusterName(text: string, name: string): string {
  return /^[\w.-]{1,64}$/.test(text)
    ? text
    : bad(name, text, 'at most 64 letters, digits, `.`, `_`, `-`');
}

function contentOf(path: string, name: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new BadOption(`${name}: ${path} cannot be read: ${(error as Error).message}`);
  }
}

function etcdUser(text: string): { name: string; password: string } {
  const colon = text.indexOf(':');
  if (colon < 1) throw new BadOption('cluster-etcd-user must be `name:password`.');
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** The connections of this node to the cluster. */
export interface ClusterOutside extends InstallParts {
  /** The objects as they are stored: encrypted. */
  readonly store: DirectoryBlobs | S3Blobs;
  readonly secret: ClusterSecret;
  /** The client for requests to the object store and to other nodes. */
  readonly client: OutboundClient;
  readonly etcdClient: OutboundClient;
}

function clusterOutside(
  config: NonNullable<ClusterConfig['cluster']>,
  { dbPath, masterKey }: Config,
  log: Logger,
): ClusterOutside {
  const client = clusterClient(config.authorities);
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

/**
 * Connects to the cluster. A node that is too far behind installs a checkpoint, so this is called
 * before the data is read. Returns null when this server is not a node of a cluster.
 */
export async function connect(
  config: Config,
  { dir }: DataFolder,
  logger: Logger,
): Promise<ClusterOutside | null> {
  if (config.cluster === null) return null;
  const outside = clusterOutside(config.cluster, config, logger);
  const { store } = config.cluster;
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
  return outside;
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
    onDatabaseDamaged: (database) => {
      markDamaged(dir);
      endNode(`The database of ${database} is damaged. The next start takes all data again.`);
    },
  };
}

/**
 * Makes this server a node of a cluster if it is configured so. Resolves once it follows the log.
 */
export async function open(
  { cluster: config }: Config,
  {
    outside,
    ...parts
  }: {
    outside: ClusterOutside | null;
    folder: DataFolder;
    native: NativeAddon;
    system: TaskSystem;
    notifier: Notifier;
    keys: KeyStore;
    background: BackgroundEmbedding;
  },
): Promise<Part & { cluster: ServerCluster | null }> {
  if (config === null || outside === null) {
    if (parts.system.store.cluster === null) return { cluster: null, close: () => {} };
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
  return { cluster, close: () => cluster.stop() };
}

/** Whether this server does what one of a cluster does for all. */
export function leads(cluster: ServerCluster | null): boolean {
  return cluster === null || cluster.node.epochLed !== null;
}

/**
 * Waits until this node has applied what the log held at the start; for a limited time only if its
 * data was current once. Data that is new was not: this node may have served later data before its
 * disk was lost.
 */
export async function catchUp(
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
