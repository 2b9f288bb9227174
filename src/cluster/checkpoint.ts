import type { BlobName } from './blobs/blobs.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { DamagedError, NewerFormatError } from './errors.ts';
import { decodeFiles, encodeFiles, type Epoch, type FileRef, type Sequence } from './record.ts';

const MARK = Buffer.from('GCP');
const FORMAT = 1;
const NAMES_MAX = 1_000_000;

/**
 * All data as of a sequence, as objects.
 *
 * Bytes, sealed: `GCP`, 1, sequence, epoch, ms since 1970, number of databases; per database text
 * name, files (copies of the database), files (its immutable files); number of names, text names of
 * objects that records since the checkpoint before name. An archive, sealed: number of entries; per
 * entry sequence, bytes of the entry.
 */
export interface Checkpoint {
  readonly sequence: Sequence;
  readonly epoch: Epoch;
  /** Time of the last record. */
  readonly at: number;
  readonly databases: readonly CheckpointDatabase[];
  /**
   * Objects named by records since the previous checkpoint. Recovery to a point in between needs
   * them.
   */
  readonly passed: readonly BlobName[];
}

export interface CheckpointDatabase {
  readonly name: string;
  /** Copies of the database itself. */
  readonly copies: readonly FileRef[];
  readonly files: readonly FileRef[];
}

export function encodeCheckpoint(checkpoint: Checkpoint): Buffer {
  const writer = new ByteWriter().raw(MARK).number(FORMAT);
  writer.number(checkpoint.sequence).number(checkpoint.epoch);
  writer.number(Math.max(0, Math.floor(checkpoint.at))).number(checkpoint.databases.length);
  for (const { name, copies, files } of checkpoint.databases) {
    writer.text(name);
    encodeFiles(writer, copies);
    encodeFiles(writer, files);
  }
  writer.number(checkpoint.passed.length);
  for (const name of checkpoint.passed) writer.text(name);
  return writer.sealed();
}

/** Throws `DamagedError`, or `NewerFormatError`. */
export function decodeCheckpoint(bytes: Buffer): Checkpoint {
  const reader = ByteReader.sealed(bytes);
  if (!reader.raw(MARK.length).equals(MARK)) throw new DamagedError('Not a checkpoint');
  if (reader.number() > FORMAT) throw new NewerFormatError('The checkpoint has a newer format');
  const list = <T>(read: () => T): T[] => {
    const count = reader.number();
    if (count > NAMES_MAX) throw new DamagedError('A list is too long');
    return Array.from({ length: count }, read);
  };
  const checkpoint = {
    sequence: reader.number(),
    epoch: reader.number(),
    at: reader.number(),
    databases: list(() => ({
      name: reader.text(),
      copies: decodeFiles(reader),
      files: decodeFiles(reader),
    })),
    passed: list(() => reader.text()),
  };
  reader.end();
  return checkpoint;
}

/** The objects that the checkpoint itself needs. */
export function blobsOf({ databases }: Checkpoint): BlobName[] {
  return databases.flatMap(({ copies, files }) => [...copies, ...files]).map(({ blob }) => blob);
}
