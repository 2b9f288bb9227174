import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Blobs } from '../cluster/blobs/blobs.ts';
import {
  NoLeaderError,
  OutcomeUnknownError,
  UnavailableError,
  WritesRefusedError,
} from '../cluster/errors.ts';
import type { LogHold } from '../cluster/log-hold.ts';
import type { Log } from '../cluster/log/log.ts';
import { ClusterNode, type NodeOptions } from '../cluster/node.ts';
import type { Epoch, FileRef } from '../cluster/record.ts';
import type { Runtime } from '../cluster/runtime.ts';
import { ApiError, noLeader } from '../contract/errors.ts';
import { CANCELED } from '../engine/errors.ts';
import type { NativeAddon } from '../engine/native.ts';
import type { OutboundClient } from '../outbound/outbound-client.ts';
import type { PayloadFile } from '../store/store.ts';
import { FileRepair } from './file-repair.ts';
import { fileSource } from './local-files.ts';
import {
  branchDelta,
  databaseOf,
  payloadName,
  type ReplicaParts,
  ServerReplica,
  STORE,
} from './server-replica.ts';

/** How often this node looks whether it leads. */
const LOOK_MS = 50;

/** The longest time of a timer. */
const WAIT_MS_MAX = 2 ** 31 - 1;

/** Pause before a commit of an index that was refused is tried again. */
const REFUSED_MS = 1000;

/** Numbers of files that one leader can give in an index. */
const NUMBER_BITS = 24n;

/** A process that died keeps its name until its lease ends; one that lives keeps it longer. */
const NAME_TAKEN_LEASES = 3;

/** Pause before the work of the leader is begun again. */
const BEGIN_RETRY_MS = 1000;

/** What only a leader does. */
export interface LeaderWork {
  /**
   * This node leads from now on, until the signal, which also interrupts this call. Called again
   * when it rejects before the signal.
   * @param resign lets another node lead
   */
  begin(signal: AbortSignal, resign: () => void): Promise<void>;
  /** Called after the signal, once `begin` has settled. Resolves once the work has ended. */
  end(): Promise<void>;
}

export interface ClusterParts extends Omit<ReplicaParts, 'notLeading'> {
  readonly native: NativeAddon;
  readonly log: Log;
  readonly blobs: Blobs;
  readonly runtime: Runtime;
  /** What the log keeps for this node while it starts. */
  readonly hold?: LogHold;
  readonly work: LeaderWork;
  /** For requests to other nodes. */
  readonly client: OutboundClient;
  readonly etcdClient: OutboundClient;
  /** A node further behind is not healthy. */
  readonly lagMsMax: number;
  /** This node does not fit the cluster, as the log has said after the start. */
  readonly onRefused?: (error: Error) => void;
  /** Another process is the node of this name. */
  readonly onNameTaken: () => void;
  /** Pause between two comparisons of all files, ms. */
  readonly comparePauseMs?: number;
}

/**
 * This server as a node of a cluster: its commits go to the log, and the records of the log are
 * applied to its store and its indexes.
 */
export class ServerCluster {
  readonly name: string;
  readonly node: ClusterNode;
  readonly client: OutboundClient;
  readonly lagMsMax: number;
  readonly #parts: ClusterParts;
  readonly #replica: ServerReplica;
  readonly #nameTakenMsMax: number;
  #nameTakenSince: number | null = null;
  /** The present term. A later term needs a new beginning. */
  #term: { readonly epoch: Epoch; readonly ending: AbortController } | null = null;
  /** Epoch of the term whose work is done here, until that work has ended. */
  #working: Epoch | null = null;
  #isStopped = false;
  /** Settles after each begin and end of the leader's work; they run one after the other. */
  #changes: Promise<void> = Promise.resolve();
  #looking: Promise<void> | null = null;
  readonly #repair: FileRepair;
  readonly #endingRepair = new AbortController();
  #repairing: Promise<void> | null = null;

  constructor(options: NodeOptions, parts: ClusterParts) {
    this.#parts = parts;
    this.name = options.name;
    this.client = parts.client;
    this.lagMsMax = parts.lagMsMax;
    this.#nameTakenMsMax = NAME_TAKEN_LEASES * options.leaseMs;
    this.#replica = new ServerReplica({ ...parts, notLeading: () => this.#notLeading() });
    const { log, blobs, runtime, hold, onRefused } = parts;
    this.node = new ClusterNode(options, {
      log,
      blobs,
      runtime,
      replica: this.#replica,
      ...(hold === undefined ? {} : { hold }),
      ...(onRefused === undefined ? {} : { onRefused }),
    });
    const { registry, onDatabaseDamaged, comparePauseMs } = parts;
    this.#repair = new FileRepair({
      node: this.node,
      replica: this.#replica,
      registry,
      runtime,
      onDatabaseDamaged,
      ...(comparePauseMs === undefined ? {} : { pauseMs: comparePauseMs }),
      follow: async () => {
        this.node.resign();
        await this.#notLeading();
      },
      signal: this.#endingRepair.signal,
    });
  }

  /** Resolves once this node follows the log. Throws `RefusedError`. */
  async start(): Promise<void> {
    const { store, native, registry } = this.#parts;
    registry.makeBranch = (from, to) => this.#commitBranch(from, to);
    store.useLog({ commit: (files, build) => this.#commitStore(files, build) });
    native.setCommitLog((call, dir, files) => void this.#commitIndex(call, basename(dir), files));
    await this.node.start();
    this.#looking = this.#look();
    this.#repairing = this.#repair.run();
  }

  /** Id of the cluster. REQUIRES: it has started. */
  get id(): string {
    return this.#parts.store.cluster!.id;
  }

  /** Resolves once what the log held at the start is applied here, or at the signal. */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const { head } = await this.node.status();
    await this.node.waitFor(head, WAIT_MS_MAX, signal);
  }

  /** Ends what only a leader does, for good. Writes are accepted until `stop`. */
  async endWork(): Promise<void> {
    this.#isStopped = true;
    this.#endingRepair.abort();
    await this.#looking;
    await this.#notLeading();
  }

  async stop(): Promise<void> {
    await this.endWork();
    await this.node.stop();
    await this.#repairing;
    await this.client.close();
    await this.#parts.etcdClient.close();
    this.#parts.native.setCommitLog(null);
  }

  // --- Leading ---------------------------------------------------------------------------------

  async #look(): Promise<void> {
    while (!this.#isStopped) {
      const epoch = this.node.epochLed;
      if (epoch !== (this.#term?.epoch ?? null)) {
        this.#end();
        // A node may learn from a record of the next leader, and later from the log, that it does
        // not lead any more. Without such a record the term goes on: the lease, whose end this node
        // expected, was kept alive late.
        if (epoch !== null && epoch >= this.#replica.epoch) this.#begin(epoch);
      }
      this.#checkName();
      await delay(LOOK_MS, undefined, { ref: false });
    }
  }

  #checkName(): void {
    if (!this.node.nameIsTaken) {
      this.#nameTakenSince = null;
      return;
    }
    const now = this.#parts.runtime.elapsed();
    this.#nameTakenSince ??= now;
    if (now - this.#nameTakenSince > this.#nameTakenMsMax) this.#parts.onNameTaken();
  }

  #begin(epoch: Epoch): void {
    const ending = new AbortController();
    this.#term = { epoch, ending };
    this.#changes = this.#changes.then(() => this.#beginWork(epoch, ending.signal));
  }

  async #beginWork(epoch: Epoch, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#replica.epoch > epoch) return;
    this.#working = epoch;
    // No term gives a uid to an index of an earlier one: see `#demandWorking`.
    const swept = this.#parts.registry.sweepUnnamed(new Set());
    this.#parts.native.lead(BigInt(epoch) << NUMBER_BITS);
    await swept.catch((error: unknown) => this.#log(error));
    while (!signal.aborted) {
      try {
        await this.#parts.work.begin(signal, () => this.node.resign());
        return;
      } catch (error) {
        this.#log(error);
        await this.#parts.runtime.sleep(BEGIN_RETRY_MS, signal);
      }
    }
  }

  #end(): void {
    if (this.#term === null) return;
    this.#parts.native.lead(null);
    // A beginning that waits for the log would wait for ever.
    this.#term.ending.abort();
    this.#term = null;
    this.#changes = this.#changes
      .then(() => this.#parts.work.end())
      .catch((error: unknown) => this.#log(error))
      .then(() => {
        this.#working = null;
      });
  }

  /**
   * Refuses commits of work that began in an earlier term: another leader may have done that work.
   */
  #demandWorking(): void {
    if (this.#working !== null && this.#working !== this.node.epochLed) {
      throw new NoLeaderError('The work of an earlier term has not ended');
    }
  }

  #log(error: unknown): void {
    this.#parts.runtime.log(`The work of the leader: ${(error as Error).message}`);
  }

  async #notLeading(): Promise<void> {
    this.#end();
    await this.#changes;
  }

  // --- Commits ---------------------------------------------------------------------------------

  async #commitStore(payloads: readonly PayloadFile[], build: () => Buffer): Promise<void> {
    let files: FileRef[] = [];
    try {
      files = await this.#upload(
        STORE,
        payloads.map(({ uid, path }) => ({ name: payloadName(uid), path })),
      );
      await this.node.commit(() => {
        this.#demandWorking();
        return { database: STORE, files, delta: build() };
      });
    } catch (error) {
      this.node.release(files);
      throw apiErrorOf(error);
    }
  }

  async #commitIndex(call: number, uuid: string, names: readonly string[]): Promise<void> {
    const { native, runtime } = this.#parts;
    const database = databaseOf(uuid);
    try {
      await this.#appendIndex(call, uuid, names);
      native.endCommit(call, 'applied', '', '');
    } catch (error) {
      if (!isOfCluster(error)) {
        runtime.log(`A commit of ${database} failed: ${(error as Error).message}`);
      }
      // Tasks do not fail by it: their batch waits, here or on the next leader.
      if (!(error instanceof NoLeaderError)) await delay(REFUSED_MS, undefined, { ref: false });
      const end = error instanceof OutcomeUnknownError ? 'unknown' : 'notWritten';
      native.endCommit(call, end, CANCELED, (error as Error).message);
    } finally {
      this.#replica.forgetOwn(database);
    }
  }

  async #commitBranch(from: string, to: string): Promise<void> {
    try {
      await this.node.commit(() => {
        this.#demandWorking();
        return { database: databaseOf(to), files: [], delta: branchDelta(from) };
      });
    } catch (error) {
      throw apiErrorOf(error);
    }
  }

  /**
   * Rejects when the commit is not in the log, or when that is unknown. While the object store does
   * not respond, it waits: a batch that is rolled back would do all its work again.
   */
  async #appendIndex(call: number, uuid: string, names: readonly string[]): Promise<void> {
    const { native, indexDir } = this.#parts;
    const database = databaseOf(uuid);
    const term = this.#term;
    const located = names
      .map((name) => ({ name, path: join(indexDir, uuid, 'segments', name) }))
      .filter(({ path }) => existsSync(path));
    for (;;) {
      let files: FileRef[] = [];
      let isPrepared = false;
      try {
        files = await this.#upload(database, located);
        await this.node.commit(async () => {
          this.#demandWorking();
          if (!this.#replica.isLive(uuid)) throw new NoLeaderError('The index was deleted');
          isPrepared = true;
          const delta = await native.prepareCommit(call);
          this.#replica.expectOwn(database, delta);
          return { database, files, delta };
        });
        return;
      } catch (error) {
        this.node.release(files);
        const isOver = isPrepared || term === null || term !== this.#term;
        const mayPass = error instanceof UnavailableError || error instanceof WritesRefusedError;
        if (isOver || !mayPass) throw error;
      }
      await delay(REFUSED_MS, undefined, { ref: false });
    }
  }

  async #upload(
    database: string,
    located: readonly { name: string; path: string }[],
  ): Promise<FileRef[]> {
    if (located.length === 0) return [];
    const sources = await Promise.all(
      located.map(async ({ name, path }) => ({ name, source: await fileSource(path) })),
    );
    const files = await this.node.upload(sources);
    for (const file of files) this.#replica.know(database, file);
    return files;
  }
}

function isOfCluster(error: unknown): boolean {
  return (
    error instanceof NoLeaderError ||
    error instanceof WritesRefusedError ||
    error instanceof OutcomeUnknownError ||
    error instanceof UnavailableError
  );
}

/** The error that a client gets when a write was not accepted. */
function apiErrorOf(error: unknown): unknown {
  if (error instanceof NoLeaderError) return noLeader();
  if (isOfCluster(error)) {
    const { message } = error as Error;
    return new ApiError('cluster_unavailable', `The cluster takes no writes: ${message}.`);
  }
  return error;
}
