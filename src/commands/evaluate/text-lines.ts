/** Reads a small text file line by line. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { FileFault, faultText } from '../../records/file-fault.ts';
import { markBytes, refuseWide, Utf8Check } from '../../records/utf8-check.ts';
import { FileError } from '../command.ts';

/** Maximum size of a file after decompression: it is read as a whole. */
const BYTES_MAX = 256 * 2 ** 20;
const GZIP_MAGIC = [0x1f, 0x8b];

/** A line that is not blank, and where it is. */
export class TextLine {
  readonly text: string;
  readonly file: string;
  /** From 1. */
  readonly number: number;

  constructor(text: string, file: string, number: number) {
    this.text = text;
    this.file = file;
    this.number = number;
  }

  /** @param message without the full stop */
  fault(message: string): FileError {
    return new FileError(faultText(this.file, new FileFault(message, this.number)));
  }

  get address(): string {
    return `${this.file}:${this.number}`;
  }
}

/** Throws `FileError`, also if there is no line. Lines end with LF, CRLF or CR. */
export function readLines(path: string): TextLine[] {
  let text: string;
  try {
    text = textOf(path);
  } catch (error) {
    if (error instanceof FileFault) throw new FileError(faultText(path, error));
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : message;
    throw new FileError(`${path} cannot be read: ${reason}.`);
  }
  const lines = text
    .split(/\r\n|\n|\r/)
    .map((line, n) => new TextLine(line, path, n + 1))
    .filter((line) => line.text.trim() !== '');
  if (lines.length === 0) throw new FileError(`${path} is empty.`);
  return lines;
}

function textOf(path: string): string {
  const stored = readFileSync(path);
  const isPacked = GZIP_MAGIC.every((byte, at) => stored[at] === byte);
  const bytes = isPacked ? gunzipSync(stored, { maxOutputLength: BYTES_MAX }) : stored;
  if (bytes.length > BYTES_MAX) throw new FileFault('is larger than 256 MiB');
  refuseWide(bytes);
  const check = new Utf8Check();
  check.push(bytes);
  check.end();
  return bytes.subarray(markBytes(bytes)).toString();
}
