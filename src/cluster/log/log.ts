/**
 * The log: an ordered list of entries, and who may append to it.
 *
 * Reads are linearizable: they see every change that was confirmed before they began. `watch` may
 * lag. Each operation throws `UnavailableError` when its outcome is not known: a change may have
 * happened, or may still happen.
 */
import type { BlobName } from '../blobs/blobs.ts';
import { type Entry, type Epoch, FORMAT_MIN, type Sequence } from '../record.ts';

export interface Leader {
  readonly node: string;
  readonly url: string;
  readonly epoch: Epoch;
  /** The leader leads only while it has this lease. */
  readonly lease: string;
}

/** Refers to a checkpoint. */
export interface CheckpointRef {
  readonly sequence: Sequence;
  readonly blob: BlobName;
}

/** Identifies a cluster. */
export interface Identity {
  readonly id: string;
  /** Random; the keys of the cluster follow from it and the master key. */
  readonly salt: string;
  /** Shows that a node has the master key: see `ClusterSecret`. */
  readonly proof: string;
}

/** Settings that leaders change; replaced as a whole. */
export interface LogSettings {
  /** Format of the records that leaders write. */
  readonly format: number;
  /** The format that a node must read in order to start: `format`, or its successor. */
  readonly formatRequired: number;
  /** The newest checkpoint. */
  readonly checkpoint: CheckpointRef | null;
  /** The first entry that the log still holds, or the next one if it holds none. */
  readonly floor: Sequence;
}

export const NO_SETTINGS: LogSettings = {
  format: FORMAT_MIN,
  formatRequired: FORMAT_MIN,
  checkpoint: null,
  floor: 1,
};

/** The state of the log at one moment. */
export interface LogState {
  /** Null: the cluster does not exist yet. */
  readonly identity: Identity | null;
  /** Random name of the object store of the cluster; null: no node has claimed one yet. */
  readonly store: string | null;
  /** Sequence of the last entry; 0: there is none. */
  readonly head: Sequence;
  readonly settings: LogSettings;
  readonly leader: Leader | null;
  /** Objects that a node has found damaged; only the first of many. */
  readonly damaged: readonly BlobName[];
  /** Nodes that an operator has taken out of service. */
  readonly drained: readonly string[];
  /** The node that is to lead next, for a short time; null: whichever is fit. */
  readonly successor: string | null;
}

export type AppendResult =
  | { readonly kind: 'appended' }
  /** The epoch is not the leader's. */
  | { readonly kind: 'fenced' }
  /** The sequence does not follow the head. */
  | { readonly kind: 'conflict' }
  /**
   * The log has no space, or accepts no writes at present. This attempt has changed nothing and
   * never will.
   */
  | { readonly kind: 'refused'; readonly reason: string };

/** A node as the others see it. */
export interface Member {
  readonly name: string;
  readonly url: string;
  readonly formatMax: number;
  readonly applied: Sequence;
  readonly lagMs: number;
  readonly bytesToFetch: number;
  /** Whether the node has everything that a leader needs. */
  readonly isFit: boolean;
  /** Why the node cannot use the object store; null: it can. */
  readonly storeFault: string | null;
}

export interface Lease {
  readonly id: string;
  /**
   * The lease lasts at least this long after the last confirmed `keepAlive`, by the clock of the
   * log.
   */
  readonly ttlMs: number;
}

export interface Log {
  state(): Promise<LogState>;
  /**
   * Founds the cluster unless it exists; `state` says who did.
   * @param head number of entries that count as written and trimmed: 1 when the cluster begins with
   *   a folder of data, which its first checkpoint holds
   */
  found(identity: Identity, head: 0 | 1): Promise<void>;
  /** Records the name of the object store unless one is recorded; `state` says which. */
  useStore(store: string): Promise<void>;
  /** Returns at most `count` entries, beginning with `from`. Throws `TrimmedError`. */
  read(from: Sequence, count: number): Promise<Entry[]>;
  /**
   * Yields entries beginning with `from`, as they arrive, until `signal`. Throws `TrimmedError`.
   */
  watch(from: Sequence, signal: AbortSignal): AsyncIterable<Entry[]>;
  /** Appends an entry if `epoch` is the leader's and the sequence follows the head. Atomic. */
  append(entry: Entry, epoch: Epoch): Promise<AppendResult>;
  /**
   * Replaces the settings if `epoch` is the leader's and they still equal `before`, and removes the
   * entries before the floor. False: nothing has changed.
   * @param seen nothing changes if a node has called `hold` after this revision of `members`
   */
  update(before: LogSettings, after: LogSettings, epoch: Epoch, seen: number): Promise<boolean>;

  grantLease(ttlMs: number): Promise<Lease>;
  /** Returns false when the lease has ended. */
  keepAlive(lease: string): Promise<boolean>;
  /**
   * Ends a lease, which may be that of another node: a leader that is known to be dead. No error
   * when it has ended already.
   */
  revokeLease(lease: string): Promise<void>;
  /** Makes the holder of the lease the leader if there is none. Read `state` for the result. */
  campaign(node: string, url: string, lease: string): Promise<void>;

  /**
   * Records the newest format that a node reads, which also counts while the node does not run.
   * @returns the revision of the record
   */
  register(name: string, formatMax: number): Promise<number>;
  /**
   * Shows the member to the others. False: a node of this name is running under another lease. You
   * may repeat it.
   */
  announce(member: Member, lease: string): Promise<boolean>;
  members(): Promise<MemberList>;
  /** Shows that a node starts and needs the entries after a position; replaces what it showed. */
  hold(name: string, sequence: Sequence, lease: string): Promise<void>;
  /**
   * Removes a member that will not return, so that its format no longer counts.
   * @param revision only this record: the request of a killed process may arrive after its
   *   successor has registered
   */
  forget(name: string, revision?: number): Promise<void>;

  /** Takes a node out of service, or back. */
  drain(name: string, isDrained: boolean): Promise<void>;
  /** Lets only this node become the leader while the lease lasts. */
  nameSuccessor(name: string, lease: string): Promise<void>;

  /** Shows the leader that an object of the store is damaged or missing. */
  reportDamage(object: BlobName): Promise<void>;
  /** Withdraws a report. */
  settleDamage(object: BlobName): Promise<void>;
}

export interface MemberList {
  /** Nodes that have a lease. */
  readonly running: readonly Member[];
  /** The newest format of every member that was registered and not forgotten. */
  readonly formats: ReadonlyMap<string, number>;
  /** The positions of nodes that start: see `hold`. */
  readonly starting: ReadonlyMap<string, Sequence>;
  /** Grows with each change of the log. */
  readonly revision: number;
}
