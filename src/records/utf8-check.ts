/**
 * Text of files as UTF-8: other encodings are refused before anything of them is taken for
 * documents.
 */
import { FileFault } from './file-fault.ts';

const LF = 10;
const CR = 13;
const REPLACEMENT = '\ufffd';
/**
 * Bytes that are looked at to tell UTF-16 without a mark: every second one is zero in most of its
 * text.
 */
const BEGIN_BYTES = 64;

/** Bytes of a mark at the begin of UTF-8, which is no part of the text. */
export function markBytes(begin: Uint8Array): number {
  return begin[0] === 0xef && begin[1] === 0xbb && begin[2] === 0xbf ? 3 : 0;
}

/**
 * Throws `FileFault` for UTF-16 and UTF-32.
 * @param begin at least the first four bytes of the file, where it has them
 */
export function refuseWide(begin: Uint8Array): void {
  const [first, second] = begin;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (hasMark || begin.subarray(0, BEGIN_BYTES).includes(0)) {
    throw new FileFault(
      'is UTF-16, not UTF-8: convert it, for instance by `iconv -f UTF-16 -t UTF-8`',
    );
  }
}

/** Takes a file chunk by chunk. */
export class Utf8Check {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** LF, and CR, before the chunk. A file without LF has lines that end with CR. */
  #lf = 0;
  #cr = 0;

  /** Throws `FileFault` with the line of what is no UTF-8. */
  push(chunk: Uint8Array): void {
    try {
      this.#decoder.decode(chunk, { stream: true });
    } catch {
      throw this.#fault(chunk);
    }
    this.#lf += countOf(chunk, LF);
    this.#cr += countOf(chunk, CR);
  }

  /** Throws `FileFault` when the file ends within a character. */
  end(): void {
    try {
      this.#decoder.decode();
    } catch {
      throw this.#fault(new Uint8Array());
    }
  }

  #fault(chunk: Uint8Array): FileFault {
    const text = new TextDecoder().decode(chunk);
    // The rest of a character that began in the chunk before counts as bad here: it stands in the
    // first line.
    const bad = Math.max(0, text.indexOf(REPLACEMENT, text.startsWith(REPLACEMENT) ? 1 : 0));
    const before = new TextEncoder().encode(text.slice(0, bad));
    const lf = this.#lf + countOf(before, LF);
    const lines = lf > 0 ? lf : this.#cr + countOf(before, CR);
    return new FileFault(
      'this is not UTF-8; a file in Latin-1 or Windows-1252 is converted by `iconv -f WINDOWS-1252 -t UTF-8`',
      lines + 1,
    );
  }
}

function countOf(bytes: Uint8Array, wanted: number): number {
  let count = 0;
  for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + 1)) count++;
  return count;
}
