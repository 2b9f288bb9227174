/**
 * Bodies and answers on their way. The socket library gives a connection up when its own timer is not set again within
 * ten seconds, which an honest but slow client would not survive; so each transfer is kept alive while it lasts, and a
 * client that moves next to nothing is given up here instead.
 */

export interface Transfer {
  /** Bytes that have moved since it began. null: it waits for this server, so its client cannot be blamed. */
  moved(): number | null;
  /** Sets the timer of the library again. */
  keepAlive(): void;
  /** Drops the connection. */
  giveUp(): void;
}

export interface TransferOptions {
  /** Less than half of the library's ten seconds, so that one late turn of the loop does no harm. */
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
  /** Bytes moved before it. */
  moved: number;
}

export class Transfers {
  readonly #options: TransferOptions;
  readonly #windows = new Map<Transfer, Window>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: Partial<TransferOptions> = {}) {
    this.#options = { ...OPTIONS, ...options };
  }

  /** Transfers under way. */
  get size(): number {
    return this.#windows.size;
  }

  add(transfer: Transfer): void {
    this.#windows.set(transfer, { since: this.#options.now(), moved: transfer.moved() ?? 0 });
    this.#timer ??= setInterval(() => this.tick(), this.#options.everyMs).unref();
  }

  /** Does nothing for one that is not there. */
  remove(transfer: Transfer): void {
    this.#windows.delete(transfer);
    if (this.#windows.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** What the timer does. */
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
