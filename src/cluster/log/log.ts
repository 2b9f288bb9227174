/**
 * The log: an ordered list of entries, and who may add to it.
 *
 * Reads are linearizable: they see every change that was confirmed before they began. `watch` may lag. Each operation
 * throws `UnavailableError` when its outcome is not known: a change may have happened, or may happen yet.
 */
import type { BlobName } from '../blobs/blobs.ts';
import { type Entry, type Epoch, FORMAT_MIN, type Sequence } from '../record.ts';

export interface Leader {
  readonly node: string;
  readonly url: string;
  readonly epoch: Epoch;
  /** Without it the leader is none. */
  readonly lease: string;
}

/** Where a checkpoint is. */
export interface CheckpointRef {
  readonly sequence: Sequence;
  readonly blob: BlobName;
}

/** What makes a cluster that one and no other. */
export interface Identity {
  readonly id: string;
  /** Of the master key, which all nodes share. */
  readonly keyDigest: string;
}

/** What leaders change besides adding entries; replaced as a whole. */
export interface LogSettings {
  /** Of records that leaders write. */
  readonly format: number;
  /** What a node must read to start: `format`, or the one that is about to become it. */
  readonly formatRequired: number;
  /** The newest one. */
  readonly checkpoint: CheckpointRef | null;
  /** The first entry that the log still holds, or the one that comes next. */
  readonly floor: Sequence;
}

export const NO_SETTINGS: LogSettings = {
  ...{ format: FORMAT_MIN, formatRequired: FORMAT_MIN, checkpoint: null, floor: 1 },
};

/** All of it as of one moment. */
export interface LogState {
  /** Null: nobody has founded the cluster. */
  readonly identity: Identity | null;
  /** The last entry; 0: none. */
  readonly head: Sequence;
  readonly settings: LogSettings;
  readonly leader: Leader | null;
}

export type AppendResult =
  | { readonly kind: 'appended' }
  /** The epoch is not the leader's. */
  | { readonly kind: 'fenced' }
  /** The sequence does not follow the head. */
  | { readonly kind: 'conflict' }
  /** The log has no space, or takes no writes at present. This attempt has changed nothing and never will. */
  | { readonly kind: 'refused'; readonly reason: string };

/** A node as others see it. */
export interface Member {
  readonly name: string;
  readonly url: string;
  readonly formatMax: number;
  readonly applied: Sequence;
  readonly lagMs: number;
  readonly bytesToFetch: number;
}

export interface Lease {
  readonly id: string;
  /** At least so long after the last confirmed `keepAlive`, by the clock of the log. */
  readonly ttlMs: number;
}

export interface Log {
  state(): Promise<LogState>;
  /**
   * Founds the cluster unless it exists; `state` says who did. @param head entries that count as written and trimmed:
   * 1 when a folder with data is the beginning, which its first checkpoint holds
   */
  found(identity: Identity, head: 0 | 1): Promise<void>;
  /** At most `count` entries from `from` on. Throws `TrimmedError`. */
  read(from: Sequence, count: number): Promise<Entry[]>;
  /** Entries from `from` on, as they come, until `signal`. Throws `TrimmedError`. */
  watch(from: Sequence, signal: AbortSignal): AsyncIterable<Entry[]>;
  /** Adds an entry when `epoch` is the leader's and its sequence follows the head. One atomic step. */
  append(entry: Entry, epoch: Epoch): Promise<AppendResult>;
  /**
   * Replaces the settings when `epoch` is the leader's and they are still `before`, and removes the entries before the
   * floor. False: nothing has changed.
   */
  update(before: LogSettings, after: LogSettings, epoch: Epoch): Promise<boolean>;

  grantLease(ttlMs: number): Promise<Lease>;
  /** False: the lease has ended. */
  keepAlive(lease: string): Promise<boolean>;
  /** Also ends the lease of another: of a leader that is known to be dead. No error when it has ended. */
  revokeLease(lease: string): Promise<void>;
  /** Makes the holder of the lease the leader if there is none. What became of it is said by `state`. */
  campaign(node: string, url: string, lease: string): Promise<void>;

  /** Says which is the newest format that a node reads, also while it does not run. */
  register(name: string, formatMax: number): Promise<void>;
  /** False: a node of this name is running under another lease. The first call and later ones alike. */
  announce(member: Member, lease: string): Promise<boolean>;
  members(): Promise<MemberList>;
  /** A member that will not return: its format no longer counts. */
  forget(name: string): Promise<void>;
}

export interface MemberList {
  /** Those that have a lease. */
  readonly running: readonly Member[];
  /** The newest format of every member that was ever registered and not forgotten. */
  readonly formats: ReadonlyMap<string, number>;
}
