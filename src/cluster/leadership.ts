import { UnavailableError } from './errors.ts';
import type { Lease, Log, LogState } from './log/log.ts';
import type { Epoch, Sequence } from './record.ts';
import type { Runtime } from './runtime.ts';

/** How often a node shows that it is alive, and checks whether there is a leader. */
const HEARTBEAT_MS = 500;

/** A term of leadership, from the election to the end of the lease. */
export interface Term {
  readonly epoch: Epoch;
  /** The last entry when the term began. No other leader adds entries after it. */
  readonly head: Sequence;
  /** Aborted when the term ends. */
  readonly signal: AbortSignal;
}

export interface LeadershipParts {
  readonly log: Log;
  readonly runtime: Runtime;
  readonly node: string;
  readonly url: string;
  readonly leaseMs: number;
  readonly signal: AbortSignal;
  /** Sequence of the last record applied here. */
  applied(): Sequence;
  /** Whether this node has what a leader needs, besides all records. */
  isEquipped(): boolean;
  /** Whether another node that runs is fit to lead, or has applied more. */
  isOtherBetter(): Promise<boolean>;
  /** Shows this node to the others. False: another process has its name. */
  announce(lease: Lease): Promise<boolean>;
  /** @param asked time before the state was read, by the clock of the runtime */
  onState(state: LogState, asked: number): void;
  onTerm(term: Term): void;
  /** Whether the machine of the leader, which is another node, accepts connections from here. */
  onProbe(isReachable: boolean): void;
}

/**
 * Keeps the lease of this node alive, and makes the node the leader when there is none.
 *
 * Correctness never depends on clocks: the log refuses what a former leader proposes. The lease and
 * the clock of this node only decide how soon another node may take over, and when this one stops
 * doing what only a leader does.
 *
 * no lease -> grant -> follower -> campaign -> leader -> (lease ended or other leader) -> follower
 */
export class Leadership {
  readonly #parts: LeadershipParts;
  #lease: Lease | null = null;
  /** The lease of a term that was resigned, until it has certainly ended: it holds the name. */
  #resigned: string | null = null;
  /** The lease cannot have ended before this time, by the clock of the runtime. */
  #validUntil = 0;
  #term: (Term & { readonly end: AbortController }) | null = null;
  #announced = false;
  #hasLeft = false;
  #leaderlessSince: number | null = null;
  /** Until then the others lead first, by the clock of the runtime. */
  #restsUntil = 0;
  /** Id of the last leader whose machine accepted a connection. */
  #seenAlive: string | null = null;
  /** Whether another process has this node's name. */
  nameIsTaken = false;

  constructor(parts: LeadershipParts) {
    this.#parts = parts;
  }

  /** The present term, unless its lease may have ended. */
  get term(): Term | null {
    return this.#parts.runtime.elapsed() < this.#validUntil ? this.#term : null;
  }

  async run(): Promise<void> {
    const { runtime, signal } = this.#parts;
    while (!signal.aborted && !this.#hasLeft) {
      try {
        await this.#beat();
      } catch (error) {
        if (!(error instanceof UnavailableError))
          runtime.log(`Heartbeat: ${(error as Error).message}`);
        if (runtime.elapsed() >= this.#validUntil) this.#giveUpLease();
      }
      await runtime.sleep(HEARTBEAT_MS * (0.8 + 0.4 * runtime.random()), signal);
    }
    this.#endTerm();
  }

  /**
   * Ends a term that cannot continue, so that another node may lead at once.
   * @param restMs how long this node lets the others lead first
   */
  async resign(term: Term, restMs = 0): Promise<void> {
    if (this.#term?.epoch !== term.epoch) return;
    this.#restsUntil = this.#parts.runtime.elapsed() + restMs;
    this.#giveUpLease();
    await this.#endResigned();
  }

  /**
   * Ends the term, and no longer keeps the lease alive. Where requests arrive at the log and its
   * responses do not come back, a node that went on would hold the leadership for ever, and could
   * do nothing with it.
   */
  #giveUpLease(): void {
    this.#resigned = this.#lease?.id ?? this.#resigned;
    this.#lease = null;
    this.#endTerm();
  }

  async #endResigned(): Promise<void> {
    const id = this.#resigned;
    if (id === null) return;
    await this.#parts.log.revokeLease(id);
    if (this.#resigned === id) this.#resigned = null;
  }

  /** Gives up the name and the leadership of this node for good. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    const lease = this.#lease;
    this.#lease = null;
    this.#endTerm();
    if (lease !== null) await this.#parts.log.revokeLease(lease.id);
  }

  async #beat(): Promise<void> {
    const { log, runtime, leaseMs, node, url } = this.#parts;
    await this.#endResigned();
    const sent = runtime.elapsed();
    if (this.#lease === null) {
      const granted = await log.grantLease(leaseMs);
      if (this.#hasLeft) return log.revokeLease(granted.id);
      this.#lease = granted;
    } else if (!(await log.keepAlive(this.#lease.id))) {
      this.#lease = null;
      this.#endTerm();
      return;
    }
    const lease = this.#lease;
    // Null: this node has resigned meanwhile.
    if (lease === null) return;
    this.#validUntil = sent + lease.ttlMs;
    if (!(await this.#announce(lease))) return;
    let state = await this.#state();
    if (state.leader === null && (await this.#mayLead(state))) {
      await log.campaign(node, url, lease.id);
      state = await this.#state();
    }
    this.#follow(state, lease);
    await this.#replaceDead(state, lease);
  }

  /**
   * @returns false: another process has the name. A node that had the name continues when it cannot
   *   announce itself again
   */
  async #announce(lease: Lease): Promise<boolean> {
    try {
      this.nameIsTaken = !(await this.#parts.announce(lease));
      this.#announced ||= !this.nameIsTaken;
    } catch (error) {
      if (!this.#announced || !(error instanceof UnavailableError)) throw error;
    }
    return this.#announced;
  }

  async #state(): Promise<LogState> {
    const asked = this.#parts.runtime.elapsed();
    const state = await this.#parts.log.state();
    this.#parts.onState(state, asked);
    return state;
  }

  /** Whether this node can do the work of a leader at once. */
  isFit(head: Sequence): boolean {
    const { runtime, applied, isEquipped } = this.#parts;
    return applied() >= head && runtime.elapsed() >= this.#restsUntil && isEquipped();
  }

  /**
   * A node that has to catch up, that lacks the object store, that is drained, or that has resigned
   * leads only where no other node is fit, and none has applied more: what it lacks only that one
   * may have. One that needs a checkpoint to catch up does not lead.
   */
  async #mayLead({ head, settings, successor }: LogState): Promise<boolean> {
    const { runtime, leaseMs, applied, isOtherBetter, node } = this.#parts;
    const now = runtime.elapsed();
    this.#leaderlessSince ??= now;
    if (applied() + 1 < settings.floor) return false;
    if (successor !== null && successor !== node) return false;
    if (this.isFit(head)) return true;
    return now - this.#leaderlessSince > leaseMs && !(await isOtherBetter());
  }

  #follow({ leader, head }: LogState, lease: Lease): void {
    if (leader !== null) this.#leaderlessSince = null;
    const isMine = leader !== null && leader.lease === lease.id && this.#lease === lease;
    if (!isMine || this.#term?.epoch !== leader.epoch) this.#endTerm();
    if (!isMine || this.#term !== null) return;
    const end = new AbortController();
    this.#term = { epoch: leader.epoch, head, signal: end.signal, end };
    this.#parts.onTerm(this.#term);
  }

  /**
   * Ends the lease of a leader whose machine says that no process listens any more, if one listened
   * before. A URL that was never reachable proves nothing. If this is wrong, the log still refuses
   * what that leader proposes.
   */
  async #replaceDead({ leader }: LogState, lease: Lease): Promise<void> {
    const { log, runtime } = this.#parts;
    if (leader === null || leader.lease === lease.id) return;
    const found = await runtime.probe(leader.url);
    this.#parts.onProbe(found === 'alive');
    if (found === 'alive') this.#seenAlive = leader.lease;
    if (found === 'dead' && this.#seenAlive === leader.lease) await log.revokeLease(leader.lease);
  }

  #endTerm(): void {
    this.#term?.end.abort();
    this.#term = null;
  }
}
