/**
 * `gannet restore`: makes the folder of a single server from what a cluster has stored, as of one
 * record.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { syncFolder } from '../base/sync-folder.ts';
import type { BlobName, Blobs, BlobSource } from '../cluster/blobs/blobs.ts';
import type { Checkpoint } from '../cluster/checkpoint.ts';
import { RefusedError } from '../cluster/errors.ts';
import type { Log } from '../cluster/log/log.ts';
import type { CommitRecord, FileRef, Sequence } from '../cluster/record.ts';
import { recover, type RecoveryTarget } from '../cluster/recovery.ts';
import type { Replica } from '../cluster/replica.ts';
import type { NativeAddon } from '../engine/native.ts';
import { type DataFolder, importDatabase, openDataFolder } from '../store/data-folder.ts';
import { STORE_BYTES_MAX, openTaskSystem, type TaskSystem } from '../tasks/task-system.ts';
import { FetchedCheckpoint } from './install.ts';
import { ServerReplica } from './server-replica.ts';

/** The cluster of data that began with nothing, not with a checkpoint. */
const BEGUN = 'restored';

export interface RestoreOptions {
  readonly dbPath: string;
  /** Version of the program. */
  readonly version: string;
  readonly native: NativeAddon;
  readonly blobs: Blobs;
  /** Holds the records after the newest checkpoint. null: they are not recovered. */
  readonly log: Log | null;
  readonly target: RecoveryTarget;
  /** Called with each damaged object for which an older checkpoint is used. */
  readonly onDamaged: (object: BlobName) => void;
}

/**
 * Creates the database, completely or not at all (`importDatabase`). Throws `DataFolderError`, or
 * what `recover` throws.
 * @returns the last record that it holds
 */
export async function restore(options: RestoreOptions): Promise<Sequence> {
  let last: Sequence = 0;
  await importDatabase(options.dbPath, async (dir) => {
    const replica = new RestoredReplica(dir, options);
    try {
      const { blobs, target, onDamaged } = options;
      last = await recover(blobs, replica, target, replica.log, onDamaged);
      await replica.leaveCluster();
    } finally {
      await replica.close();
    }
    for (const folder of ['store', 'payloads', 'indexes']) syncAll(join(dir, folder));
  });
  return last;
}

function syncAll(folder: string): void {
  syncFolder(folder);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) syncAll(join(folder, entry.name));
  }
}

/** A data folder without a server: a checkpoint, to which records are applied. */
class RestoredReplica implements Replica {
  readonly #dir: string;
  readonly #options: RestoreOptions;
  /** Receives the files of the checkpoint, and then the records. */
  #replica: Replica;
  #opened: { folder: DataFolder; system: TaskSystem } | null = null;

  constructor(dir: string, options: RestoreOptions) {
    this.#dir = dir;
    this.#options = options;
    this.#replica = new FetchedCheckpoint(dir, join(dir, 'checkpoint'), 0, '');
  }

  /** The log, if it is that of the cluster whose data is restored. */
  get log(): Pick<Log, 'read'> | null {
    const { log } = this.#options;
    if (log === null) return null;
    return {
      read: async (from, count) => {
        const { identity } = await log.state();
        const isFromCheckpoint = this.#opened !== null && this.cluster !== BEGUN;
        if (isFromCheckpoint && identity?.id !== this.cluster) {
          throw new RefusedError('etcd and the object store are not of the same cluster');
        }
        return log.read(from, count);
      },
    };
  }

  get applied(): Sequence {
    return this.#replica.applied;
  }

  get cluster(): string | null {
    return this.#replica.cluster;
  }

  get isEmpty(): boolean {
    return this.#replica.isEmpty;
  }

  adopt(cluster: string, applied: 0 | 1): Promise<void> {
    return this.#replica.adopt(cluster, applied);
  }

  hasFile(database: string, file: FileRef): Promise<boolean> {
    return this.#replica.hasFile(database, file);
  }

  sourceOf(database: string, file: FileRef): Promise<BlobSource | null> {
    return this.#replica.sourceOf(database, file);
  }

  writeFile(database: string, file: FileRef, content: AsyncIterable<Uint8Array>): Promise<void> {
    return this.#replica.writeFile(database, file, content);
  }

  apply(record: CommitRecord): Promise<void> {
    return this.#replica.apply(record);
  }

  checkpoint(): Promise<never> {
    return Promise.reject(new Error('A folder that is restored makes no checkpoint'));
  }

  prepareInstall(): void {}

  async install(checkpoint: Checkpoint): Promise<void> {
    const { native, version } = this.#options;
    await this.#replica.install(checkpoint);
    // Segments must not be merged before the last record, which names them, is applied.
    native.setCommitLog(() => {});
    native.lead(null);
    const folder = await openDataFolder(this.#dir, { version, upgrade: false });
    const system = openTaskSystem(folder, native, {
      clock: systemClock,
      batchedTasksMax: 0,
      batchedBytesMax: 0,
      storeBytesMax: STORE_BYTES_MAX,
      log: () => {},
    });
    this.#opened = { folder, system };
    if (system.store.cluster === null) await system.store.setCluster({ id: BEGUN, applied: 0 });
    this.#replica = new ServerReplica({
      ...system,
      indexDir: folder.indexDir,
      incomingDir: join(this.#dir, 'incoming'),
      checkpointDir: join(this.#dir, 'outgoing'),
      onTooFarBehind: () => {},
      onDatabaseDamaged: () => {},
      notLeading: async () => {},
    });
  }

  async leaveCluster(): Promise<void> {
    await this.#opened!.system.store.leaveCluster();
  }

  async close(): Promise<void> {
    if (this.#opened === null) return;
    await this.#opened.system.close();
    await this.#opened.folder.close();
    this.#options.native.setCommitLog(null);
    rmSync(join(this.#dir, 'incoming'), { recursive: true, force: true });
  }
}
