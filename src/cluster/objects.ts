/**
 * The objects of a cluster in the object store:
 *
 *   checkpoints/<sequence>-<epoch>-...   a `Checkpoint`: names the objects with all data
 *   archive/<first>-<last>-<epoch>-...   entries between two checkpoints, for recovery to a time
 *   files/<epoch>-...                    files and copies of databases, large records
 */
import type { BlobName, Blobs } from './blobs/blobs.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import { type Checkpoint, decodeCheckpoint } from './checkpoint.ts';
import { BlobMissingError, DamagedError, damagedObject } from './errors.ts';
import type { Entry, Sequence } from './record.ts';

export const CHECKPOINTS = 'checkpoints/';
export const ARCHIVE = 'archive/';
export const FILES = 'files/';

const BYTES_MAX = 256 * 1024 * 1024;

/** Throws `BlobMissingError`, `DamagedError`, or the error of the object store. */
export async function loadCheckpoint(blobs: Blobs, blob: BlobName): Promise<Checkpoint> {
  return load(blobs, blob, decodeCheckpoint);
}

/** Returns null when the checkpoint is missing or damaged. */
export function loadIfWhole(blobs: Blobs, blob: BlobName): Promise<Checkpoint | null> {
  return unlessDamaged(() => loadCheckpoint(blobs, blob));
}

/** How often an object is read before it counts as damaged: its bytes may change on their way. */
const READS = 3;

/** Returns null when an object that the task reads is missing or damaged. */
export async function unlessDamaged<T>(task: () => Promise<T>): Promise<T | null> {
  for (let reads = 1; ; reads++) {
    try {
      return await task();
    } catch (error) {
      if (damagedObject(error) === null) throw error;
      if (error instanceof BlobMissingError || reads === READS) return null;
    }
  }
}

export function encodeArchive(entries: readonly Entry[]): Buffer {
  const writer = new ByteWriter().number(entries.length);
  for (const { sequence, body } of entries) writer.number(sequence).bytes(body);
  return writer.sealed();
}

export function loadArchive(blobs: Blobs, blob: BlobName): Promise<Entry[]> {
  return load(blobs, blob, decodeArchive);
}

function decodeArchive(bytes: Buffer): Entry[] {
  const reader = ByteReader.sealed(bytes);
  const entries = Array.from({ length: reader.number() }, () => ({
    sequence: reader.number(),
    body: reader.bytes(),
  }));
  reader.end();
  return entries;
}

async function load<T>(blobs: Blobs, blob: BlobName, decode: (bytes: Buffer) => T): Promise<T> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of blobs.get(blob)) {
    bytes += piece.length;
    if (bytes > BYTES_MAX) throw new DamagedError(`The object ${blob} is too large`, blob);
    pieces.push(piece);
  }
  try {
    return decode(Buffer.concat(pieces));
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    throw new DamagedError(`The object ${blob} is damaged: ${error.message}`, blob);
  }
}

/** Return the first and the second sequence in the name of an object. */
export function firstOf(name: BlobName): Sequence {
  return Number.parseInt(name.split(/[/-]/)[1]!, 16);
}

export function lastOf(name: BlobName): Sequence {
  return Number.parseInt(name.split(/[/-]/)[2]!, 16);
}
