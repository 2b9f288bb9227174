import { UnavailableError } from './errors.ts';
import type { Log } from './log/log.ts';
import type { Sequence } from './record.ts';
import type { Runtime } from './runtime.ts';

/** Long, because a node that opens its data may not respond meanwhile. */
const LEASE_MS = 60_000;
const RENEW_MS = 10_000;

/**
 * Lets the leader keep the entries that a node will need which starts: it fetches a checkpoint and
 * opens its data, and only then follows the log.
 */
export class LogHold {
  readonly #log: Log;
  readonly #runtime: Runtime;
  readonly #node: string;
  readonly #end = new AbortController();
  #lease: string | null = null;

  constructor(log: Log, runtime: Runtime, node: string) {
    this.#log = log;
    this.#runtime = runtime;
    this.#node = node;
  }

  /**
   * Keeps the entries after a position, if the log has them. Read the state after this. Throws
   * `UnavailableError`.
   */
  async keep(sequence: Sequence): Promise<void> {
    if (this.#lease === null) {
      this.#lease = (await this.#log.grantLease(LEASE_MS)).id;
      void this.#renew(this.#lease);
    }
    await this.#log.hold(this.#node, sequence, this.#lease);
  }

  async #renew(lease: string): Promise<void> {
    const { signal } = this.#end;
    for (;;) {
      await this.#runtime.sleep(RENEW_MS, signal);
      if (signal.aborted) return;
      // It lasts for several attempts.
      await this.#log.keepAlive(lease).catch(() => {});
    }
  }

  /** The node shows its position as a member from now on. */
  async release(): Promise<void> {
    this.#end.abort();
    const lease = this.#lease;
    this.#lease = null;
    if (lease === null) return;
    await this.#log.revokeLease(lease).catch((error: unknown) => {
      // It ends by itself.
      if (!(error instanceof UnavailableError)) throw error;
    });
  }
}
