/** Records that a server refuses: what it says of one, and the file that keeps them. */
import { type FileHandle, open } from 'node:fs/promises';
import { RefusedRequest } from '../outbound/api-peer.ts';
import { CommandFailure, FileError } from './command.ts';
import type { FinishedTask } from './connection.ts';

/** Finding one takes some twenty requests; a file with more is of another form than it seems. */
const KEPT_MAX = 10_000;

/** Errors that one document causes, and not the request as a whole. */
const OF_DOCUMENT =
  /^(?:malformed_payload|missing_document_id|invalid_document_\w+|invalid_vector\w*|too_many_vectors)$/;
/** Places in a request, which say nothing about the file. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/ at line \d+ column \d+/g, ''],
  [/ in line \d+/g, ''],
  [/\bline \d+ has\b/g, 'it has'],
];

/** What is wrong with a document of the request, or null when something else is. */
export function documentFault(error: unknown): string | null {
  if (!(error instanceof RefusedRequest) || error.status !== 400) return null;
  return faultOf(error.body.code, error.body.message);
}

/** The same of a task that failed. */
export function taskFault({ status, error }: FinishedTask): string | null {
  return status === 'failed' && error !== null ? faultOf(error.code, error.message) : null;
}

function faultOf(code: unknown, message: unknown): string | null {
  if (typeof code !== 'string' || !OF_DOCUMENT.test(code)) return null;
  const text = typeof message === 'string' ? message.slice(0, 1000) : 'no message';
  return `${PLACES.reduce((told, [place, instead]) => told.replace(place, instead), text)} (${code})`;
}

/** A file of records that can be mended and imported. */
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
   * @param goesOn whether the file may exist, and is added to
   */
  static async open(path: string, goesOn: boolean): Promise<BadRecords> {
    try {
      return new BadRecords(path, await open(path, goesOn ? 'a' : 'wx'));
    } catch (error) {
      const exists = (error as NodeJS.ErrnoException).code === 'EEXIST';
      throw exists
        ? new FileError(`${path} exists already; --skip-bad needs a new file.`)
        : unwritable(path, error);
    }
  }

  /** @param header of CSV, written before the first record and where it changes */
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
