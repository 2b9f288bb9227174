/** Documents of files as bytes, one by one: JSON in an array or one after another, and CSV, each perhaps compressed by gzip. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { objectLines } from '../archive/json-values.ts';
import { FileError } from './command.ts';

export const FORMATS = ['json', 'csv'] as const;
/** `json` stands for an array as well as for one document a line. */
export type Format = (typeof FORMATS)[number];

/** One document has at most so many bytes; no server takes more. */
const RECORD_BYTES_MAX = 512 * 2 ** 20;
const READ_BYTES = 256 * 1024;
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b]);
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const [QUOTE, OPEN_ARRAY, OPEN_OBJECT] = Buffer.from('"[{');
const NEWLINE = 10;

export interface Source {
  format: Format;
  /** Of CSV the first record, else empty. */
  header: Buffer;
  /** Some whole records at a time, each with its newline. Throws `FileError`. */
  records: AsyncIterable<Buffer[]>;
  /** Bytes of the file read so far. */
  bytesRead(): number;
}

/** Bytes of the files together; null when one is not a regular file. Throws `FileError`. */
export async function bytesOf(paths: readonly string[]): Promise<number | null> {
  let bytes: number | null = 0;
  for (const path of paths) {
    if (path === '-') {
      bytes = null;
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
  /** Null: as its name or else its first byte says. */
  format: Format | null;
  /** One byte, between the values of CSV. */
  delimiter: string;
}

/** @param path `-`: `input` */
export async function openSource(
  path: string,
  input: Readable,
  { format, delimiter }: SourceOptions,
): Promise<Source> {
  let bytesRead = 0;
  const name = path === '-' ? 'standard input' : path;
  const file = path === '-' ? input : createReadStream(path, { highWaterMark: READ_BYTES });
  async function* counted(): AsyncGenerator<Buffer, undefined> {
    try {
      for await (const chunk of file) {
        bytesRead += (chunk as Buffer).length;
        yield chunk as Buffer;
      }
    } catch (error) {
      throw unreadable(name, error);
    }
  }
  const raw = await peeked(counted(), GZIP_MAGIC.length);
  const isCompressed = raw.first.subarray(0, 2).equals(GZIP_MAGIC);
  const plain = await peeked(
    isCompressed ? decompressed(raw.all, name) : raw.all,
    BYTE_ORDER_MARK.length + 1,
  );
  const text = withoutMark(plain.all);
  const found = format ?? formatOf(path, plain.first);
  if (found === 'json') {
    const header = Buffer.alloc(0);
    return {
      ...{ format: found, header, bytesRead: () => bytesRead },
      records: splitJson(text, name),
    };
  }
  const records = csvRecords(text, delimiter.charCodeAt(0), name);
  const { value, done } = await records.next();
  const [header = Buffer.alloc(0), ...rest] = done === true ? [] : value;
  async function* others(): AsyncGenerator<Buffer[], undefined> {
    if (rest.length > 0) yield rest;
    yield* records;
  }
  return {
    ...{ format: found, header: ended(header), bytesRead: () => bytesRead },
    records: others(),
  };
}

function unreadable(name: string, error: unknown): Error {
  if (error instanceof FileError) return error;
  return new FileError(`${name} cannot be read: ${(error as Error).message}.`);
}

/** The first bytes, at least `bytes` of them where there are so many, and all bytes, these included. */
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

async function* decompressed(
  source: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<Buffer, undefined> {
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  let failed: unknown = null;
  pipeline(Readable.from(source, { objectMode: false }), gunzip, (error) => (failed = error));
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (error) {
    throw unreadable(name, failed ?? error);
  }
}

async function* withoutMark(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let isFirst = true;
  for await (const chunk of source) {
    const marked = isFirst && chunk.subarray(0, 3).equals(BYTE_ORDER_MARK);
    isFirst = false;
    yield marked ? chunk.subarray(3) : chunk;
  }
}

function formatOf(path: string, first: Buffer): Format {
  const name = path.replace(/\.gz$/i, '');
  if (/\.(?:json|ndjson|jsonl)$/i.test(name)) return 'json';
  if (/\.csv$/i.test(name)) return 'csv';
  const begin = first.find((byte) => byte > 32 && !BYTE_ORDER_MARK.includes(byte));
  return begin === OPEN_ARRAY || begin === OPEN_OBJECT ? 'json' : 'csv';
}

/** Every record ends in a newline, also the last of a file. */
function ended(record: Buffer): Buffer {
  return record.length === 0 || record.at(-1) === NEWLINE
    ? record
    : Buffer.concat([record, Buffer.from('\n')]);
}

/** Finds where records end, chunk by chunk. */
type EndFinder = (chunk: Buffer) => number[];

async function* splitJson(
  source: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<Buffer[], undefined> {
  try {
    yield* split(objectLines(source), newlineEnds, name);
  } catch (error) {
    throw unreadable(name, error);
  }
}

function newlineEnds(chunk: Buffer): number[] {
  const ends: number[] = [];
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
    ends.push(at + 1);
  }
  return ends;
}

function csvRecords(
  source: AsyncIterable<Buffer>,
  delimiter: number,
  name: string,
): AsyncGenerator<Buffer[], undefined> {
  return split(source, csvEnds(delimiter), name);
}

/** A quote opens a quoted value only where a value begins; inside, newlines do not end the record. */
function csvEnds(delimiter: number): EndFinder {
  let isQuoted = false;
  let isBegin = true;
  return (chunk) => {
    const ends: number[] = [];
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (isQuoted) {
        // Two quotes in a row close and open again.
        if (byte === QUOTE) {
          isQuoted = false;
          isBegin = true;
        }
        continue;
      }
      if (byte === QUOTE && isBegin) isQuoted = true;
      else if (byte === NEWLINE) ends.push(at + 1);
      isBegin = byte === delimiter || byte === NEWLINE || byte === 13;
    }
    return ends;
  };
}

/** Cuts a stream into records. Empty lines are left out. */
async function* split(
  source: AsyncIterable<Buffer>,
  find: EndFinder,
  name: string,
): AsyncGenerator<Buffer[], undefined> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    const records: Buffer[] = [];
    let begin = 0;
    for (const end of find(chunk)) {
      parts.push(chunk.subarray(begin, end));
      const record = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      if (!isBlank(record)) records.push(record);
      parts = [];
      bytes = 0;
      begin = end;
    }
    if (records.length > 0) yield records;
    if (begin === chunk.length) continue;
    parts.push(chunk.subarray(begin));
    bytes += chunk.length - begin;
    if (bytes > RECORD_BYTES_MAX) {
      throw new FileError(`${name} holds a document of more than ${RECORD_BYTES_MAX} bytes.`);
    }
  }
  const last = ended(Buffer.concat(parts));
  if (!isBlank(last)) yield [last];
}

function isBlank(record: Buffer): boolean {
  return record.length <= 2 && record.every((byte) => byte === NEWLINE || byte === 13);
}
