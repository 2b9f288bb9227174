/** Reads the records of a file of documents from disk, about a megabyte at a time. */
import { CsvSplitter, isBlank } from '../../records/csv-records.ts';
import { FileFault } from '../../records/file-fault.ts';
import { markBytes, refuseWide, Utf8Check } from '../../records/utf8-check.ts';
import { JsonSplitter, type Boundary } from './json-splitter.ts';

export type FileType = 'json' | 'ndjson' | 'csv';

/** The type given by the file extension; null: unknown. */
export function fileType(name: string): FileType | null {
  const ending = name.toLowerCase().split('.').at(-1);
  switch (ending) {
    case 'json':
      return 'json';
    case 'ndjson':
    case 'jsonl':
      return 'ndjson';
    case 'csv':
    case 'tsv':
      return 'csv';
    default:
      return null;
  }
}

/** A document as it stands in the file. For CSV the first one is the header. */
export interface FileRecord {
  /** Line of the file, from 1. */
  readonly line: number;
  readonly text: string;
}

interface Splitter {
  push(chunk: Uint8Array): readonly Boundary[];
  /** Throws `FileFault` if the file ends where it must not. */
  end(): void;
  readonly recordLine: number;
}

const LF = 10;
const CHUNK_BYTES = 1024 * 1024;
/** A longer record is a fault, because it has to be in memory. */
const RECORD_BYTES_MAX = 100_000_000;

/**
 * The records of each chunk. Throws `FileFault` if the file is not UTF-8, or has no records that
 * can be separated.
 * @param delimiter the CSV delimiter, one ASCII character
 * @param bytesMax reads this part of the file, and not its last record if there is more
 */
export async function* recordsOf(
  file: Blob,
  type: FileType,
  delimiter: string,
  bytesMax = Infinity,
): AsyncGenerator<FileRecord[]> {
  const splitter = splitterOf(type, delimiter);
  const check = new Utf8Check();
  const parts = new Parts();
  const size = Math.min(file.size, bytesMax);
  for (let offset = 0; offset < size; offset += CHUNK_BYTES) {
    const end = Math.min(offset + CHUNK_BYTES, size);
    const bytes = new Uint8Array(await file.slice(offset, end).arrayBuffer());
    if (offset === 0) refuseWide(bytes);
    const chunk = offset === 0 ? bytes.subarray(markBytes(bytes)) : bytes;
    check.push(chunk);
    const records: FileRecord[] = [];
    let begin = 0;
    for (const { end: until, next, line } of splitter.push(chunk)) {
      const record = parts.take(chunk.subarray(begin, until));
      if (!isSpace(record)) records.push({ line, text: DECODER.decode(record) });
      begin = next;
    }
    parts.keep(chunk.slice(begin), splitter.recordLine);
    yield records;
  }
  if (size < file.size) return;
  check.end();
  splitter.end();
  const rest = parts.take(new Uint8Array());
  if (!isSpace(rest)) yield [{ line: splitter.recordLine, text: DECODER.decode(rest) }];
}

const DECODER = new TextDecoder();

function isSpace(bytes: Uint8Array): boolean {
  return isBlank(bytes) || bytes.every((byte) => byte <= 32);
}

/** The beginning of a record whose end is in a later chunk. */
class Parts {
  #parts: Uint8Array[] = [];
  #bytes = 0;

  keep(part: Uint8Array, line: number): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#bytes > RECORD_BYTES_MAX) {
      throw new FileFault(`a record of more than ${RECORD_BYTES_MAX} bytes begins here`, line);
    }
  }

  /** The whole record, of which this is the last part. */
  take(last: Uint8Array): Uint8Array {
    if (this.#bytes === 0) return last;
    const whole = new Uint8Array(this.#bytes + last.length);
    let at = 0;
    for (const part of [...this.#parts, last]) {
      whole.set(part, at);
      at += part.length;
    }
    this.#parts = [];
    this.#bytes = 0;
    return whole;
  }
}

function splitterOf(type: FileType, delimiter: string): Splitter {
  if (type === 'json') return new JsonSplitter();
  return type === 'csv' ? csvSplitter(delimiter) : lineSplitter();
}

function csvSplitter(delimiter: string): Splitter {
  const records = new CsvSplitter(delimiter);
  return {
    push: (chunk) => records.push(chunk).map(({ end, line }) => ({ end, next: end, line })),
    end: () => records.end(),
    get recordLine() {
      return records.recordLine;
    },
  };
}

function lineSplitter(): Splitter {
  let line = 1;
  return {
    push(chunk) {
      const ends: Boundary[] = [];
      for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, at + 1)) {
        ends.push({ end: at, next: at + 1, line: line++ });
      }
      return ends;
    },
    end: () => {},
    get recordLine() {
      return line;
    },
  };
}
