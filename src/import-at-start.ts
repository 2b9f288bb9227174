/** `--import-dump` and `--import-snapshot`: what becomes of them before the database is opened. */
import { existsSync } from 'node:fs';
import { bucketOf, type Config } from './config.ts';
import { DataFolderError, hasDatabase } from './store/data-folder.ts';

export interface Source {
  kind: 'dump' | 'snapshot';
  file: string;
}

/**
 * What is to be imported; null: nothing, and the start goes on. Throws `DataFolderError` when there
 * is a database already, or no such file, and that is not to be ignored.
 */
export function sourceOf(config: Config): Source | null {
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
export function refuseMissing({ kind, file }: Source, config: Config): void {
  const isIgnored = kind === 'dump' ? config.ignoreMissingDump : config.ignoreMissingSnapshot;
  if (isIgnored) return;
  throw new DataFolderError(
    `There is no ${kind} ${file}. Start with --ignore-missing-${kind} to begin without it.`,
  );
}
