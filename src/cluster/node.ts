/**
 * One node of a cluster, as the rest of the server sees it (docs/internals/cluster.md).
 *
 * Everything external is an interface: the log, the object store, the replica, the machine.
 */
import { setMaxListeners } from 'node:events';
import { appendSurely } from './appender.ts';
import type { BlobName, Blobs, BlobSource } from './blobs/blobs.ts';
import { SHA256_BYTES } from './bytes.ts';
import { Checkpoints } from './checkpoints.ts';
import {
  damagedObject,
  NoLeaderError,
  OutcomeUnknownError,
  RefusedError,
  UnavailableError,
  WritesRefusedError,
} from './errors.ts';
import { Follower } from './follower.ts';
import { Leadership, type Term } from './leadership.ts';
import { claimStore, demandOwner, type ExpectedOwner, readOwner } from './owner.ts';
import type { LogHold } from './log-hold.ts';
import type { Leader, Lease, Log, LogSettings, LogState, Member } from './log/log.ts';
import {
  blobsOfEntry,
  type CommitRecord,
  decodeBody,
  decodeRecord,
  encodeBody,
  encodeRecord,
  type Entry,
  type EntryBody,
  type Epoch,
  type FileRef,
  FORMAT_MAX,
  FORMAT_MIN,
  newerFormat,
  recordPieces,
  type Sequence,
} from './record.ts';
import type { Replica } from './replica.ts';
import { type Runtime, Serial } from './runtime.ts';
import { StoreWatch } from './store-watch.ts';
import { epochOf, RECORD_BYTES_MAX, Transfers } from './transfers.ts';

/**
 * Larger records are stored as objects. etcd refuses requests of more than 1.5 MiB, and its JSON
 * gateway encodes 3 bytes as 4.
 */
export const INLINE_BYTES_MAX = 256 * 1024;
/**
 * After this many bytes of records stored as objects, the leader writes a checkpoint, because a new
 * node reads all of them.
 */
const CHECKPOINT_RECORD_BYTES = 512 * 1024 * 1024;
/**
 * A leader at rest writes a checkpoint after records that name this many bytes of files, and more
 * than the copies of the databases take: a new node would fetch all of them.
 */
const CHECKPOINT_FILE_BYTES = 64 * 1024 * 1024;
const AT_REST_MS = 10_000;
/**
 * After `CHECKPOINT_LOG_BYTES` of entries the leader writes a checkpoint; at `LOG_BYTES_MAX` it
 * refuses writes until that succeeds.
 */
const CHECKPOINT_LOG_BYTES = 24 * 1024 * 1024;
const LOG_BYTES_MAX = 60 * 1024 * 1024;
const MAINTENANCE_MS = 2000;
const ANNOUNCE_MS = 5000;
/** How long a stop waits for the commits under way, ms. */
const STOP_MS = 3000;
const START_RETRY_MS = 500;
/** How long a node that has resigned lets the others lead first. */
const REST_MS = 10_000;
/** A leader that must catch up resigns after this time without any progress. */
const BECOME_READY_MS = 10_000;
const LOOK_MS = 500;
/** How long a start with data of the cluster waits for the log, before it serves what it has. */
const ALONE_MS = 2500;
/** A request that waits for a leader ends when that is not reachable for so long. */
const UNREACHABLE_MS = 3000;
/** A leader that cannot use the object store for so long lets a node lead that can. */
const STORE_FAILS_MS = 3000;

export interface NodeOptions {
  /** Name of the cluster. */
  readonly cluster: string;
  readonly name: string;
  readonly url: string;
  /** Differs from the token of every other process, including earlier ones of this node. */
  readonly token: string;
  /** Shows that this node has the master key: see `ClusterSecret`. */
  readonly proofOf: (salt: string) => Promise<string>;
  /** Whether the data of this node is the beginning of a new cluster. */
  readonly join: boolean;
  /** Whether reads may be answered from the data of this node before the log responds. */
  readonly servesAlone?: boolean;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly inlineBytesMax?: number;
  readonly checkpointLogBytes?: number;
  readonly checkpointFileBytes?: number;
  readonly logBytesMax?: number;
  readonly heldBytesMax?: number;
  readonly maintenanceMs?: number;
  readonly formatMax?: number;
}

export interface NodeParts {
  readonly log: Log;
  readonly blobs: Blobs;
  readonly replica: Replica;
  readonly runtime: Runtime;
  /** What the log keeps for this node until it shows its position as a member. */
  readonly hold?: LogHold;
  /** This node does not fit the cluster, which was found out after `start`. */
  readonly onRefused?: (error: Error) => void;
}

/** A commit that is complete except for its sequence in the log. */
export interface Proposal {
  readonly database: string;
  /** Returned by `upload`. */
  readonly files: readonly FileRef[];
  readonly delta: Buffer;
}

/** Where a write is to be handled. */
export type Route =
  | { readonly kind: 'here' }
  | { readonly kind: 'forward'; readonly url: string }
  /** Reported as 503 `no_leader`. */
  | { readonly kind: 'no_leader'; readonly retryAfterSeconds: number };

/** What keeps a node from doing its part. */
export type TroubleKind = 'etcd_unavailable' | 'no_leader' | 'store_unavailable';

export interface Trouble {
  readonly kind: TroubleKind;
  /** For how long already. */
  readonly ms: number;
}

export class ClusterNode {
  readonly #options: NodeOptions;
  readonly #parts: NodeParts;
  readonly #stop = new AbortController();
  readonly #transfers: Transfers;
  readonly #follower: Follower;
  readonly #leadership: Leadership;
  readonly #checkpoints: Checkpoints;
  readonly #storeWatch: StoreWatch;
  readonly #commits = new Serial();
  /** The term in which this node has applied everything that earlier leaders wrote. */
  #ready: Term | null = null;
  #leader: Leader | null = null;
  /** Aborted when the leader changes, or cannot be reached any more. */
  #leaderEnd = new AbortController();
  #unreachableSince: number | null = null;
  /** When no node began to be ready to take writes, as far as this one knows. */
  #leaderlessSince: number | null;
  /** When the log last responded. */
  #heardAt: number;
  #format: number;
  /** Bytes of entries in the log since the newest checkpoint. */
  #logBytes = 0;
  /** Bytes of records stored as objects since then. */
  #recordBytes = 0;
  /** Bytes of files that records have named since then. */
  #fileBytes = 0;
  /** When this node last made a commit, by the clock of the runtime. */
  #committedAt = 0;
  #known: { head: Sequence; asked: number } = { head: 0, asked: 0 };
  #damaged: readonly BlobName[] = [];
  #isDrained = false;
  #successor: string | null = null;
  /** Sequence of the newest checkpoint, as far as this node knows. */
  #checkpointAt: Sequence = 0;
  /** The owner that the object store must have; null: not known yet. */
  #owner: ExpectedOwner | null = null;
  /** When this node last had everything in the log, by the clock of the runtime. */
  #currentAt: number;
  #announced = { id: '', state: '', at: 0 };
  #joined: Promise<void> = Promise.resolve();
  #running: Promise<unknown> | null = null;
  #isStopping = false;
  #waitsFor = '';

  constructor(options: NodeOptions, parts: NodeParts) {
    this.#options = options;
    this.#parts = parts;
    const { log, blobs, replica, runtime } = parts;
    const { signal } = this.#stop;
    // Each waiting request adds a listener.
    setMaxListeners(0, signal);
    const { leaseMs, retentionMs, heldBytesMax, name, url, formatMax = FORMAT_MAX } = options;
    this.#format = FORMAT_MIN;
    const now = runtime.elapsed();
    [this.#currentAt, this.#heardAt, this.#leaderlessSince] = [now, now, now];
    const transfers = new Transfers(blobs, replica, options.token);
    this.#transfers = transfers;
    const shared = { log, blobs, replica, runtime, transfers, formatMax, signal };
    this.#checkpoints = new Checkpoints({
      ...shared,
      retentionMs,
      heldBytesMax,
      isOwnStore: () => this.#isOwnStore(),
    });
    this.#storeWatch = new StoreWatch({
      blobs,
      runtime,
      node: name,
      signal,
      expected: () => this.#owner,
      onCheck: () => void this.#handOver().catch(() => {}),
    });
    this.#follower = new Follower({
      ...shared,
      install: () => this.#checkpoints.install(),
      onFault: (error) => this.#report(error),
    });
    this.#leadership = new Leadership({
      log,
      runtime,
      node: name,
      url,
      leaseMs,
      signal,
      applied: () => replica.applied,
      isEquipped: () => this.#storeWatch.fault === null && !this.#isDrained,
      isOtherBetter: async () => {
        const { running } = await log.members();
        return this.#isOtherFit(running) || running.some(({ applied }) => applied > this.applied);
      },
      announce: (lease) => this.#announce(lease),
      onState: (state, asked) => this.#see(state, asked),
      onTerm: (term) => void this.#lead(term),
      onProbe: (isReachable) => this.#probed(isReachable),
    });
  }

  // --- Life --------------------------------------------------------------------------------------

  /**
   * Joins the cluster, or founds it. Throws `RefusedError` when this node does not fit. A node that
   * may serve alone waits for the log only briefly; it joins when the log responds.
   */
  async start(): Promise<void> {
    this.#joined = this.#join();
    if (this.#options.servesAlone !== true) return this.#joined;
    const end = new AbortController();
    await Promise.race([this.#joined, this.#parts.runtime.sleep(ALONE_MS, end.signal)]);
    end.abort();
    this.#joined.catch((error: unknown) => {
      if (!this.#stop.signal.aborted) this.#parts.onRefused?.(error as Error);
    });
  }

  async #join(): Promise<void> {
    const { log, replica } = this.#parts;
    let state = await this.#patiently(() => log.state());
    if (state.identity === null) {
      await this.#found();
      state = await this.#patiently(() => log.state());
    }
    // A node that does not belong to the cluster leaves no trace in it.
    await this.#check(state);
    await this.#proveStore(state);
    state = await this.#register();
    // A restart takes a node back into service.
    const { name } = this.#options;
    if (state.drained.includes(name)) await this.#patiently(() => log.drain(name, false));
    state = { ...state, drained: [] };
    if (replica.cluster === null) await replica.adopt(state.identity!.id, 0);
    this.#see(state, this.#parts.runtime.elapsed());
    this.#running = Promise.all([
      this.#follower.follow(),
      this.#leadership.run(),
      this.#storeWatch.run(),
    ]);
  }

  /** Makes this node a member. Throws `RefusedError` if the cluster needs a newer version. */
  async #register(): Promise<LogState> {
    const { log } = this.#parts;
    const { name, formatMax = FORMAT_MAX } = this.#options;
    // Must precede the read of the state: see `#raiseFormat`.
    const registered = await this.#patiently(() => log.register(name, formatMax));
    const state = await this.#patiently(() => log.state());
    try {
      await this.#check(state);
    } catch (error) {
      // The format was raised a moment ago, without this node. The next upgrade must not wait for
      // it.
      await log.forget(name, registered).catch(() => {});
      throw error;
    }
    return state;
  }

  /**
   * Compares the object store with the one that the cluster has, and claims it for a new cluster.
   * Throws `RefusedError`. A store that cannot be reached is compared later, see `StoreWatch`.
   */
  async #proveStore({ identity, store }: LogState): Promise<void> {
    const { log, blobs } = this.#parts;
    const { id, salt, proof } = identity!;
    const { cluster, token } = this.#options;
    if (store === null) {
      const own = { cluster, id, store: token, salt, proof };
      const owner = await this.#patiently(() => claimStore(blobs, own));
      demandOwner(owner, { id, store: owner.store });
      await this.#patiently(() => log.useStore(owner.store));
      const state = await this.#patiently(() => log.state());
      this.#owner = { id, store: state.store! };
      demandOwner(owner, this.#owner);
      return;
    }
    this.#owner = { id, store };
    try {
      demandOwner(await readOwner(blobs), this.#owner);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#parts.runtime.log(`The object store could not be checked: ${error.message}`);
    }
  }

  /** Whether the object store is still that of this cluster. Throws the error of the store. */
  async #isOwnStore(): Promise<boolean> {
    const owner = await readOwner(this.#parts.blobs);
    return owner?.id === this.#owner?.id && owner?.store === this.#owner?.store;
  }

  async #found(): Promise<void> {
    const { log, blobs, replica } = this.#parts;
    const owner = await this.#patiently(() => readOwner(blobs));
    if (owner !== null) {
      // Another node may have founded the cluster meanwhile.
      if ((await this.#patiently(() => log.state())).identity !== null) return;
      throw new RefusedError(
        `The object store belongs to the cluster ${owner.cluster}, and etcd holds no cluster of this ` +
          'name: it has lost its data, or --cluster-name or --cluster-store is another one',
      );
    }
    if (replica.cluster === null && !replica.isEmpty && !this.#options.join) {
      throw new RefusedError(
        'The data folder has data of its own. Start with an empty folder, or make this data the ' +
          'beginning of the cluster with --cluster-join',
      );
    }
    // A crash while it was founded leaves a folder that is at 1 although the log does not exist.
    if (replica.cluster !== null && !(this.#options.join && replica.applied === 1)) {
      throw new RefusedError(
        `The data folder is that of a cluster, at ${replica.applied}, and etcd holds no cluster of ` +
          'this name: it has lost its data, or --cluster-name is another one',
      );
    }
    const head = replica.isEmpty ? 0 : 1;
    const id = replica.cluster ?? this.#options.token;
    // Must precede the entry in the log: otherwise a crash in between would leave a cluster whose
    // data no node has.
    if (head === 1 && replica.cluster === null) await replica.adopt(id, 1);
    const { token: salt, proofOf } = this.#options;
    const identity = { id, salt, proof: await proofOf(salt) };
    await this.#patiently(() => log.found(identity, head));
  }

  async #check({ identity, head, settings }: LogState): Promise<void> {
    const { replica } = this.#parts;
    const { formatMax = FORMAT_MAX, proofOf } = this.#options;
    if (identity === null) throw new UnavailableError('The cluster was not founded');
    if (identity.proof !== (await proofOf(identity.salt))) {
      throw new RefusedError('The master key is not that of the other nodes of the cluster');
    }
    if (settings.formatRequired > formatMax) {
      throw new RefusedError(newerFormat(settings.formatRequired, formatMax).message);
    }
    const isOurs = replica.cluster === identity.id;
    if (!isOurs && (replica.cluster !== null || !replica.isEmpty)) {
      throw new RefusedError('The data folder belongs to another cluster, or has data of its own');
    }
    if (replica.applied > head) {
      throw new RefusedError(
        `The data folder is at ${replica.applied}, the log at ${head}: the log has lost entries`,
      );
    }
  }

  /** Logs why the start waits. */
  #wait(reason: string): void {
    if (reason !== this.#waitsFor) this.#parts.runtime.log(`The node waits: ${reason}`);
    this.#waitsFor = reason;
  }

  /** Retries an operation that is safe to repeat. */
  async #patiently<T>(task: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await task();
      } catch (error) {
        if (!(error instanceof UnavailableError) || this.#stop.signal.aborted) throw error;
        this.#wait(error.message);
        await this.#parts.runtime.sleep(START_RETRY_MS, this.#stop.signal);
      }
    }
  }

  /**
   * Waits briefly for commits under way, then gives up leadership, so that another node takes over,
   * and ends all work.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const drained = this.#commits.run(async () => {});
    await Promise.race([drained, this.#parts.runtime.sleep(STOP_MS, this.#stop.signal)]);
    await this.#leadership.leave().catch(() => {});
    this.#stop.abort();
    await this.#joined.catch(() => {});
    await this.#running;
  }

  // --- Writing -----------------------------------------------------------------------------------

  /**
   * @param isForwarded another node has sent the request here, so it must not be forwarded again
   */
  route(isForwarded: boolean): Route {
    if (this.#readyTerm() !== null && !this.#isStopping) return { kind: 'here' };
    const leader = this.#leader;
    if (leader !== null && leader.node !== this.#options.name && !isForwarded) {
      return { kind: 'forward', url: leader.url };
    }
    return { kind: 'no_leader', retryAfterSeconds: 1 };
  }

  /** Ends requests that wait for the present leader, which is another node. */
  get leaderSignal(): AbortSignal {
    return this.#leaderEnd.signal;
  }

  #endLeader(): void {
    this.#leaderEnd.abort();
    this.#leaderEnd = new AbortController();
    // Each waiting request adds a listener.
    setMaxListeners(0, this.#leaderEnd.signal);
    this.#unreachableSince = null;
  }

  #probed(isReachable: boolean): void {
    const now = this.#parts.runtime.elapsed();
    if (isReachable) this.#unreachableSince = null;
    else this.#unreachableSince ??= now;
    if (this.#unreachableSince !== null && now - this.#unreachableSince > UNREACHABLE_MS) {
      this.#endLeader();
    }
  }

  /** Lets another node lead, because this one cannot do the work of a leader for now. */
  resign(): void {
    const term = this.#readyTerm();
    if (term !== null) this.#leadership.resign(term, REST_MS).catch(() => {});
  }

  /** Epoch of the present term while this node may write, else null. */
  get epochLed(): Epoch | null {
    return this.#readyTerm()?.epoch ?? null;
  }

  /**
   * Stores files that a commit is about to name. Throws `NoLeaderError`, or the error of the object
   * store. Call `release` if the commit does not follow.
   */
  async upload(files: readonly { name: string; source: BlobSource }[]): Promise<FileRef[]> {
    const { epoch } = this.#demandTerm();
    const stored = await Promise.allSettled(
      files.map(async ({ name, source }) => {
        const blob = await this.#transfers.upload(source, epoch);
        return { name, size: source.size, sha256: source.sha256, blob };
      }),
    );
    const refs = stored.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = stored.find((one) => one.status === 'rejected');
    if (failed === undefined) return refs;
    this.#storeWatch.suspect();
    this.release(refs);
    throw failed.reason;
  }

  release(files: readonly FileRef[]): void {
    this.#transfers.settle(files.map(({ blob }) => blob));
  }

  /**
   * Adds a commit to the log and applies it here. Commits run one after the other. Throws
   * `NoLeaderError` or `WritesRefusedError`: nothing was written. Throws `OutcomeUnknownError`: the
   * commit may be in the log, and is then applied like any other record.
   *
   * @param build called once all earlier records are applied here; what it throws is passed on, and
   *   nothing has happened
   * @returns the sequence of the commit
   */
  async commit(build: () => Proposal | Promise<Proposal>): Promise<Sequence> {
    if (this.#isStopping) throw new NoLeaderError('This node is stopping');
    return this.#commits.run(async () => {
      const term = this.#demandTerm();
      if (this.#logBytes >= (this.#options.logBytesMax ?? LOG_BYTES_MAX)) {
        throw new WritesRefusedError('No checkpoint could be written for long: see the log');
      }
      const sequence = this.#follower.applied + 1;
      const proposal = await build();
      if (proposal.files.some(({ blob }) => epochOf(blob) !== term.epoch)) {
        throw new NoLeaderError('The files of the commit were stored before this term');
      }
      const record = {
        format: this.#format,
        sequence,
        epoch: term.epoch,
        at: this.#parts.runtime.now(),
        ...proposal,
      };
      const body = await this.#bodyOf(record);
      const entry = { sequence, body: encodeBody(body) };
      if (!(await this.#append(entry, term, blobsOfEntry(record, body)))) {
        await this.#leadership.resign(term).catch(() => {});
        throw new NoLeaderError('Another node leads by now');
      }
      this.#logBytes += entry.body.length;
      this.#recordBytes += body.kind === 'ref' ? body.size : 0;
      this.#fileBytes += sizeOf(record.files);
      this.#committedAt = this.#parts.runtime.elapsed();
      // A node that cannot apply its own records must not lead. Its watch delivers the entry again,
      // or has done so before: then `take` may wait for a record that waits for this commit to end.
      const resign = (): Promise<void> => this.#leadership.resign(term).catch(() => {});
      this.#follower.take(entry, record).catch(resign);
      await this.#follower.reached(sequence, this.#stop.signal);
      if (this.#follower.applied < sequence) throw new OutcomeUnknownError('The node is stopping');
      return sequence;
    });
  }

  /**
   * @param blobs objects that the entry names; they stay reserved for it while its outcome is not
   *   known
   */
  async #append(entry: Entry, { epoch }: Term, blobs: readonly BlobName[]): Promise<boolean> {
    const { log, runtime } = this.#parts;
    try {
      const isAdded = await appendSurely(log, entry, epoch, runtime, this.#stop.signal);
      this.#transfers.settle(blobs);
      return isAdded;
    } catch (error) {
      if (error instanceof WritesRefusedError) this.#transfers.settle(blobs);
      throw error;
    }
  }

  async #bodyOf(record: CommitRecord): Promise<EntryBody> {
    const pieces = recordPieces(record);
    const size = pieces[0].length + pieces[1].length + SHA256_BYTES;
    if (size < (this.#options.inlineBytesMax ?? INLINE_BYTES_MAX)) {
      return { kind: 'record', bytes: encodeRecord(record) };
    }
    if (size > RECORD_BYTES_MAX) throw new WritesRefusedError('The commit is too large');
    try {
      return { kind: 'ref', ...(await this.#transfers.uploadRecord(pieces, record.epoch)) };
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      throw new WritesRefusedError(`The object store does not take writes: ${error.message}`);
    }
  }

  /** The term in which this node may write now. */
  #readyTerm(): Term | null {
    return this.#ready !== null && this.#leadership.term === this.#ready ? this.#ready : null;
  }

  #demandTerm(): Term {
    const term = this.#readyTerm();
    if (term === null) throw new NoLeaderError('This node is not the leader');
    return term;
  }

  // --- Reading -----------------------------------------------------------------------------------

  /** The last record that reads on this node see. */
  get applied(): Sequence {
    return this.#follower.applied;
  }

  /**
   * @returns false when the time has passed or `signal` was given before the record was applied
   *   here
   */
  async waitFor(sequence: Sequence, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (this.applied >= sequence || signal.aborted) return this.applied >= sequence;
    const end = new AbortController();
    const stop = (): void => end.abort();
    for (const other of [signal, this.#stop.signal]) other.addEventListener('abort', stop);
    const timer = this.#parts.runtime.sleep(timeoutMs, end.signal);
    await Promise.race([this.#follower.reached(sequence, end.signal), timer]);
    for (const other of [signal, this.#stop.signal]) other.removeEventListener('abort', stop);
    end.abort();
    return this.applied >= sequence;
  }

  /**
   * How long ago this node last had everything in the log, ms. Grows while the log cannot be
   * reached.
   */
  get lagMs(): number {
    return Math.max(0, this.#parts.runtime.elapsed() - this.#currentAt);
  }

  /** How long ago the log last responded, ms. */
  get silentMs(): number {
    return this.#parts.runtime.elapsed() - this.#heardAt;
  }

  /** What keeps this node, or the cluster, from doing all of its work; null: nothing. */
  get trouble(): Trouble | null {
    const now = this.#parts.runtime.elapsed();
    if (this.silentMs > this.#options.leaseMs || this.#running === null) {
      return { kind: 'etcd_unavailable', ms: this.silentMs };
    }
    const isLed = this.#leader !== null && this.#leader.node !== this.#options.name;
    if (isLed || this.#readyTerm() !== null) this.#leaderlessSince = null;
    else this.#leaderlessSince ??= now;
    if (this.#leaderlessSince !== null) {
      return { kind: 'no_leader', ms: now - this.#leaderlessSince };
    }
    const { fault, failingMs } = this.#storeWatch;
    return fault === null ? null : { kind: 'store_unavailable', ms: failingMs };
  }

  /** The state that `GET /cluster` shows. If the log cannot be reached, it lists only this node. */
  async status(): Promise<ClusterStatus> {
    const { running, formats } = await this.#parts.log.members().catch(() => ({
      running: [this.#self()],
      formats: null,
    }));
    return {
      leader: this.#leader,
      head: this.#known.head,
      nodes: running.map((member) => (member.name === this.#options.name ? this.#self() : member)),
      registered: formats === null ? null : [...formats.keys()],
      fault: this.#follower.fault ?? this.storeFault,
      damagedObjects: this.#damaged,
    };
  }

  /** Bytes of the log since the newest checkpoint, as the leader counts them; 0 elsewhere. */
  get logBytes(): number {
    return this.#readyTerm() === null ? 0 : this.#logBytes;
  }

  get commitsSinceCheckpoint(): number {
    return Math.max(0, this.#known.head - this.#checkpointAt);
  }

  /** Objects of the store that a node has found damaged, until they are mended. */
  get damagedObjects(): readonly BlobName[] {
    return this.#damaged;
  }

  /** Whether another process runs under the name of this node. */
  get nameIsTaken(): boolean {
    return this.#leadership.nameIsTaken;
  }

  /** Whether an operator has taken this node out of service. */
  get isDrained(): boolean {
    return this.#isDrained;
  }

  #see(state: LogState, asked: number): void {
    const { head, leader, settings, damaged, drained, successor } = state;
    this.#heardAt = Math.max(this.#heardAt, asked);
    if (leader?.epoch !== this.#leader?.epoch) this.#endLeader();
    this.#leader = leader;
    this.#format = settings.format;
    this.#damaged = damaged;
    this.#checkpointAt = settings.checkpoint?.sequence ?? 0;
    this.#known = { head, asked };
    this.#isDrained = drained.includes(this.#options.name);
    this.#successor = successor;
    if (this.#leavesLead) void this.#handOver().catch(() => {});
    this.#follower.expect(head);
    this.#updateLag();
  }

  #updateLag(): void {
    if (this.applied >= this.#known.head) {
      this.#currentAt = Math.max(this.#currentAt, this.#known.asked);
    }
  }

  #self(): Member {
    const { name, url, formatMax = FORMAT_MAX } = this.#options;
    const { bytesToFetch } = this.#transfers;
    return {
      name,
      url,
      formatMax,
      applied: this.applied,
      lagMs: this.lagMs,
      bytesToFetch,
      isFit: this.#leadership.isFit(this.#known.head),
      storeFault: this.storeFault,
    };
  }

  /** Why this node cannot use the object store; null: it can. */
  get storeFault(): string | null {
    return this.#storeWatch.fault;
  }

  #isOtherFit(running: readonly Member[]): boolean {
    const successor = this.#successor;
    return running.some(
      ({ name, isFit }) =>
        isFit && name !== this.#options.name && (successor === null || successor === name),
    );
  }

  /** Whether another node is to lead. */
  get #leavesLead(): boolean {
    const isOther = this.#successor !== null && this.#successor !== this.#options.name;
    return isOther || this.#isDrained || this.#storeWatch.failingMs >= STORE_FAILS_MS;
  }

  /** A leader that is drained, or cannot use the object store, lets a node lead that is fit. */
  async #handOver(): Promise<void> {
    const term = this.#leadership.term;
    if (term === null || !this.#leavesLead) return;
    const { running } = await this.#parts.log.members();
    if (this.#isOtherFit(running)) await this.#leadership.resign(term, REST_MS);
  }

  /** Not with each heartbeat, because the log keeps every announcement. */
  async #announce(lease: Lease): Promise<boolean> {
    const now = this.#parts.runtime.elapsed();
    const { id, state, at } = this.#announced;
    this.#updateLag();
    const member = this.#self();
    const changed = `${member.isFit} ${member.storeFault}`;
    if (id === lease.id && state === changed && now - at < ANNOUNCE_MS) return true;
    if (!(await this.#parts.log.announce(member, lease.id))) return false;
    this.#announced = { id: lease.id, state: changed, at: now };
    void this.#parts.hold?.release();
    return true;
  }

  // --- Repair ------------------------------------------------------------------------------------

  /**
   * The files of each database as they have to be, and some that are not needed any more. Throws
   * the error of the log or of the object store.
   */
  files(): Promise<ReadonlyMap<string, readonly FileRef[]>> {
    return this.#reporting(this.#checkpoints.files());
  }

  /** Fetches the files that do not exist here as they have to be. */
  fetch(database: string, files: readonly FileRef[]): Promise<void> {
    return this.#reporting(this.#transfers.fetchFiles(database, files));
  }

  async #reporting<T>(result: Promise<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      this.#report(error);
      throw error;
    }
  }

  /** Lets the leader mend an object that an error calls damaged. */
  #report(error: unknown): void {
    const object = damagedObject(error);
    const isOfCluster = object !== null && epochOf(object) !== null;
    if (isOfCluster) this.#parts.log.reportDamage(object).catch(() => {});
  }

  /** Runs a task while no record is being applied. */
  exclusive<T>(task: () => Promise<T>): Promise<T> {
    return this.#follower.exclusive(task);
  }

  // --- Leading -----------------------------------------------------------------------------------

  async #lead(term: Term): Promise<void> {
    if (!(await this.#catchUp(term))) return;
    this.#ready = term;
    this.#parts.runtime.log(`This node leads, epoch ${term.epoch}`);
    const { maintenanceMs = MAINTENANCE_MS } = this.#options;
    let isMeasured = false;
    while (!term.signal.aborted) {
      try {
        if (!isMeasured) await this.#measureLog();
        isMeasured = true;
        await this.#maintain(term);
      } catch (error) {
        this.#report(error);
        this.#parts.runtime.log(`Maintenance of the cluster: ${(error as Error).message}`);
      }
      await this.#parts.runtime.sleep(maintenanceMs, term.signal);
    }
    if (this.#ready === term) this.#ready = null;
  }

  /**
   * Applies what earlier leaders wrote. False: the term has ended, also because nothing was applied
   * or fetched for long: another node may be able to.
   */
  async #catchUp(term: Term): Promise<boolean> {
    const { runtime } = this.#parts;
    const seen = { applied: this.applied, bytes: this.#transfers.bytesFetched };
    let since = runtime.elapsed();
    while (!term.signal.aborted && this.applied < term.head) {
      const end = new AbortController();
      const stop = (): void => end.abort();
      term.signal.addEventListener('abort', stop);
      await Promise.race([
        this.#follower.reached(term.head, end.signal),
        runtime.sleep(LOOK_MS, end.signal),
      ]);
      term.signal.removeEventListener('abort', stop);
      end.abort();
      const { bytesFetched } = this.#transfers;
      if (this.applied > seen.applied || bytesFetched > seen.bytes) since = runtime.elapsed();
      seen.applied = this.applied;
      seen.bytes = Math.max(seen.bytes, bytesFetched);
      if (runtime.elapsed() - since < BECOME_READY_MS) continue;
      runtime.log('This node leads and cannot catch up: another one may lead');
      await this.#leadership.resign(term, REST_MS).catch(() => {});
    }
    return !term.signal.aborted;
  }

  async #measureLog(): Promise<void> {
    const { log } = this.#parts;
    const { formatMax = FORMAT_MAX } = this.#options;
    const { settings } = await log.state();
    let bytes = 0;
    let recordBytes = 0;
    let fileBytes = 0;
    let from = Math.max(settings.floor, (settings.checkpoint?.sequence ?? 0) + 1);
    for (;;) {
      const entries = await log.read(from, 64);
      if (entries.length === 0) break;
      for (const { body } of entries) {
        bytes += body.length;
        const decoded = decodeBody(body);
        // The files of a large record are not counted: it would have to be fetched.
        if (decoded.kind === 'ref') recordBytes += decoded.size;
        else fileBytes += sizeOf(decodeRecord(decoded.bytes, formatMax).files);
      }
      from += entries.length;
    }
    this.#logBytes = bytes;
    this.#recordBytes = recordBytes;
    this.#fileBytes = fileBytes;
    this.#committedAt = this.#parts.runtime.elapsed();
  }

  async #maintain({ epoch }: Term): Promise<void> {
    const { log } = this.#parts;
    const { settings, damaged } = await log.state();
    await this.#raiseFormat(settings, epoch);
    const hasNone = settings.checkpoint === null && settings.floor > 1;
    const isDue =
      this.#logBytes >= (this.#options.checkpointLogBytes ?? CHECKPOINT_LOG_BYTES) ||
      this.#recordBytes >= CHECKPOINT_RECORD_BYTES ||
      this.#isDueAtRest;
    const lost = await this.#mend(damaged);
    if (!hasNone && !isDue && lost.size === 0) return;
    const [bytes, recordBytes, fileBytes] = [this.#logBytes, this.#recordBytes, this.#fileBytes];
    await this.#checkpoints.write(epoch, (task) => this.#follower.exclusive(task), lost);
    this.#logBytes -= bytes;
    this.#recordBytes -= recordBytes;
    this.#fileBytes -= fileBytes;
    for (const object of lost) await log.settleDamage(object);
  }

  get #isDueAtRest(): boolean {
    const { checkpointFileBytes = CHECKPOINT_FILE_BYTES } = this.#options;
    const enough = Math.max(checkpointFileBytes, this.#checkpoints.copiedBytes);
    const isAtRest = this.#parts.runtime.elapsed() - this.#committedAt >= AT_REST_MS;
    return isAtRest && this.#fileBytes >= enough;
  }

  /** @returns the objects that only a new checkpoint can replace */
  async #mend(damaged: readonly BlobName[]): Promise<ReadonlySet<BlobName>> {
    if (damaged.length === 0) return new Set();
    const { log, runtime } = this.#parts;
    try {
      const lost = await this.#checkpoints.mend(damaged);
      for (const object of damaged) if (!lost.has(object)) await log.settleDamage(object);
      return lost;
    } catch (error) {
      // Checkpoints are still needed.
      runtime.log(`Damaged objects cannot be stored again: ${(error as Error).message}`);
      return new Set();
    }
  }

  /**
   * Raises the format of records once all members read the newer one. A node registers its format
   * and then reads the settings. The leader requires a format and then, in its next round, reads
   * the members. So at least one of them sees the other.
   */
  async #raiseFormat(settings: LogSettings, epoch: Epoch): Promise<void> {
    const { formats, revision } = await this.#parts.log.members();
    const all = Math.min(this.#options.formatMax ?? FORMAT_MAX, ...formats.values());
    const { format, formatRequired } = settings;
    const after =
      all === formatRequired
        ? { ...settings, format: formatRequired }
        : { ...settings, formatRequired: Math.max(all, format) };
    const isNew = after.format !== format || after.formatRequired !== formatRequired;
    if (isNew) await this.#checkpoints.replaceSettings(settings, after, epoch, revision);
  }
}

function sizeOf(files: readonly FileRef[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

export interface ClusterStatus {
  readonly leader: Leader | null;
  readonly head: Sequence;
  /** Those that run. */
  readonly nodes: readonly Member[];
  /** Names of all nodes, also of those that do not run. null: the log cannot be reached. */
  readonly registered: readonly string[] | null;
  /** Why this node can apply no records at present. */
  readonly fault: string | null;
  readonly damagedObjects: readonly BlobName[];
}
