/**
 * Where the records of CSV end: the one splitter of `gannet import` and of the page, which cut
 * large files into requests.
 *
 * It agrees with the reader of the server (`native/indexing/parse/csv.cc`) on every text: a quote
 * opens a quoted value only where a value begins; two in a row inside stand for one; what follows
 * the closing quote is text. A record ends with LF, CRLF or CR. The values themselves are never
 * read here, so bytes reach the server as they are. Packages that parse CSV decode values, differ
 * from the server in these details, and are some ten times as large as the page needs.
 */
import { FileFault } from './file-fault.ts';

const QUOTE = 34;
const LF = 10;
const CR = 13;

/** Delimiters that are suggested when the header has none of the one that is expected. */
const DELIMITERS = [',', ';', '\t', '|'];

const OPEN = 0; // at the begin of a value
const PLAIN = 1; // within one, or behind its closing quote
const QUOTED = 2;
const CLOSING = 3; // behind a quote inside quotes: it closes, or is the first of two

export interface RecordEnd {
  /** Offset in the chunk, behind the end of the line; 0: the record ended with the chunk before. */
  end: number;
  /** In which the record began, from 1. */
  line: number;
}

export class CsvSplitter {
  readonly #delimiter: number;
  #state = OPEN;
  /** The chunk before ended with CR that ends a record: whether LF follows is still to be seen. */
  #endsWithCr = false;
  /** The last byte was CR within quotes: LF behind it begins no further line. */
  #quotedCr = false;
  #line = 1;
  #recordLine = 1;
  #quoteLine = 1;

  /** @param delimiter as {@link parseDelimiter} gives it */
  constructor(delimiter: string) {
    this.#delimiter = delimiter.charCodeAt(0);
  }

  /** The ends of records within the next chunk, in order. Ends of blank lines are among them. */
  push(chunk: Uint8Array): RecordEnd[] {
    const ends: RecordEnd[] = [];
    let at = 0;
    if (this.#endsWithCr && chunk.length > 0) {
      this.#endsWithCr = false;
      if (chunk[0] === LF) at = 1;
      this.#endRecord(ends, at);
    }
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#state === QUOTED) {
        if (byte === QUOTE) this.#state = CLOSING;
        else if (byte === CR || (byte === LF && !this.#quotedCr)) this.#line++;
        this.#quotedCr = byte === CR;
        continue;
      }
      if (byte === LF) {
        this.#line++;
        this.#endRecord(ends, at + 1);
      } else if (byte === CR) {
        this.#line++;
        if (at + 1 === chunk.length) {
          this.#endsWithCr = true;
          this.#state = OPEN;
        } else {
          if (chunk[at + 1] === LF) at++;
          this.#endRecord(ends, at + 1);
        }
      } else if (byte === QUOTE && (this.#state === OPEN || this.#state === CLOSING)) {
        if (this.#state === OPEN) this.#quoteLine = this.#line;
        this.#state = QUOTED;
      } else this.#state = byte === this.#delimiter ? OPEN : PLAIN;
    }
    return ends;
  }

  /** Throws `FileFault` when a quoted value is not closed by the end of the file. */
  end(): void {
    if (this.#state === QUOTED) throw unclosed(this.#quoteLine);
  }

  /** The line in which the record that goes on began. */
  get recordLine(): number {
    return this.#recordLine;
  }

  /** A record has grown beyond what a server takes: throws `FileFault` with the likely reason. */
  refuseLong(bytesMax: number): never {
    if (this.#state === QUOTED) throw unclosed(this.#quoteLine);
    throw new FileFault(`a record of more than ${bytesMax} bytes begins here`, this.#recordLine);
  }

  #endRecord(ends: RecordEnd[], end: number): void {
    ends.push({ end, line: this.#recordLine });
    this.#recordLine = this.#line;
    this.#state = OPEN;
  }
}

function unclosed(line: number): FileFault {
  return new FileFault('the quote that opens a value in this line is never closed', line);
}

/** What a person writes for a delimiter: one character of ASCII, or `tab`; null when it is none. */
export function parseDelimiter(text: string): string | null {
  const delimiter = ['tab', '\\t'].includes(text.toLowerCase()) ? '\t' : text;
  const isOne = delimiter.length === 1 && delimiter.charCodeAt(0) < 128;
  return isOne && !'"\r\n'.includes(delimiter) ? delimiter : null;
}

/** The one that files of this name have. */
export function delimiterOf(name: string): string {
  return /\.tsv(?:\.gz)?$/i.test(name) ? '\t' : ',';
}

/** Throws `FileFault` when a header has one column by this delimiter, and several by another. */
export function refuseOtherDelimiter(header: Uint8Array, delimiter: string): void {
  const text = new TextDecoder().decode(header).replaceAll(/"(?:[^"]|"")*"/g, '');
  if (text.includes(delimiter)) return;
  const other = DELIMITERS.find((one) => one !== delimiter && text.includes(one));
  if (other === undefined) return;
  throw new FileFault(
    `the header has no ${shown(delimiter)}, but ${shown(other)}: name ${shown(other)} as the delimiter`,
    1,
  );
}

function shown(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : `\`${delimiter}\``;
}

/** Nothing but line ends. */
export function isBlank(record: Uint8Array): boolean {
  return record.every((byte) => byte === LF || byte === CR);
}
