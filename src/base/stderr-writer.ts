/**
 * Writes lines to standard error in another thread, many at once. A slow reader, no reader or a
 * full disk delays neither the server nor its end; common libraries retry for ever when the process
 * ends.
 */
import { closeSync, constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Bytes (as UTF-16 units) of waiting lines; further ones are dropped. */
const WAITING_LENGTH_MAX = 4 * 2 ** 20;
/**
 * Lines are written when this many bytes are waiting, or after a delay: a separate write for each
 * would cost more than the line.
 */
const WRITE_LENGTH = 16 * 1024;
const WRITE_AFTER_MS = 50;
/** Pause after a write that the reader could not take. */
const RETRY_MS = 20;

export class StderrWriter {
  readonly #fd: number;
  #waiting: string[] = [];
  #waitingLength = 0;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;

  constructor(fd = nonBlocking(process.stderr.fd)) {
    this.#fd = fd;
    process.on('exit', () => this.#writeRest());
  }

  write(line: string): void {
    if (this.#waitingLength > WAITING_LENGTH_MAX) return;
    this.#waiting.push(line);
    this.#waitingLength += line.length;
    if (this.#waitingLength >= WRITE_LENGTH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WRITE_AFTER_MS).unref();
  }

  /** Resolves when everything so far is written or dropped, after `timeoutMs` at the latest. */
  async written(timeoutMs: number): Promise<void> {
    this.#flush();
    if (this.#writing === null) return;
    await Promise.race([
      this.#writing,
      new Promise((resolve) => setTimeout(resolve, timeoutMs).unref()),
    ]);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#waiting.length === 0) return;
    this.#writing ??= this.#writeWaiting().finally(() => (this.#writing = null));
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeAll(Buffer.from(this.#take()));
  }

  #take(): string {
    const text = this.#waiting.join('');
    this.#waiting = [];
    this.#waitingLength = 0;
    return text;
  }

  /** Drops the bytes when they can never be written. */
  #writeAll(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const next = (from: number): void => {
        write(this.#fd, bytes, from, bytes.length - from, null, (error, count) => {
          if (error?.code === 'EAGAIN') setTimeout(() => next(from), RETRY_MS).unref();
          else if (error !== null || from + count >= bytes.length) resolve();
          else next(from + count);
        });
      };
      next(0);
    });
  }

  /** Called at the end of the process; does not wait. A write in progress may be lost. */
  #writeRest(): void {
    if (this.#writing !== null || this.#waiting.length === 0) return;
    try {
      writeSync(this.#fd, this.#take());
    } catch {
      // Nobody reads it.
    }
  }
}

/**
 * Opens a pipe again so that writes to it never block: a blocked thread would delay the end of the
 * process. Returns any other file as it is.
 */
function nonBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    const own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    if (fstatSync(own).isFIFO()) return own;
    closeSync(own);
  } catch {
    // No such file system, or no permission to open it.
  }
  return fd;
}
