/**
 * Reads documents from files one by one as bytes: JSON arrays, consecutive JSON documents, and CSV,
 * all optionally compressed by gzip.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { objectLines } from '../archive/json-values.ts';
import { CsvSplitter, delimiterOf, isBlank, refuseOtherDelimiter } from '../records/csv-records.ts';
import { FileFault, faultText } from '../records/file-fault.ts';
import { markBytes, refuseWide, Utf8Check } from '../records/utf8-check.ts';
import { FileError } from './command.ts';
import { type Downloads, isUrl, pathOfUrl, shownUrl } from './downloads.ts';

export const FORMATS = ['json', 'csv'] as const;
/** `json` includes arrays and one document per line. */
export type Format = (typeof FORMATS)[number];

/** Maximum size of a document. No server accepts larger ones. */
const RECORD_BYTES_MAX = 512 * 2 ** 20;
const READ_BYTES = 256 * 1024;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
/** Number of bytes by which the encoding is detected. */
const BEGIN_BYTES = 64;
const [OPEN_ARRAY, OPEN_OBJECT] = Buffer.from('[{');
const NEWLINE = 10;
const CR = 13;

/** The bytes of one document, with the end of its line. */
export interface FileRecord {
  bytes: Buffer;
  /** The line of the file, from 1, in which the document begins. */
  line: number;
}

export interface Source {
  /** The name of the file in messages. */
  name: string;
  format: Format;
  /** The first record of CSV; empty for JSON. */
  header: Buffer;
  /** The CSV delimiter. */
  delimiter: string;
  /** Yields groups of complete records. Throws `FileError`. */
  records: AsyncIterable<FileRecord[]>;
  /** The number of bytes of the file read so far. */
  bytesRead(): number;
  /** The same after decompression, without a byte order mark. */
  textBytes(): number;
}

/** The total size of the files in bytes; null if that of one is not known. Throws `FileError`. */
export async function bytesOf(
  paths: readonly string[],
  downloads: Downloads,
): Promise<number | null> {
  let bytes: number | null = 0;
  for (const path of paths) {
    if (path === '-') {
      bytes = null;
      continue;
    }
    if (isUrl(path)) {
      const found = await downloads.bytesOf(path);
      bytes = bytes === null || found === null ? null : bytes + found;
      continue;
    }
    const found = await stat(path).catch((error: unknown) => {
      throw unreadable(path, error);
    });
    if (found.isDirectory()) throw new FileError(`${path} is a folder.`);
    bytes = bytes === null || !found.isFile() ? null : bytes + found.size;
  }
  return bytes;
}

export interface SourceOptions {
  /** null: determined by the name of the file, else by its first byte. */
  format: Format | null;
  /** The CSV delimiter; null: determined by the name of the file. */
  delimiter: string | null;
}

/** The bytes of a file, with its name in messages, and the name that tells its format. */
function opened(
  path: string,
  { input, downloads }: Origins,
): { name: string; formatName: string; file: AsyncIterable<unknown> } {
  if (path === '-') return { name: 'standard input', formatName: path, file: input };
  if (isUrl(path)) {
    return { name: shownUrl(path), formatName: pathOfUrl(path), file: downloads.read(path) };
  }
  return {
    name: path,
    formatName: path,
    file: createReadStream(path, { highWaterMark: READ_BYTES }),
  };
}

export interface Origins {
  /** What `-` means. */
  input: Readable;
  downloads: Downloads;
}

export async function openSource(
  path: string,
  origins: Origins,
  options: SourceOptions,
): Promise<Source> {
  let bytesRead = 0;
  let textBytes = 0;
  const { name, formatName, file } = opened(path, origins);
  async function* counted(): AsyncGenerator<Buffer, undefined> {
    for await (const chunk of file) {
      bytesRead += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
  try {
    const raw = await peeked(counted(), GZIP_MAGIC.length);
    const isCompressed = raw.first.subarray(0, 2).equals(GZIP_MAGIC);
    const plain = await peeked(isCompressed ? decompressed(raw.all) : raw.all, BEGIN_BYTES);
    refuseWide(plain.first);
    const text = checkedText(plain.all, (bytes) => (textBytes += bytes));
    const format = options.format ?? formatOf(formatName, plain.first);
    const delimiter = options.delimiter ?? delimiterOf(formatName);
    const records = format === 'json' ? jsonRecords(text) : csvRecords(text, delimiter);
    const shared = {
      name,
      format,
      delimiter,
      bytesRead: () => bytesRead,
      textBytes: () => textBytes,
    };
    if (format === 'json')
      return { ...shared, header: Buffer.alloc(0), records: withFileErrors(records, name) };
    const { value, done } = await records.next();
    const [header, ...rest] = done === true ? [] : value;
    if (header !== undefined) refuseOtherDelimiter(header.bytes, delimiter, delimiterAdvice);
    async function* others(): AsyncGenerator<FileRecord[], undefined> {
      if (rest.length > 0) yield rest;
      yield* records;
    }
    return {
      ...shared,
      header: ended(header?.bytes ?? Buffer.alloc(0)),
      records: withFileErrors(others(), name),
    };
  } catch (error) {
    throw unreadable(name, error);
  }
}

/** Yields the same records and converts errors to `FileError`. */
async function* withFileErrors(
  records: AsyncIterable<FileRecord[]>,
  name: string,
): AsyncGenerator<FileRecord[], undefined> {
  const iterator = records[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await iterator.next().catch((error: unknown) => {
        throw unreadable(name, error);
      });
      if (done === true) return;
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

function delimiterAdvice(other: string): string {
  return `add --csv-delimiter ${other === '\t' ? 'tab' : `'${other}'`}`;
}

function unreadable(name: string, error: unknown): Error {
  if (error instanceof FileError) return error;
  if (error instanceof FileFault) return new FileError(faultText(name, error));
  const { code, message } = error as NodeJS.ErrnoException;
  return new FileError(
    `${name} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : message}.`,
  );
}

/**
 * Reads the first bytes: at least `bytes`, or all if there are fewer. Also returns an iterator over
 * all bytes, including these.
 */
async function peeked(
  source: AsyncGenerator<Buffer, undefined>,
  bytes: number,
): Promise<{ first: Buffer; all: AsyncGenerator<Buffer, undefined> }> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < bytes) {
    const { value, done } = await source.next();
    if (done === true) break;
    first = first.length === 0 ? value : Buffer.concat([first, value]);
  }
  async function* all(): AsyncGenerator<Buffer, undefined> {
    if (first.length > 0) yield first;
    yield* source;
  }
  return { first, all: all() };
}

async function* decompressed(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  let failed: unknown = null;
  pipeline(Readable.from(source, { objectMode: false }), gunzip, (error) => (failed = error));
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (error) {
    throw failed ?? error;
  }
}

/** Yields UTF-8 without a byte order mark. Throws `FileFault` for other encodings. */
async function* checkedText(
  source: AsyncIterable<Buffer>,
  read: (bytes: number) => void,
): AsyncGenerator<Buffer, undefined> {
  const check = new Utf8Check();
  let isFirst = true;
  for await (const chunk of source) {
    const text = isFirst ? chunk.subarray(markBytes(chunk)) : chunk;
    isFirst = false;
    check.push(text);
    read(text.length);
    yield text;
  }
  check.end();
}

function formatOf(path: string, first: Buffer): Format {
  const name = path.replace(/\.gz$/i, '');
  if (/\.(?:json|ndjson|jsonl)$/i.test(name)) return 'json';
  if (/\.[ct]sv$/i.test(name)) return 'csv';
  const begin = first.subarray(markBytes(first)).find((byte) => byte > 32);
  return begin === OPEN_ARRAY || begin === OPEN_OBJECT ? 'json' : 'csv';
}

/** Adds a line end to the last record of a file, so that another record can follow it. */
function ended(record: Buffer): Buffer {
  const last = record.at(-1);
  return last === undefined || last === NEWLINE || last === CR
    ? record
    : Buffer.concat([record, Buffer.from('\n')]);
}

async function* jsonRecords(
  source: AsyncIterable<Buffer>,
): AsyncGenerator<FileRecord[], undefined> {
  const begun: number[] = [];
  const joiner = new Joiner();
  for await (const chunk of objectLines(source, (line) => begun.push(line))) {
    const records: FileRecord[] = [];
    for (let at = chunk.indexOf(NEWLINE), begin = 0; at >= 0; at = chunk.indexOf(NEWLINE, begin)) {
      records.push({ bytes: joiner.join(chunk.subarray(begin, at + 1)), line: begun.shift() ?? 1 });
      begin = at + 1;
    }
    if (records.length > 0) yield records;
    joiner.add(chunk.subarray(chunk.lastIndexOf(NEWLINE) + 1));
    if (joiner.bytes > RECORD_BYTES_MAX) {
      throw new FileFault(
        `a document of more than ${RECORD_BYTES_MAX} bytes begins here`,
        begun[0] ?? 1,
      );
    }
  }
  const last = joiner.join(Buffer.alloc(0));
  if (last.length > 0) yield [{ bytes: ended(last), line: begun[0] ?? 1 }];
}

async function* csvRecords(
  source: AsyncIterable<Buffer>,
  delimiter: string,
): AsyncGenerator<FileRecord[], undefined> {
  const splitter = new CsvSplitter(delimiter);
  const joiner = new Joiner();
  for await (const chunk of source) {
    const records: FileRecord[] = [];
    let begin = 0;
    for (const { end, line } of splitter.push(chunk)) {
      const bytes = joiner.join(chunk.subarray(begin, end));
      if (!isBlank(bytes)) records.push({ bytes, line });
      begin = end;
    }
    if (records.length > 0) yield records;
    joiner.add(chunk.subarray(begin));
    if (joiner.bytes > RECORD_BYTES_MAX) splitter.refuseLong(RECORD_BYTES_MAX);
  }
  splitter.end();
  const last = joiner.join(Buffer.alloc(0));
  if (!isBlank(last)) yield [{ bytes: ended(last), line: splitter.recordLine }];
}

/** Joins the parts of a record that is split across chunks. */
class Joiner {
  #parts: Buffer[] = [];
  bytes = 0;

  add(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.bytes += part.length;
  }

  join(last: Buffer): Buffer {
    if (this.#parts.length === 0) return last;
    const joined = Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.bytes = 0;
    return joined;
  }
}
