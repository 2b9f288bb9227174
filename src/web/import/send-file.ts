/** Sends the documents of a file in pieces, and leaves out its bad rows. */
import { delimiterOf, refuseOtherDelimiter } from '../../records/csv-records.ts';
import { FileFault, faultText } from '../../records/file-fault.ts';
import { pathOf, type Client, type TaskReceipt } from '../client.ts';
import { ended } from '../tasks.ts';
import { detectDelimiter } from './csv-cells.ts';
import {
  convert,
  detectColumns,
  type BadRow,
  type Column,
  type Mapping,
  type Mended,
} from './columns.ts';
import { fileType, recordsOf, type FileRecord, type FileType } from './record-files.ts';

/** Maximum size of a request; well below the smallest body limit in common use. */
const PIECE_BYTES = 20_000_000;
/** Bytes of a file that are read before it is sent. */
const SAMPLE_BYTES = 1024 * 1024;
const SAMPLE_RECORDS = 200;
/** Bad rows that are kept with their text. Further ones are counted. */
export const BAD_ROWS_MAX = 1000;
const BAD_BYTES_MAX = 5_000_000;

/** The beginning of a file. */
export interface Sample {
  readonly type: FileType;
  readonly delimiter: string;
  readonly columns: readonly Column[];
  /** Without the header. */
  readonly records: readonly FileRecord[];
}

/** @param delimiter of CSV; null: the one that its header has most often */
export async function sampleOf(file: File, delimiter: string | null): Promise<Sample> {
  const type = fileType(file.name);
  if (type === null) throw new Error('The name must end in .json, .ndjson, .jsonl, .csv or .tsv.');
  try {
    const expected = delimiterOf(file.name);
    const [header] = type === 'csv' ? await firstRecords(file, type, expected, 1) : [];
    const between = delimiter ?? detectDelimiter(header?.text ?? '', expected);
    if (header !== undefined) refuseOtherDelimiter(new TextEncoder().encode(header.text), between);
    const records = await firstRecords(file, type, between, SAMPLE_RECORDS);
    const rest = type === 'csv' ? records.slice(1) : records;
    if (rest.length === 0 && file.size <= SAMPLE_BYTES) {
      throw new FileFault('holds no documents');
    }
    const columns = detectColumns(type, between, records);
    return { type, delimiter: between, columns, records: rest };
  } catch (error) {
    throw named(file, error);
  }
}

async function firstRecords(
  file: Blob,
  type: FileType,
  delimiter: string,
  max: number,
): Promise<FileRecord[]> {
  const found: FileRecord[] = [];
  for await (const records of recordsOf(file, type, delimiter, SAMPLE_BYTES)) {
    found.push(...records);
    if (found.length >= max) break;
  }
  return found.slice(0, max);
}

function named(file: File, error: unknown): unknown {
  return error instanceof FileFault ? new Error(faultText(file.name, error)) : error;
}

/** How a file is sent. */
export interface Sending {
  readonly into: string;
  /** POST: documents are replaced; PUT: they are updated. */
  readonly method: string;
  readonly mapping: Mapping;
  readonly mended: Mended;
}

/** What has happened so far. */
export interface Progress {
  /** Bytes of the file that are read. */
  readonly read: number;
  readonly sent: number;
  readonly bad: readonly BadRow[];
  /** All bad rows, also those that are not kept. */
  readonly badCount: number;
  readonly pieces: readonly SentPiece[];
  /** Share of the pieces that are indexed, from 0 to 1. */
  readonly indexed: number;
}

/** Documents that went to the server in one request. */
export interface SentPiece {
  readonly taskUid: number;
  /** Lines of the file in which its first and its last document begin. */
  readonly first: number;
  readonly last: number;
  readonly documents: number;
  /** What its task says, or why it failed; null: it has not ended. */
  readonly outcome: string | Error | null;
}

export const NOT_BEGUN: Progress = {
  read: 0,
  sent: 0,
  bad: [],
  badCount: 0,
  pieces: [],
  indexed: 0,
};

/** Sends a file. Resolves when all its tasks have ended, also if some have failed. */
export class FileSender {
  readonly #client: Client;
  readonly #sending: Sending;
  readonly #signal: AbortSignal;
  readonly #onProgress: (progress: Progress) => void;
  #progress: Progress = NOT_BEGUN;
  #lines: string[] = [];
  /** The piece: blobs, which the browser may keep on disk. */
  #parts: Blob[] = [];
  #bytes = 0;
  #documents = 0;
  #first = 0;
  #last = 0;
  #badBytes = 0;

  constructor(
    client: Client,
    sending: Sending,
    signal: AbortSignal,
    onProgress: (progress: Progress) => void,
  ) {
    this.#client = client;
    this.#sending = sending;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  async send(file: File): Promise<Progress> {
    const { type, delimiter } = this.#sending.mapping;
    let isHeader = type === 'csv';
    let read = 0;
    let position = 0;
    try {
      for await (const records of recordsOf(file, type, delimiter)) {
        this.#signal.throwIfAborted();
        for (const record of records.slice(isHeader ? 1 : 0)) this.#take(record, position++);
        if (records.length > 0) isHeader = false;
        this.#close();
        if (this.#bytes >= PIECE_BYTES) await this.#sendPiece();
        read = Math.min(file.size, read + SAMPLE_BYTES);
        this.#tell({ read });
      }
      await this.#sendPiece();
    } catch (error) {
      throw named(file, error);
    }
    await this.#wait();
    return this.#progress;
  }

  /**
   * Sends rows that were left out, as they are mended by now.
   * @param others number of further ones, which were not kept
   */
  async sendRows(rows: readonly BadRow[], others: number): Promise<Progress> {
    this.#progress = { ...NOT_BEGUN, badCount: others };
    for (const row of rows) this.#take(row, row.position);
    this.#close();
    await this.#sendPiece();
    await this.#wait();
    return this.#progress;
  }

  #take({ line, text: found }: FileRecord, position: number): void {
    const { mapping, mended } = this.#sending;
    const text = mended.get(position) ?? found;
    const converted = convert({ line, text }, mapping);
    if ('reason' in converted) {
      this.#leaveOut({ line, position, text, reason: converted.reason });
      return;
    }
    if (this.#documents === 0) this.#first = line;
    this.#last = line;
    this.#documents++;
    this.#lines.push(converted.document);
  }

  #leaveOut(row: BadRow): void {
    const { bad, badCount } = this.#progress;
    this.#badBytes += row.text.length;
    const isKept = bad.length < BAD_ROWS_MAX && this.#badBytes <= BAD_BYTES_MAX;
    const kept = isKept ? [...bad, row] : bad;
    this.#progress = { ...this.#progress, bad: kept, badCount: badCount + 1 };
  }

  /** The documents of a chunk become a blob. */
  #close(): void {
    if (this.#lines.length === 0) return;
    const blob = new Blob([`${this.#lines.join('\n')}\n`]);
    this.#lines = [];
    this.#parts.push(blob);
    this.#bytes += blob.size;
  }

  async #sendPiece(): Promise<void> {
    if (this.#documents === 0) return;
    const { into, method, mapping } = this.#sending;
    const { primaryKey } = mapping;
    const path = pathOf(['indexes', into, 'documents'], { primaryKey });
    const options = { type: 'application/x-ndjson', signal: this.#signal, onSent: () => {} };
    const body = new Blob(this.#parts);
    const { taskUid } = await this.#client.upload<TaskReceipt>(method, path, body, options);
    const piece = {
      taskUid,
      first: this.#first,
      last: this.#last,
      documents: this.#documents,
      outcome: null,
    };
    const { sent, pieces } = this.#progress;
    this.#tell({ sent: sent + this.#documents, pieces: [...pieces, piece] });
    this.#parts = [];
    this.#bytes = 0;
    this.#documents = 0;
  }

  async #wait(): Promise<void> {
    const { pieces } = this.#progress;
    for (const [at, piece] of pieces.entries()) {
      const tell = (percentage: number): void =>
        this.#tell({ indexed: (at + percentage / 100) / pieces.length });
      const outcome = await ended(this.#client, piece, tell).catch(
        (error: unknown) => error as Error,
      );
      this.#tell({
        indexed: (at + 1) / pieces.length,
        pieces: this.#progress.pieces.map((one) => (one === piece ? { ...one, outcome } : one)),
      });
    }
  }

  #tell(part: Partial<Progress>): void {
    this.#progress = { ...this.#progress, ...part };
    this.#onProgress(this.#progress);
  }
}
