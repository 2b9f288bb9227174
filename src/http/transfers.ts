/**
 * Bodies and responses in transfer. The socket library closes a connection when its own timer is
 * not set again within ten seconds, which an honest but slow client would not survive. So each
 * transfer is kept alive while it lasts, and a client that moves next to nothing is dropped here
 * instead.
 */

export interface Transfer {
  /**
   * Bytes moved since the transfer began. null: it waits for this server, so its client is not to
   * blame.
   */
  moved(): number | null;
  /** Sets the timer of the library again. */
  keepAlive(): void;
  /** Drops the connection. */
  giveUp(): void;
}

export interface TransferOptions {
  /**
   * Less than half of the library's ten seconds, so that one late iteration of the event loop does
   * no harm.
   */
  everyMs: number;
  /** A transfer moves at least `bytesMin` in each window of `windowMs`. */
  windowMs: number;
  bytesMin: number;
  /** Milliseconds of a steady clock. */
  now: () => number;
}

const OPTIONS: TransferOptions = {
  everyMs: 4000,
  windowMs: 60_000,
  bytesMin: 60_000,
  now: () => performance.now(),
};

interface Window {
  since: number;
  /** Bytes moved before the window. */
  moved: number;
}

export class Transfers {
  readonly #options: TransferOptions;
  readonly #windows = new Map<Transfer, Window>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: Partial<TransferOptions> = {}) {
    this.#options = { ...OPTIONS, ...options };
  }

  /** Number of transfers in progress. */
  get size(): number {
    return this.#windows.size;
  }

  add(transfer: Transfer): void {
    this.#windows.set(transfer, { since: this.#options.now(), moved: transfer.moved() ?? 0 });
    this.#timer ??= setInterval(() => this.tick(), this.#options.everyMs).unref();
  }

  /** Does nothing if the transfer is unknown. */
  remove(transfer: Transfer): void {
    this.#windows.delete(transfer);
    if (this.#windows.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Called by the timer. */
  tick(): void {
    const { now, windowMs, bytesMin } = this.#options;
    const at = now();
    for (const [transfer, window] of [...this.#windows]) {
      const moved = transfer.moved();
      if (moved === null) window.since = at;
      else if (at - window.since >= windowMs) {
        if (moved - window.moved < bytesMin) {
          this.remove(transfer);
          transfer.giveUp();
          continue;
        }
        window.since = at;
        window.moved = moved;
      }
      transfer.keepAlive();
    }
  }
}
