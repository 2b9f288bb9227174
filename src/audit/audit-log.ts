/**
 * The file that says who changed what: one JSON object per line.
 *
 * A line is on disk before the response of its request is sent. All waiting lines are appended in
 * one write; one that is cut short, by a full disk or a kill, is cut off again, at the latest at
 * the next start. Lines that cannot be written wait in memory, and until they are written no
 * further change is accepted: so no more changes go unrecorded than were under way when the disk
 * became full.
 *
 * A file that would grow beyond `bytesMax` is renamed to `FILE.1`, that to `FILE.2`, up to
 * `FILE.9`, which is replaced.
 */
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import type { Logger } from '../base/logger.ts';
import { ApiError } from '../contract/errors.ts';

export interface AuditEntry {
  /** RFC 3339. */
  readonly time: string;
  /** Uid of the key; `master` for a master key; null: the server has none. */
  readonly key: string | null;
  readonly action: string;
  readonly method: string;
  /** The pattern of the path, whose parameters are `params`. */
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly address: string;
}

const BYTES_MAX = 64 * 2 ** 20;
/** Further files that are kept. */
const KEPT = 9;
/** Bytes that are searched at once for the end of the last whole line. */
const TAIL_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

interface Waiting {
  line: string;
  done: (error: Error | null) => void;
}

export class AuditLog {
  readonly #path: string;
  readonly #bytesMax: number;
  readonly #log: Pick<Logger, 'error'>;
  #file: FileHandle | null = null;
  #size = 0;
  /** Lines that have failed first. */
  #waiting: Waiting[] = [];
  #writing: Promise<void> | null = null;
  #fault: Error | null = null;

  /** Rejects when the file cannot be opened. */
  static async open(
    path: string,
    log: Pick<Logger, 'error'>,
    bytesMax = BYTES_MAX,
  ): Promise<AuditLog> {
    const audit = new AuditLog(path, log, bytesMax);
    await audit.#open();
    return audit;
  }

  private constructor(path: string, log: Pick<Logger, 'error'>, bytesMax: number) {
    this.#path = path;
    this.#log = log;
    this.#bytesMax = bytesMax;
  }

  /**
   * Makes a change and records it unless `isChange` says that it made none. Rejects without making
   * it while earlier lines cannot be written.
   */
  async recorded<T>(
    entry: AuditEntry,
    change: () => T | Promise<T>,
    isChange: (result: T) => boolean,
  ): Promise<T> {
    if (this.#fault !== null) await this.#retried();
    const result = await change();
    if (isChange(result)) await this.#append(entry);
    return result;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file?.close();
    this.#file = null;
  }

  async #retried(): Promise<void> {
    await this.#write();
    if (this.#fault === null) return;
    throw new ApiError(
      'no_space_left_on_device',
      `The audit log cannot be written, so nothing is changed: ${this.#fault.message}`,
    );
  }

  /** Resolves when the line is on disk, or cannot be written for now. */
  async #append(entry: AuditEntry): Promise<void> {
    const waiting = new Promise<Error | null>((done) => {
      this.#waiting.push({ line: `${JSON.stringify(entry)}\n`, done });
    });
    void this.#write();
    const error = await waiting;
    if (error !== null) this.#log.error({ err: error }, 'the audit log cannot be written');
  }

  /** Never rejects: see `#fault`. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = null));
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = [...this.#waiting];
      try {
        await this.#writeBytes(Buffer.from(lines.map(({ line }) => line).join('')));
        this.#fault = null;
      } catch (error) {
        this.#fault = error as Error;
        await this.#file?.close().catch(() => {});
        this.#file = null;
      }
      for (const { done } of lines) done(this.#fault);
      if (this.#fault !== null) return;
      this.#waiting = this.#waiting.slice(lines.length);
    }
  }

  async #writeBytes(bytes: Buffer): Promise<void> {
    if (this.#file === null) await this.#open();
    if (this.#size > 0 && this.#size + bytes.length > this.#bytesMax) await this.#rotate();
    const file = this.#file!;
    try {
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten < bytes.length) {
        throw new Error(`${bytesWritten} of ${bytes.length} bytes were written`);
      }
      await file.datasync();
      this.#size += bytes.length;
    } catch (error) {
      await file.truncate(this.#size).catch(() => {});
      throw error;
    }
  }

  async #open(): Promise<void> {
    const file = await open(this.#path, 'a+');
    try {
      this.#size = await endOfLines(file);
      if (this.#size < (await file.stat()).size) await file.truncate(this.#size);
      this.#file = file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  async #rotate(): Promise<void> {
    await this.#file!.close();
    this.#file = null;
    const names = [this.#path, ...Array.from({ length: KEPT }, (_, n) => `${this.#path}.${n + 1}`)];
    for (let to = KEPT; to > 0; to--) {
      const exists = await stat(names[to - 1]!).then(
        () => true,
        () => false,
      );
      if (exists) await rename(names[to - 1]!, names[to]!);
    }
    await this.#open();
  }
}

/** The position after the last whole line: a kill may have cut off the next one. */
async function endOfLines(file: FileHandle): Promise<number> {
  let { size: end } = await file.stat();
  const tail = Buffer.alloc(TAIL_BYTES);
  while (end > 0) {
    const from = Math.max(0, end - TAIL_BYTES);
    const { bytesRead } = await file.read(tail, 0, end - from, from);
    const last = tail.subarray(0, bytesRead).lastIndexOf(NEWLINE);
    if (last >= 0) return from + last + 1;
    end = from;
  }
  return 0;
}
