/**
 * Writes a copy of the database to one file. First the database is copied to a folder next to it:
 * the task list and the index records by LMDB's copy function, payloads and segments as hard links,
 * since these files never change. No batch runs meanwhile. Then the copy is packed, while batches
 * of documents continue.
 */
import { linkSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { ArchiveWriter } from '../archive/archive-writer.ts';
import { type BackupStore, removeOldest } from '../archive/backup-store.ts';
import { systemClock } from '../base/clock.ts';
import { pauser } from '../base/pauser.ts';
import { syncPath } from '../base/sync-folder.ts';
import { snapshotStage, type DataFolder } from '../store/data-folder.ts';
import { Store, STORE_FILE } from '../store/store.ts';
import { TaskStore } from '../store/task-store.ts';
import { type RunContext, type RunResult, succeeded } from '../tasks/run/run.ts';

/** Low, because most of the data is already compressed. */
const COMPRESSION = 1;

export interface SnapshotOptions {
  backups: BackupStore;
  /** How many snapshots remain, the newest one included. */
  kept: number;
  folder: DataFolder;
  store: Store;
  storeBytesMax: number;
}

/** Files at the top level of a database. */
const FILES = ['VERSION', 'instance-uid'];

/** The name of the newest snapshot of a database. */
function snapshotName(dbPath: string): string {
  return `${basename(resolve(dbPath))}.snapshot`;
}

/**
 * Creates the function that runs the `snapshotCreation` tasks of a batch with a single snapshot.
 */
export function snapshotRunner(
  options: SnapshotOptions,
): (context: RunContext) => Promise<RunResult> {
  return (context) => writeSnapshot(options, context);
}

async function writeSnapshot(options: SnapshotOptions, context: RunContext): Promise<RunResult> {
  const { backups, folder } = options;
  const { batch, progress } = context;
  const stage = snapshotStage(folder.dir);
  progress.enter(1, 'start the snapshot creation', 0, 6);
  await rm(stage, { recursive: true, force: true });
  try {
    await copyDatabase(options, context, stage);
    context.allowConcurrent();
    progress.enter(1, 'create the tarball', 5, 6);
    const name = snapshotName(folder.dir);
    // A file of another name, so that the snapshot before stays until this one is complete.
    const fresh = join(backups.folder, `${name}.new`);
    await packFolder(stage, fresh, context);
    await keepOlder(options, name, context.now);
    await rename(fresh, join(backups.folder, name));
    await syncPath(backups.folder);
    await backups.keep(name);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  return { ends: batch.uids.map((uid) => succeeded(uid, null)) };
}

/** Keeps the snapshot before under another name, with the time at which it is replaced. */
async function keepOlder(
  { backups, kept }: SnapshotOptions,
  name: string,
  now: string,
): Promise<void> {
  const stem = name.slice(0, -'.snapshot'.length);
  const date = now.slice(0, 23).replaceAll(/[-:.]/g, '').replace('T', '-');
  if (kept > 1) await backups.rename(name, `${stem}-${date}.snapshot`);
  const isOlder = (one: string): boolean =>
    one.startsWith(stem) && /^-\d{8}-\d{9}\.snapshot$/.test(one.slice(stem.length));
  await removeOldest(backups, isOlder, kept - 1);
}

async function copyDatabase(
  { folder, store, storeBytesMax }: SnapshotOptions,
  context: RunContext,
  stage: string,
): Promise<void> {
  const { registry, progress, cancel } = context;
  const payloadDir = join(stage, 'payloads');
  await mkdir(payloadDir, { recursive: true });
  await mkdir(join(stage, 'indexes'));
  for (const name of FILES) await copyFile(join(folder.dir, name), join(stage, name));
  progress.enter(1, 'snapshot the index scheduler', 1, 6);
  const storeDir = join(stage, 'store');
  await store.copyTo(storeDir);
  cancel.check();
  progress.enter(1, 'snapshot the update files', 2, 6);
  // Payloads are copied after the tasks, so that each task has its payload. Payloads of later tasks
  // are deleted below.
  const pause = pauser();
  for (const name of await readdir(folder.payloadDir)) {
    if (/^\d+$/.test(name)) await linkFile(join(folder.payloadDir, name), join(payloadDir, name));
    if (await pause()) cancel.check();
  }
  progress.enter(1, 'snapshot the indexes', 3, 6);
  const indexes = registry.list();
  for (const [n, [, entry]] of indexes.entries()) {
    progress.enter(2, 'index', n, indexes.length);
    await entry.handle.copyTo(join(stage, 'indexes', entry.uuid));
    cancel.check();
  }
  progress.enter(1, 'snapshot the api keys', 4, 6);
  await concludeCopy(new Store(storeDir, storeBytesMax), payloadDir);
}

/**
 * Removes waiting snapshot tasks from the copy, this one included, because they would run again
 * after an import.
 */
async function concludeCopy(store: Store, payloadDir: string): Promise<void> {
  // Who imports it has data of its own.
  if (store.cluster !== null) await store.leaveCluster();
  const tasks = new TaskStore(store, payloadDir, systemClock);
  try {
    await tasks.forget(
      await tasks.matching({ types: ['snapshotCreation'], statuses: ['enqueued'] }, null),
    );
  } finally {
    await tasks.close();
    await store.close();
  }
}

async function linkFile(from: string, to: string): Promise<void> {
  try {
    linkSync(from, to);
  } catch {
    // The file system has no hard links, or the file has too many.
    await copyFile(from, to);
  }
}

async function packFolder(
  stage: string,
  file: string,
  { cancel, progress }: RunContext,
): Promise<void> {
  const archive = await ArchiveWriter.create(file, { level: COMPRESSION });
  try {
    const names = await readdir(stage, { recursive: true, withFileTypes: true });
    const paths = names
      .filter((entry) => entry.isFile() && !isLock(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(stage.length + 1))
      // VERSION comes first, so that an import can check it before it reads the rest.
      .toSorted((a, b) => Number(b === 'VERSION') - Number(a === 'VERSION') || (a < b ? -1 : 1));
    for (const [n, path] of paths.entries()) {
      progress.enter(2, 'file', n, paths.length);
      cancel.check();
      await archive.addFile(path, join(stage, path), () => cancel.check());
    }
    await archive.finish();
  } catch (error) {
    await archive.abort();
    throw error;
  }
}

/** Whether a file is a lock file of LMDB, which is meaningless in a copy. */
function isLock(name: string): boolean {
  return name === 'lock.mdb' || name === `${STORE_FILE}-lock` || name === 'index.mdb-lock';
}
