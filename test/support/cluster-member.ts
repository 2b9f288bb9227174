import { join } from 'node:path';
import { MemoryBlobs } from './memory-blobs.ts';
import { MemoryLog, MemoryLogState } from './memory-log.ts';
import {
  type CommitRecord,
  encodeBody,
  encodeRecord,
  type Entry,
} from '../../src/cluster/record.ts';
import { systemRuntime } from '../../src/cluster/system-runtime.ts';
import { OutboundClient } from '../../src/outbound/outbound-client.ts';
import { leaderWork } from '../../src/replica/leader-work.ts';
import { type LeaderWork, ServerCluster } from '../../src/replica/server-cluster.ts';
import { KeyStore } from '../../src/store/key-store.ts';
import type { MemoryEngine } from './memory-engine.ts';
import { TestTaskSystem } from './task-system.ts';

const OTHER = 'other';
const POLL_MS = 1;

/**
 * The task system of one server as a member of a cluster, over a log and objects in memory. The
 * test plays the other member.
 */
export class ClusterMember {
  readonly tasks: TestTaskSystem;
  readonly cluster: ServerCluster;
  readonly log = new MemoryLogState();
  readonly objects = new Map<string, Buffer>();
  readonly logged: string[] = [];
  /** Databases that were found damaged. */
  readonly damaged: string[] = [];
  /** Whether this member has found that it needs a checkpoint. */
  isTooFarBehind = false;
  /** Called with each entry that this member is about to append. */
  onAppend: (entry: Entry) => void = () => {};
  /** Called before each object is stored; what it throws is the outcome. */
  onPut: () => void = () => {};

  private constructor(tasks: TestTaskSystem, work: LeaderWork | null) {
    this.tasks = tasks;
    const log = new MemoryLog(this.log);
    const append = log.append.bind(log);
    log.append = (entry, epoch) => {
      this.onAppend(entry);
      return append(entry, epoch);
    };
    const { store, taskStore, registry } = tasks.system;
    const keys = new KeyStore(store);
    const notifier = { resume: () => {}, stop: async () => {} };
    this.cluster = new ServerCluster(
      {
        ...{ cluster: 'test', name: 'here', url: 'http://127.0.0.1:1', token: 'here' },
        proofOf: async () => 'key',
        ...{ join: false, leaseMs: 60_000, retentionMs: 0 },
      },
      {
        ...{ store, taskStore, registry, native: tasks.engine },
        log,
        blobs: new MemoryBlobs(this.objects, async (operation, run) => {
          if (operation.startsWith('put') && !operation.includes(' checks/')) this.onPut();
          return run();
        }),
        runtime: systemRuntime((message) => this.logged.push(message)),
        client: new OutboundClient({ denyPrivate: false, allow: [] }),
        etcdClient: new OutboundClient({ denyPrivate: false, allow: [] }),
        lagMsMax: 60_000,
        indexDir: join(tasks.dir, 'indexes'),
        incomingDir: join(tasks.dir, 'incoming'),
        checkpointDir: join(tasks.dir, 'outgoing'),
        onTooFarBehind: () => {
          this.isTooFarBehind = true;
        },
        onNameTaken: () => {},
        onDatabaseDamaged: (database) => this.damaged.push(database),
        work: work ?? leaderWork({ system: tasks.system, notifier, keys }),
      },
    );
  }

  /**
   * @param work replaces the scheduler
   * @param prepare called before the engine is used
   */
  static async start(
    work: LeaderWork | null = null,
    prepare: (engine: MemoryEngine) => void = () => {},
  ): Promise<ClusterMember> {
    const member = new ClusterMember(await TestTaskSystem.open({ started: false }), work);
    prepare(member.tasks.engine);
    await member.cluster.start();
    return member;
  }

  /** Makes the other member the leader, whatever this one does. @returns its epoch */
  otherLeads(): number {
    const { leader } = this.log.state;
    if (leader !== null) this.log.revoke(leader.lease);
    const { id } = this.log.grant(60_000);
    this.log.campaign({ node: OTHER, url: 'http://127.0.0.1:2', lease: id });
    return this.log.state.leader!.epoch;
  }

  /** Ends the term of the other member. */
  otherLeaves(): void {
    this.log.revoke(this.log.state.leader!.lease);
  }

  /** Appends a record of the other member, which leads. */
  append(record: Omit<CommitRecord, 'format' | 'sequence' | 'epoch' | 'at'>): void {
    const { head, leader } = this.log.state;
    const position = { format: 1, sequence: head + 1, epoch: leader!.epoch, at: Date.now() };
    const bytes = encodeRecord({ ...position, ...record });
    const body = encodeBody({ kind: 'record', bytes });
    const { kind } = this.log.append({ sequence: head + 1, body }, leader!.epoch);
    if (kind !== 'appended') throw new Error(`The record was not appended: ${kind}`);
  }

  /** Resolves once `isDone` holds. */
  async until(isDone: () => boolean): Promise<void> {
    while (!isDone()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    await this.tasks.remove();
  }
}
