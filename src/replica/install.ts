/**
 * Installs a checkpoint on a node that the log cannot bring up to date, before its data is opened.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { syncFolder } from '../base/sync-folder.ts';
import type { Blobs } from '../cluster/blobs/blobs.ts';
import type { Checkpoint } from '../cluster/checkpoint.ts';
import { Checkpoints } from '../cluster/checkpoints.ts';
import { damagedObject, UnavailableError } from '../cluster/errors.ts';
import type { LogHold } from '../cluster/log-hold.ts';
import type { Log } from '../cluster/log/log.ts';
import { type FileRef, FORMAT_MAX } from '../cluster/record.ts';
import type { Replica } from '../cluster/replica.ts';
import type { Runtime } from '../cluster/runtime.ts';
import { Transfers } from '../cluster/transfers.ts';
import { DataFolderError } from '../store/data-folder.ts';
import { checkFile, type ClusterState, Store, STORE_FILE } from '../store/store.ts';
import { digestOf, writeDurably } from './local-files.ts';
import { checkpointPath } from './server-replica.ts';

/** Parts of a data folder that a checkpoint replaces. */
const PARTS = ['payloads', 'indexes', 'store'];
const RETRY_MS = 500;
/** Pause before a damaged object is read again. */
const DAMAGED_RETRY_MS = 2000;
/** This file marks a fetched checkpoint as complete. */
const COMPLETE = 'complete';
/** Holds the id of the cluster; present once the data has been current. */
const CLUSTER_ID = 'cluster-id';
/** This file says that a database of the folder is damaged. */
const DAMAGED = 'damaged';

export interface InstallParts {
  readonly log: Log;
  readonly blobs: Blobs;
  readonly runtime: Runtime;
  readonly token: string;
  readonly hold: LogHold;
}

/**
 * Brings the data folder `dir` to the newest checkpoint if the log does not reach back to it. Waits
 * for the log and for a checkpoint without a limit: the node cannot serve anything before.
 */
export async function installIfBehind(dir: string, parts: InstallParts): Promise<void> {
  if (mayServeAlone(dir) && !(await responds(parts.log))) return;
  let reported = '';
  for (;;) {
    try {
      // Meanwhile the log may have moved on.
      while (await install(dir, parts));
      return;
    } catch (error) {
      const damaged = damagedObject(error);
      if (!(error instanceof UnavailableError) && damaged === null) throw error;
      // The leader puts it again, or replaces the checkpoint.
      if (damaged !== null) await parts.log.reportDamage(damaged).catch(() => {});
      const { message } = error as Error;
      if (message !== reported) parts.runtime.log(`The node waits: ${message}`);
      reported = message;
      await delay(damaged === null ? RETRY_MS : DAMAGED_RETRY_MS);
    }
  }
}

/** @returns whether a checkpoint was installed */
async function install(dir: string, parts: InstallParts): Promise<boolean> {
  const fetched = join(dir, 'checkpoint');
  // An interrupted start fetched everything, and may have replaced some parts.
  if (existsSync(join(fetched, COMPLETE))) replaceParts(dir, fetched);
  const { blobs, log, runtime, token, hold } = parts;
  const { identity, settings } = await log.state();
  const isComplete = settings.checkpoint !== null || settings.floor === 1;
  if (identity !== null && isComplete && isDamaged(dir, identity.id)) {
    parts.runtime.log('A database of this node is damaged: it takes all data again');
    forget(dir);
  }
  const state = await stateOf(join(dir, 'store'));
  const applied = state?.applied ?? 0;
  if (identity === null) return false;
  await hold.keep(applied);
  // A new node would fetch much that no longer counts if it followed the log from its beginning.
  const isNew = state === null && settings.checkpoint !== null;
  if (!isNew && applied + 1 >= (await log.state()).settings.floor) return false;
  // Data of its own, or of another cluster: the node is refused later, with the reason.
  if (state === null ? isUsed(join(dir, 'store')) : state.id !== identity.id) return false;
  const replica = new FetchedCheckpoint(dir, fetched, applied, identity.id);
  await new Checkpoints({
    log,
    blobs,
    runtime,
    replica,
    retentionMs: 0,
    formatMax: FORMAT_MAX,
    transfers: new Transfers(blobs, replica, token),
    signal: new AbortController().signal,
    // Nothing is removed from the store here.
    isOwnStore: async () => false,
    keep: (sequence) => hold.keep(sequence),
  }).install();
  return true;
}

/** How long a node with data of its own waits for the log. */
const ALONE_MS = 2500;

async function responds(log: Log): Promise<boolean> {
  for (const begun = performance.now(); performance.now() - begun < ALONE_MS;) {
    try {
      await log.state();
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      await delay(RETRY_MS);
    }
  }
  return false;
}

/**
 * Whether reads may be answered from the folder while the log does not respond: it has been current
 * once, and is complete.
 */
export function mayServeAlone(dir: string): boolean {
  const isWhole = !existsSync(join(dir, DAMAGED)) && !existsSync(join(dir, 'checkpoint'));
  return isWhole && existsSync(join(dir, CLUSTER_ID)) && isUsed(join(dir, 'store'));
}

/** Records that the folder has data of the cluster, and has been current. */
export function keepClusterId(dir: string, id: string): void {
  const path = join(dir, CLUSTER_ID);
  if (existsSync(path) && readFileSync(path, 'utf8') === id) return;
  writeFileSync(path, id, { flush: true });
  syncFolder(dir);
}

/** Whether the data of the folder has been current. */
export function wasCurrent(dir: string, cluster: string): boolean {
  const path = join(dir, CLUSTER_ID);
  return existsSync(path) && readFileSync(path, 'utf8') === cluster;
}

/** Lets the next start take all data again. */
export function markDamaged(dir: string): void {
  writeFileSync(join(dir, DAMAGED), '', { flush: true });
  syncFolder(dir);
}

/** Whether the folder has data of this cluster that is damaged. */
function isDamaged(dir: string, cluster: string): boolean {
  if (!wasCurrent(dir, cluster)) return false;
  if (existsSync(join(dir, DAMAGED))) return true;
  const store = join(dir, 'store');
  if (!isUsed(store)) return false;
  try {
    checkFile(store, true);
    return false;
  } catch (error) {
    if (error instanceof DataFolderError) return true;
    throw error;
  }
}

/** Erases the data that the log and its checkpoints hold. May be interrupted and repeated. */
function forget(dir: string): void {
  for (const part of PARTS) {
    rmSync(join(dir, part), { recursive: true, force: true });
    mkdirSync(join(dir, part));
  }
  syncFolder(dir);
  rmSync(join(dir, DAMAGED), { force: true });
  rmSync(join(dir, CLUSTER_ID), { force: true });
}

/** The position of the data in the log; null: it belongs to no cluster. */
async function stateOf(storeDir: string): Promise<ClusterState | null> {
  if (!isUsed(storeDir)) return null;
  const store = new Store(storeDir, { readOnly: true });
  try {
    return store.cluster;
  } finally {
    await store.close();
  }
}

/** The file exists, empty, as soon as the folder is locked. */
function isUsed(storeDir: string): boolean {
  return (statSync(join(storeDir, STORE_FILE), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** Replaces parts of a data folder by those of a checkpoint. May be interrupted and repeated. */
function replaceParts(dir: string, fetched: string): void {
  for (const part of PARTS) {
    const from = join(fetched, part);
    if (!existsSync(from)) continue;
    rmSync(join(dir, part), { recursive: true, force: true });
    renameSync(from, join(dir, part));
    syncFolder(dir);
  }
  rmSync(fetched, { recursive: true, force: true });
}

/** Files of a checkpoint on their way into a data folder. */
export class FetchedCheckpoint implements Replica {
  readonly applied: number;
  readonly cluster: string;
  readonly isEmpty = true;
  readonly #dir: string;
  readonly #fetched: string;

  /**
   * @param fetched folder that holds the files until they are complete
   * @param applied position of the data folder in the log
   */
  constructor(dir: string, fetched: string, applied: number, cluster: string) {
    this.#dir = dir;
    this.#fetched = fetched;
    this.applied = applied;
    this.cluster = cluster;
  }

  /** Includes files that an interrupted start fetched. */
  async hasFile(database: string, file: FileRef): Promise<boolean> {
    const path = join(this.#fetched, checkpointPath(database, file.name));
    if (!existsSync(path)) return false;
    const { size, sum } = await digestOf(path);
    return size === file.size && sum.equals(file.sha256);
  }

  async sourceOf(): Promise<null> {
    return null;
  }

  async writeFile(
    database: string,
    { name }: FileRef,
    content: AsyncIterable<Uint8Array>,
  ): Promise<void> {
    await writeDurably(join(this.#fetched, checkpointPath(database, name)), content);
  }

  prepareInstall(): void {}

  async install({ databases }: Checkpoint): Promise<void> {
    const paths = databases.flatMap(({ name, copies, files }) =>
      [...copies, ...files].map((file) => checkpointPath(name, file.name)),
    );
    const folders = new Set(paths.map((path) => join(this.#fetched, path, '..')));
    for (const part of PARTS) folders.add(join(this.#fetched, part));
    for (const folder of folders) {
      mkdirSync(folder, { recursive: true });
      syncFolder(folder);
    }
    for (const { name } of databases) {
      if (name.startsWith('index/')) {
        // An index without documents has no file there.
        mkdirSync(join(this.#fetched, checkpointPath(name, '1'), '..'), { recursive: true });
      }
    }
    writeFileSync(join(this.#fetched, COMPLETE), '', { flush: true });
    syncFolder(this.#fetched);
    replaceParts(this.#dir, this.#fetched);
  }

  adopt(): Promise<void> {
    return Promise.reject(new Error('Only files are fetched here'));
  }

  apply(): Promise<void> {
    return this.adopt();
  }

  async checkpoint(): Promise<never> {
    throw new Error('Only files are fetched here');
  }
}
