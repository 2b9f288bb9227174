/**
 * Three nodes in one process, over a log and an object store that lose, delay, repeat and tear, on
 * machines that are killed, paused and cut off. One seed decides everything. After every event the
 * invariants of docs/internals/cluster.md are checked; the first that does not hold ends the run.
 */
import { bufferSource } from '../../src/cluster/blobs/blobs.ts';
import { blobsOf, decodeCheckpoint } from '../../src/cluster/checkpoint.ts';
import {
  NoLeaderError,
  OutcomeUnknownError,
  RefusedError,
  WritesRefusedError,
} from '../../src/cluster/errors.ts';
import { MemoryLogState } from '../support/memory-log.ts';
import { LogHold } from '../../src/cluster/log-hold.ts';
import { ClusterNode } from '../../src/cluster/node.ts';
import {
  blobsOfEntry,
  type CommitRecord,
  decodeBody,
  decodeRecord,
  type FileRef,
} from '../../src/cluster/record.ts';
import { type Faults, Host, NO_FAULTS, SimulatedReplica } from './host.ts';
import * as model from './model.ts';
import { Objects, SimulatedBlobs, SimulatedLog } from './outside.ts';
import { Scheduler } from './scheduler.ts';

const LEASE_MS = 1500;
const CHAOS_MS = 8000;
/** From the end of all faults until everything must work again. */
const RECOVERY_MS = 40_000;
const CALL_TIMEOUT_MS = 5000;
const FORMAT_NEWEST = 2;

/** What a run found. */
export interface Finding {
  readonly seed: number;
  /** Null: all invariants hold. */
  readonly violation: string | null;
  readonly history: readonly string[];
  readonly counts: Readonly<Record<string, number>>;
}

class Violation extends Error {}

type WriteResult = { kind: 'ok'; sequence: number } | { kind: 'not written' } | { kind: 'unknown' };

/** A process on a host. */
interface Process {
  readonly host: Host;
  readonly incarnation: number;
  readonly replica: SimulatedReplica;
  readonly node: ClusterNode;
}

class Simulation {
  readonly #scheduler: Scheduler;
  readonly #log: MemoryLogState;
  readonly #objects = new Objects();
  /** The contents of damaged objects. */
  readonly #rotten = new WeakSet<Buffer>();
  readonly #hosts: Host[];
  readonly #processes = new Map<string, Process>();
  readonly #formats = new Map<string, number>();
  readonly #lastSeen = new Map<string, number>();
  readonly #history: string[] | null;
  readonly counts: Record<string, number> = {};

  // What a single server makes of the same log, by sequence.
  readonly #records: (CommitRecord | null)[] = [null];
  readonly #states: model.State[] = [model.EMPTY];
  /** Checksums of the files, by database and name. */
  readonly #sums = new Map<string, Buffer>();
  readonly #tokens = new Map<string, number>();
  readonly #acknowledged = new Set<string>();
  readonly #epochs = new Map<number, string>();
  readonly #checked = new WeakSet<model.State>();

  readonly #isFounded: boolean;
  readonly #intensity: Record<string, number>;
  #isChaotic = true;
  #token = 0;
  /** Where the log began at the last check. */
  #floor = 1;
  #failure: Error | null = null;

  constructor(seed: number, records: boolean) {
    const scheduler = new Scheduler(seed);
    this.#scheduler = scheduler;
    this.#history = records ? [] : null;
    this.#log = new MemoryLogState(() => scheduler.now);
    // Each seed has faults of some kinds only: those that are always there hide what others do.
    const some = (max: number): number => (scheduler.chance(0.5) ? max * scheduler.random() : 0);
    const faults = (): Faults => ({
      ...{ lost: some(0.15), late: some(0.2), twice: some(0.1) },
      ...{
        diskFails: some(0.05),
        damaged: some(0.1),
        watchErrs: some(0.4),
        refused: some(0.3),
        pausedAfter: some(0.4),
      },
    });
    this.#hosts = ['a', 'b', 'c'].map((name) => new Host(name, scheduler, faults()));
    const kinds = [
      'kill',
      'stop',
      'pause',
      'jump',
      'log',
      'deaf',
      'blobs',
      'peers',
      'full',
      'killAnywhere',
      'rot',
      'drain',
      'transfer',
    ];
    this.#intensity = Object.fromEntries(kinds.map((kind) => [kind, some(1)]));
    this.#isFounded = scheduler.chance(0.25);
    if (this.#isFounded) this.#giveData(this.#hosts[0]!);
    const isMixed = scheduler.chance(0.5);
    for (const { name } of this.#hosts) {
      this.#formats.set(name, isMixed && scheduler.chance(0.5) ? 1 : FORMAT_NEWEST);
    }
  }

  get history(): readonly string[] {
    return this.#history ?? [];
  }

  /** Throws `Violation`. */
  async run(): Promise<void> {
    const scheduler = this.#scheduler;
    for (const host of this.#hosts)
      scheduler.after(scheduler.random() * 1500, () => this.#start(host));
    this.#disturb();
    for (let n = 0; n < 4; n++) this.#detached(() => this.#writer());
    for (let n = 0; n < 2; n++) this.#detached(() => this.#reader());
    await this.#runUntil(() => scheduler.now > CHAOS_MS, Infinity);
    this.#heal();
    const before = this.#log.state.head;
    let isAlive = false;
    this.#detached(async () => {
      for (const host of this.#hosts) while (!(await this.#write(host))) await this.#sleep(200);
      isAlive = true;
    });
    const hasAll = (): boolean =>
      isAlive &&
      this.#log.state.head > before &&
      this.#hosts.every((host) => this.#viewOf(host)?.applied === this.#log.state.head);
    if (!(await this.#runUntil(hasAll, CHAOS_MS + RECOVERY_MS))) {
      throw new Violation('After all faults have ended the nodes do not take writes and catch up');
    }
  }

  async #runUntil(isDone: () => boolean, end: number): Promise<boolean> {
    while (!isDone()) {
      if (this.#scheduler.now > end) return false;
      await this.#scheduler.step();
      if (this.#failure !== null) throw this.#failure;
      this.#check();
      if (this.#isChaotic && this.#scheduler.chance(0.002 * this.#intensity.killAnywhere!)) {
        this.#kill(this.#scheduler.pick(this.#hosts));
      }
    }
    return true;
  }

  #note(text: () => string): void {
    this.#history?.push(`${this.#scheduler.now.toFixed(1).padStart(9)}  ${text()}`);
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  #detached(run: () => Promise<void>): void {
    run().catch((error: unknown) => (this.#failure = error as Error));
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#scheduler.after(ms, resolve));
  }

  // --- Machines ----------------------------------------------------------------------------------

  #giveData(host: Host): void {
    const bytes = Buffer.from('a file from before');
    host.disk.files.set(`${model.INDEX}/first`, bytes);
    host.disk.state = {
      applied: 0,
      tasks: new Map([['0', 'from before']]),
      manifest: new Map([[model.INDEX, 'first']]),
    };
    this.#sums.set(`${model.INDEX}/first`, model.digestOf(bytes));
    this.#records.push(null);
    this.#states.push({ ...host.disk.state, applied: 1 });
  }

  #start(host: Host): void {
    // The others join the cluster that the folder founds.
    const isFounder = this.#isFounded && host === this.#hosts[0];
    if (this.#isFounded && !isFounder && this.#log.state.identity === null) {
      this.#scheduler.after(500, () => this.#start(host));
      return;
    }
    const scheduler = this.#scheduler;
    const incarnation = ++host.incarnation;
    host.isRunning = true;
    const replica = new SimulatedReplica(host, (record, before) =>
      this.#checkApplied(host, record, before),
    );
    const logIo = host.io(
      5,
      () => scheduler.now < host.logCutUntil,
      () => scheduler.now < host.logDeafUntil,
    );
    const blobsIo = host.io(10, () => scheduler.now < host.blobsCutUntil);
    const log = new SimulatedLog(this.#log, logIo, host, scheduler, (...who) =>
      this.#checkLeader(...who),
    );
    const blobs = new SimulatedBlobs(this.#objects, blobsIo, host, scheduler);
    const runtime = host.runtime(
      (url) => this.#probe(url),
      (text) => {
        this.#note(() => `${host.name}: ${text}`);
        // A node that is too old is refused at its start, and no later.
        if (text.includes('upgrade it')) this.#failure = new Violation(`${host.name}: ${text}`);
      },
    );
    const hold = new LogHold(log, runtime, host.name);
    const node = new ClusterNode(
      {
        ...{ cluster: 'simulated', name: host.name, url: host.name },
        token: `${host.name}${incarnation}`,
        ...{ proofOf: async () => 'k', join: isFounder, leaseMs: LEASE_MS, retentionMs: 500 },
        ...{ inlineBytesMax: 400, checkpointLogBytes: 1500, maintenanceMs: 400 },
        formatMax: this.#formats.get(host.name)!,
      },
      { log, blobs, replica, runtime, hold },
    );
    this.#processes.set(host.name, { host, incarnation, replica, node });
    this.#note(() => `${host.name} starts at ${replica.applied}`);
    const start = async (): Promise<void> => {
      await this.#held(host, () => hold.keep(replica.applied));
      await this.#sleep(scheduler.latency(400));
      if (host.incarnation === incarnation) await node.start();
    };
    start().catch((error: unknown) => this.#startFailed(host, error));
  }

  /** As in the server, which opens its data between this and the start of the node. */
  async #held(host: Host, keep: () => Promise<void>): Promise<void> {
    const { incarnation } = host;
    while (host.incarnation === incarnation) {
      try {
        return await keep();
      } catch {
        await this.#sleep(300);
      }
    }
  }

  #startFailed(host: Host, error: unknown): void {
    this.#note(() => `${host.name} does not start: ${(error as Error).message}`);
    const isOld = error instanceof RefusedError && error.message.includes('upgrade it');
    if (isOld) this.#formats.set(host.name, FORMAT_NEWEST);
    else if (error instanceof RefusedError) this.#failure = new Violation(error.message);
    this.#kill(host);
  }

  #kill(host: Host): void {
    if (!host.isRunning) return;
    this.#note(() => `${host.name} is killed`);
    this.#count('kills');
    host.isRunning = false;
    host.incarnation++;
    host.pausedUntil = 0;
    this.#processes.delete(host.name);
    if (this.#scheduler.chance(0.3)) this.#formats.set(host.name, FORMAT_NEWEST);
    // Nobody but the founder has the data until the first checkpoint, so a wiped disk would end the
    // cluster.
    const isCopied = !this.#isFounded || this.#log.state.settings.checkpoint !== null;
    // What is damaged in the store needs a copy elsewhere.
    const others = this.#hosts.filter((one) => one !== host);
    const isSafe = this.#intensity.rot === 0 || others.every((one) => this.#hasAll(one));
    if (isCopied && isSafe && this.#scheduler.chance(0.2)) this.#wipe(host);
    this.#scheduler.after(100 + this.#scheduler.latency(500), () => this.#start(host));
  }

  #wipe(host: Host): void {
    this.#note(() => `${host.name} has lost its disk`);
    this.#count('wipes');
    host.disk.state = model.EMPTY;
    host.disk.cluster = null;
    host.disk.files.clear();
    this.#lastSeen.delete(host.name);
  }

  #probe(url: string): 'alive' | 'dead' | 'unknown' {
    const host = this.#hosts.find(({ name }) => name === url)!;
    if (this.#scheduler.now < Math.max(host.peersCutUntil, host.pausedUntil)) return 'unknown';
    return host.isRunning ? 'alive' : 'dead';
  }

  #disturb(): void {
    const scheduler = this.#scheduler;
    const disturbances: Record<string, (host: Host, until: number) => void> = {
      kill: (host) => this.#kill(host),
      stop: (host) => {
        const { incarnation } = host;
        const stopped = this.#processes.get(host.name)?.node.stop() ?? Promise.resolve();
        this.#detached(async () => {
          await stopped;
          if (host.incarnation === incarnation) this.#kill(host);
        });
      },
      pause: (host, until) => (host.pausedUntil = until),
      jump: (host, until) => {
        if (scheduler.chance(0.5))
          host.wallOffset += (until - scheduler.now) * 1000 * scheduler.pick([-1, 1]);
        else host.elapsedOffset += until - scheduler.now;
      },
      log: (host, until) => (host.logCutUntil = until),
      deaf: (host, until) => (host.logDeafUntil = until),
      blobs: (host, until) => {
        const cut = scheduler.chance(0.3) ? this.#hosts : [host];
        for (const one of cut) one.blobsCutUntil = until;
      },
      full: (_, until) => {
        for (const host of this.#hosts) host.logFullUntil = until;
      },
      peers: (host, until) => (host.peersCutUntil = until),
      rot: () => this.#rot(),
      drain: ({ name }) => this.#log.drain(name, !this.#log.state.drained.includes(name)),
      transfer: ({ name }, until) => {
        this.#log.nameSuccessor(name, this.#log.grant(until - scheduler.now).id);
      },
    };
    scheduler.after(150 + scheduler.random() * 450, () => {
      if (!this.#isChaotic) return;
      const kind = scheduler.pick(Object.keys(disturbances));
      const host = scheduler.pick(this.#hosts);
      if (scheduler.chance(this.#intensity[kind]!) && host.isRunning) {
        const ms = 100 + scheduler.random() * 4000;
        if (kind !== 'kill') this.#note(() => `${host.name}: ${kind} for ${ms.toFixed(0)} ms`);
        this.#count(kind);
        disturbances[kind]!(host, scheduler.now + ms);
      }
      this.#disturb();
    });
  }

  /** Whether the disk of a host has what all records make. */
  #hasAll({ disk }: Host): boolean {
    return disk.state.applied === this.#log.state.head;
  }

  /** Damages an object that nodes may need, of which some node has what it holds. */
  #rot(): void {
    if (!this.#hosts.some((host) => this.#hasAll(host))) return;
    const { checkpoint } = this.#log.state.settings;
    const names = [...this.#log.entries].flatMap(([sequence, bytes]) =>
      blobsOfEntry(this.#records[sequence] ?? { files: [] }, decodeBody(bytes)),
    );
    if (checkpoint !== null) {
      names.push(checkpoint.blob);
      const isWhole = !this.#rotten.has(this.#objects.get(checkpoint.blob)!);
      if (isWhole) names.push(...blobsOf(decodeCheckpoint(this.#objects.get(checkpoint.blob)!)));
    }
    if (names.length === 0) return;
    const name = this.#scheduler.pick(names);
    const bytes = Buffer.from(this.#objects.get(name) ?? 'x');
    bytes[Math.floor(this.#scheduler.random() * bytes.length)]! ^= 1;
    this.#note(() => `the object ${name} is damaged`);
    this.#rotten.add(bytes);
    this.#objects.set(name, bytes);
  }

  #heal(): void {
    this.#note(() => 'all faults end');
    this.#isChaotic = false;
    for (const host of this.#hosts) {
      Object.assign(host.faults, NO_FAULTS);
      Object.assign(host, {
        logFullUntil: 0,
        logCutUntil: 0,
        logDeafUntil: 0,
        blobsCutUntil: 0,
        peersCutUntil: 0,
        pausedUntil: 0,
      });
      this.#formats.set(host.name, FORMAT_NEWEST);
    }
  }

  // --- Clients -----------------------------------------------------------------------------------

  async #writer(): Promise<void> {
    while (this.#isChaotic) {
      await this.#sleep(this.#scheduler.latency(200));
      await this.#write(this.#scheduler.pick(this.#hosts));
    }
  }

  /** @returns whether the write was acknowledged */
  async #write(host: Host): Promise<boolean> {
    const token = `t${++this.#token}`;
    for (let attempt = 0; attempt < 5; attempt++) {
      const result = await this.#call(host, (process) => this.#handle(process, token, false));
      if (result.kind === 'ok') {
        this.#note(
          () => `the write ${token} by ${host.name} is acknowledged as ${result.sequence}`,
        );
        this.#count('writes');
        this.#acknowledged.add(token);
        if (this.#tokens.get(token) !== result.sequence) {
          throw new Violation(
            `The write ${token} is acknowledged, and not in the log at its position`,
          );
        }
        return true;
      }
      this.#count(result.kind);
      // It may be in the log: whoever sends it again may do it twice.
      if (result.kind === 'unknown') return false;
      await this.#sleep(300);
    }
    return false;
  }

  /** A request to a host, over a network that may lose it or its response. */
  async #call(
    host: Host,
    handle: (process: Process) => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const scheduler = this.#scheduler;
    const process = this.#processes.get(host.name);
    if (process === undefined) return { kind: 'not written' };
    return new Promise((resolve) => {
      scheduler.after(CALL_TIMEOUT_MS, () => resolve({ kind: 'unknown' }));
      scheduler.after(scheduler.latency(2), () => {
        host.deliver(process.incarnation, () => {
          this.#detached(async () => {
            const result = await handle(process);
            if (scheduler.chance(host.faults.lost)) return;
            scheduler.after(scheduler.latency(2), () => resolve(result));
          });
        });
      });
    });
  }

  async #handle(process: Process, token: string, isForwarded: boolean): Promise<WriteResult> {
    const route = process.node.route(isForwarded);
    if (route.kind === 'here') return this.#commit(process, token);
    if (route.kind === 'no_leader') return { kind: 'not written' };
    this.#count('forwarded');
    const leader = this.#hosts.find(({ name }) => name === route.url)!;
    const isCut = Math.max(process.host.peersCutUntil, leader.peersCutUntil) > this.#scheduler.now;
    if (isCut) return { kind: 'not written' };
    const result = await this.#call(leader, (other) => this.#handle(other, token, true));
    if (result.kind !== 'ok') return result;
    await process.node.waitFor(result.sequence, 200, new AbortController().signal);
    return result;
  }

  /**
   * A task: small, with a file for its payload, with a large record, or a batch of an index with a
   * new segment.
   */
  async #commit({ node, replica }: Process, token: string): Promise<WriteResult> {
    const kind = this.#scheduler.pick(['small', 'small', 'small', 'large', 'payload', 'index']);
    const database = kind === 'index' ? model.INDEX : model.STORE;
    let files: FileRef[] = [];
    try {
      if (kind === 'payload' || kind === 'index') {
        const bytes = Buffer.from(`${kind} of ${token} `.repeat(3));
        await replica.writeLocal(database, token, bytes);
        const source = bufferSource(bytes, model.digestOf(bytes));
        files = await node.upload([{ name: token, source }]);
      }
    } catch {
      return { kind: 'not written' };
    }
    try {
      const sequence = await replica.commit((becomes) =>
        node.commit(() => {
          const text = kind === 'large' ? token.padEnd(600, '.') : token;
          const writes = [model.put('tasks', String(replica.view.tasks.size), text)];
          if (files.length > 0) {
            // Payloads and segments of before are dropped, as tasks end and segments are merged.
            const kept = model.filesOf(replica.view, database).slice(-2);
            writes.push(model.put('manifest', database, [...kept, token].join(' ')));
          }
          writes.push(model.columnsWith(replica.view, token));
          if (writes.at(-1)!.kind === 'patch') this.#count('patches');
          const delta = model.encodeDelta(writes);
          becomes(delta);
          return { database, files, delta };
        }),
      );
      return { kind: 'ok', sequence };
    } catch (error) {
      if (error instanceof OutcomeUnknownError) return { kind: 'unknown' };
      const isNot = error instanceof NoLeaderError || error instanceof WritesRefusedError;
      if (!isNot) throw error;
      node.release(files);
      return { kind: 'not written' };
    }
  }

  async #reader(): Promise<void> {
    let last = 0;
    while (this.#isChaotic) {
      await this.#sleep(this.#scheduler.latency(150));
      const host = this.#scheduler.pick(this.#hosts);
      const result = await this.#call(host, async ({ node, replica }) => {
        const { signal } = new AbortController();
        if (!(await node.waitFor(last, 1000, signal))) return { kind: 'not written' };
        return { kind: 'ok', sequence: replica.view.applied };
      });
      if (result.kind !== 'ok') continue;
      this.#count('reads');
      if (result.sequence < last) {
        throw new Violation(
          `A session that has seen ${last} reads ${result.sequence} of ${host.name}`,
        );
      }
      last = Math.max(last, result.sequence);
      if (this.#scheduler.chance(0.3)) last = Math.max(last, this.#log.state.head);
    }
  }

  // --- Invariants --------------------------------------------------------------------------------

  #viewOf(host: Host): model.State | undefined {
    return this.#processes.get(host.name)?.replica.view;
  }

  #check(): void {
    const { head } = this.#log.state;
    while (this.#records.length <= head) this.#follow(this.#records.length);
    this.#checkHolds();
    for (const host of this.#hosts) this.#checkView(host);
    if (this.#objects.removed) this.#checkObjects();
  }

  /** Applies a new entry of the log to the single server. */
  #follow(sequence: number): void {
    const body = decodeBody(this.#log.entries.get(sequence)!);
    const bytes = body.kind === 'record' ? body.bytes : this.#object(body.blob, body.sha256);
    const record = decodeRecord(bytes, FORMAT_NEWEST);
    if (record.sequence !== sequence)
      throw new Violation(`Record ${sequence} names another position`);
    for (const file of record.files) {
      this.#object(file.blob, file.sha256);
      this.#sums.set(`${record.database}/${file.name}`, file.sha256);
    }
    for (const write of model.writesOf(record)) {
      if (write.kind !== 'put' || write.table !== 'tasks') continue;
      const token = /^t\d+/.exec(write.value.toString())![0];
      if (this.#tokens.has(token)) throw new Violation(`The write ${token} is in the log twice`);
      this.#tokens.set(token, sequence);
    }
    this.#note(() => `the log takes ${sequence} of epoch ${record.epoch}, ${record.database}`);
    this.#count('records');
    this.#records.push(record);
    this.#states.push(model.after(this.#states.at(-1)!, record));
  }

  /** Throws when the object that the log names is not there as a whole. */
  #object(name: string, sum: Buffer): Buffer {
    const found = this.#objects.get(name);
    if (found !== undefined && this.#rotten.has(found)) return found;
    if (found === undefined || !model.digestOf(found).equals(sum)) {
      throw new Violation(`The log names the object ${name}, which is missing or damaged`);
    }
    return found;
  }

  /** In the moment of an append. */
  #checkLeader(host: Host, incarnation: number): void {
    const { leader, head } = this.#log.state;
    const isLeader = leader?.node === host.name;
    const known = this.#epochs.get(leader?.epoch ?? 0) ?? `${host.name}${incarnation}`;
    if (!isLeader || known !== `${host.name}${incarnation}`) {
      this.#failure = new Violation(`${host.name} adds ${head}, and ${leader?.node} is the leader`);
    }
    this.#epochs.set(leader?.epoch ?? 0, `${host.name}${incarnation}`);
  }

  /** In the moment in which a replica stores what a record makes of it. */
  #checkApplied(host: Host, record: CommitRecord, before: model.State): void {
    const expected = this.#records[record.sequence];
    if (
      expected == null ||
      !isSameRecord(expected, record) ||
      record.sequence !== before.applied + 1
    ) {
      this.#failure = new Violation(
        `${host.name} applies ${record.sequence} after ${before.applied}: not a prefix of the log`,
      );
    }
  }

  #checkView(host: Host): void {
    const view = this.#viewOf(host);
    if (view === undefined) return;
    if (view.applied < (this.#lastSeen.get(host.name) ?? 0)) {
      throw new Violation(`Reads of ${host.name} go back to ${view.applied}`);
    }
    this.#lastSeen.set(host.name, view.applied);
    if (this.#checked.has(view) || view === model.EMPTY) return;
    this.#checked.add(view);
    if (this.#isFounded && view.applied === 0) return;
    const expected = this.#states[view.applied]!;
    if (!model.isSame(view, expected)) {
      throw new Violation(`${host.name} at ${view.applied} differs from a single server`);
    }
    for (const database of [model.STORE, model.INDEX]) {
      for (const name of model.filesOf(view, database)) {
        const found = host.disk.files.get(`${database}/${name}`);
        const sum = this.#sums.get(`${database}/${name}`)!;
        if (found === undefined || !model.digestOf(found).equals(sum)) {
          throw new Violation(`${host.name} at ${view.applied} lacks the file ${name}`);
        }
      }
    }
  }

  /** Nodes that start find the entries that they have asked for. */
  #checkHolds(): void {
    const { floor, checkpoint } = this.#log.state.settings;
    const before = this.#floor;
    this.#floor = floor;
    // Entries that name a lost object are no use.
    if (floor === before || checkpoint === null || this.#intensity.rot !== 0) return;
    for (const [name, { sequence }] of this.#log.starting) {
      this.#count('held');
      if (sequence + 1 >= before && sequence + 1 < floor) {
        throw new Violation(
          `The log no longer has what ${name} needs, which starts at ${sequence}`,
        );
      }
    }
  }

  /** What a new node needs is there. */
  #checkObjects(): void {
    this.#objects.removed = false;
    this.#count('removals');
    const { checkpoint, floor } = this.#log.state.settings;
    if (checkpoint !== null) {
      const bytes = this.#objects.get(checkpoint.blob);
      if (bytes === undefined) throw new Violation('The newest checkpoint was removed');
      const named = this.#rotten.has(bytes) ? [] : blobsOf(decodeCheckpoint(bytes));
      const missing = named.find((name) => !this.#objects.has(name));
      if (missing !== undefined) {
        throw new Violation(`The newest checkpoint lacks the object ${missing}`);
      }
    }
    for (let sequence = floor; sequence < this.#records.length; sequence++) {
      const body = decodeBody(this.#log.entries.get(sequence)!);
      if (body.kind === 'ref') this.#object(body.blob, body.sha256);
      for (const file of this.#records[sequence]!.files) this.#object(file.blob, file.sha256);
    }
  }
}

function isSameRecord(a: CommitRecord, b: CommitRecord): boolean {
  const named = (record: CommitRecord): string => record.files.map(({ name }) => name).join();
  return a.epoch === b.epoch && a.delta.equals(b.delta) && named(a) === named(b);
}

/** Runs one seed. @param records whether the history is kept: it costs time */
export async function simulate(seed: number, records: boolean): Promise<Finding> {
  const simulation = new Simulation(seed, records);
  let violation: string | null = null;
  try {
    await simulation.run();
  } catch (error) {
    violation = error instanceof Violation ? error.message : String((error as Error).stack);
  }
  const { history, counts } = simulation;
  return { seed, violation, history, counts };
}
