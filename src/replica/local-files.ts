/** Local files that a cluster uploads or has fetched. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type BlobSource, READING } from '../cluster/blobs/blobs.ts';

/** The content of a file that no longer changes. Reads it once, for its checksum. */
export async function fileSource(path: string): Promise<BlobSource> {
  const { size, sum } = await digestOf(path);
  return sourceOf(path, size, sum);
}

export function sourceOf(path: string, size: number, sum: Buffer): BlobSource {
  return { size, sha256: sum, open: () => createReadStream(path, READING) };
}

export async function digestOf(path: string): Promise<{ size: number; sum: Buffer }> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, READING), hash);
  return { size: (await stat(path)).size, sum: hash.digest() };
}

/**
 * Bytes written at a time. Pieces from a network are smaller, and each write costs a thread's work.
 */
const WRITE_BYTES = 1024 * 1024;

/** Writes a file durably, except for its name. It appears under its name once it is complete. */
export async function writeDurably(
  path: string,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const part = `${path}.part`;
  const file = await open(part, 'w');
  try {
    let pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of content) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes < WRITE_BYTES) continue;
      await writeAll(file, pieces, bytes);
      pieces = [];
      bytes = 0;
    }
    await writeAll(file, pieces, bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, path);
}

async function writeAll(file: FileHandle, pieces: Uint8Array[], bytes: number): Promise<void> {
  if (bytes === 0) return;
  const { bytesWritten } = await file.writev(pieces);
  // On a disk that is nearly full, the rest throws.
  if (bytesWritten < bytes) await file.writeFile(Buffer.concat(pieces).subarray(bytesWritten));
}
