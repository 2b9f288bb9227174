import type { BlobSource } from './blobs/blobs.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { CommitRecord, FileRef, Sequence } from './record.ts';

/**
 * The databases of one node: what the cluster needs of the store and of the engine.
 *
 * Invariant: what is stored is what records 1 to `applied` make of an empty server, and `applied` is stored with it.
 *
 * A commit of this node is made in four steps: write new files under names that no record uses; `ClusterNode.upload`;
 * `ClusterNode.commit`, whose `build` returns the delta against the state as of then and changes nothing; `apply`, which
 * the cluster calls, as for a record of another node. While a commit is being made, records of other leaders may come.
 */
export interface Replica {
  /** The last record that is applied durably. A record of one database is one transaction, which stores this too. */
  readonly applied: Sequence;
  /** Of the cluster that the data belongs to; null: of none. */
  readonly cluster: string | null;
  readonly isEmpty: boolean;
  /** Makes the data that of a cluster, durably. @param applied 0, or 1 when this data founds the cluster */
  adopt(cluster: string, applied: 0 | 1): Promise<void>;

  /**
   * Whether the file is in its place with exactly this content. A file of the same name may be left over from a commit
   * that never reached the log, so a name alone proves nothing.
   */
  hasFile(database: string, file: FileRef): Promise<boolean>;
  /** Stores a file durably in its place, replacing one. It takes effect only when `content` ends without an error. */
  writeFile(database: string, file: FileRef, content: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Applies the record that follows `applied`, whose files are in their places: durable, then visible to reads. Throws
   * `DamagedError` when the delta names a table or database that does not exist. A failure changes nothing.
   */
  apply(record: CommitRecord): Promise<void>;

  /** All files as of `applied`. No record is applied until it resolves. */
  checkpoint(): Promise<LocalCheckpoint>;
  /** Replaces all data by that of a newer checkpoint, whose files are in their places: as a whole, or not at all. */
  install(checkpoint: Checkpoint): Promise<void>;
}

export interface LocalFile {
  readonly database: string;
  readonly name: string;
  /**
   * A file that never changes, which a record has named; or a copy of a database as of the checkpoint, whose name no file
   * of a record has: a node that installs the checkpoint stores it by `writeFile` while its database is in use.
   */
  readonly kind: 'file' | 'copy';
  readonly source: BlobSource;
}

export interface LocalCheckpoint {
  readonly files: readonly LocalFile[];
  /** Removes the copies. */
  release(): Promise<void>;
}
