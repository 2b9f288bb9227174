/** Dumps and snapshots: where they are kept, when they are made, and how one is fetched. */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BackupBucket, BackupFolder, type BackupStore } from './archive/backup-store.ts';
import { checkFolder, FolderError, makeFolder } from './base/make-folder.ts';
import type { Logger } from './base/logger.ts';
import { OpenUploads } from './cluster/blobs/open-uploads.ts';
import { S3Blobs } from './cluster/blobs/s3-blobs.ts';
import { bucketOf, type Config, DEFAULT_PLACES } from './config.ts';
import { OutboundClient } from './outbound/outbound-client.ts';
import { backupStage, DataFolderError, uploadNotes } from './store/data-folder.ts';
import type { TaskFilter } from './contract/tasks.ts';
import type { TaskQueue } from './tasks/queue.ts';

/** The folders that this server writes to, by what they are for. */
export function ownFolders({ dbPath, dumpDir, snapshotDir }: Config): Record<string, string> {
  const all = { db: dbPath, dumps: dumpDir, snapshots: snapshotDir };
  return Object.fromEntries(Object.entries(all).filter(([, path]) => bucketOf(path) === null));
}

/** The folder or the bucket that an option names. */
export function backupsAt(location: string, { s3, dbPath }: Config): BackupStore {
  const bucket = bucketOf(location);
  if (bucket === null) return new BackupFolder(location);
  // The address comes from the person who starts the server.
  const client = new OutboundClient({ denyPrivate: false, allow: [] });
  const uploads = new OpenUploads(uploadNotes(dbPath));
  return new BackupBucket(backupStage(dbPath), new S3Blobs({ ...s3, ...bucket }, client, uploads));
}

/** Removes what a kill of this server has left in buckets, while the start goes on. */
export function sweepBackups(config: Config, log: Logger): void {
  for (const location of new Set([config.dumpDir, config.snapshotDir])) {
    backupsAt(location, config)
      .sweep()
      .catch((error: unknown) => {
        log.warn({ err: error }, `an unfinished upload to ${location} could not be aborted`);
      });
  }
}

/**
 * Throws `DataFolderError` if an option names a folder that takes no archives. A default is not
 * checked: nobody may ever make a backup.
 */
export function refuseUnusableFolders(config: Config): void {
  for (const [option, location, initial] of [
    ['dump-dir', config.dumpDir, DEFAULT_PLACES.dumps],
    ['snapshot-dir', config.snapshotDir, DEFAULT_PLACES.snapshots],
  ] as const) {
    if (location === initial || bucketOf(location) !== null) continue;
    try {
      checkFolder(location);
    } catch (error) {
      if (!(error instanceof FolderError)) throw error;
      throw new DataFolderError(`--${option}: the folder cannot be used: ${error.message}.`);
    }
  }
}

/** A file of an archive that is to be imported. */
export interface LocalArchive {
  file: string;
  /** Removes the file if it is a copy. */
  release(): Promise<void>;
}

/** Fetches an archive from a bucket; null: there is none. A path is the file itself. */
export async function localArchive(location: string, config: Config): Promise<LocalArchive | null> {
  if (bucketOf(location) === null) return { file: location, release: () => Promise.resolve() };
  const name = basename(location);
  const pieces = await backupsAt(location.slice(0, -name.length), config).read(name);
  if (pieces === null) return null;
  const parent = dirname(resolve(config.dbPath));
  makeFolder(parent);
  // On the file system of the database, which needs the space anyway.
  const folder = await mkdtemp(join(parent, '.gannet-import-'));
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const file = join(folder, name);
    await pipeline(pieces, createWriteStream(file, { mode: 0o600 }));
    return { file, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * Registers a dump and a snapshot at every interval of theirs, unless one of its kind has not ended
 * yet. Returns a function that stops this.
 * @param leads whether this server is the one of its cluster that makes them
 */
export function scheduleBackups(
  {
    scheduleSnapshotSeconds,
    scheduleDumpSeconds,
  }: Pick<Config, 'scheduleSnapshotSeconds' | 'scheduleDumpSeconds'>,
  queue: Pick<TaskQueue, 'register' | 'countMatching'>,
  log: Pick<Logger, 'error'>,
  leads: () => boolean,
): () => void {
  const schedules = [
    ['snapshotCreation', scheduleSnapshotSeconds],
    ['dumpCreation', scheduleDumpSeconds],
  ] as const;
  const timers = schedules.map(([type, seconds]) => {
    if (seconds === null) return undefined;
    let isRegistering = false;
    const make = async (): Promise<void> => {
      const unfinished: TaskFilter = { types: [type], statuses: ['enqueued', 'processing'] };
      if (isRegistering || !leads()) return;
      isRegistering = true;
      try {
        if ((await queue.countMatching(unfinished, null)) === 0) await queue.register({ type });
      } catch (error) {
        log.error({ err: error }, `the scheduled ${type} could not be registered`);
      } finally {
        isRegistering = false;
      }
    };
    return setInterval(() => void make(), seconds * 1000);
  });
  return () => timers.forEach((timer) => clearInterval(timer));
}
