/** Records that a server refuses: the error message, and the file that collects them. */
import { type FileHandle, open } from 'node:fs/promises';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { CommandFailure, FileError } from './command.ts';
import type { FinishedTask } from './connection.ts';

/**
 * Maximum number of records. Finding one takes about twenty requests; a file with more bad records
 * probably has another format.
 */
const KEPT_MAX = 10_000;

/** Codes of errors that are caused by one document, not by the request as a whole. */
const OF_DOCUMENT =
  /^(?:malformed_payload|missing_document_id|invalid_document_\w+|invalid_vector\w*|too_many_vectors)$/;
/** An error with a code that embedders have too. */
const WITHOUT_VECTORS = /^The document `.*` has no vectors for the embedder /s;
/** Positions in a request, which are meaningless for the file, with their replacements. */
const POSITIONS: readonly (readonly [RegExp, string])[] = [
  [/ at line \d+ column \d+/g, ''],
  [/ in line \d+/g, ''],
  [/\bline \d+ has\b/g, 'it has'],
];

/** The error of a document in the request; null: the error has another cause. */
export function documentFault(error: unknown): string | null {
  if (!(error instanceof RefusedRequest)) return null;
  // A proxy may have a limit of its own, without a code.
  if (error.status === 413) return 'it is larger than the server accepts (payload_too_large)';
  if (error.status !== 400) return null;
  return faultOf(error.body.code, error.body.message);
}

/** The same for a failed task. */
export function taskFault({ status, error }: FinishedTask): string | null {
  return status === 'failed' && error !== null ? faultOf(error.code, error.message) : null;
}

function faultOf(code: unknown, message: unknown): string | null {
  if (typeof code !== 'string') return null;
  const text = typeof message === 'string' ? message.slice(0, 1000) : 'no message';
  if (!OF_DOCUMENT.test(code) && !WITHOUT_VECTORS.test(text)) return null;
  return `${POSITIONS.reduce((shown, [position, instead]) => shown.replace(position, instead), text)} (${code})`;
}

/** A file of refused records, which can be corrected and imported. */
export class BadRecords {
  readonly #path: string;
  readonly #file: FileHandle;
  #header: Buffer | null = null;
  count = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /**
   * Throws `FileError`.
   * @param goesOn whether to append to an existing file
   */
  static async open(path: string, goesOn: boolean): Promise<BadRecords> {
    try {
      return new BadRecords(path, await open(path, goesOn ? 'a' : 'wx'));
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
      throw exists
        ? new FileError(`${path} already exists; --skip-bad needs a new file.`)
        : unwritable(path, error);
    }
  }

  /** @param header the CSV header, written before the first record and whenever it changes */
  async add(header: Buffer, record: Buffer): Promise<void> {
    if (this.count === KEPT_MAX) {
      throw new CommandFailure(
        `The server refused more than ${KEPT_MAX} documents; those so far are in ${this.#path}.`,
      );
    }
    const isNew = this.#header === null || !this.#header.equals(header);
    this.#header = header;
    this.count++;
    try {
      await this.#file.appendFile(isNew ? Buffer.concat([header, record]) : record);
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

function unwritable(path: string, error: unknown): FileError {
  return new FileError(`${path} cannot be written: ${(error as Error).message}.`);
}
