import type { BlobSource } from './blobs/blobs.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { CommitRecord, FileRef, Sequence } from './record.ts';

/**
 * The databases of one node, as the cluster needs them from the store and the engine.
 *
 * Invariant: the stored data is the result of applying records 1 to `applied` to an empty server,
 * and `applied` is stored with it.
 *
 * A commit of this node takes four steps. Write new files under names that no record uses. Call
 * `ClusterNode.upload`. Call `ClusterNode.commit`, whose `build` returns the delta against the
 * state at that time and changes nothing. Then the cluster calls `apply`, as for a record of
 * another node. Records of other leaders may arrive while a commit is being made.
 */
export interface Replica {
  /**
   * The last record that is durably applied. A record of one database is one transaction, which
   * stores this too.
   */
  readonly applied: Sequence;
  /** Id of the cluster that the data belongs to, or null. */
  readonly cluster: string | null;
  readonly isEmpty: boolean;
  /**
   * Makes the data belong to a cluster, durably.
   * @param applied 0, or 1 when this data founds the cluster
   */
  adopt(cluster: string, applied: 0 | 1): Promise<void>;

  /**
   * Whether the file exists with exactly this content. A file of the same name may be left over
   * from a commit that never reached the log, so the name alone proves nothing.
   */
  hasFile(database: string, file: FileRef): Promise<boolean>;
  /** The content of a file that a record has named; null unless it exists exactly so. */
  sourceOf(database: string, file: FileRef): Promise<BlobSource | null>;
  /**
   * Stores a file durably, replacing any file of this name. Takes effect only if `content` ends
   * without an error.
   */
  writeFile(database: string, file: FileRef, content: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Applies the record that follows `applied`, whose files already exist: makes it durable, then
   * visible to reads. Throws `DamagedError` when the delta names a table or database that does not
   * exist. A failure changes nothing.
   */
  apply(record: CommitRecord): Promise<void>;

  /**
   * Returns all files as of `applied`. No record is applied until it resolves, so it reads none of
   * them.
   */
  checkpoint(): Promise<LocalCheckpoint>;
  /**
   * Called before the files of a checkpoint are fetched. Throws `RefusedError` when this process
   * cannot install it.
   */
  prepareInstall(): void;
  /**
   * Replaces all data with that of a newer checkpoint, whose files already exist. All or nothing.
   */
  install(checkpoint: Checkpoint): Promise<void>;
}

export interface LocalFile {
  readonly database: string;
  readonly name: string;
  /**
   * `file`: never changes, and a record has named it. `copy`: a copy of a database as of the
   * checkpoint. No file of a record has its name, so a node that installs the checkpoint can store
   * it by `writeFile` while the database is in use.
   */
  readonly kind: 'file' | 'copy';
  /** Reads the file if its checksum is not known. */
  source(): Promise<BlobSource>;
}

export interface LocalCheckpoint {
  readonly files: readonly LocalFile[];
  /** Removes the copies. */
  release(): Promise<void>;
}
