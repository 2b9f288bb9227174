/** Dumps and snapshots: where they are kept, when they are made, and how one is fetched. */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BackupBucket, BackupFolder, type BackupStore } from '../archive/backup-store.ts';
import { checkFolder, FolderError, makeFolder } from '../base/make-folder.ts';
import type { Logger } from '../base/logger.ts';
import { bad, BadOption, type GivenOptions, type Options } from '../base/options.ts';
import { OpenUploads } from '../cluster/blobs/open-uploads.ts';
import { S3Blobs, type S3Options } from '../cluster/blobs/s3-blobs.ts';
import type { TaskFilter } from '../contract/tasks.ts';
import { OutboundClient } from '../outbound/outbound-client.ts';
import { backupStage, DataFolderError, uploadNotes } from '../store/data-folder.ts';
import type { TaskQueue } from '../tasks/queue.ts';
import type { DataConfig } from './data.ts';
import { bucketOf, missing, serviceUrl, TIMER_SECONDS_MAX } from './values.ts';

/** Most dumps or snapshots that an option may keep. */
const KEPT_MAX = 10_000;
const DAY_SECONDS = 86_400;

export const OPTIONS = {
  'dump-dir': {
    kind: 'text',
    initial: 'dumps/',
    help: 'Folder for dumps, or `s3://bucket/prefix`.',
  },
  'schedule-dump': {
    kind: 'optionalCount',
    ours: true,
    bare: DAY_SECONDS,
    min: 1,
    max: TIMER_SECONDS_MAX,
    help: 'Seconds between dumps.',
  },
  'keep-dumps': {
    kind: 'count',
    ours: true,
    shown: 'all',
    min: 1,
    max: KEPT_MAX,
    help: 'How many dumps are kept.',
  },
  'import-dump': { kind: 'text', help: 'Dump to load at start.' },
  'ignore-missing-dump': {
    kind: 'flag',
    needs: ['import-dump'],
    help: 'Start even if the dump to import is missing.',
  },
  'ignore-dump-if-db-exists': {
    kind: 'flag',
    needs: ['import-dump'],
    help: 'Start without importing if a database exists.',
  },
  'snapshot-dir': {
    kind: 'text',
    initial: 'snapshots/',
    help: 'Folder for snapshots, or `s3://bucket/prefix`.',
  },
  'schedule-snapshot': {
    kind: 'optionalCount',
    bare: DAY_SECONDS,
    min: 1,
    max: TIMER_SECONDS_MAX,
    help: 'Seconds between snapshots.',
  },
  'keep-snapshots': {
    kind: 'count',
    ours: true,
    initial: '1',
    min: 1,
    max: KEPT_MAX,
    help: 'How many snapshots are kept.',
  },
  'import-snapshot': { kind: 'text', help: 'Snapshot to load at start.' },
  'ignore-missing-snapshot': {
    kind: 'flag',
    needs: ['import-snapshot'],
    help: 'Start even if the snapshot to import is missing.',
  },
  'ignore-snapshot-if-db-exists': {
    kind: 'flag',
    needs: ['import-snapshot'],
    help: 'Start without importing if a database exists.',
  },
  's3-bucket-url': { kind: 'text', help: 'URL of the S3 service for dumps and snapshots.' },
  's3-bucket-region': {
    kind: 'text',
    initial: 'us-east-1',
    help: 'Region of the S3 service for dumps and snapshots.',
  },
  's3-access-key': { kind: 'text', help: 'Access key for dumps and snapshots.' },
  's3-secret-key': { kind: 'text', help: 'Secret key for dumps and snapshots.' },
  'dumps-dir': { kind: 'text', help: '', means: 'dump-dir' },
  'snapshot-interval-sec': { kind: 'optionalCount', help: '', means: 'schedule-snapshot' },
} as const satisfies Options;

export type BackupsConfig = ReturnType<typeof configure>;
type Config = BackupsConfig & DataConfig;

export function configure(given: GivenOptions<typeof OPTIONS>) {
  const { values } = given;
  if (values['import-dump'] !== null && values['import-snapshot'] !== null) {
    throw new BadOption('import-dump and import-snapshot cannot be given together.');
  }
  return {
    dumpDir: values['dump-dir'],
    /** Seconds between dumps; null: none. */
    scheduleDumpSeconds: values['schedule-dump'],
    /** How many remain; null: all. */
    keptDumps: values['keep-dumps'],
    importDump: values['import-dump'],
    ignoreMissingDump: values['ignore-missing-dump'],
    ignoreDumpIfDbExists: values['ignore-dump-if-db-exists'],
    snapshotDir: values['snapshot-dir'],
    scheduleSnapshotSeconds: values['schedule-snapshot'],
    keptSnapshots: values['keep-snapshots'],
    importSnapshot: values['import-snapshot'],
    ignoreMissingSnapshot: values['ignore-missing-snapshot'],
    ignoreSnapshotIfDbExists: values['ignore-snapshot-if-db-exists'],
    s3: serviceOf(given),
  };
}

/** The options that may name a bucket. */
const PLACES = ['dump-dir', 'import-dump', 'snapshot-dir', 'import-snapshot'] as const;

/** The S3 service of backups. */
function serviceOf(given: GivenOptions<typeof OPTIONS>): Omit<S3Options, 'bucket' | 'prefix'> {
  const { values } = given;
  const option = PLACES.find((name) => given.text(name)?.includes('://') === true);
  const named = (name: 's3-bucket-url' | 's3-access-key' | 's3-secret-key'): string =>
    values[name] ?? (option === undefined ? '' : missing(name, option));
  const service = {
    endpoint: named('s3-bucket-url'),
    region: values['s3-bucket-region'],
    accessKeyId: named('s3-access-key'),
    secretAccessKey: named('s3-secret-key'),
  };
  if (option === undefined) return service;
  for (const name of PLACES) {
    const text = given.text(name);
    if (text?.includes('://') === true && bucketOf(text) === null) {
      bad(name, text, 'a path, or `s3://bucket/prefix`');
    }
  }
  return { ...service, endpoint: serviceUrl(service.endpoint, 's3-bucket-url') };
}

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
  for (const [option, location] of [
    ['dump-dir', config.dumpDir],
    ['snapshot-dir', config.snapshotDir],
  ] as const) {
    if (location === OPTIONS[option].initial || bucketOf(location) !== null) continue;
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
  }: Pick<BackupsConfig, 'scheduleSnapshotSeconds' | 'scheduleDumpSeconds'>,
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
