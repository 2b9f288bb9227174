/** A simulated cluster without faults, for tests of single behaviours. */
import { bufferSource } from '../../src/cluster/blobs/blobs.ts';
import { MemoryLogState } from '../support/memory-log.ts';
import { LogHold } from '../../src/cluster/log-hold.ts';
import { ClusterNode, type NodeOptions, type Proposal } from '../../src/cluster/node.ts';
import { Host, NO_FAULTS, SimulatedReplica } from './host.ts';
import * as model from './model.ts';
import { Objects, SimulatedBlobs, SimulatedLog } from './outside.ts';
import { Scheduler } from './scheduler.ts';

export interface Member {
  readonly host: Host;
  readonly node: ClusterNode;
  readonly replica: SimulatedReplica;
  readonly log: SimulatedLog;
}

export class QuietCluster {
  readonly scheduler: Scheduler;
  readonly log = new MemoryLogState(() => this.scheduler.now);
  readonly objects = new Objects();
  readonly #hosts = new Map<string, Host>();

  constructor(seed = 1) {
    this.scheduler = new Scheduler(seed);
  }

  host(name: string): Host {
    const found = this.#hosts.get(name) ?? new Host(name, this.scheduler, { ...NO_FAULTS });
    this.#hosts.set(name, found);
    return found;
  }

  /**
   * Starts a process on a host, after those that run there were killed.
   * @param open what happens before the node joins, while the log is kept for it
   */
  async start(
    name: string,
    options: Partial<NodeOptions> = {},
    open: (() => Promise<void>) | null = null,
  ): Promise<Member> {
    const host = this.host(name);
    const incarnation = ++host.incarnation;
    host.isRunning = true;
    const replica = new SimulatedReplica(host, () => {});
    const log = new SimulatedLog(
      this.log,
      host.io(
        5,
        () => this.scheduler.now < host.logCutUntil,
        () => this.scheduler.now < host.logDeafUntil,
      ),
      host,
      this.scheduler,
      () => {},
    );
    const blobsIo = host.io(5, () => this.scheduler.now < host.blobsCutUntil);
    const blobs = new SimulatedBlobs(this.objects, blobsIo, host, this.scheduler);
    const probe = (url: string): 'alive' | 'dead' | 'unknown' =>
      this.host(url).isRunning ? 'alive' : 'dead';
    const runtime = host.runtime(probe, () => {});
    const hold = new LogHold(log, runtime, name);
    if (open !== null) {
      await this.run(hold.keep(replica.applied));
      await open();
    }
    const node = new ClusterNode(
      {
        ...{ cluster: 'quiet', name, url: name, token: `${name}${incarnation}` },
        ...{ proofOf: async () => 'key', join: false },
        ...{ leaseMs: 1500, retentionMs: 1000, ...options },
      },
      { log, blobs, replica, runtime, hold },
    );
    await this.run(node.start());
    return { host, node, replica, log };
  }

  kill({ host }: Member): void {
    host.isRunning = false;
    host.incarnation++;
  }

  /** Lets things happen until a promise is settled. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = promise.finally(() => (isSettled = true));
    settled.catch(() => {});
    await this.until(() => isSettled);
    return settled;
  }

  /** Lets things happen until a condition holds. */
  async until(isDone: () => boolean): Promise<void> {
    const end = this.scheduler.now + 120_000;
    while (!isDone()) {
      if (this.scheduler.now > end) throw new Error('It does not happen within two minutes');
      await this.scheduler.step();
    }
  }

  async wait(ms: number): Promise<void> {
    const end = this.scheduler.now + ms;
    this.scheduler.after(ms, () => {});
    await this.until(() => this.scheduler.now >= end);
  }

  /** The member that leads, once there is one. */
  async leader(members: readonly Member[]): Promise<Member> {
    const leads = (): Member | undefined =>
      members.find(({ node }) => node.route(false).kind === 'here');
    await this.until(() => leads() !== undefined);
    return leads()!;
  }

  commit({ node }: Member, text: string): Promise<number> {
    return this.run(node.commit(() => proposal(text)));
  }
}

export function proposal(text: string, files: Proposal['files'] = []): Proposal {
  const writes = [model.put('tasks', text, text)];
  if (files.length > 0) {
    writes.push(model.put('manifest', model.STORE, files.map(({ name }) => name).join(' ')));
  }
  return { database: model.STORE, files, delta: model.encodeDelta(writes) };
}

export function localFile(name: string): Parameters<ClusterNode['upload']>[0][number] {
  const bytes = Buffer.from(`the file ${name}`);
  return { name, source: bufferSource(bytes, model.digestOf(bytes)) };
}
