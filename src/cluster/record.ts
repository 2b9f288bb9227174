/**
 * The records of the log and their bytes. docs/internals/format.md says what a number, a text and
 * *sealed* are.
 *
 * A record is one commit of one database: a delta of LMDB records, and the new files that it names.
 * The delta is opaque here. `delta.ts` reads and writes it for the store, and the engine does so
 * for an index; both use the same format.
 *
 * An entry is what the log holds: the record itself, or the name of the object that holds it.
 *
 *   record, sealed   `GCR`, format, sequence, epoch, ms since 1970, text database (`store`, or
 *                    `index/` and a folder), files, bytes of the delta
 *   files            number of files; per file text name, size, SHA-256, text name of its object
 *   entry            0 and the record; or, sealed, 1, epoch, size, SHA-256 and text name of the
 *                    object that holds the record
 */
import { ByteReader, ByteWriter, SHA256_BYTES, sha256 } from './bytes.ts';
import type { BlobName } from './blobs/blobs.ts';
import { DamagedError, NewerFormatError } from './errors.ts';

/** Position of a record in the log, beginning with 1. 0: before all records. */
export type Sequence = number;

/**
 * Identifies a leader: the revision of its key in etcd. Each leader's epoch is greater than all
 * before.
 */
export type Epoch = number;

/** Formats that this program reads; it can write any of them. */
export const FORMAT_MIN = 1;
export const FORMAT_MAX = 1;

const RECORD_MARK = Buffer.from('GCR');
const FILES_MAX = 100_000;

/** A file of a database, and the object that holds its bytes. */
export interface FileRef {
  /** Name of the file, unique in its database. */
  readonly name: string;
  readonly size: number;
  readonly sha256: Buffer;
  readonly blob: BlobName;
}

export interface CommitRecord {
  readonly format: number;
  readonly sequence: Sequence;
  readonly epoch: Epoch;
  /**
   * When the leader made the commit by its own clock, ms since 1970. It orders nothing, and serves
   * recovery to a point in time.
   */
  readonly at: number;
  /** `store`, or `index/` and the name of a folder. */
  readonly database: string;
  /** New files that the delta names. */
  readonly files: readonly FileRef[];
  readonly delta: Buffer;
}

/** The content of the log at a sequence. */
export interface Entry {
  readonly sequence: Sequence;
  readonly body: Buffer;
}

/** An object that holds a record. */
export interface RecordRef {
  readonly epoch: Epoch;
  readonly size: number;
  readonly sha256: Buffer;
  readonly blob: BlobName;
}

export type EntryBody =
  { readonly kind: 'record'; readonly bytes: Buffer } | ({ readonly kind: 'ref' } & RecordRef);

const KIND_RECORD = 0;
const KIND_REF = 1;

export function encodeFiles(writer: ByteWriter, files: readonly FileRef[]): void {
  writer.number(files.length);
  for (const file of files) {
    writer.text(file.name).number(file.size).raw(file.sha256).text(file.blob);
  }
}

export function decodeFiles(reader: ByteReader): FileRef[] {
  const count = reader.number();
  if (count > FILES_MAX) throw new DamagedError('There are too many files');
  return Array.from({ length: count }, () => ({
    name: reader.text(),
    size: reader.number(),
    sha256: reader.raw(SHA256_BYTES),
    blob: reader.text(),
  }));
}

/** Returns all of a record but its seal, without copying the delta. */
export function recordPieces(record: CommitRecord): [head: Buffer, delta: Buffer] {
  const writer = new ByteWriter();
  writer.raw(RECORD_MARK).number(record.format);
  writer
    .number(record.sequence)
    .number(record.epoch)
    .number(Math.max(0, Math.floor(record.at)));
  writer.text(record.database);
  encodeFiles(writer, record.files);
  return [writer.number(record.delta.length).done(), record.delta];
}

export function encodeRecord(record: CommitRecord): Buffer {
  const pieces = recordPieces(record);
  return Buffer.concat([...pieces, sha256(...pieces)]);
}

/**
 * Throws `DamagedError` or `NewerFormatError`.
 * @param isChecked the bytes were already compared with what was stored; verifying the checksum
 *   takes time
 */
export function decodeRecord(
  bytes: Buffer,
  formatMax = FORMAT_MAX,
  isChecked = false,
): CommitRecord {
  const reader = ByteReader.sealed(bytes, isChecked);
  if (!reader.raw(RECORD_MARK.length).equals(RECORD_MARK)) throw new DamagedError('Not a record');
  const format = reader.number();
  if (format > formatMax) throw newerFormat(format, formatMax);
  const record = {
    format,
    sequence: reader.number(),
    epoch: reader.number(),
    at: reader.number(),
    database: reader.text(),
    files: decodeFiles(reader),
    delta: reader.bytes(),
  };
  reader.end();
  return record;
}

export function newerFormat(format: number, formatMax: number): NewerFormatError {
  return new NewerFormatError(
    `The log is in format ${format}, this version of Gannet reads up to ${formatMax}: upgrade it`,
  );
}

export function encodeBody(body: EntryBody): Buffer {
  const writer = new ByteWriter();
  if (body.kind === 'record') return writer.number(KIND_RECORD).raw(body.bytes).done();
  writer.number(KIND_REF).number(body.epoch).number(body.size);
  return writer.raw(body.sha256).text(body.blob).sealed();
}

export function decodeBody(bytes: Buffer): EntryBody {
  if (bytes[0] === KIND_RECORD) return { kind: 'record', bytes: bytes.subarray(1) };
  const reader = ByteReader.sealed(bytes);
  if (reader.number() !== KIND_REF) throw new DamagedError('Not an entry of the log');
  const ref = {
    kind: 'ref' as const,
    epoch: reader.number(),
    size: reader.number(),
    sha256: reader.raw(SHA256_BYTES),
    blob: reader.text(),
  };
  reader.end();
  return ref;
}

/** Whether the record of the entry is stored as an object. */
export function isRef({ body }: Entry): boolean {
  return body[0] === KIND_REF;
}

/** The objects that an entry names. */
export function blobsOfEntry({ files }: Pick<CommitRecord, 'files'>, body: EntryBody): BlobName[] {
  const names = files.map(({ blob }) => blob);
  return body.kind === 'ref' ? [body.blob, ...names] : names;
}

/**
 * Returns the record of an entry of the log.
 * @param object the bytes of the object that a reference names, checked against the reference
 */
export async function recordOf(
  entry: Entry,
  object: (ref: RecordRef) => Promise<Buffer>,
  formatMax = FORMAT_MAX,
): Promise<CommitRecord> {
  const body = decodeBody(entry.body);
  const record =
    body.kind === 'record'
      ? decodeRecord(body.bytes, formatMax)
      : decodeRecord(await object(body), formatMax, true);
  if (record.sequence !== entry.sequence) {
    throw new DamagedError(`Record ${record.sequence} is at position ${entry.sequence} of the log`);
  }
  return record;
}
