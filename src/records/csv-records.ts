/**
 * Finds the ends of CSV records. `gannet import` and the page use it to split large files into
 * requests.
 *
 * It agrees with the reader of the server (`native/indexing/parse/csv.cc`) on every text: a quote
 * opens a quoted value only at the beginning of a value; two quotes inside a quoted value mean one;
 * text may follow the closing quote. A record ends with LF, CRLF or CR. Values are not decoded, so
 * bytes reach the server unchanged. Packages that parse CSV decode values, differ from the server
 * in these details, and are about ten times as large as the page needs.
 */
import { FileFault } from './file-fault.ts';

const QUOTE = 34;
const LF = 10;
const CR = 13;

/** Delimiters to suggest when the header does not contain the expected one. */
const DELIMITERS = [',', ';', '\t', '|'];

const OPEN = 0; // at the beginning of a value
const PLAIN = 1; // inside a value, or after its closing quote
const QUOTED = 2;
const CLOSING = 3; // after a quote inside quotes, which closes the value or is the first of two

export interface RecordEnd {
  /** Offset in the chunk after the end of the line; 0: the record ended with the previous chunk. */
  end: number;
  /** The line, from 1, in which the record began. */
  line: number;
}

export class CsvSplitter {
  readonly #delimiter: number;
  #state = OPEN;
  /** The previous chunk ended with a CR that ends a record. An LF may still follow. */
  #endsWithCr = false;
  /** The last byte was a CR inside quotes. An LF after it does not begin another line. */
  #quotedCr = false;
  #line = 1;
  #recordLine = 1;
  #quoteLine = 1;

  /** @param delimiter as returned by {@link parseDelimiter} */
  constructor(delimiter: string) {
    this.#delimiter = delimiter.charCodeAt(0);
  }

  /** Returns the ends of records in the next chunk, in order, including the ends of blank lines. */
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

  /** Throws `FileFault` if a quoted value is not closed at the end of the file. */
  end(): void {
    if (this.#state === QUOTED) throw unclosed(this.#quoteLine);
  }

  /** The line in which the current record began. */
  get recordLine(): number {
    return this.#recordLine;
  }

  /**
   * Throws `FileFault` for a record that is longer than a server accepts, with the likely reason.
   */
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

/** Parses a delimiter typed by a person: one ASCII character, or `tab`; null if it is invalid. */
export function parseDelimiter(text: string): string | null {
  const delimiter = ['tab', '\\t'].includes(text.toLowerCase()) ? '\t' : text;
  const isOne = delimiter.length === 1 && delimiter.charCodeAt(0) < 128;
  return isOne && !'"\r\n'.includes(delimiter) ? delimiter : null;
}

/** The default delimiter of a file, by its name. */
export function delimiterOf(name: string): string {
  return /\.tsv(?:\.gz)?$/i.test(name) ? '\t' : ',';
}

/**
 * Throws `FileFault` if the header has one column with this delimiter and several with another.
 * @param advice how to name the other one
 */
export function refuseOtherDelimiter(
  header: Uint8Array,
  delimiter: string,
  advice: (other: string) => string = (other) => `name ${shown(other)} as the delimiter`,
): void {
  const text = new TextDecoder().decode(header).replaceAll(/"(?:[^"]|"")*"/g, '');
  if (text.includes(delimiter)) return;
  const other = DELIMITERS.find((one) => one !== delimiter && text.includes(one));
  if (other === undefined) return;
  throw new FileFault(
    `the header has no ${shown(delimiter)}, but ${shown(other)}: ${advice(other)}`,
    1,
  );
}

function shown(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : `\`${delimiter}\``;
}

/** Whether a record consists only of line ends. */
export function isBlank(record: Uint8Array): boolean {
  return record.every((byte) => byte === LF || byte === CR);
}
