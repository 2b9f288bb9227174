#!/usr/bin/env node
/** Opens the parts of the server in order, each with its options, and closes them in reverse. */
import { createRequire } from 'node:module';
import { createDefaultKeys } from './auth/keys.ts';
import { systemClock } from './base/clock.ts';
import type { Logger } from './base/logger.ts';
import { OPEN_FILES_MIN, openFilesMax } from './base/machine.ts';
import { err, ok, type Result } from './base/result.ts';
import { clusterCommand, restoreCommand } from './cluster-commands.ts';
import { type Command, command, INTERRUPTED, runCommand } from './commands/command.ts';
import { COMMANDS } from './commands/commands.ts';
import { completionCommand } from './commands/completion.ts';
import { doctorCommand, type ServerPlan } from './commands/doctor/doctor.ts';
import { type Config, dbPathOf, DB_PATH_OPTIONS, OPTIONS, readConfig } from './config.ts';
import { isDamage } from './engine/errors.ts';
import type { NativeAddon } from './engine/native.ts';
import type { VersionInfo } from './http/dependencies.ts';
import { checkParts } from './http/routes/system.ts';
import type { HttpOptions, HttpServer, OtherAddress } from './http/server.ts';
import { socketLibraryVersion } from './http/socket-library.ts';
import { masterKeyNotice } from './parts/access.ts';
import * as analyticsPart from './parts/analytics.ts';
import * as auditPart from './parts/audit.ts';
import { ownFolders, refuseUnusableFolders, sweepBackups } from './parts/backups.ts';
import * as clusterPart from './parts/cluster.ts';
import * as dataPart from './parts/data.ts';
import * as embeddingPart from './parts/embedding.ts';
import * as enginePart from './parts/engine.ts';
import * as httpPart from './parts/http.ts';
import { importAtStart } from './parts/import-at-start.ts';
import * as outboundPart from './parts/outbound.ts';
import { OpenParts } from './parts/part.ts';
import * as servicePart from './parts/service.ts';
import * as tasksPart from './parts/tasks.ts';
import * as tracingPart from './parts/tracing.ts';
import { markDamaged } from './replica/install.ts';
import { faultsOf, VERIFY_PARTS, verifyFolder, verifyParts } from './verify.ts';

/**
 * How long the event loop may take to end the process after the time for a stop, before a thread
 * ends it.
 */
const WATCH_MS = 100;

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
    ...Object.entries(httpPart.otherAddresses(config)).map(([name, { host }]) => {
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

/** Opens the parts that requests and tasks use. */
async function openParts(config: Config, parts: OpenParts, library: HttpOptions['library']) {
  const version = versionInfo();
  const { serverVersion } = version;
  const { logs, manager } = parts.add(servicePart.open(config));
  const { audit } = parts.add(await auditPart.open(config, logs.of('audit')));
  const engine = enginePart.open(config);
  const { native } = engine;
  refuseUnusableFolders(config);
  const verify = (dir: string) => faultsOf(dir, serverVersion);
  const importing = { native, version: serverVersion, manager, verify, log: logs.of('import') };
  await importAtStart(config, importing);
  const { folder } = parts.add(await dataPart.open(config, { version: serverVersion }));
  const outside = await clusterPart.connect(config, folder, logs.of('cluster'));
  const clients = outboundPart.open(config);
  const embedding = parts.add(embeddingPart.open(config, clients));
  const whose = { version: serverVersion, instance: folder.instanceUid };
  const { tracer } = parts.add(tracingPart.open(config, { ...whose, logger: logs.of('tracing') }));
  const common = { logs, native, folder, tracer, ...clients, ...embedding };
  const tasks = parts.add(tasksPart.open(config, { ...common, version: serverVersion }));
  sweepBackups(config, logs.of('backups'));
  const { system, stores, notifier, background } = tasks;
  const { keys } = stores;
  const work = { folder, native, system, notifier, keys, background };
  const { cluster } = parts.add(await clusterPart.open(config, { outside, ...work }));
  const recording = { folder, cluster, logger: logs.of('analytics') };
  const { analytics } = parts.add(await analyticsPart.open(config, recording));
  if (cluster === null) await createDefaultKeys(keys, systemClock);
  dataPart.markUpgraded(folder, logs.of('store'));
  return {
    ...common,
    ...engine,
    audit,
    manager,
    library,
    version,
    tasks,
    cluster,
    analytics,
  };
}

async function openMarkingDamage(
  ...[config, ...others]: Parameters<typeof openParts>
): ReturnType<typeof openParts> {
  try {
    return await openParts(config, ...others);
  } catch (error) {
    if (config.cluster !== null && isDamage(error)) markDamaged(config.dbPath);
    throw error;
  }
}

/** Starts the parts. A failure ends the process, so nothing is closed then. */
async function run(config: Config): Promise<void> {
  refuseFewFiles();
  const parts = new OpenParts();
  const opened = await openMarkingDamage(config, parts, httpPart.socketLibrary(config));
  const { logs, manager, native, folder, tasks, cluster } = opened;
  const [startLog, log] = [logs.of('start'), logs.of('scheduler')];
  const { http, phase, dependencies } = parts.add(await httpPart.open(config, opened));
  if (cluster === null) await tasksPart.run(tasks, log);
  else await clusterPart.catchUp(cluster, folder, config, startLog);
  phase.current = 'ready';
  parts.add(tasksPart.work(config, tasks, { cluster, log }));
  banner(config, opened.version, folder.instanceUid, http);
  manager.ready(`serving at ${config.host}:${http.port}`, () => {
    checkParts(dependencies.services);
    return true;
  });
  // In a cluster, the index for warming up would belong to all nodes.
  if (cluster === null && config.warmUpSearches !== 0) {
    const { registry } = tasks.system;
    parts.add(httpPart.warmUpLater(config, http, registry, folder, logs.of('http')));
  }
  const stopping = { native, timeoutMs: config.shutdownSeconds * 1000, log: startLog };
  stopOnSignals(stopping, (timeoutMs) => parts.close(timeoutMs));
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
  doctorCommand(DB_PATH_OPTIONS, planOf),
  completionCommand(() => ALL_COMMANDS, OPTIONS),
];

/** What a server would be started with. */
function planOf(flags: readonly string[]): Result<ServerPlan, string> {
  const launch = readConfig(flags, process.env, ALL_COMMANDS);
  if (!launch.ok) return launch;
  if (launch.value.kind !== 'run') return err('These are no options of a server.');
  const { config } = launch.value;
  const { host, port, notices, masterKey } = config;
  const folders = ownFolders(config);
  return ok({ host, port, folders, hasMasterKey: masterKey !== null, notices });
}

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
