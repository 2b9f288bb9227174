/**
 * Writes lines to standard error by another thread, many at once. Whoever reads them slowly, or not at all, and a disk that is
 * full, hold neither the server up nor its end; libraries that do this try again for ever at the end of the process.
 */
import { closeSync, constants, fstatSync, openSync, write, writeSync } from 'node:fs';

/** Bytes (as UTF-16 units) of lines that wait; further ones are dropped. */
const WAITING_LENGTH_MAX = 4 * 2 ** 20;
/** Lines are written so many at once, or after so long: a write of its own for each would cost more than the line. */
const WRITE_LENGTH = 16 * 1024;
const WRITE_AFTER_MS = 50;
/** Pause after a write that the reader had no room for. */
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

  /** Resolves when everything so far is written or given up, at the latest after `timeoutMs`. */
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

  /** Gives the bytes up when they can never be written. */
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

  /** At the end of the process, without waiting for anybody. What a write is under way for may be lost. */
  #writeRest(): void {
    if (this.#writing !== null || this.#waiting.length === 0) return;
    try {
      writeSync(this.#fd, this.#take());
    } catch {
      // Nobody takes it.
    }
  }
}

/**
 * A pipe opened once more, so that writing to it never blocks: a thread that is blocked would hold up the end of the process.
 * Anything else as it is.
 */
function nonBlocking(fd: number): number {
  try {
    if (!fstatSync(fd).isFIFO()) return fd;
    const own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    if (fstatSync(own).isFIFO()) return own;
    closeSync(own);
  } catch {
    // No such file system, or no right to open it.
  }
  return fd;
}
