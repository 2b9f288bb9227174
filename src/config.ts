/**
 * Launch options: flags, environment variables, a TOML file, defaults, in this order of priority.
 * Each part of the server declares its own; the outcome is one frozen object, and nothing else
 * reads flags or the environment.
 */
import { existsSync, readFileSync } from 'node:fs';
import { parse as parseToml } from 'smol-toml';
import {
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
  refuseUseless,
  unknownOption,
  variableName,
  type Values,
} from './base/options.ts';
import { err, ok, type Result } from './base/result.ts';
import { suggest } from './base/suggest.ts';
import { readVariables, variable, variableNotices } from './base/variables.ts';
import * as access from './parts/access.ts';
import * as analytics from './parts/analytics.ts';
import * as audit from './parts/audit.ts';
import * as backups from './parts/backups.ts';
import * as cluster from './parts/cluster.ts';
import * as data from './parts/data.ts';
import * as embedding from './parts/embedding.ts';
import * as engine from './parts/engine.ts';
import * as http from './parts/http.ts';
import * as outbound from './parts/outbound.ts';
import * as service from './parts/service.ts';
import * as search from './parts/search.ts';
import * as tasks from './parts/tasks.ts';
import * as tracing from './parts/tracing.ts';

/** Where the options came from. */
interface Origins extends service.Origins {
  /** The configuration file that was read, or null. */
  configFile: string | null;
}

export type Config = Origins &
  access.AccessConfig &
  analytics.AnalyticsConfig &
  audit.AuditConfig &
  backups.BackupsConfig &
  cluster.ClusterConfig &
  data.DataConfig &
  embedding.EmbeddingConfig &
  engine.EngineConfig &
  http.HttpConfig &
  outbound.OutboundConfig &
  service.ServiceConfig &
  search.SearchConfig &
  tasks.TasksConfig &
  tracing.TracingConfig;

/** Options of the reference that have no counterpart, with the reason that is logged. */
function ignored<K extends OptionKind, N extends string>(
  kind: K,
  help: string,
  names: readonly N[],
): Record<N, { kind: K; help: string; ignored: true }> {
  const option = { kind, help, ignored: true } as const;
  return Object.fromEntries(names.map((name) => [name, option])) as Record<N, typeof option>;
}

/** What can be set when the server starts, in the order of --help. */
export const OPTIONS = {
  ...data.OPTIONS,
  ...http.OPTIONS,
  ...access.OPTIONS,
  'config-file-path': {
    kind: 'text',
    common: true,
    initial: './config.toml',
    help: 'Configuration file (TOML).',
  },
  ...engine.OPTIONS,
  ...tasks.OPTIONS,
  ...search.OPTIONS,
  ...embedding.OPTIONS,
  ...analytics.OPTIONS,
  ...audit.OPTIONS,
  ...tracing.OPTIONS,
  ...backups.OPTIONS,
  ...outbound.OPTIONS,
  ...cluster.OPTIONS,
  ...service.OPTIONS,
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
): service.Origins {
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
export const VARIABLES = [...outbound.VARIABLES, ...embedding.VARIABLES];

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
  const given = new GivenOptions(OPTIONS, values);
  refuseUseless(OPTIONS, given);
  const ofEngine = engine.configure(given, env);
  const ofAnalytics = analytics.configure(given);
  return {
    ...origins,
    ...access.configure(given),
    ...ofEngine,
    ...service.configure(given),
    ...data.configure(given),
    ...http.configure(given, ofAnalytics, env),
    ...tasks.configure(given, ofEngine),
    ...backups.configure(given),
    ...search.configure(given),
    ...outbound.configure(given, env),
    ...embedding.configure(given, env),
    ...ofAnalytics,
    ...audit.configure(given),
    ...tracing.configure(given),
    ...cluster.configure(given, env),
  };
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
