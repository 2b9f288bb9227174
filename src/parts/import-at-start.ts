/** `--import-dump` and `--import-snapshot`: what becomes of them before the database is opened. */
import { existsSync } from 'node:fs';
import type { Logger } from '../base/logger.ts';
import type { ServiceManager } from '../base/service-manager.ts';
import { importDump } from '../dump/import-dump.ts';
import type { NativeAddon } from '../engine/native.ts';
import { importSnapshot } from '../snapshot/import-snapshot.ts';
import { DataFolderError, hasDatabase } from '../store/data-folder.ts';
import { STORE_BYTES_MAX } from '../tasks/task-system.ts';
import { type BackupsConfig, localArchive } from './backups.ts';
import type { DataConfig } from './data.ts';
import { bucketOf } from './values.ts';

/** How long a start may take without a report to the service manager, and how often it reports. */
const START_ALIVE_MS = 120_000;
const START_REPORT_MS = 30_000;

type Config = BackupsConfig & DataConfig;

export interface ImportParts {
  native: NativeAddon;
  version: string;
  log: Logger;
  manager: ServiceManager;
  /** The faults of a data folder. */
  verify: (dir: string) => Promise<string[]>;
}

/** Makes the database from a dump or a snapshot, if one is to be imported. Throws on failure. */
export async function importAtStart(
  config: Config,
  { native, version, log, manager, verify }: ImportParts,
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
      await importSnapshot({ ...options, verify });
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

interface Source {
  kind: 'dump' | 'snapshot';
  file: string;
}

/**
 * What is to be imported; null: nothing, and the start goes on. Throws `DataFolderError` when there
 * is a database already, or no such file, and that is not to be ignored.
 */
function sourceOf(config: Config): Source | null {
  const { dbPath } = config;
  const dump = config.importDump !== null;
  const kind = dump ? 'dump' : 'snapshot';
  const file = config.importDump ?? config.importSnapshot;
  if (file === null) return null;
  const ignoresDatabase = dump ? config.ignoreDumpIfDbExists : config.ignoreSnapshotIfDbExists;
  if (hasDatabase(dbPath)) {
    if (ignoresDatabase) return null;
    throw new DataFolderError(
      `${dbPath} already has a database, so the ${kind} ${file} is not imported. Choose another --db-path, ` +
        `or start with --ignore-${kind}-if-db-exists to keep that database.`,
    );
  }
  if (bucketOf(file) === null && !existsSync(file)) {
    refuseMissing({ kind, file }, config);
    return null;
  }
  return { kind, file };
}

/** Throws `DataFolderError` unless a missing archive is to be ignored. */
function refuseMissing({ kind, file }: Source, config: Config): void {
  const isIgnored = kind === 'dump' ? config.ignoreMissingDump : config.ignoreMissingSnapshot;
  if (isIgnored) return;
  throw new DataFolderError(
    `There is no ${kind} ${file}. Start with --ignore-missing-${kind} to begin without it.`,
  );
}
