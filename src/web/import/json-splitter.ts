/** Finds the elements of a JSON array, or JSON values that follow each other, chunk by chunk. */
import { FileFault } from '../../records/file-fault.ts';

/** Where a record ends in a chunk. */
export interface Boundary {
  readonly end: number;
  /** Offset of the next record: what separates both belongs to neither. */
  readonly next: number;
  /** In which the record begins. */
  readonly line: number;
}

const LF = 10;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/** Only strings and brackets are read: whether an element is valid JSON, the caller finds out. */
export class JsonSplitter {
  /** The file is an array; null: not known yet. */
  #isList: boolean | null = null;
  #isClosed = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  #line = 1;
  /** null: nothing of the record has come yet. */
  #recordLine: number | null = null;

  push(chunk: Uint8Array): Boundary[] {
    const ends: Boundary[] = [];
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
        if (byte === LF) this.#line++;
      } else if (byte === LF) this.#line++;
      else if (byte > 32) this.#token(byte, at, ends);
    }
    return ends;
  }

  end(): void {
    if (this.#inString) throw new FileFault('a text that is never closed', this.#recordLine);
    if (this.#depth > 0) {
      throw new FileFault(
        this.#isList === true && this.#depth === 1
          ? 'the array of documents is never closed: the file is not complete'
          : 'a document that is never closed begins here',
        this.recordLine,
      );
    }
  }

  get recordLine(): number {
    return this.#recordLine ?? this.#line;
  }

  /** A byte outside strings that is not space. */
  #token(byte: number, at: number, ends: Boundary[]): void {
    if (this.#isClosed) throw new FileFault('something follows the array of documents', this.#line);
    if (this.#isList === null) {
      this.#isList = byte === OPEN_LIST;
      if (this.#isList) {
        this.#depth = 1;
        this.#cut(ends, at, at + 1);
        return;
      }
    }
    const base = this.#isList ? 1 : 0;
    if (this.#isList && this.#depth === 1 && (byte === COMMA || byte === CLOSE_LIST)) {
      this.#cut(ends, at, at + 1);
      this.#isClosed = byte === CLOSE_LIST;
      if (this.#isClosed) this.#depth = 0;
      return;
    }
    this.#recordLine ??= this.#line;
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.#depth++;
    else if ((byte === CLOSE_LIST || byte === CLOSE_OBJECT) && this.#depth > base) {
      this.#depth--;
      if (!this.#isList && this.#depth === 0) this.#cut(ends, at + 1, at + 1);
    }
  }

  #cut(ends: Boundary[], end: number, next: number): void {
    ends.push({ end, next, line: this.recordLine });
    this.#recordLine = null;
  }
}
