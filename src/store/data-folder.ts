import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { FolderError, makeFolder } from '../base/make-folder.ts';
import { syncFolder } from '../base/sync-folder.ts';
import { loadAddon } from '../engine/addon.ts';

/** The folder of one instance, locked by this process from opening to closing. */
export interface DataFolder {
  readonly dir: string;
  readonly storeDir: string;
  readonly payloadDir: string;
  readonly indexDir: string;
  readonly instanceUid: string;
  /** Version that wrote the folder, if `upgrade` allowed a version other than ours; else null. */
  readonly upgradedFrom: string | null;
  /** Writes our version into the folder. From then on an older program refuses it. */
  markUpgraded(): void;
  close(): Promise<void>;
}

export interface DataFolderOptions {
  /** The version of the program, as in package.json. */
  version: string;
  /** Whether to take over a folder of an older version. */
  upgrade: boolean;
}

/** The folder cannot be used. The message is meant for the person who starts the program. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/**
 * The file that is locked for the whole folder. The program never removes it, and it names its
 * holder.
 */
const LOCK_FILE = 'lock';

/**
 * Locked as well: a person may remove the lock file, but nobody removes the database while it is in
 * use.
 */
const DATABASE_FILE = join('store', 'data.mdb');

/**
 * Creates the folder when it does not exist, or checks that we may open it.
 *
 * The folder is locked by a lock on a file in it. The kernel releases the lock when the process
 * dies in any way. So the lock works through any path to the folder, and between containers that
 * share it.
 */
export async function openDataFolder(
  path: string,
  { version, upgrade }: DataFolderOptions,
): Promise<DataFolder> {
  const dir = resolve(path);
  refuseOfReference(dir);
  makeDataFolder(dir);
  const locks = new Locks(dir);
  locks.take(LOCK_FILE, 'holder');
  try {
    // If there is a database, lock it before anything is changed.
    if (existsSync(join(dir, DATABASE_FILE))) locks.take(DATABASE_FILE, 'data');
    settleImport(dir);
    const upgradedFrom = checkVersion(dir, version, upgrade);
    const storeDir = join(dir, 'store');
    const payloadDir = join(dir, 'payloads');
    const indexDir = join(dir, 'indexes');
    for (const part of [storeDir, payloadDir, indexDir]) makeFolder(part);
    locks.take(DATABASE_FILE, 'data');
    return {
      dir,
      storeDir,
      payloadDir,
      indexDir,
      instanceUid: readOrCreate(join(dir, 'instance-uid'), randomUUID),
      upgradedFrom,
      markUpgraded: () => replaceFile(join(dir, 'VERSION'), version),
      close: async () => locks.release(),
    };
  } catch (error) {
    locks.release();
    throw error;
  }
}

/**
 * The parts of a database; a folder with any of them is not empty. The version is last, because it
 * makes the others valid.
 */
const PARTS = ['store', 'payloads', 'indexes', 'instance-uid', 'VERSION'] as const;
/**
 * A database that is being imported, and one that is complete but not yet in its final location.
 */
const IMPORTING = 'importing';
const IMPORTED = 'imported';

/** Whether the folder contains a database, or a part of one. */
export function hasDatabase(path: string): boolean {
  return [...PARTS, IMPORTED].some((name) => existsSync(join(path, name)));
}

/**
 * Creates the database of an empty folder, completely or not at all. `build` makes it in a
 * subfolder, which becomes the database by a rename once `build` has ended, and is erased when
 * `build` fails. After a crash, the next start erases the subfolder or completes the rename.
 * REQUIRES: everything that `build` makes is durable, except the names in its folder
 */
export async function importDatabase(
  path: string,
  build: (dir: string) => Promise<void>,
): Promise<void> {
  const dir = resolve(path);
  const isNew = !existsSync(dir);
  const hadLock = existsSync(join(dir, LOCK_FILE));
  makeDataFolder(dir);
  const locks = new Locks(dir);
  locks.take(LOCK_FILE, 'holder');
  const stage = join(dir, IMPORTING);
  try {
    if (hasDatabase(dir)) throw new DataFolderError(`There is a database in ${dir} already.`);
    rmSync(stage, { recursive: true, force: true });
    makeFolder(stage);
    await build(stage);
    syncFolder(stage);
    renameSync(stage, join(dir, IMPORTED));
    syncFolder(dir);
    settleImport(dir);
  } catch (error) {
    rmSync(stage, { recursive: true, force: true });
    if (!hadLock) rmSync(join(dir, LOCK_FILE), { force: true });
    if (isNew && readdirSync(dir).length === 0) rmdirSync(dir);
    throw error;
  } finally {
    locks.release();
  }
}

/** A copy that is being made for a snapshot. */
const SNAPSHOT = 'snapshot';

/** A folder on the file system of the database, which every start erases. */
export function snapshotStage(dir: string): string {
  return join(dir, SNAPSHOT);
}

/** Archives that are sent elsewhere once they are complete. */
const BACKUP = 'backup';

/** A folder for them, which every start erases. */
export function backupStage(dir: string): string {
  return join(dir, BACKUP);
}

/** Notes about uploads that are under way. */
export function uploadNotes(dir: string): string {
  return join(dir, 'uploads');
}

/** Moves a complete import to its final location, and erases an incomplete one. */
function settleImport(dir: string): void {
  const imported = join(dir, IMPORTED);
  if (existsSync(imported)) {
    for (const name of PARTS) {
      if (existsSync(join(imported, name))) renameSync(join(imported, name), join(dir, name));
    }
    syncFolder(dir);
    rmSync(imported, { recursive: true });
    syncFolder(dir);
  }
  for (const name of [IMPORTING, SNAPSHOT, BACKUP]) {
    rmSync(join(dir, name), { recursive: true, force: true });
  }
}

/** A folder as it was found, locked until it is closed. */
export interface InspectedFolder {
  readonly dir: string;
  /** Faults of the folder itself. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/**
 * Locks a folder without writing to it. Throws `DataFolderError` when it does not exist, is in use,
 * or has another version.
 */
export async function inspectDataFolder(path: string, version: string): Promise<InspectedFolder> {
  const dir = resolve(path);
  const text = (name: string): string | null => {
    try {
      return readFileSync(join(dir, name), 'utf8').trim();
    } catch {
      return null;
    }
  };
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new DataFolderError(`There is no data folder ${dir}.`);
  }
  const found = text('VERSION');
  if (found === null)
    throw new DataFolderError(`${dir} is not a data folder: it has no file VERSION.`);
  const locks = new Locks(dir);
  locks.take(LOCK_FILE, 'reader');
  const faults: string[] = [];
  if (parseVersion(found) === null) {
    faults.push(`the file VERSION holds \`${found}\`, which is not a version`);
  } else if (!isVersionOf(found, version)) {
    locks.release();
    throw new DataFolderError(
      `The data in ${dir} was written by version ${found}, this program is ${version}.`,
    );
  }
  if (!/^[0-9a-f-]{36}$/.test(text('instance-uid') ?? ''))
    faults.push('the file instance-uid holds no uuid');
  for (const part of ['store', 'payloads', 'indexes']) {
    if (statSync(join(dir, part), { throwIfNoEntry: false })?.isDirectory() !== true) {
      faults.push(`the folder ${part} is missing`);
    }
  }
  if (existsSync(join(dir, DATABASE_FILE))) locks.take(DATABASE_FILE, 'reader');
  else faults.push(`the file ${DATABASE_FILE} is missing`);
  return { dir, faults, close: async () => locks.release() };
}

/** Files of one folder that are locked. */
class Locks {
  readonly #dir: string;
  /** Descriptors by file name. */
  readonly #held = new Map<string, number>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Does nothing when the file is locked already. Throws `DataFolderError` when another process has
   * locked it; all locks are released then.
   */
  take(name: string, kind: 'holder' | 'data' | 'reader'): void {
    if (this.#held.has(name)) return;
    try {
      this.#held.set(name, this.#lock(name, kind));
    } catch (error) {
      this.release();
      throw error;
    }
  }

  release(): void {
    for (const descriptor of this.#held.values()) closeSync(descriptor);
    this.#held.clear();
  }

  #lock(name: string, kind: 'holder' | 'data' | 'reader'): number {
    let lock: number | string;
    try {
      lock = loadAddon().lockFile(join(this.#dir, name), kind);
    } catch (error) {
      throw new DataFolderError(
        `The data folder ${this.#dir} cannot be locked: ${(error as Error).message}. Its file system must support file locks.`,
      );
    }
    if (typeof lock === 'number') return lock;
    const holder = name === LOCK_FILE ? lock : `it has locked ${name}`;
    throw new DataFolderError(
      `The data folder ${this.#dir} is in use by another process: ${holder}. Stop it, or choose another folder.`,
    );
  }
}

/**
 * Meilisearch's folder also has a file VERSION, and `--db-path` may come from its start script.
 * Throws `DataFolderError`.
 */
function refuseOfReference(dir: string): void {
  const has = (name: string): boolean => existsSync(join(dir, name));
  if (!has('auth') || !has('tasks') || has('store')) return;
  throw new DataFolderError(
    `${dir} contains a database of Meilisearch, which is left unchanged. Make a dump with that server, and start this one with --import-dump and another --db-path.`,
  );
}

/** @returns the version found when it is an older one that may be upgraded, null when it fits */
function checkVersion(dir: string, version: string, upgrade: boolean): string | null {
  const found = readOrCreate(join(dir, 'VERSION'), () => version);
  if (found === version) return null;
  const [stored, ours] = [parseVersion(found), parseVersion(version)];
  if (stored === null || ours === null) {
    throw new DataFolderError(
      `The file VERSION in ${dir} contains \`${found}\`, which is not a version. The folder is left unchanged.`,
    );
  }
  const difference = stored[0] - ours[0] || stored[1] - ours[1];
  if (difference === 0) return null;
  const advice = 'Export the data with a dump made by that version, and import the dump.';
  if (difference > 0) {
    throw new DataFolderError(
      `The data in ${dir} was written by version ${found}, newer than this program, ${version}. ${advice}`,
    );
  }
  if (!upgrade) {
    throw new DataFolderError(
      `The data in ${dir} was written by version ${found}, this program is ${version}. ` +
        `Start once with --upgrade-db. Or: ${advice[0]!.toLowerCase()}${advice.slice(1)}`,
    );
  }
  return found;
}

/** Whether the program can open data of the other version: only the patch number may differ. */
export function isVersionOf(data: string, program: string): boolean {
  const [stored, ours] = [parseVersion(data), parseVersion(program)];
  return stored !== null && ours !== null && stored[0] === ours[0] && stored[1] === ours[1];
}

/** The numbers of a version; one before its release has more after a dash, as in `1.0.0-dev`. */
function parseVersion(text: string): [number, number, number] | null {
  const match = /^(\d+)\.(\d+)\.(\d+)(?:-[\w.]+)?$/.exec(text);
  return match === null ? null : [Number(match[1]), Number(match[2]), Number(match[3])];
}

function readOrCreate(file: string, create: () => string): string {
  try {
    const text = readFileSync(file, 'utf8').trim();
    if (text !== '') return text;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const text = create();
  replaceFile(file, text);
  return text;
}

function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, `${text}\n`, { flush: true });
  renameSync(`${file}.tmp`, file);
  syncFolder(dirname(file));
}

function makeDataFolder(dir: string): void {
  try {
    makeFolder(dir);
  } catch (error) {
    if (!(error instanceof FolderError)) throw error;
    throw new DataFolderError(`The data folder ${dir} cannot be used: ${error.message}.`);
  }
}
