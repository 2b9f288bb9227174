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
import { BlobMissingError, DamagedError } from './errors.ts';
import type { Entry, Sequence } from './record.ts';

export const CHECKPOINTS = 'checkpoints/';
export const ARCHIVE = 'archive/';
export const FILES = 'files/';

const BYTES_MAX = 256 * 1024 * 1024;

/** Throws `BlobMissingError`, `DamagedError`, or the error of the object store. */
export async function loadCheckpoint(blobs: Blobs, blob: BlobName): Promise<Checkpoint> {
  return decodeCheckpoint(await load(blobs, blob));
}

/** Returns null when the checkpoint is missing or damaged. */
export async function loadIfWhole(blobs: Blobs, blob: BlobName): Promise<Checkpoint | null> {
  try {
    return await loadCheckpoint(blobs, blob);
  } catch (error) {
    if (error instanceof DamagedError || error instanceof BlobMissingError) return null;
    throw error;
  }
}

export function encodeArchive(entries: readonly Entry[]): Buffer {
  const writer = new ByteWriter().number(entries.length);
  for (const { sequence, body } of entries) writer.number(sequence).bytes(body);
  return writer.sealed();
}

export async function loadArchive(blobs: Blobs, blob: BlobName): Promise<Entry[]> {
  const reader = ByteReader.sealed(await load(blobs, blob));
  const entries = Array.from({ length: reader.number() }, () => ({
    sequence: reader.number(),
    body: reader.bytes(),
  }));
  reader.end();
  return entries;
}

async function load(blobs: Blobs, blob: BlobName): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of blobs.get(blob)) {
    bytes += piece.length;
    if (bytes > BYTES_MAX) throw new DamagedError(`The object ${blob} is too large`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Return the first and the second sequence in the name of an object. */
export function firstOf(name: BlobName): Sequence {
  return Number.parseInt(name.split(/[/-]/)[1]!, 16);
}

export function lastOf(name: BlobName): Sequence {
  return Number.parseInt(name.split(/[/-]/)[2]!, 16);
}
