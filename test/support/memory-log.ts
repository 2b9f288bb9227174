import { isDeepStrictEqual } from 'node:util';
import { TrimmedError, UnavailableError } from '../../src/cluster/errors.ts';
import { type Io, reliableIo } from './io.ts';
import type { Entry, Epoch, Sequence } from '../../src/cluster/record.ts';
import {
  type AppendResult,
  type Identity,
  type Leader,
  type Lease,
  type Log,
  type LogSettings,
  type LogState,
  type Member,
  type MemberList,
  NO_SETTINGS,
} from '../../src/cluster/log/log.ts';

/** Entries in one response. */
const READ_ENTRIES_MAX = 64;

/** The state that the nodes of one process share. */
export class MemoryLogState {
  readonly entries = new Map<Sequence, Buffer>();
  readonly running = new Map<string, { member: Member; lease: string }>();
  readonly formats = new Map<string, { format: number; revision: number }>();
  readonly starting = new Map<string, { sequence: Sequence; lease: string; revision: number }>();
  readonly #leases = new Map<string, { ttlMs: number; until: number }>();
  readonly #now: () => number;
  #state: LogState = {
    identity: null,
    store: null,
    head: 0,
    settings: NO_SETTINGS,
    leader: null,
    damaged: [],
    drained: [],
    successor: null,
  };
  #successorLease = '';
  #revision = 0;
  #waiting: (() => void)[] = [];

  /** @param now the clock of the log, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get state(): LogState {
    this.#expire();
    return this.#state;
  }

  change(change: Partial<LogState>): void {
    this.#revision++;
    this.#state = { ...this.#state, ...change };
    for (const wake of this.#waiting.splice(0)) wake();
  }

  register(name: string, format: number): number {
    const revision = ++this.#revision;
    this.formats.set(name, { format, revision });
    return revision;
  }

  /** Resolves at the next change, or at the signal. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.push(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  found(identity: Identity, head: 0 | 1): void {
    if (this.#state.identity !== null) return;
    const settings = { ...this.#state.settings, floor: head + 1 };
    this.change({ identity, head, settings });
  }

  append(entry: Entry, epoch: Epoch): AppendResult {
    const { leader, head } = this.state;
    if (leader?.epoch !== epoch) return { kind: 'fenced' };
    if (entry.sequence !== head + 1) return { kind: 'conflict' };
    this.entries.set(entry.sequence, entry.body);
    this.change({ head: entry.sequence });
    return { kind: 'appended' };
  }

  get revision(): number {
    return this.#revision;
  }

  update(before: LogSettings, after: LogSettings, epoch: Epoch, seen: number): boolean {
    const { leader, settings } = this.state;
    if (leader?.epoch !== epoch || !isDeepStrictEqual(before, settings)) return false;
    if ([...this.starting.values()].some(({ revision }) => revision > seen)) return false;
    for (let at = settings.floor; at < after.floor; at++) this.entries.delete(at);
    this.change({ settings: after });
    return true;
  }

  read(from: Sequence, count: number): Entry[] {
    const { head, settings } = this.#state;
    if (from < settings.floor) throw new TrimmedError(`Entry ${from} is no longer in the log`);
    const last = Math.min(head, from + count - 1);
    const entries: Entry[] = [];
    for (let sequence = from; sequence <= last; sequence++) {
      entries.push({ sequence, body: this.entries.get(sequence)! });
    }
    return entries;
  }

  grant(ttlMs: number): Lease {
    const id = `lease-${++this.#revision}`;
    this.#leases.set(id, { ttlMs, until: this.#now() + ttlMs });
    return { id, ttlMs };
  }

  keepAlive(id: string): boolean {
    this.#expire();
    const lease = this.#leases.get(id);
    if (lease === undefined) return false;
    lease.until = this.#now() + lease.ttlMs;
    return true;
  }

  revoke(id: string): void {
    this.#leases.delete(id);
    for (const keys of [this.running, this.starting]) {
      for (const [name, { lease }] of keys) if (lease === id) keys.delete(name);
    }
    if (this.#state.leader?.lease === id) this.change({ leader: null });
    if (this.#successorLease === id) this.change({ successor: null });
  }

  campaign(leader: Omit<Leader, 'epoch'>): void {
    if (this.state.leader !== null || !this.#leases.has(leader.lease)) return;
    this.change({ leader: { ...leader, epoch: this.#revision + 1 } });
  }

  announce(member: Member, lease: string): boolean {
    this.#expire();
    const known = this.running.get(member.name);
    if (!this.#leases.has(lease) || (known !== undefined && known.lease !== lease)) return false;
    this.running.set(member.name, { member, lease });
    return true;
  }

  hold(name: string, sequence: Sequence, lease: string): void {
    this.#expire();
    if (!this.#leases.has(lease)) throw new UnavailableError('The lease has ended');
    this.starting.set(name, { sequence, lease, revision: ++this.#revision });
  }

  drain(name: string, isDrained: boolean): void {
    const others = this.#state.drained.filter((one) => one !== name);
    this.change({ drained: isDrained ? [...others, name] : others });
  }

  nameSuccessor(name: string, lease: string): void {
    this.#expire();
    if (!this.#leases.has(lease)) throw new UnavailableError('The lease has ended');
    this.#successorLease = lease;
    this.change({ successor: name });
  }

  setDamaged(object: string, isDamaged: boolean): void {
    const others = this.#state.damaged.filter((one) => one !== object);
    this.change({ damaged: isDamaged ? [...others, object] : others });
  }

  #expire(): void {
    const now = this.#now();
    for (const [id, { until }] of this.#leases) if (now > until) this.revoke(id);
  }
}

/**
 * A log in memory. Nodes of one process share `shared`, and each has an `io` that may inject
 * faults.
 */
export class MemoryLog implements Log {
  readonly #shared: MemoryLogState;
  readonly #io: Io;

  constructor(shared: MemoryLogState = new MemoryLogState(), io: Io = reliableIo) {
    this.#shared = shared;
    this.#io = io;
  }

  state(): Promise<LogState> {
    return this.#io('state', () => this.#shared.state);
  }

  found(identity: Identity, head: 0 | 1): Promise<void> {
    return this.#io('found', () => this.#shared.found(identity, head));
  }

  useStore(store: string): Promise<void> {
    return this.#io('use store', () => {
      if (this.#shared.state.store === null) this.#shared.change({ store });
    });
  }

  read(from: Sequence, count: number): Promise<Entry[]> {
    return this.#io(`read ${from}`, () => this.#shared.read(from, count));
  }

  async *watch(from: Sequence, signal: AbortSignal): AsyncGenerator<Entry[], undefined> {
    let next = from;
    while (!signal.aborted) {
      const changed = this.#shared.changed(signal);
      const entries = await this.#io(`watch ${next}`, () =>
        this.#shared.read(next, READ_ENTRIES_MAX),
      );
      if (entries.length === 0) await changed;
      else {
        next = entries.at(-1)!.sequence + 1;
        yield entries;
      }
    }
  }

  append(entry: Entry, epoch: Epoch): Promise<AppendResult> {
    return this.#io(`append ${entry.sequence}`, () => this.#shared.append(entry, epoch));
  }

  update(before: LogSettings, after: LogSettings, epoch: Epoch, seen: number): Promise<boolean> {
    return this.#io('update', () => this.#shared.update(before, after, epoch, seen));
  }

  grantLease(ttlMs: number): Promise<Lease> {
    return this.#io('grant', () => this.#shared.grant(ttlMs));
  }

  keepAlive(lease: string): Promise<boolean> {
    return this.#io('keep alive', () => this.#shared.keepAlive(lease));
  }

  revokeLease(lease: string): Promise<void> {
    return this.#io('revoke', () => this.#shared.revoke(lease));
  }

  campaign(node: string, url: string, lease: string): Promise<void> {
    return this.#io('campaign', () => this.#shared.campaign({ node, url, lease }));
  }

  register(name: string, format: number): Promise<number> {
    return this.#io('register', () => this.#shared.register(name, format));
  }

  announce(member: Member, lease: string): Promise<boolean> {
    return this.#io('announce', () => this.#shared.announce(member, lease));
  }

  members(): Promise<MemberList> {
    return this.#io('members', () => {
      const { running, formats, starting, revision } = this.#shared;
      return {
        running: [...running.values()].map(({ member }) => member),
        formats: new Map([...formats].map(([name, { format }]) => [name, format])),
        starting: new Map([...starting].map(([name, { sequence }]) => [name, sequence])),
        revision,
      };
    });
  }

  hold(name: string, sequence: Sequence, lease: string): Promise<void> {
    return this.#io('hold', () => this.#shared.hold(name, sequence, lease));
  }

  forget(name: string, revision?: number): Promise<void> {
    return this.#io('forget', () => {
      const { formats } = this.#shared;
      if (revision === undefined || formats.get(name)?.revision === revision) formats.delete(name);
    });
  }

  drain(name: string, isDrained: boolean): Promise<void> {
    return this.#io('drain', () => this.#shared.drain(name, isDrained));
  }

  nameSuccessor(name: string, lease: string): Promise<void> {
    return this.#io('successor', () => this.#shared.nameSuccessor(name, lease));
  }

  reportDamage(object: string): Promise<void> {
    return this.#io('report', () => this.#shared.setDamaged(object, true));
  }

  settleDamage(object: string): Promise<void> {
    return this.#io('settle', () => this.#shared.setDamaged(object, false));
  }
}
