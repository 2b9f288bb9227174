/** Checks that a file is UTF-8, so that other encodings are refused before documents are read. */
import { FileFault } from './file-fault.ts';

const LF = 10;
const CR = 13;
const REPLACEMENT = '\ufffd';
/**
 * Bytes examined to detect UTF-16 without a byte order mark, where often every second byte is zero.
 */
const BEGIN_BYTES = 64;

/** Size of a byte order mark at the beginning of UTF-8, which is not part of the text. */
export function markBytes(begin: Uint8Array): number {
  return begin[0] === 0xef && begin[1] === 0xbb && begin[2] === 0xbf ? 3 : 0;
}

/**
 * Throws `FileFault` for UTF-16 and UTF-32.
 * @param begin at least the first four bytes of the file, or the whole file if it is shorter
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

/** Checks a file chunk by chunk. */
export class Utf8Check {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Numbers of LF and CR before the chunk. In a file without LF, lines end with CR. */
  #lf = 0;
  #cr = 0;

  /** Throws `FileFault` with the line of the first invalid byte. */
  push(chunk: Uint8Array): void {
    try {
      this.#decoder.decode(chunk, { stream: true });
    } catch {
      throw this.#fault(chunk);
    }
    this.#lf += countOf(chunk, LF);
    this.#cr += countOf(chunk, CR);
  }

  /** Throws `FileFault` if the file ends inside a character. */
  end(): void {
    try {
      this.#decoder.decode();
    } catch {
      throw this.#fault(new Uint8Array());
    }
  }

  #fault(chunk: Uint8Array): FileFault {
    const text = new TextDecoder().decode(chunk);
    // A character that began in the previous chunk decodes as invalid here, but is in the first
    // line.
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
