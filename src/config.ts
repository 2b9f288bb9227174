/**
 * Launch options: flags, environment variables, a TOML file, defaults, in this order of priority.
 * The outcome is one frozen object; nothing else reads flags or the environment.
 */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism, homedir, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { generateMasterKey, MASTER_KEY_BYTES_MIN } from './auth/keys.ts';
import { isLogLevel, type LogLevel, type LogMode } from './base/logger.ts';
import {
  bad,
  BadOption,
  type Environment,
  GivenOptions,
  isOptionOf,
  isShown,
  type Option,
  type OptionKind,
  type OptionName,
  type Options,
  optionsHelp,
  readFlags,
  unknownOption,
  variableName,
  type Values,
} from './base/options.ts';
import { masked, maskedUrl } from './base/secrets.ts';
import { headersFault } from './contract/formats.ts';
import { suggest } from './base/suggest.ts';
import { readVariables, variable, variableNotices } from './base/variables.ts';
import { err, ok, type Result } from './base/result.ts';
import type { Feature } from './contract/features.ts';
import { RATE_LIMIT_MAX, type RateLimit } from './contract/rate-limits.ts';
import { DEFAULT_LIMITS, type RequestLimits } from './contract/limits.ts';
import { hasDots, type S3Options } from './cluster/blobs/s3-blobs.ts';
import type { EtcdOptions } from './cluster/log/etcd-client.ts';
import { type EngineTuning, parseTuning } from './engine/tuning.ts';
import { parseNetwork } from './outbound/address-policy.ts';

export interface TlsConfig {
  certificate: string;
  key: string;
  authority: string | null;
  /** File of an answer about the certificate that is stapled, or null. */
  ocsp: string | null;
  resumption: boolean;
  tickets: boolean;
}

export interface Config {
  dbPath: string;
  host: string;
  port: number;
  masterKey: string | null;
  production: boolean;
  /** Undefined: as many as warm up. Tests, which start servers all the time, need none. */
  warmUpSearches: number | undefined;
  limits: RequestLimits;
  /** Budget of the indexer, bytes. */
  indexingMemoryBytes: number;
  indexingThreads: number;
  logLevel: LogLevel;
  logMode: LogMode;
  /** Where the metrics are, in addition to the main address; null: nowhere. */
  metricsAddress: { host: string; port: number } | null;
  /** Searches that take at least this long are logged; null: none. */
  slowSearchMs: number | null;
  shutdownSeconds: number;
  /**
   * For the log: options that change nothing here or have another name, and variables that nobody
   * reads.
   */
  notices: string[];
  /** For the log: variables of the reference that were taken for ours. */
  takenVariables: string[];
  /** The configuration file that was read, or null. */
  configFile: string | null;
  upgradeDb: boolean;
  webhook: { url: string; authorization: string | null } | null;
  /** A folder, or `s3://bucket/prefix`. */
  dumpDir: string;
  snapshotDir: string;
  /** For `s3://` in the places of dumps and snapshots. */
  s3: BackupService;
  /** Seconds between dumps; null: none. */
  scheduleDumpSeconds: number | null;
  /** How many remain; null: all. */
  keptDumps: number | null;
  keptSnapshots: number;
  importDump: string | null;
  ignoreMissingDump: boolean;
  ignoreDumpIfDbExists: boolean;
  importSnapshot: string | null;
  ignoreMissingSnapshot: boolean;
  ignoreSnapshotIfDbExists: boolean;
  /** Seconds between snapshots; null: none. */
  scheduleSnapshotSeconds: number | null;
  tls: TlsConfig | null;
  tlsRequireAuth: boolean;
  searchQueueSize: number;
  dropSearchAfterSeconds: number;
  searchesPerCore: number;
  /** Infinity: unlimited. */
  batchedTasksMax: number;
  batchedTasksBytesMax: number;
  embeddingCacheEntries: number;
  embedding: EmbeddingConfig;
  network: NetworkConfig;
  models: { cacheDir: string; hubUrl: string };
  launchFeatures: Partial<Record<Feature, boolean>>;
  outboundDenyPrivate: boolean;
  outboundAllow: string[];
  chatAllowNonStreaming: boolean;
  /** Assistants may change documents. */
  mcpAllowsWrites: boolean;
  /** The limit for every key that has none of its own; null: no limit. */
  rateLimit: RateLimit | null;
  /** null: searches are not recorded. */
  analytics: AnalyticsConfig | null;
  /** null: this server is none of a cluster. */
  cluster: ClusterConfig | null;
  transport: 'fastest' | 'node';
  httpThreads: number;
  tuning: EngineTuning;
}

/** The S3 service of backups. */
export type BackupService = Omit<S3Options, 'bucket' | 'prefix'>;

export interface ClusterConfig {
  etcd: EtcdOptions;
  name: string;
  store: { kind: 'folder'; dir: string } | ({ kind: 's3' } & S3Options);
  nodeName: string;
  nodeUrl: string;
  join: boolean;
  leaseMs: number;
  /** A threshold that tests move. */
  checkpointLogBytes: number | undefined;
  comparePauseMs: number | undefined;
  catchUpMs: number | undefined;
  lagMsMax: number;
  retentionMs: number;
}

export interface AnalyticsConfig {
  retentionDays: number;
  bytesMax: number;
  /** Where usage events are taken, in addition to the main address; null: nowhere. */
  eventsAddress: { host: string; port: number } | null;
}

/** Settings for requests to embedding providers; from the environment only. */
export interface EmbeddingConfig {
  openAiKey: string | null;
  ollamaUrl: string | null;
  timeoutMs: number;
  /** The longest wait before a retry. */
  waitMsMax: number;
  /** What cannot be rendered, or embedded, has no embedding instead of failing its batch. */
  ignoreTemplateFailures: boolean;
  ignoreEmbedderFailures: boolean;
}

/** Settings for requests to other servers of the network; from the environment only. */
export interface NetworkConfig {
  /** Ms that a search waits for remotes. */
  searchMsMax: number;
  /** Ms to connect to a remote that gets a write. */
  connectMsMax: number;
  /** Ms for one request that passes a write on. */
  requestMsMax: number;
  /** Ms in which a write is tried again. */
  retriesMsMax: number;
}

const HTTP_THREADS_MAX = 64;
const SHUTDOWN_SECONDS = 10;
const EMBEDDER_TIMEOUT_SECONDS = 30;
const EMBEDDER_WAIT_SECONDS_MAX = 60;

const GIB = 2 ** 30;
const ANALYTICS_BYTES = GIB;
const ANALYTICS_BYTES_MIN = 2 ** 20;
/** A hundred years. */
const RETENTION_DAYS_MAX = 36_500;
const SNAPSHOT_SECONDS = 86_400;
/** Most dumps or snapshots that an option may keep. */
const KEPT_MAX = 10_000;
/** What a timer can wait for. */
const TIMER_SECONDS_MAX = 2_147_483;
const BATCHED_BYTES_MAX = 10 * GIB;

/** Options of the reference that have no counterpart, with the reason that is logged. */
function ignored<K extends OptionKind, N extends string>(
  kind: K,
  help: string,
  names: readonly N[],
): Record<N, { kind: K; help: string; ignored: true }> {
  const option = { kind, help, ignored: true } as const;
  return Object.fromEntries(names.map((name) => [name, option])) as Record<N, typeof option>;
}

/** Where archives are kept if no option says it. */
export const DEFAULT_PLACES = { dumps: 'dumps/', snapshots: 'snapshots/' };

/** What can be set when the server starts. */
export const OPTIONS = {
  'db-path': { kind: 'text', common: true, initial: './data.gannet', help: 'Data folder.' },
  'http-addr': {
    kind: 'text',
    common: true,
    initial: 'localhost:7700',
    help: 'Address and port to listen on.',
  },
  'master-key': {
    kind: 'text',
    common: true,
    help: 'Key that allows everything; at least 16 bytes in production.',
  },
  env: {
    kind: 'text',
    common: true,
    initial: 'development',
    help: '`development`, or `production`, which needs a master key.',
  },
  'config-file-path': {
    kind: 'text',
    common: true,
    initial: './config.toml',
    help: 'Configuration file (TOML).',
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
    help: 'Maximum number of queries in a multi-search.',
  },
  'highlight-tag-size-limit': {
    kind: 'size',
    ours: true,
    initial: '4 KiB',
    help: 'Largest highlight tag or crop marker.',
  },
  'max-indexing-memory': {
    kind: 'size',
    initial: '2/3 of the memory',
    help: 'Memory that indexing tries not to exceed.',
  },
  'max-indexing-threads': {
    kind: 'text',
    initial: 'half of the cores',
    help: 'Threads for indexing.',
  },
  'log-level': { kind: 'text', initial: 'INFO', help: 'OFF, ERROR, WARN, INFO, DEBUG or TRACE.' },
  'slow-search-ms': {
    kind: 'count',
    ours: true,
    initial: 'none',
    help: 'Log searches that take at least this many milliseconds, including waiting.',
  },
  'shutdown-seconds': {
    kind: 'count',
    ours: true,
    initial: `${SHUTDOWN_SECONDS}`,
    help: 'How long a stop may take to finish responses and roll back batches.',
  },
  'no-analytics': { kind: 'flag', help: 'No effect: there is no telemetry.' },
  'upgrade-db': { kind: 'flag', help: 'Upgrade a database of an older version.' },
  'task-webhook-url': {
    kind: 'text',
    help: 'URL of a webhook that is notified of every finished batch.',
  },
  'task-webhook-authorization-header': {
    kind: 'text',
    help: 'Authorization header of its requests.',
  },
  'dump-dir': {
    kind: 'text',
    initial: DEFAULT_PLACES.dumps,
    help: 'Folder for dumps, or `s3://bucket/prefix`.',
  },
  'schedule-dump': { kind: 'optionalCount', ours: true, help: 'Seconds between dumps.' },
  'keep-dumps': { kind: 'count', ours: true, initial: 'all', help: 'How many dumps are kept.' },
  'import-dump': { kind: 'text', help: 'Dump to load at start.' },
  'ignore-missing-dump': { kind: 'flag', help: 'Start even if the dump to import is missing.' },
  'ignore-dump-if-db-exists': {
    kind: 'flag',
    help: 'Start without importing if a database exists.',
  },
  'snapshot-dir': {
    kind: 'text',
    initial: DEFAULT_PLACES.snapshots,
    help: 'Folder for snapshots, or `s3://bucket/prefix`.',
  },
  'schedule-snapshot': { kind: 'optionalCount', help: 'Seconds between snapshots.' },
  'keep-snapshots': {
    kind: 'count',
    ours: true,
    initial: '1',
    help: 'How many snapshots are kept.',
  },
  'import-snapshot': { kind: 'text', help: 'Snapshot to load at start.' },
  's3-bucket-url': { kind: 'text', help: 'URL of the S3 service for dumps and snapshots.' },
  's3-bucket-region': {
    kind: 'text',
    initial: 'us-east-1',
    help: 'Region of the S3 service for dumps and snapshots.',
  },
  's3-access-key': { kind: 'text', help: 'Access key for dumps and snapshots.' },
  's3-secret-key': { kind: 'text', help: 'Secret key for dumps and snapshots.' },
  'ignore-missing-snapshot': {
    kind: 'flag',
    help: 'Start even if the snapshot to import is missing.',
  },
  'ignore-snapshot-if-db-exists': {
    kind: 'flag',
    help: 'Start without importing if a database exists.',
  },
  'ssl-cert-path': { kind: 'text', help: 'Certificate chain (PEM).' },
  'ssl-key-path': { kind: 'text', help: 'Private key (PEM).' },
  'ssl-auth-path': {
    kind: 'text',
    help: 'Certificate authorities (PEM) that verify client certificates.',
  },
  'ssl-ocsp-path': { kind: 'text', help: 'OCSP response (DER) to staple; served by node:http.' },
  'ssl-require-auth': { kind: 'flag', help: 'Refuse clients without a certificate.' },
  'ssl-resumption': {
    kind: 'flag',
    help: 'Resume TLS 1.2 sessions from a cache; uWebSockets.js always does.',
  },
  'ssl-tickets': {
    kind: 'flag',
    help: 'Resume sessions with tickets; uWebSockets.js always does.',
  },
  'experimental-contains-filter': { kind: 'flag', help: 'Enable the feature containsFilter.' },
  'experimental-enable-metrics': { kind: 'flag', help: 'Enable the feature metrics.' },
  'experimental-enable-logs-route': { kind: 'flag', help: 'Enable the feature logsRoute.' },
  'experimental-logs-mode': { kind: 'text', initial: 'HUMAN', help: 'HUMAN or JSON.' },
  'experimental-search-queue-size': {
    kind: 'count',
    initial: '1000',
    help: 'How many searches may wait; fewer if they would take more than 4 s.',
  },
  'experimental-drop-search-after': {
    kind: 'count',
    initial: '60',
    help: 'Refuse a search that has waited this many seconds.',
  },
  'experimental-nb-searches-per-core': {
    kind: 'count',
    initial: '4',
    help: 'Concurrent searches per core.',
  },
  'experimental-reduce-indexing-memory-usage': {
    kind: 'flag',
    help: 'Halve max-indexing-memory.',
  },
  'experimental-max-number-of-batched-tasks': {
    kind: 'count',
    initial: 'unlimited',
    help: 'Maximum number of tasks per batch; 0 runs none.',
  },
  'experimental-limit-batched-tasks-total-size': {
    kind: 'size',
    initial: 'half of max-indexing-memory, at most 10 GiB',
    help: 'Maximum bytes of payloads per batch.',
  },
  'experimental-embedding-cache-entries': {
    kind: 'count',
    initial: '0',
    help: 'Cached query embeddings per embedder.',
  },
  'experimental-allowed-ip-networks': {
    kind: 'text',
    help: 'The same as outbound-allow.',
  },
  'outbound-deny-private': {
    kind: 'flag',
    ours: true,
    help: 'Refuse outbound connections to loopback and private addresses.',
  },
  'outbound-allow': {
    kind: 'text',
    ours: true,
    help: 'Exceptions to outbound-deny-private: networks (CIDR, comma-separated) or `any`.',
  },
  'chat-allow-non-streaming': {
    kind: 'flag',
    ours: true,
    help: 'Answer chat requests without a stream if `stream` is false or absent.',
  },
  'rate-limit': {
    kind: 'count',
    ours: true,
    initial: 'unlimited',
    help: 'Requests per second of each API key.',
  },
  'rate-limit-searches': {
    kind: 'count',
    ours: true,
    initial: 'unlimited',
    help: 'Concurrent searches of each API key.',
  },
  'analytics-retention-days': {
    kind: 'count',
    ours: true,
    initial: 'off',
    help: 'Record searches and usage events, and keep them for this many days.',
  },
  'analytics-size-limit': {
    kind: 'size',
    ours: true,
    initial: '1 GiB',
    help: 'Maximum size of the records; beyond it the oldest are deleted.',
  },
  'events-addr': {
    kind: 'text',
    ours: true,
    help: 'An additional address and port that accepts only usage events.',
  },
  'metrics-addr': {
    kind: 'text',
    ours: true,
    help: 'An additional address and port for metrics, which needs no experimental feature.',
  },
  'http-transport': {
    kind: 'text',
    ours: true,
    initial: 'fastest',
    help: '`fastest`, or `node` for node:http.',
  },
  'http-threads': {
    kind: 'count',
    ours: true,
    initial: 'one for every four cores and GiB of memory, 1 to 64',
    help: 'Threads that serve searches and reads of documents; not with http-transport `node`. While searches are recorded the default is 1.',
  },
  'cluster-etcd': {
    kind: 'text',
    ours: true,
    help: 'URLs of the etcd members of the cluster, comma-separated.',
  },
  'cluster-etcd-user': {
    kind: 'text',
    ours: true,
    help: 'Name and password for etcd: `name:password`.',
  },
  'cluster-etcd-ca': {
    kind: 'text',
    ours: true,
    help: 'File of the authorities (PEM) to trust for etcd, instead of those of Node.',
  },
  'cluster-etcd-cert': {
    kind: 'text',
    ours: true,
    help: 'File of the certificate (PEM) to show to etcd.',
  },
  'cluster-etcd-key': { kind: 'text', ours: true, help: 'File of its key (PEM).' },
  'cluster-name': { kind: 'text', ours: true, help: 'Name of the cluster.' },
  'cluster-store': {
    kind: 'text',
    ours: true,
    help: 'Where the nodes share files: a folder or `s3://bucket/prefix`.',
  },
  'cluster-store-endpoint': {
    kind: 'text',
    ours: true,
    help: 'URL of the S3 service.',
  },
  'cluster-store-region': {
    kind: 'text',
    ours: true,
    initial: 'us-east-1',
    help: 'Region of the S3 service.',
  },
  'cluster-store-access-key': {
    kind: 'text',
    ours: true,
    help: 'Access key of the S3 service.',
  },
  'cluster-store-secret-key': {
    kind: 'text',
    ours: true,
    help: 'Secret key of the S3 service.',
  },
  'mcp-allow-writes': {
    kind: 'flag',
    ours: true,
    help: 'Offer assistants (`/mcp`) tools that change documents.',
  },
  'node-name': { kind: 'text', ours: true, help: 'Name of this node, unique in its cluster.' },
  'node-url': { kind: 'text', ours: true, help: 'URL at which the other nodes reach this one.' },
  'cluster-join': {
    kind: 'flag',
    ours: true,
    help: 'Make the data folder the beginning of a new cluster.',
  },
  'cluster-lease-seconds': {
    kind: 'count',
    ours: true,
    initial: '5',
    help: 'How long a leader that is cut off stays the leader.',
  },
  'cluster-max-lag-seconds': {
    kind: 'count',
    ours: true,
    initial: '30',
    help: 'A node that is further behind reports itself unhealthy.',
  },
  'cluster-retention-hours': {
    kind: 'count',
    ours: true,
    initial: '24',
    help: 'How long checkpoints are kept for recovery to a point in time.',
  },
  'dumps-dir': { kind: 'text', help: '', means: 'dump-dir' },
  'snapshot-interval-sec': { kind: 'optionalCount', help: '', means: 'schedule-snapshot' },
  'experimental-dumpless-upgrade': { kind: 'flag', help: '', means: 'upgrade-db' },
  ...ignored('flag', 'There is one way to apply settings, to index and to search.', [
    'experimental-no-edition-2024-for-settings',
    'experimental-no-edition-2024-for-dumps',
    'experimental-no-edition-2024-for-prefix-post-processing',
    'experimental-no-edition-2024-for-facet-post-processing',
    'experimental-legacy-search-default',
  ]),
  ...ignored('flag', 'Replication needs no option: set up a network (`/network`).', [
    'experimental-replication-parameters',
  ]),
  ...ignored('flag', 'Snapshots are always copied without free pages.', [
    'experimental-no-snapshot-compaction',
  ]),
  ...ignored(
    'flag',
    'Tasks are always batched; experimental-max-number-of-batched-tasks bounds it.',
    ['disable-auto-batching'],
  ),
  ...ignored('flag', 'Databases have no parts that an upgrade cleans up.', [
    'experimental-disable-fid-based-databases-cleanup',
  ]),
  ...ignored('text', 'Databases grow as needed.', ['max-index-size', 'max-task-db-size']),
  ...ignored('text', 'Responses are not personalized.', ['experimental-personalization-api-key']),
  ...ignored('text', 'The bucket of snapshots is part of snapshot-dir: `s3://bucket/prefix`.', [
    's3-bucket-name',
    's3-snapshot-prefix',
  ]),
  ...ignored('text', 'Snapshots are sent to S3 with an access key, in parts of 16 MB.', [
    'experimental-s3-role-arn',
    'experimental-s3-web-identity-token-file',
    'experimental-s3-max-in-flight-parts',
    'experimental-s3-compression-level',
    'experimental-s3-signature-duration-seconds',
    'experimental-s3-multipart-part-size',
  ]),
} as const satisfies Options;

type ServerValues = Values<typeof OPTIONS>;
type Given = GivenOptions<typeof OPTIONS>;

type ServerOption = OptionName<typeof OPTIONS>;

const NAMES = (Object.keys(OPTIONS) as ServerOption[]).filter((name) => isShown(OPTIONS[name]));

export type Launch =
  | { readonly kind: 'run'; readonly config: Config }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version'; readonly isVerbose: boolean };

/** What --help says of a command. */
export interface CommandLine {
  readonly name: string;
  readonly summary: string;
  /** Their variables are known. */
  readonly options?: Options;
}

const MISSPELT_MASTER_KEY = /did you mean [A-Z]+_MASTER_KEY\?$/;

/**
 * @param argv without the program
 * @returns the message for the person who starts it, when something is wrong
 */
export function readConfig(
  argv: readonly string[],
  env: Environment,
  commands: readonly CommandLine[] = [],
): Result<Launch, string> {
  if (argv.includes('--help') || argv.includes('-h'))
    return ok({ kind: 'help', text: helpText(commands) });
  if (argv.includes('--version') || argv.includes('-V')) {
    return ok({ kind: 'version', isVerbose: argv.includes('--verbose') });
  }
  const [first = '--'] = argv;
  if (!first.startsWith('-')) return err(unknownCommand(first, commands));
  const flags = readFlags(OPTIONS, argv, false);
  if (!flags.ok) return flags;
  const variables = readVariables(OPTIONS, env);
  const path = flags.value.values['config-file-path'] ?? variables['config-file-path'];
  const file = readFile(path === undefined ? null : String(path));
  if (!file.ok) return file;
  const sources = [file.value.values, variables, flags.value.values];
  const values: ServerValues = Object.assign({}, ...sources.map(underNewNames));
  const notices = noticesOf(Object.assign({}, ...sources), env, commands);
  const misspelt = notices.notices.find((notice) => MISSPELT_MASTER_KEY.test(notice));
  if (misspelt !== undefined && values['master-key'] === undefined) {
    return err(`${misspelt} Without a master key the server would be open to everyone.`);
  }
  const config = build(values, { configFile: file.value.path, ...notices }, env);
  return config.ok ? ok({ kind: 'run', config: config.value }) : config;
}

/**
 * Values of options that have a new name, under that; one that is given under both names is taken
 * from the new one.
 */
function underNewNames(values: ServerValues): ServerValues {
  const settled: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) {
    const { means }: Option = OPTIONS[name as ServerOption];
    if (means === undefined) settled[name] = value;
    else settled[means] = values[means as ServerOption] ?? value;
  }
  return settled as ServerValues;
}

/** What the log says at the start of where options came from. */
function noticesOf(
  given: ServerValues,
  env: Environment,
  commands: readonly CommandLine[],
): Pick<Config, 'notices' | 'takenVariables'> {
  const others = commands.flatMap(({ options }) => Object.keys(options ?? {}).map(variableName));
  const known = { options: OPTIONS, shared: VARIABLES, others: [...others, ...OWN_VARIABLES] };
  const { taken, warnings } = variableNotices(known, env);
  const options = Object.entries(given).flatMap(([name, value]) => {
    const { means, ignored: isIgnored, help }: Option = OPTIONS[name as ServerOption];
    if (value === false) return [];
    if (isIgnored === true) return [`The option ${name} has no effect. ${help}`];
    return means === undefined ? [] : [`The option ${name} is now called ${means}.`];
  });
  return { takenVariables: taken, notices: [...options, ...warnings] };
}

/** Variables that are no options, and may begin with either prefix. */
export const VARIABLES = [
  'EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS',
  'EXPERIMENTAL_PROXY_CONNECT_TIMEOUT_SECONDS',
  'EXPERIMENTAL_PROXY_REQUEST_TIMEOUT_SECONDS',
  'EXPERIMENTAL_PROXY_BACKOFF_TIMEOUT_SECONDS',
  'EXPERIMENTAL_CONFIG_EMBEDDER_FAILURE_MODES',
  'EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS',
  'EXPERIMENTAL_REST_EMBEDDER_MAX_RETRY_DURATION_SECONDS',
  'OPENAI_API_KEY',
  'OLLAMA_URL',
] as const;
type Variable = (typeof VARIABLES)[number];

/** Variables of this program alone, with those of its build, its tests and its guide. */
const OWN_VARIABLES = [
  'GANNET_MODELS_DIR',
  'GANNET_CHECKPOINT_BYTES',
  'GANNET_COMPARE_PAUSE_MS',
  'GANNET_CATCH_UP_MS',
  'GANNET_WARM_UP_SEARCHES',
  'GANNET_TUNING',
  'GANNET_ADDON',
  'GANNET_COMMIT_SHA',
  'GANNET_COMMIT_DATE',
  'GANNET_PAGE_SCRIPT',
  'GANNET_PAGE_STYLE',
  'GANNET_NODE_GYP',
  'GANNET_SEED',
  'GANNET_SHARED',
  'GANNET_PICTURES',
  'GANNET_UPDATE_GOLDEN',
  'GANNET_VERSITYGW',
];

/** The options that say where the database is. */
export const DB_PATH_OPTIONS = {
  'db-path': OPTIONS['db-path'],
  'config-file-path': OPTIONS['config-file-path'],
} as const satisfies Options;

/** The folder of the database. Throws `BadOption` when the configuration file cannot be read. */
export function dbPathOf(given: GivenOptions<typeof DB_PATH_OPTIONS>, env: Environment): string {
  const named = given.text('config-file-path') ?? variable(env, 'CONFIG_FILE_PATH');
  const file = readFile(named);
  if (!file.ok) throw new BadOption(file.error);
  const path = given.text('db-path') ?? variable(env, 'DB_PATH') ?? file.value.values['db-path'];
  return String(path ?? OPTIONS['db-path'].initial);
}

function readFile(
  named: string | null,
): Result<{ values: ServerValues; path: string | null }, string> {
  const path = named ?? './config.toml';
  if (named === null && !existsSync(path)) return ok({ values: {}, path: null });
  let table: Record<string, unknown>;
  try {
    table = parseToml(readFileSync(path, 'utf8'));
  } catch (error) {
    return err(`The configuration file ${path} cannot be read: ${(error as Error).message}`);
  }
  const values: ServerValues = {};
  for (const [key, value] of Object.entries(table)) {
    const name = key.replaceAll('_', '-');
    if (!isOptionOf(OPTIONS, name) || name === 'config-file-path' || key.includes('-')) {
      const accepted = NAMES.filter((known) => known !== 'config-file-path');
      return err(
        `In ${path}: ${unknownOption(
          key,
          accepted.map((known) => known.replaceAll('-', '_')),
        )}`,
      );
    }
    if (typeof value === 'bigint') values[name] = Number(value);
    else if (['string', 'number', 'boolean'].includes(typeof value)) {
      values[name] = value as string | number | boolean;
    } else return err(`In ${path}: the value of ${key} is neither a text, a number nor a boolean.`);
    if (OPTIONS[name].kind === 'flag' && typeof value !== 'boolean') {
      return err(`In ${path}: ${key} must be true or false.`);
    }
  }
  return ok({ values, path });
}

type Origins = Pick<Config, 'configFile' | 'notices' | 'takenVariables'>;

function build(values: ServerValues, origins: Origins, env: Environment): Result<Config, string> {
  try {
    return ok(Object.freeze(buildOrThrow(values, origins, env)));
  } catch (error) {
    if (error instanceof BadOption) return err(error.message);
    throw error;
  }
}

/** If several values are bad, the first one read is reported. */
function buildOrThrow(values: ServerValues, origins: Origins, env: Environment): Config {
  const given = new GivenOptions(values);
  const production =
    given.oneOf('env', ['development', 'production'], 'development') === 'production';
  const masterKey = given.text('master-key');
  if (production || masterKey === '') checkMasterKey(masterKey);
  const indexingMemoryBytes = indexingMemory(given);
  return {
    ...origins,
    masterKey,
    production,
    warmUpSearches: numberIn(env, 'GANNET_WARM_UP_SEARCHES'),
    indexingMemoryBytes,
    logLevel: logLevel(given.text('log-level') ?? 'info'),
    webhook: webhook(given),
    dbPath: given.text('db-path') ?? OPTIONS['db-path'].initial,
    ...address('http-addr', given.text('http-addr') ?? 'localhost:7700'),
    limits: limits(given),
    indexingThreads: indexingThreads(given.text('max-indexing-threads')),
    logMode: given.oneOf('experimental-logs-mode', ['human', 'json'], 'human'),
    metricsAddress: optionalAddress('metrics-addr', given),
    slowSearchMs: given.count('slow-search-ms', null),
    shutdownSeconds: given.count('shutdown-seconds', SHUTDOWN_SECONDS, 0, TIMER_SECONDS_MAX),
    upgradeDb: given.flag('upgrade-db'),
    ...dumps(given),
    ...snapshots(given),
    ...tls(given),
    searchQueueSize: given.count('experimental-search-queue-size', 1000),
    dropSearchAfterSeconds: given.count('experimental-drop-search-after', 60, 1),
    searchesPerCore: given.count('experimental-nb-searches-per-core', 4, 1),
    batchedTasksMax: given.count('experimental-max-number-of-batched-tasks', Infinity),
    batchedTasksBytesMax: given.size(
      'experimental-limit-batched-tasks-total-size',
      Math.min(Math.floor(indexingMemoryBytes / 2), BATCHED_BYTES_MAX),
    ),
    embeddingCacheEntries: given.count('experimental-embedding-cache-entries', 0),
    launchFeatures: {
      containsFilter: given.flag('experimental-contains-filter'),
      metrics: given.flag('experimental-enable-metrics'),
      logsRoute: given.flag('experimental-enable-logs-route'),
    },
    ...outbound(given),
    chatAllowNonStreaming: given.flag('chat-allow-non-streaming'),
    mcpAllowsWrites: given.flag('mcp-allow-writes'),
    rateLimit: rateLimit(given),
    analytics: analytics(given),
    cluster: cluster(given, env),
    transport: given.oneOf('http-transport', ['fastest', 'node'], 'fastest'),
    httpThreads: httpThreads(given),
    embedding: embeddingConfig(env),
    network: networkConfig(env),
    models: modelsConfig(env),
    tuning: tuningConfig(env),
  };
}

/** Bytes. */
function indexingMemory(given: Given): number {
  const bytes = given.size('max-indexing-memory', Math.floor((memoryBytes() * 2) / 3));
  const name = 'experimental-reduce-indexing-memory-usage';
  if (!given.flag(name)) return bytes;
  if (process.platform === 'win32') throw new BadOption(`${name} is not available on Windows.`);
  return Math.floor(bytes / 2);
}

function limits(given: Given): RequestLimits {
  return {
    payloadBytes: given.size('http-payload-size-limit', DEFAULT_LIMITS.payloadBytes),
    searchPayloadBytes: given.size('search-payload-size-limit', DEFAULT_LIMITS.searchPayloadBytes),
    responseBytes: given.size('search-answer-size-limit', DEFAULT_LIMITS.responseBytes),
    queries: given.count('multi-search-queries-limit', DEFAULT_LIMITS.queries, 1),
    tagBytes: given.size('highlight-tag-size-limit', DEFAULT_LIMITS.tagBytes),
  };
}

/** A variable in seconds, in ms. */
function seconds(env: Environment, name: Variable, initial: number): number {
  const text = variable(env, name);
  if (text === null) return initial * 1000;
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : bad(name, text, 'a number of seconds');
}

function networkConfig(env: Environment): NetworkConfig {
  return {
    searchMsMax: seconds(env, 'EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS', 25),
    connectMsMax: seconds(env, 'EXPERIMENTAL_PROXY_CONNECT_TIMEOUT_SECONDS', 3),
    requestMsMax: seconds(env, 'EXPERIMENTAL_PROXY_REQUEST_TIMEOUT_SECONDS', 30),
    retriesMsMax: seconds(env, 'EXPERIMENTAL_PROXY_BACKOFF_TIMEOUT_SECONDS', 25),
  };
}

function embeddingConfig(env: Environment): EmbeddingConfig {
  const failureModes = 'EXPERIMENTAL_CONFIG_EMBEDDER_FAILURE_MODES';
  const ignored = (variable(env, failureModes) ?? '')
    .split(',')
    .map((mode) => mode.trim())
    .filter((mode) => mode !== '');
  const known = ['ignore_document_template_failures', 'ignore_embedder_failures'];
  const unknownMode = ignored.find((mode) => !known.includes(mode));
  if (unknownMode !== undefined) bad(failureModes, unknownMode, `some of ${known.join(', ')}`);
  return {
    openAiKey: variable(env, 'OPENAI_API_KEY') ?? env.OPENAI_API_KEY ?? null,
    ollamaUrl: variable(env, 'OLLAMA_URL'),
    timeoutMs: seconds(env, 'EXPERIMENTAL_REST_EMBEDDER_TIMEOUT_SECONDS', EMBEDDER_TIMEOUT_SECONDS),
    waitMsMax: seconds(
      env,
      'EXPERIMENTAL_REST_EMBEDDER_MAX_RETRY_DURATION_SECONDS',
      EMBEDDER_WAIT_SECONDS_MAX,
    ),
    ignoreTemplateFailures: ignored.includes(known[0]!),
    ignoreEmbedderFailures: ignored.includes(known[1]!),
  };
}

/** Where models come from, and where they are kept. */
function modelsConfig(env: Environment): Config['models'] {
  const cache = env.XDG_CACHE_HOME ?? join(homeFolder(), '.cache');
  return {
    cacheDir: env.GANNET_MODELS_DIR ?? join(cache, 'gannet', 'models'),
    hubUrl: (env.HF_ENDPOINT ?? 'https://huggingface.co').replace(/\/+$/, ''),
  };
}

/** The home folder of the user; that of temporary files in a container without users and HOME. */
function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return tmpdir();
  }
}

/** Thresholds of the engine that tests move. */
function tuningConfig(env: Environment): EngineTuning {
  const text = env.GANNET_TUNING;
  if (text === undefined) return {};
  return parseTuning(text) ?? bad('GANNET_TUNING', text, 'a JSON object of known thresholds');
}

/** Throws `BadOption`. An empty key, as of a variable whose value is missing, protects nothing. */
function checkMasterKey(masterKey: string | null): void {
  if (masterKey !== null && Buffer.byteLength(masterKey) >= MASTER_KEY_BYTES_MIN) return;
  if (masterKey === '') {
    throw new BadOption(
      `The master key is empty. Set one, or remove the option and its variables. ` +
        `A random one: --master-key ${generateMasterKey()}`,
    );
  }
  throw new BadOption(
    `In production a master key of at least ${MASTER_KEY_BYTES_MIN} bytes is required` +
      `${masterKey === null ? '' : `, but it has ${Buffer.byteLength(masterKey)}`}. ` +
      `A random one: --master-key ${generateMasterKey()}`,
  );
}

/** What to tell about the master key at start in development, or null. */
export function masterKeyNotice({ masterKey }: Config): string | null {
  if (masterKey !== null && Buffer.byteLength(masterKey) >= MASTER_KEY_BYTES_MIN) return null;
  return (
    `${masterKey === null ? 'No master key is set: everyone may do everything' : `The master key is shorter than ${MASTER_KEY_BYTES_MIN} bytes`}. ` +
    `A random one: --master-key ${generateMasterKey()}`
  );
}

function rateLimit(given: Given): RateLimit | null {
  const requestsPerSecond = given.count('rate-limit', null, 1, RATE_LIMIT_MAX);
  const concurrentSearches = given.count('rate-limit-searches', null, 1, RATE_LIMIT_MAX);
  return requestsPerSecond === null && concurrentSearches === null
    ? null
    : { requestsPerSecond, concurrentSearches };
}

function analytics(given: Given): AnalyticsConfig | null {
  const retentionDays = given.count('analytics-retention-days', 0, 0, RETENTION_DAYS_MAX);
  if (retentionDays === 0) {
    const names = ['events-addr', 'analytics-size-limit'] as const;
    const idle = names.find((name) => given.text(name) !== null);
    if (idle !== undefined) throw new BadOption(`${idle} needs analytics-retention-days.`);
    return null;
  }
  const bytesMax = given.size('analytics-size-limit', ANALYTICS_BYTES);
  if (bytesMax < ANALYTICS_BYTES_MIN) bad('analytics-size-limit', bytesMax, 'at least `1 MiB`');
  return {
    retentionDays,
    bytesMax,
    eventsAddress: optionalAddress('events-addr', given),
  };
}

const CLUSTER_OPTIONS = Object.keys(OPTIONS).filter(
  (name) => name.startsWith('cluster-') || name.startsWith('node-'),
) as ServerOption[];
const CLUSTER_NAME = /^[\w.-]{1,64}$/;

function cluster(given: Given, env: Environment): ClusterConfig | null {
  const etcd = given.text('cluster-etcd');
  if (etcd === null) {
    const idle = CLUSTER_OPTIONS.find((name) => given.text(name) !== null);
    if (idle !== undefined) throw new BadOption(`${idle} needs cluster-etcd.`);
    return null;
  }
  const needed = (name: 'node-name' | 'node-url'): string =>
    given.text(name) ?? missing(name, 'cluster-etcd');
  const { options, name } = clusterLogOf(given)!;
  const hours = given.count('cluster-retention-hours', 24, 0, RETENTION_DAYS_MAX * 24);
  return {
    etcd: options,
    name,
    store:
      given.text('cluster-store') === null
        ? missing('cluster-store', 'cluster-etcd')
        : clusterStoreOf(given),
    nodeName: clusterName('node-name', needed('node-name')),
    nodeUrl: clusterUrl('node-url', needed('node-url')),
    join: given.flag('cluster-join'),
    checkpointLogBytes: numberIn(env, 'GANNET_CHECKPOINT_BYTES'),
    comparePauseMs: numberIn(env, 'GANNET_COMPARE_PAUSE_MS'),
    catchUpMs: numberIn(env, 'GANNET_CATCH_UP_MS'),
    leaseMs: given.count('cluster-lease-seconds', 5, 1, 600) * 1000,
    lagMsMax: given.count('cluster-max-lag-seconds', 30, 1, TIMER_SECONDS_MAX) * 1000,
    retentionMs: hours * 3_600_000,
  };
}

function numberIn(env: NodeJS.ProcessEnv, name: string): number | undefined {
  const text = env[name];
  if (text === undefined) return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : bad(name, text, 'a number');
}

function missing(name: ServerOption, other: ServerOption): never {
  throw new BadOption(`${other} needs ${name}.`);
}

function clusterName(option: ServerOption, name: string): string {
  return CLUSTER_NAME.test(name)
    ? name
    : bad(option, name, 'at most 64 letters, digits, `.`, `_`, `-`');
}

function clusterUrl(option: ServerOption, text: string): string {
  const isUrl = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  return isUrl ? text.replace(/\/+$/, '') : bad(option, text, 'a URL of http or https');
}

/** The options that say where the log of a cluster is, as given to any command. */
type LogOption = 'cluster-etcd' | `cluster-etcd-${'user' | 'ca' | 'cert' | 'key'}` | 'cluster-name';
type GivenLog = { text(name: LogOption): string | null };

/** Where the log of a cluster is; null: not given. Throws `BadOption`. */
export function clusterLogOf(given: GivenLog): { name: string; options: EtcdOptions } | null {
  const etcd = given.text('cluster-etcd');
  if (etcd === null) return null;
  const name = given.text('cluster-name') ?? missing('cluster-name', 'cluster-etcd');
  return {
    name: clusterName('cluster-name', name),
    options: {
      endpoints: etcd.split(',').map((text) => clusterUrl('cluster-etcd', text.trim())),
      user: etcdUser(given.text('cluster-etcd-user')),
      tls: etcdTls(given),
    },
  };
}

function etcdTls(given: GivenLog): NonNullable<EtcdOptions['tls']> {
  const read = (name: LogOption): string | null => {
    const path = given.text(name);
    if (path === null) return null;
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      throw new BadOption(`${name}: ${path} cannot be read: ${(error as Error).message}`);
    }
  };
  const [authorities, certificate, key] = [
    read('cluster-etcd-ca'),
    read('cluster-etcd-cert'),
    read('cluster-etcd-key'),
  ];
  if ((certificate === null) !== (key === null)) {
    throw new BadOption('cluster-etcd-cert and cluster-etcd-key must be given together.');
  }
  return {
    ...(authorities === null ? {} : { authorities }),
    ...(certificate === null || key === null ? {} : { identity: { certificate, key } }),
  };
}

function etcdUser(text: string | null): EtcdOptions['user'] {
  if (text === null) return undefined;
  const colon = text.indexOf(':');
  if (colon < 1) throw new BadOption('cluster-etcd-user must be `name:password`.');
  return { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** The options that say where the objects of a cluster are. */
type StoreOption =
  'cluster-store' | `cluster-store-${'endpoint' | 'region' | 'access-key' | 'secret-key'}`;

/** The bucket and the prefix of `s3://bucket/prefix`; null: the text is something else. */
export function bucketOf(text: string): { bucket: string; prefix: string } | null {
  const match = /^s3:\/\/([\w.-]+)(?:\/(.*))?$/.exec(text);
  if (match === null || hasDots(match[1]!) || hasDots(match[2] ?? '')) return null;
  const prefix = (match[2] ?? '').replace(/\/*$/, '/').replace(/^\/$/, '');
  return { bucket: match[1]!, prefix };
}

/** Where the objects of a cluster are. Throws `BadOption`. */
export function clusterStoreOf(given: {
  text(name: StoreOption): string | null;
}): ClusterConfig['store'] {
  const text = given.text('cluster-store');
  if (text === null)
    throw new BadOption('--cluster-store is required: where the cluster shares files.');
  const bucket = bucketOf(text);
  if (bucket === null) {
    if (text.includes('://')) bad('cluster-store', text, 'a folder, or `s3://bucket/prefix`');
    return { kind: 'folder', dir: text };
  }
  const [endpoint, accessKeyId, secretAccessKey] = (
    ['cluster-store-endpoint', 'cluster-store-access-key', 'cluster-store-secret-key'] as const
  ).map((name) => given.text(name) ?? bad(name, '', 'set for a store of S3')) as [
    string,
    string,
    string,
  ];
  const region = given.text('cluster-store-region') ?? 'us-east-1';
  return { kind: 's3', endpoint, ...bucket, region, accessKeyId, secretAccessKey };
}

function address(name: OptionName<typeof OPTIONS>, text: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  const port = match === null ? NaN : Number(match[3]);
  if (match === null || port > 65_535) bad(name, text, '`host:port`');
  const host = match![1] ?? match![2]!;
  // A name may resolve to the IPv6 address alone, which clients of 127.0.0.1 would not find.
  return { host: host === 'localhost' ? '127.0.0.1' : host === '' ? '0.0.0.0' : host, port };
}

function optionalAddress(
  name: 'events-addr' | 'metrics-addr',
  given: Given,
): { host: string; port: number } | null {
  const text = given.text(name);
  return text === null ? null : address(name, text);
}

function indexingThreads(text: string | null): number {
  if (text === null || text === '' || text.toLowerCase() === 'unlimited') {
    return Math.max(1, Math.floor(availableParallelism() / 2));
  }
  return /^[1-9]\d*$/.test(text) ? Number(text) : bad('max-indexing-threads', text, 'a number');
}

/** While searches are recorded, all threads send their requests on to the main thread. */
function httpThreads(given: Given): number {
  const isRecording = analytics(given) !== null;
  const initial = isRecording ? 1 : httpThreadsOf(availableParallelism(), memoryBytes());
  return given.count('http-threads', initial, 1, HTTP_THREADS_MAX);
}

/**
 * The default of `http-threads`. A loop keeps some search threads busy, and takes up to 60 MB: a
 * container may have all cores of a large machine, and little memory.
 */
export function httpThreadsOf(cores: number, memory: number): number {
  const threads = Math.min(Math.floor(cores / 4), Math.floor(memory / GIB), HTTP_THREADS_MAX);
  return Math.max(1, threads);
}

function logLevel(text: string): LogLevel {
  const level = text.toLowerCase();
  return isLogLevel(level)
    ? level
    : bad('log-level', level, 'OFF, ERROR, WARN, INFO, DEBUG or TRACE');
}

function webhook(given: Given): Config['webhook'] {
  const url = given.text('task-webhook-url');
  if (url === null) return null;
  if (!URL.canParse(url)) bad('task-webhook-url', maskedUrl(url), 'a URL');
  const option = 'task-webhook-authorization-header';
  const authorization = given.text(option);
  if (authorization !== null && headersFault({ authorization }) !== null) {
    bad(option, masked(authorization), 'the value of a header');
  }
  return { url, authorization };
}

function dumps(
  given: Given,
): Pick<
  Config,
  | 'dumpDir'
  | 'importDump'
  | 'ignoreMissingDump'
  | 'ignoreDumpIfDbExists'
  | 'scheduleDumpSeconds'
  | 'keptDumps'
> {
  requireImport(given, 'import-dump', 'ignore-missing-dump', 'ignore-dump-if-db-exists');
  if (given.text('import-dump') !== null && given.text('import-snapshot') !== null) {
    throw new BadOption('import-dump and import-snapshot cannot be given together.');
  }
  return {
    dumpDir: given.text('dump-dir') ?? DEFAULT_PLACES.dumps,
    scheduleDumpSeconds: given.optionalCount(
      'schedule-dump',
      SNAPSHOT_SECONDS,
      1,
      TIMER_SECONDS_MAX,
    ),
    keptDumps: given.count('keep-dumps', null, 1, KEPT_MAX),
    importDump: given.text('import-dump'),
    ignoreMissingDump: given.flag('ignore-missing-dump'),
    ignoreDumpIfDbExists: given.flag('ignore-dump-if-db-exists'),
  };
}

/** Flags that say nothing without the import that they are about. */
function requireImport(
  given: Given,
  name: OptionName<typeof OPTIONS>,
  ...flags: OptionName<typeof OPTIONS>[]
): void {
  const flag = flags.find((one) => given.flag(one));
  if (flag !== undefined && given.text(name) === null) {
    throw new BadOption(`${flag} needs ${name}.`);
  }
}

function snapshots(
  given: Given,
): Pick<
  Config,
  | 'snapshotDir'
  | 'importSnapshot'
  | 'ignoreMissingSnapshot'
  | 'ignoreSnapshotIfDbExists'
  | 'scheduleSnapshotSeconds'
  | 'keptSnapshots'
  | 's3'
> {
  const flags = ['ignore-missing-snapshot', 'ignore-snapshot-if-db-exists'] as const;
  requireImport(given, 'import-snapshot', ...flags);
  return {
    snapshotDir: given.text('snapshot-dir') ?? DEFAULT_PLACES.snapshots,
    keptSnapshots: given.count('keep-snapshots', 1, 1, KEPT_MAX),
    s3: backupService(given),
    importSnapshot: given.text('import-snapshot'),
    ignoreMissingSnapshot: given.flag('ignore-missing-snapshot'),
    ignoreSnapshotIfDbExists: given.flag('ignore-snapshot-if-db-exists'),
    scheduleSnapshotSeconds: given.optionalCount(
      'schedule-snapshot',
      SNAPSHOT_SECONDS,
      1,
      TIMER_SECONDS_MAX,
    ),
  };
}

/** The options that may name a bucket. */
const BACKUP_PLACES = ['dump-dir', 'import-dump', 'snapshot-dir', 'import-snapshot'] as const;

function backupService(given: Given): BackupService {
  const option = BACKUP_PLACES.find((name) => given.text(name)?.includes('://') === true);
  const named = (name: 's3-bucket-url' | 's3-access-key' | 's3-secret-key'): string =>
    given.text(name) ?? (option === undefined ? '' : missing(name, option));
  const service = {
    endpoint: named('s3-bucket-url'),
    region: given.text('s3-bucket-region') ?? 'us-east-1',
    accessKeyId: named('s3-access-key'),
    secretAccessKey: named('s3-secret-key'),
  };
  if (option === undefined) return service;
  for (const name of BACKUP_PLACES) {
    const text = given.text(name);
    if (text?.includes('://') === true && bucketOf(text) === null) {
      bad(name, text, 'a path, or `s3://bucket/prefix`');
    }
  }
  return { ...service, endpoint: clusterUrl('s3-bucket-url', service.endpoint) };
}

function outbound(given: Given): Pick<Config, 'outboundDenyPrivate' | 'outboundAllow'> {
  const outboundAllow: string[] = [];
  for (const name of ['outbound-allow', 'experimental-allowed-ip-networks'] as const) {
    for (const item of (given.text(name) ?? '').split(',')) {
      const network = item.trim();
      if (network === '') continue;
      if (network !== 'any' && !parseNetwork(network).ok) {
        bad(name, network, 'networks such as `10.0.0.0/8`, separated by commas, or `any`');
      }
      outboundAllow.push(network);
    }
  }
  return { outboundDenyPrivate: given.flag('outbound-deny-private'), outboundAllow };
}

function tls(given: Given): Pick<Config, 'tls' | 'tlsRequireAuth'> {
  const certificate = given.text('ssl-cert-path');
  const key = given.text('ssl-key-path');
  const authority = given.text('ssl-auth-path');
  const tlsRequireAuth = given.flag('ssl-require-auth');
  if ((certificate === null) !== (key === null)) {
    throw new BadOption('ssl-cert-path and ssl-key-path must be given together.');
  }
  if (tlsRequireAuth && (authority === null || certificate === null)) {
    throw new BadOption('ssl-require-auth needs ssl-auth-path, ssl-cert-path and ssl-key-path.');
  }
  const ocsp = given.text('ssl-ocsp-path');
  const resumption = given.flag('ssl-resumption');
  const tickets = given.flag('ssl-tickets');
  if (certificate === null || key === null) {
    const useless = {
      'ssl-auth-path': authority !== null,
      'ssl-ocsp-path': ocsp !== null,
      'ssl-resumption': resumption,
      'ssl-tickets': tickets,
    };
    for (const [name, isGiven] of Object.entries(useless)) {
      if (isGiven) throw new BadOption(`${name} needs ssl-cert-path and ssl-key-path.`);
    }
    return { tls: null, tlsRequireAuth };
  }
  return { tls: { certificate, key, authority, ocsp, resumption, tickets }, tlsRequireAuth };
}

/** Memory of the machine or of the container, whichever is less. */
function memoryBytes(): number {
  const limit = process.constrainedMemory();
  const total = totalmem();
  return limit > 0 && limit < total ? limit : total;
}

function unknownCommand(name: string, commands: readonly CommandLine[]): string {
  const near = suggest(
    name,
    commands.map((known) => known.name),
  );
  return `Unexpected argument \`${name}\`${near === undefined ? '' : `, did you mean ${near}`}? See --help.`;
}

/** @param commands name and summary of each */
function helpText(commands: readonly CommandLine[]): string {
  const rows = commands.map(({ name, summary }) => `  ${name.padEnd(12)}${summary}\n`);
  const all = Object.entries(OPTIONS as Options);
  const common = Object.fromEntries(all.filter(([, option]) => option.common === true));
  const others = Object.fromEntries(all.filter(([, option]) => option.common !== true));
  return [
    'Usage: gannet [OPTIONS]            run the server',
    '       gannet COMMAND [OPTIONS]    run a command; see gannet COMMAND --help',
    '\nThe options that most servers need. Each option is also an environment variable and a key of',
    `the configuration file:\n${optionsHelp(common)}`,
    `Commands:\n${rows.join('')}`,
    `All other options:\n${optionsHelp(others)}  --help\n      Show this text.`,
    '  --version\n      Show the version; with --verbose those of the libraries too.\n',
  ].join('\n');
}
