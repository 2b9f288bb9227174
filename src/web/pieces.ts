/** Splits large files of documents into pieces that the server accepts. */
import { CsvSplitter, isBlank, refuseOtherDelimiter } from '../records/csv-records.ts';
import { FileFault } from '../records/file-fault.ts';
import { markBytes, refuseWide, Utf8Check } from '../records/utf8-check.ts';

export type FileType = 'application/json' | 'application/x-ndjson' | 'text/csv';

/** The type given by the file extension; null: unknown. */
export function fileType(name: string): FileType | null {
  const ending = name.toLowerCase().split('.').at(-1);
  switch (ending) {
    case 'json':
      return 'application/json';
    case 'ndjson':
    case 'jsonl':
      return 'application/x-ndjson';
    case 'csv':
    case 'tsv':
      return 'text/csv';
    default:
      return null;
  }
}

export interface Piece {
  blob: Blob;
  /** Line of the file, from 1, in which the first document of the piece begins. */
  line: number;
}

const LF = 10;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Splits a file into pieces of at most `bytesMax` bytes, in order, each a file of the same type. No
 * record is cut, and each piece of CSV begins with the header. A JSON array stays whole, and so
 * does a record longer than `bytesMax`. Rejects with `FileFault` when the file is not UTF-8, is not
 * valid CSV, uses another delimiter, or contains no documents.
 * @param delimiter the CSV delimiter, one ASCII character
 */
export async function piecesOf(
  file: Blob,
  type: FileType,
  bytesMax: number,
  delimiter: string,
): Promise<Piece[]> {
  const ends = type === 'text/csv' ? csvEnds(delimiter) : lineEnds();
  const cutter = new Cutter(file, type === 'text/csv' ? null : 0, bytesMax);
  const check = new Utf8Check();
  if (file.size === 0) return [{ blob: file, line: 1 }];
  let offset = 0;
  for await (const chunk of chunksOf(file)) {
    if (offset === 0) refuseWide(chunk);
    const begin = offset === 0 ? markBytes(chunk) : 0;
    const text = chunk.subarray(begin);
    check.push(text);
    let done = 0;
    for (const { end, line } of ends.push(text)) {
      const stop = offset + begin + end;
      if (cutter.needsHeader) {
        const header = file.slice(0, stop);
        const bytes = new Uint8Array(await header.arrayBuffer());
        if (!isBlank(bytes.subarray(markBytes(bytes)))) {
          refuseOtherDelimiter(bytes, delimiter);
          cutter.takeHeader(header);
        }
      } else cutter.takeRecord(stop, line, isBlank(text.subarray(done, end)));
      done = end;
    }
    if (!isBlank(text.subarray(done))) cutter.hasText();
    offset += chunk.length;
  }
  check.end();
  ends.end();
  if (type === 'application/json') return [{ blob: file, line: 1 }];
  return cutter.finish(ends.recordLine);
}

interface Ends {
  push(chunk: Uint8Array): { end: number; line: number }[];
  end(): void;
  readonly recordLine: number;
}

function csvEnds(delimiter: string): Ends {
  return new CsvSplitter(delimiter);
}

function lineEnds(): Ends {
  let line = 1;
  return {
    push(chunk) {
      const ends: { end: number; line: number }[] = [];
      for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) {
        ends.push({ end: at + 1, line: line++ });
      }
      return ends;
    },
    end: () => {},
    get recordLine() {
      return line;
    },
  };
}

/** Collects records into pieces as the ends of records become known. */
class Cutter {
  readonly #file: Blob;
  readonly #bytesMax: number;
  readonly #pieces: Piece[] = [];
  #header: Blob | null = null;
  /** Offset of the piece; null: the header has not been read yet. */
  #begin: number | null;
  /** Offset of the end of the last record that fits. */
  #end = 0;
  #line: number | null = null;
  /** Whether only line ends follow the header so far. */
  #isBlank = true;

  /** @param begin offset of the first record; null: the file begins with a header */
  constructor(file: Blob, begin: number | null, bytesMax: number) {
    this.#file = file;
    this.#begin = begin;
    this.#bytesMax = bytesMax;
  }

  get needsHeader(): boolean {
    return this.#begin === null;
  }

  takeHeader(header: Blob): void {
    this.#header = header;
    this.#begin = header.size;
    this.#end = header.size;
  }

  /** A chunk ended inside a record. */
  hasText(): void {
    if (!this.needsHeader) this.#isBlank = false;
  }

  takeRecord(end: number, line: number, blank: boolean): void {
    if (!blank) this.#isBlank = false;
    if (end - this.#begin! > this.#bytesMax && this.#end > this.#begin!) this.#cut(line);
    this.#line ??= line;
    this.#end = end;
  }

  finish(lastLine: number): Piece[] {
    const { size } = this.#file;
    if (this.#begin === null || this.#isBlank) {
      throw new FileFault('holds no documents, although it is not empty');
    }
    if (size > this.#end) this.takeRecord(size, lastLine, true);
    if (this.#end > this.#begin) this.#cut(lastLine);
    return this.#pieces;
  }

  #cut(nextLine: number): void {
    const records = this.#file.slice(this.#begin!, this.#end);
    const blob = this.#header === null ? records : new Blob([this.#header, records]);
    this.#pieces.push({ blob, line: this.#line ?? 1 });
    this.#begin = this.#end;
    this.#line = nextLine;
  }
}

async function* chunksOf(file: Blob): AsyncGenerator<Uint8Array> {
  for (let begin = 0; begin < file.size; begin += CHUNK_BYTES) {
    yield new Uint8Array(await file.slice(begin, begin + CHUNK_BYTES).arrayBuffer());
  }
}
